"""Harbor tasks with real agents: SkillsBench, Terminal-Bench, TB-Science and all that speak the format.

=============  ==========================================================================
``options``    what a study file may say
``tasks``      a folder of tasks: ids, families, digests; what cannot be used, by name
``upstream``   Harbor's own digest of a task
``tree``       walking a folder that nobody has checked; folders of one's own
``variant``    a task without the skills that it ships, or with others in their place
``state``      what an agent state means here: skills, files, another model
``agents``     agents by Harbor's names or by the path of a class
``sandboxes``  where attempts run
``served``     skills through MCP: a server beside the attempt
``exposure``   which skills an agent has before it
``trial``      one Harbor trial
``attempt``    what came of it, as a study records it
``engine``     loading Harbor, quietly
``benchmark``  :class:`~sipbench.benchmarks.harbor.benchmark.HarborBenchmark`
=============  ==========================================================================

What a trial leaves on disk is read by :mod:`sipbench.importers.harbor`, as finished jobs are.
"""

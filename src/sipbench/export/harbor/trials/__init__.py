"""Trials that a task has to stand before anybody trusts it: the oracle, doing nothing, and cheats.

==============  ==================================================================================
``tricks``      what a cheat tries, as shell scripts
``agents``      the agent that plays a trick inside of the task's environment
``run``         the trials, in parallel, each once
``verdicts``    what they came to, task by task
==============  ==================================================================================
"""

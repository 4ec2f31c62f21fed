"""synth, the embedded benchmark: programs to find from examples, over a language of text to text.

==============  =============================================================================
``language``    the 24 primitives, and what a program is
``draws``       seeded draws that are the same in every Python release
``generate``    from a seed to concepts, programs and tasks
``search``      uniform-cost enumeration with a fixed budget
``state``       the agent state: skills with macros, and a weights file
``agent``       an agent state becomes production costs, which become an attempt
``answer``      what an attempt leaves behind
``benchmark``   the adapter: :class:`SynthBenchmark`
``learners``    the adaptations: :class:`MacroLearner`, :class:`WeightLearner`
==============  =============================================================================

No score is written down anywhere. What is learned makes some programs cheaper and all others dearer;
the bounded search does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sipbench.benchmarks.synth.benchmark import SynthBenchmark
    from sipbench.benchmarks.synth.learners import MacroLearner, WeightLearner

__all__ = ["MacroLearner", "SynthBenchmark", "WeightLearner"]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: a benchmark does not need the learners, nor they the generator.
    if name == "SynthBenchmark":
        from sipbench.benchmarks.synth.benchmark import SynthBenchmark

        return SynthBenchmark
    if name in ("MacroLearner", "WeightLearner"):
        from sipbench.benchmarks.synth import learners

        return getattr(learners, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

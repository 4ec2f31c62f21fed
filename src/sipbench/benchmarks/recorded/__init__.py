"""Recorded attempts as a benchmark: a study over what was run already."""

from __future__ import annotations

from sipbench.benchmarks.recorded.benchmark import RecordedBenchmark
from sipbench.benchmarks.recorded.options import RecordedFile, RecordedOptions

__all__ = ["RecordedBenchmark", "RecordedFile", "RecordedOptions"]

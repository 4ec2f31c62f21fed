"""What the tests of synth share: the shipped seed's tasks, and attempts as a learner finds them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sipbench.adaptation.base import AdaptationRequest
from sipbench.benchmarks.base import Agent, AttemptContext, Limits
from sipbench.benchmarks.synth.benchmark import AGENT_NAME, SynthBenchmark, SynthOptions
from sipbench.benchmarks.synth.generate import SynthTask, generate
from sipbench.protocol.digests import tree_digest
from sipbench.protocol.vocabulary import Phase, Split

SIZES = (("adapt", 24), ("adapt_t2", 24), ("heldout", 40), ("replay", 40), ("drift", 20))


@pytest.fixture(scope="session")
def tasks() -> tuple[SynthTask, ...]:
    """The tasks of the shipped seed and sizes."""
    return generate(7, SIZES)


@pytest.fixture
def benchmark(tmp_path: Path) -> SynthBenchmark:
    """The adapter with its default options."""
    return SynthBenchmark(SynthOptions(), base=tmp_path)


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., AttemptContext]:
    """A function that makes the surroundings of an attempt; ``state`` defaults to an empty folder."""
    made = 0

    def make(state: Path | None = None, tool_calls: int | None = None, **arguments: Any) -> AttemptContext:
        nonlocal made
        made += 1
        workdir = tmp_path / f"output-{made}"
        workdir.mkdir()
        agent = Agent(AGENT_NAME, arguments=arguments, limits=Limits(tool_calls=tool_calls))
        folder = state or tmp_path / "no-state"
        return AttemptContext(agent, folder, tree_digest(folder), workdir, "arm", Split.HELDOUT, 0, 0)

    return make


@pytest.fixture
def request_for(tmp_path: Path) -> Callable[..., AdaptationRequest]:
    """A function that writes adapt attempts and makes the request of an adaptation that learns from them.

    An attempt is a program, or None for one that found nothing; ``solved`` says whether they solved their
    tasks.
    """
    made = 0

    def make(
        programs: list[tuple[str, ...] | None],
        *,
        solved: bool = True,
        previous: Path | None = None,
        seed: int = 1,
        phase: Phase = Phase.T1,
    ) -> AdaptationRequest:
        nonlocal made
        made += 1
        folder = tmp_path / f"adaptation-{made}"
        for number, program in enumerate(programs):
            output = folder / "attempts" / f"{number:04d}" / "output"
            output.mkdir(parents=True)
            answer = {"schema_version": "1.0.0", "program": program, "candidates": 5}
            (output / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
            record = {"task": {"id": f"t{number}"}, "record": {"success": solved and program is not None}}
            (output.parent / "attempt.json").write_text(json.dumps(record), encoding="utf-8")
        for name in ("attempts", "previous", "state"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        return AdaptationRequest(
            folder / "attempts", previous or folder / "previous", folder / "state", phase, 0, seed
        )

    return make

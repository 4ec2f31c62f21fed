"""The adapter of the embedded benchmark."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from sipbench.benchmarks.base import Agent, Attempt, AttemptContext, Benchmark, Options, Task
from sipbench.benchmarks.synth.agent import BUDGET, JITTER, attempt, share_right
from sipbench.benchmarks.synth.answer import write_answer
from sipbench.benchmarks.synth.draws import Draws
from sipbench.benchmarks.synth.generate import POOLS, SynthTask, generate
from sipbench.benchmarks.synth.language import format_program
from sipbench.benchmarks.synth.search import Found
from sipbench.benchmarks.synth.state import Knowledge, read_state
from sipbench.errors import AdaptationError, ConfigError, EngineError, SplitError
from sipbench.plugins import suggestion
from sipbench.protocol.digests import EMPTY_TREE, json_digest
from sipbench.protocol.manifest import Preregistered, SplitManifest, TaskEntry
from sipbench.protocol.records import Usage
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.protocol.vocabulary import METRIC_SPLITS, PathType, Phase, Split, Status

__all__ = ["AGENT_NAME", "SynthBenchmark", "SynthOptions"]

AGENT_NAME = "enumerative-search"
_MOST_CANDIDATES = 10_000_000
_WIDEST_JITTER = 10.0

Size = Annotated[int, Field(ge=0, le=10_000)]


class SynthOptions(Options):
    """Options of the embedded benchmark: the generator's seed, and how many tasks it makes.

    ``adapt`` counts twice: as many are made again for the second adaptation.
    """

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 7
    adapt: Size = 24
    heldout: Size = 40
    replay: Size = 40
    drift: Size = 20


class SynthBenchmark(Benchmark):
    """Programs from examples, an enumerative search with a budget, everything from a seed."""

    Options: ClassVar[type[Options]] = SynthOptions
    options: SynthOptions

    name = "synth"
    version = "1.0.0"
    grader_version = "1"
    engine = f"synth {version}"
    normalization = (
        "The reward is the share of 12 hidden pairs that the found program gets right; so is the score."
    )

    @cached_property
    def _made(self) -> tuple[SynthTask, ...]:
        chosen = self.options
        sizes = {pool: getattr(chosen, "adapt" if pool == "adapt_t2" else pool) for pool in POOLS}
        return generate(chosen.seed, tuple(sizes.items()))

    @cached_property
    def _by_id(self) -> dict[str, SynthTask]:
        return {task.id: task for task in self._made}

    def tasks(self) -> Sequence[Task]:
        """Every task, pool by pool; the text is the four shown pairs."""
        return [
            Task(
                id=task.id,
                digest=task.digest,
                family=task.family,
                concept=task.concept_label,
                text="\n".join(f"{pair.input} -> {pair.output}" for pair in task.shown),
                metadata={"pool": task.pool},
            )
            for task in self._made
        ]

    def splits(self, seed: int, sizes: Mapping[Split, int]) -> SplitManifest:
        """Choose among the tasks made; see :meth:`Benchmark.splits`."""
        extra = [split for split in sizes if split not in METRIC_SPLITS]
        if extra:
            raise SplitError(f"splits.{extra[0]}: synth has replay, adapt, heldout and drift only")
        chosen = {pool: self._chosen(seed, pool, sizes) for pool in POOLS}
        listed = json_digest([[entry.id, entry.digest] for entry in chosen["replay"]])
        return SplitManifest(
            schema_version=SPLITS_VERSION,
            benchmark_name=self.name,
            benchmark_version=self.version,
            seed=seed,
            **chosen,
            # The list follows from the seeds alone, so it was fixed when the generator was.
            replay_selection=Preregistered(list_digest=listed, declared_at="2026-12-01T00:00:00Z"),
            drift_changes=("evidence", "policy"),
            drift_note="Longer inputs with more capitals and digits; one step of the concept is another.",
            selection={"method": "drawn from the pool of each split", "generator_seed": self.options.seed},
        )

    def _chosen(self, seed: int, pool: str, sizes: Mapping[Split, int]) -> tuple[TaskEntry, ...]:
        split = Split.ADAPT if pool == "adapt_t2" else Split(pool)
        made = [task for task in self._made if task.pool == pool]
        size = sizes.get(split, len(made))
        if not 0 <= size <= len(made):
            raise SplitError(
                f"splits.{split}: {size} tasks asked, {len(made)} made; "
                f"ask for 0 to {len(made)}, or raise the benchmark's option '{split}'"
            )
        return tuple(
            TaskEntry(id=task.id, family=task.family, concept=task.concept_label, digest=task.digest)
            for task in Draws("synth", "splits", seed, pool).sample(made, size)
        )

    def check_agent(self, agent: Agent, path_type: PathType) -> None:
        """Refuse every agent but the search, and arguments it does not have."""
        if agent.name != AGENT_NAME:
            raise ConfigError(f"agent.name: synth has one agent, '{AGENT_NAME}'; found '{agent.name}'")
        if agent.model != "none":
            raise ConfigError(f"agent.model: '{AGENT_NAME}' uses no model; remove '{agent.model}'")
        _arguments(agent)

    def run(
        self, task: Task, phase: Phase, path_type: PathType, seed: int, *, context: AttemptContext
    ) -> Attempt:
        """Search once and grade what was found; a search without a result is graded 0."""
        known = self._by_id.get(task.id)
        if known is None or known.digest != task.digest:
            raise EngineError(f"task {task.id}: not made by synth {self.version} with these options")
        budget, jitter = _arguments(context.agent)
        start = time.perf_counter()
        try:
            knowledge = _knowledge(context.state, context.state_digest)
        except AdaptationError as error:
            return Attempt(Status.AGENT_ERROR, error_type="AdaptationError", error_message=str(error))
        if path_type is PathType.ORACLE:
            found = Found(known.program, (), 0)
        else:
            found = attempt(known, knowledge, budget=budget, jitter=jitter, seed=seed)
        seconds = time.perf_counter() - start
        write_answer(context.workdir, found)
        reward = share_right(known, found.program)
        refs = tuple(skill.ref for skill in knowledge.skills)
        return Attempt(
            Status.GRADED,
            reward=reward,
            success=reward == 1.0,
            usage=Usage(tool_calls_total=found.candidates, human_interventions=0, wall_clock_seconds=seconds),
            usage_source="engine",
            skills_given=refs,
            skills_opened=tuple(skill.ref for skill in knowledge.skills if skill.macro is not None),
            notes=None if found.program is None else format_program(found.program),
        )


def _arguments(agent: Agent) -> tuple[int, float]:
    """Budget and jitter of ``agent``; its limit on tool calls lowers the budget."""
    known = {"budget": BUDGET, "jitter": JITTER}
    for name in agent.arguments:
        if name not in known:
            raise ConfigError(
                f"agent.arguments.{name}: unknown{suggestion(str(name), list(known))}; "
                f"'{AGENT_NAME}' has {', '.join(known)}"
            )
    given: dict[str, Any] = known | dict(agent.arguments)
    budget, jitter = given["budget"], given["jitter"]
    if type(budget) is not int or not 1 <= budget <= _MOST_CANDIDATES:
        raise ConfigError(
            f"agent.arguments.budget: expected a whole number from 1 to {_MOST_CANDIDATES}, "
            f"found {budget!r:.40}"
        )
    if type(jitter) not in (int, float) or not (math.isfinite(jitter) and 0 <= jitter <= _WIDEST_JITTER):
        raise ConfigError(
            f"agent.arguments.jitter: expected a number from 0 to {_WIDEST_JITTER:g}, found {jitter!r:.40}"
        )
    calls = agent.limits.tool_calls
    return (budget if calls is None else min(budget, calls)), float(jitter)


def _knowledge(state: Path, digest: str) -> Knowledge:
    return Knowledge() if digest == EMPTY_TREE else _read(state, digest)


@lru_cache(maxsize=32)
def _read(state: Path, digest: str) -> Knowledge:
    # The digest stands for what the folder holds: reading it again for each attempt would cost more
    # than the attempt.
    return read_state(state)

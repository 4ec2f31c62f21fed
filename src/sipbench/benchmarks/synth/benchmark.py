"""The adapter of the embedded benchmark."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, ValidationError

from sipbench.benchmarks.base import Agent, Attempt, AttemptContext, Benchmark, Charge, Options, Task
from sipbench.benchmarks.synth.agent import attempt, share_right
from sipbench.benchmarks.synth.answer import write_answer
from sipbench.benchmarks.synth.draws import Draws
from sipbench.benchmarks.synth.generate import POOLS, SynthTask, generate
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
_DECLARED_AT = "2026-12-01T00:00:00Z"
"""When this generator, and with it the replay list of every seed, was fixed."""

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


class AgentArguments(Options):
    """Arguments of the agent.

    Attributes:
        budget: The most candidates it evaluates; the default is just above the number of programs of
            up to two steps (1 + 24 + 24^2 = 601), the most 1,000,000 (about 0.6 GB of states). A limit
            on tool calls lowers it.
        jitter: Standard deviation of the draw on each production's cost, in nats.
    """

    budget: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 700
    jitter: Annotated[float, Field(strict=True, ge=0, le=10)] = 0.5


class SynthBenchmark(Benchmark):
    """Programs from examples, an enumerative search with a budget, everything from a seed."""

    Options: ClassVar[type[Options]] = SynthOptions
    options: SynthOptions

    name = "synth"
    version = "1.0.0"
    grader_version = "1.0.0"
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
            raise SplitError(
                f"synth: split '{extra[0]}' has no tasks; sizes may name adapt, heldout, replay and drift"
            )
        chosen = {pool: self._chosen(seed, pool, sizes) for pool in POOLS}
        listed = json_digest([[entry.id, entry.digest] for entry in chosen["replay"]])
        return SplitManifest(
            schema_version=SPLITS_VERSION,
            benchmark_name=self.name,
            benchmark_version=self.version,
            seed=seed,
            **chosen,
            replay_selection=Preregistered(list_digest=listed, declared_at=_DECLARED_AT),
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
                f"synth: {split}: {size} tasks wanted, {len(made)} made; ask for 0 to {len(made)}, "
                f"or set the benchmark option '{split}'"
            )
        return tuple(
            TaskEntry(id=task.id, family=task.family, concept=task.concept_label, digest=task.digest)
            for task in Draws("synth", "splits", seed, pool).sample(made, size)
        )

    def charge(self, agent: Agent, path_type: PathType) -> Charge:
        """Nothing here can cost anything: it computes."""
        return "free"

    def check_agent(self, agent: Agent, path_type: PathType) -> None:
        """Refuse every agent but the search, and arguments it does not have."""
        if agent.name != AGENT_NAME:
            raise ConfigError(f"synth: unknown agent '{agent.name}'; its only agent is '{AGENT_NAME}'")
        if agent.model != "none":
            raise ConfigError(f"synth: agent '{AGENT_NAME}' uses no model; remove '{agent.model}'")
        _arguments(agent)

    def run(
        self, task: Task, phase: Phase, path_type: PathType, seed: int, *, context: AttemptContext
    ) -> Attempt:
        """Search once and grade what was found; a search without a result is graded 0."""
        known = self._by_id.get(task.id)
        if known is None or known.digest != task.digest:
            what = "does not exist" if known is None else "is another one"
            raise EngineError(
                f"synth: task {task.id} {what} with these benchmark options; plan the study again"
            )
        arguments = _arguments(context.agent)
        start = time.perf_counter()
        try:
            knowledge = _knowledge(context.state, context.state_digest)
        except AdaptationError as error:
            return Attempt(Status.AGENT_ERROR, error_type="AgentState", error_message=str(error))
        if path_type is PathType.ORACLE:
            found = Found(known.program, (), 0)
        else:
            found = attempt(known, knowledge, budget=arguments.budget, jitter=arguments.jitter, seed=seed)
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
        )


def _arguments(agent: Agent) -> AgentArguments:
    """The arguments of ``agent``; its limit on tool calls lowers the budget."""
    try:
        arguments = AgentArguments(**agent.arguments)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        known = list(AgentArguments.model_fields)
        what = first["msg"]
        if first["type"] == "extra_forbidden":
            what = f"no such argument{suggestion(where, known)}; '{AGENT_NAME}' has {', '.join(known)}"
        raise ConfigError(f"synth: agent argument '{where}': {what}; see docs/synth.md") from None
    limit = agent.limits.tool_calls
    if limit is None or limit >= arguments.budget:
        return arguments
    return arguments.model_copy(update={"budget": limit})


def _knowledge(state: Path, digest: str) -> Knowledge:
    return Knowledge() if digest == EMPTY_TREE else _read(state, digest)


@lru_cache(maxsize=32)
def _read(state: Path, digest: str) -> Knowledge:
    # The digest stands for what the folder holds: reading it again for each attempt would cost more
    # than the attempt.
    return read_state(state)

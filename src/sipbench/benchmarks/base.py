"""The benchmark contract: what an adapter of a benchmark offers to a study.

An adapter is one module with a subclass of :class:`Benchmark`, registered in the entry-point group
``sipbench.benchmarks``. It exports tasks and splits, runs one task, normalises the reward, and logs
the cost. It knows nothing of studies, journals or metrics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from sipbench.errors import ConfigError
from sipbench.protocol.agent_state import Through
from sipbench.protocol.digests import json_digest
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.records import SkillRef, Usage, UsageSource
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status

__all__ = [
    "Agent",
    "Attempt",
    "AttemptContext",
    "Benchmark",
    "Charge",
    "Limits",
    "Options",
    "Task",
    "options_document",
]

Charge = Literal["free", "paid", "unreported", "unknown"]
"""What is known beforehand of the money that an execution takes in a study: none, whatever the record says;
some, and the record says how much where it can; some, and no record will ever say how much; or nothing."""


class Options(BaseModel):
    """Options of a benchmark or adaptation; subclasses declare the fields.

    Unknown keys are refused. Paths are relative to the study file's folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    added: ClassVar[frozenset[str]] = frozenset()
    """Names of options that a later release added. At their default they are no part of what an attempt is,
    so that a study that was begun before goes on."""


def options_document(options: BaseModel) -> dict[str, Any]:
    """Options as plain JSON, as they decide what an attempt is and stand in a study's lock."""
    fields = type(options).model_fields
    added: frozenset[str] = getattr(type(options), "added", frozenset())
    at_default = {
        name
        for name in added
        if getattr(options, name) == fields[name].get_default(call_default_factory=True)
    }
    return options.model_dump(mode="json", by_alias=True, exclude=at_default)


@dataclass(frozen=True, slots=True)
class Task:
    """One item of a benchmark.

    Attributes:
        id: Stable across machines and releases.
        digest: Changes when the task changes: what the agent sees, what the grader checks.
        family: Its template or repository: the unit of clustering. None: a family of its own.
        concept: What can transfer between families, where the benchmark knows it.
        text: What the agent is shown, for near-duplicate search and for learners.
        metadata: Anything else; plain JSON.
    """

    id: str
    digest: str
    family: str | None = None
    concept: str | None = None
    text: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one attempt may use. None: no limit. They are part of an attempt's identity."""

    timeout_seconds: float | None = None
    tool_calls: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """Who attempts a task: name, version, model, arguments and limits."""

    name: str
    version: str = "0"
    model: str = "none"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    @property
    def digest(self) -> str:
        """Digest of everything above."""
        limits = {
            "timeout_seconds": self.limits.timeout_seconds,
            "tool_calls": self.limits.tool_calls,
            "tokens": self.limits.tokens,
        }
        return json_digest([self.name, self.version, self.model, dict(self.arguments), limits])


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """The surroundings of one attempt.

    Attributes:
        agent: Who attempts.
        state: The agent state, a directory that must not be changed; empty at T0.
        state_digest: Its digest.
        workdir: An empty directory for the engine's output, kept untouched afterwards.
        arm, split, repeat, attempt_index: Where the attempt stands in the design. Agents must not
            be told: only adapters of attempts that already exist need them.
    """

    agent: Agent
    state: Path
    state_digest: str
    workdir: Path
    arm: str
    split: Split
    repeat: int
    attempt_index: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came out of one execution.

    Attributes:
        status: How it ended. Only a graded status goes with a reward.
        reward: The verifier's own value, in ``Benchmark.reward_range``; None without a grade.
        success: Whether the benchmark calls it solved; None if it does not say.
        usage: What it consumed; what is unknown stays None.
        usage_source: Who counted.
        skills_given, skills_opened: Exposure; None if unknown.
        started_at, finished_at: Only where the attempt happened at another time (a recorded one).
        overrides: Record fields the attempt itself knows better than the plan (for recorded
            attempts: ``agent_version``, ``model_name``, ``attempt_seed``, …).
    """

    status: Status
    reward: float | None = None
    success: bool | None = None
    usage: Usage = field(default_factory=Usage)
    usage_source: UsageSource | None = None
    error_type: str | None = None
    error_message: str | None = None
    skills_given: tuple[SkillRef, ...] | None = None
    skills_opened: tuple[SkillRef, ...] | None = None
    started_at: str | None = None
    finished_at: str | None = None
    notes: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)


class Benchmark(ABC):
    """An adapter of one benchmark.

    An instance is made from its options in the process that plans and again in each worker; it
    must be cheap to make and hold no state that an attempt could change.
    """

    contract_version: ClassVar[int] = 1
    Options: ClassVar[type[Options]] = Options
    replaceable: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Options that the command line may replace, since they are this machine's business: the place of each in
    ``Options`` (``("sandbox_options", "base")``) by its name there (``sandbox_base``: ``--sandbox-base``)."""

    name: str
    """``skillsbench``, ``tau-bench``, ``tau2-bench``, ``swe-bench-live``, or the adapter's own."""
    version: str
    grader_version: str
    engine: str
    """What executes attempts, with its version, for instance ``harbor 0.26.0``."""
    reward_range: tuple[float, float] = (0.0, 1.0)
    normalization: str
    """A sentence: how a reward becomes a score in [0, 1]."""
    grace_seconds: float = 60.0
    """What building, grading and clean-up may take beyond the agent's own time limit: an attempt that
    takes longer is ended from outside. It plays no part where the agent has no limit."""
    recorded: bool = False
    """Whether its attempts happened before the study: their own times count, and a declared delay before T2
    is not waited for."""
    arms_apart: bool = False
    """Whether its engine is to do one arm after the other, as one that loads an agent for a whole job."""

    def __init__(self, options: Any, *, base: Path) -> None:
        """Make the adapter.

        Args:
            options: An instance of ``Options``. An adapter may replace ``self.options`` by a copy in which
                what was left open is settled (``auto``): that is what the study records.
            base: The folder that relative paths start from.
        """
        self.options = options
        self.base = base

    @abstractmethod
    def tasks(self) -> Sequence[Task]:
        """Every task, in a stable order.

        Raises:
            EngineError: The tasks cannot be read.
        """

    @abstractmethod
    def splits(self, seed: int, sizes: Mapping[Split, int]) -> SplitManifest:
        """Divide the tasks into replay, adapt, heldout and, where there is one, drift.

        Args:
            seed: Decides every free choice.
            sizes: Wanted number of tasks per split; a split that is not named gets the adapter's default.

        Raises:
            SplitError: A split cannot be filled.
        """

    @abstractmethod
    def run(
        self, task: Task, phase: Phase, path_type: PathType, seed: int, *, context: AttemptContext
    ) -> Attempt | Awaitable[Attempt]:
        """Execute one attempt and have it graded.

        A plain function runs in a worker process, a coroutine function on the runner's event loop.
        An agent's failure is a status, not an exception; an exception counts as an
        infrastructure error of this attempt.
        """

    def normalize(self, reward: float) -> float:
        """Turn a reward into a score: linear from ``reward_range`` to [0, 1]."""
        low, high = self.reward_range
        return (reward - low) / (high - low)

    def check_agent(self, agent: Agent, path_type: PathType) -> None:
        """Refuse an agent that cannot run here.

        Raises:
            ConfigError: Unknown agent, model or argument.
        """

    def check_delivery(self, agent: Agent, through: Through) -> None:
        """Refuse to give skills to an agent in a way that is not possible here.

        Raises:
            ConfigError: It is not, and what is.
        """
        if through != "files":
            raise ConfigError(f"benchmark '{self.name}' gives skills as files alone; drop `through`")

    def charge(self, agent: Agent, path_type: PathType) -> Charge:
        """What is known beforehand of the money that an attempt takes: a cap on it rests on that.

        ``free`` is for what cannot cost anything; there, an unknown cost is none.
        """
        return "unknown"

    def preflight(self) -> None:
        """Check before the first attempt that attempts can run at all.

        Raises:
            EngineError: They cannot, and what to do.
        """

    def private_paths(self) -> Sequence[Path]:
        """Files and folders with task texts or answers, which an adaptation must not read."""
        return ()

"""The executor contract: what carries out attempts and adaptations.

An executor is one module with a subclass of :class:`Executor`, registered in the entry-point group
``sipbench.executors``. It is handed jobs that are plain data, so that they can be carried out in any
process on any machine that sees the study directory; what a job leaves there is the truth, and a job
that is lost is simply handed out again. :mod:`sipbench.study.executors.perform` is what carrying out
means, wherever it happens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from sipbench import plugins
from sipbench.adaptation.base import AdaptationOutcome, AdaptationRequest
from sipbench.benchmarks.base import Attempt, AttemptContext, Benchmark, Task
from sipbench.errors import EngineError
from sipbench.protocol.vocabulary import PathType, Phase
from sipbench.study.guard import guarded

__all__ = ["AdaptationDone", "AdaptationJob", "AttemptDone", "AttemptJob", "Executor", "Recipe", "Times"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How any process makes the study's benchmark.

    Attributes:
        name: Its registered name.
        options: Its options as plain JSON.
        base: The folder that relative paths in them start from.
    """

    name: str
    options: Mapping[str, Any]
    base: Path

    def make(self) -> Benchmark:
        """Make the benchmark.

        Raises:
            SipbenchError: It cannot be made here.
        """
        found = plugins.load("benchmarks", self.name)
        options = found.Options.model_validate(dict(self.options))
        made = guarded(f"benchmark '{self.name}'", lambda: found(options, base=self.base))
        if not isinstance(made, Benchmark):
            raise EngineError(f"benchmark '{self.name}' is no subclass of Benchmark")
        return made


@dataclass(frozen=True, slots=True)
class AttemptJob:
    """One try of one attempt.

    Attributes:
        deadline_seconds: After how long it is ended from outside: its own time limit and what the
            benchmark grants for building, grading and clean-up; None: never.
    """

    task: Task
    phase: Phase
    path_type: PathType
    seed: int
    context: AttemptContext
    deadline_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AdaptationJob:
    """One adaptation: which, with which options, and what it is handed."""

    kind: str
    options: Mapping[str, Any]
    base: Path
    request: AdaptationRequest


@dataclass(frozen=True, slots=True)
class Times:
    """When something was carried out, and how long it took by a monotonic clock."""

    started_at: str
    finished_at: str
    seconds: float


@dataclass(frozen=True, slots=True)
class AttemptDone:
    """A try that ended, in whatever way."""

    attempt: Attempt
    times: Times


@dataclass(frozen=True, slots=True)
class AdaptationDone:
    """An adaptation that wrote its agent state."""

    outcome: AdaptationOutcome
    times: Times


class Executor(ABC):
    """Carries out jobs. The runner decides how many at a time."""

    contract_version: ClassVar[int] = 1

    def __init__(self, recipe: Recipe, *, concurrency: int) -> None:
        """Make it; nothing is started before :meth:`open`.

        Args:
            recipe: How to make the benchmark.
            concurrency: How many jobs there will be at the same time, at most.
        """
        self.recipe = recipe
        self.concurrency = concurrency

    async def open(self) -> None:
        """Get ready.

        Raises:
            EngineError: Nothing can be carried out here.
        """

    @abstractmethod
    async def attempt(self, job: AttemptJob) -> AttemptDone:
        """Carry out one try.

        An exception in the benchmark or a lost worker is an ``infrastructure_error``; a job that is
        past its deadline is ended and is an ``agent_error`` of type ``timeout``. When this is
        cancelled, so is the job.

        Raises:
            EngineError: The executor itself cannot go on.
        """

    @abstractmethod
    async def adapt(self, job: AdaptationJob) -> AdaptationDone:
        """Carry out one adaptation, in a process that has held no task of the benchmark.

        Raises:
            AdaptationError: It failed.
            EngineError: The executor itself cannot go on.
        """

    async def close(self) -> None:
        """End what was started; jobs that still run are given up."""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

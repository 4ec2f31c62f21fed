"""A benchmark and an adaptation for tests: they do what their options say, in real worker processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from sipbench.adaptation.base import Adaptation, AdaptationOutcome
from sipbench.benchmarks.base import Attempt, Benchmark, Options, Task
from sipbench.errors import AdaptationError, ConfigError, EngineError
from sipbench.protocol.digests import json_digest
from sipbench.protocol.manifest import Preregistered, SplitManifest, TaskEntry, replay_list_digest
from sipbench.protocol.records import Usage
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.protocol.vocabulary import PathType, Status

made = 0
"""Benchmarks that were made in this process."""

POOLS = ("heldout", "replay", "adapt", "adapt_t2", "drift")


class TrialOptions(Options):
    """``does``: what happens to a task, by its id or the start of it; see ``TrialBenchmark.run``."""

    heldout: int = 3
    replay: int = 2
    adapt: int = 2
    adapt_t2: int = 0
    drift: int = 0
    does: dict[str, str] = Field(default_factory=dict)
    content: dict[str, str] = Field(default_factory=dict)
    grader: str = "1"
    reward_range: tuple[float, float] = (0.0, 1.0)
    preflight: str | None = None
    grace: float = 0.2
    twice: bool = False
    charge: dict[str, str] = Field(default_factory=dict)
    usd: float | None = None
    sandbox: str = "auto"
    sandbox_options: dict[str, Any] = Field(default_factory=dict)


class TrialBenchmark(Benchmark):
    """Tasks named ``heldout-0`` and so on; the score follows from the attempt's seed."""

    Options = TrialOptions
    replaceable: ClassVar[Any] = {"sandbox": ("sandbox",), "sandbox_base": ("sandbox_options", "base")}
    name = "trial"
    version = "1"
    engine = "trial 1"
    normalization = "linear"

    def __init__(self, options: Any, *, base: Path) -> None:
        global made
        made += 1
        if options.sandbox == "auto":
            options = options.model_copy(update={"sandbox": "here"})
        super().__init__(options, base=base)
        self.grader_version = options.grader
        self.reward_range = options.reward_range
        self.grace_seconds = options.grace

    def tasks(self) -> list[Task]:
        found = [
            Task(
                id=f"{pool}-{number}",
                digest=json_digest([pool, number, self.options.content.get(f"{pool}-{number}")]),
                text=f"secret text of {pool}-{number}",
                metadata={"pool": pool},
            )
            for pool in POOLS
            for number in range(getattr(self.options, pool))
        ]
        return [*found, found[0]] if self.options.twice else found

    def splits(self, seed: int, sizes: Any) -> SplitManifest:
        pools = {
            pool: tuple(
                TaskEntry(id=task.id, digest=task.digest)
                for task in self.tasks()
                if task.metadata["pool"] == pool
            )
            for pool in POOLS
        }
        return SplitManifest(
            schema_version=SPLITS_VERSION,
            benchmark_name=self.name,
            benchmark_version=self.version,
            replay_selection=Preregistered(
                list_digest=replay_list_digest(pools["replay"]), declared_at="2026-01-01T00:00:00Z"
            ),
            drift_changes=("evidence",),
            **pools,
        )

    def check_agent(self, agent: Any, path_type: PathType) -> None:
        if agent.name == "nobody":
            raise ConfigError("agent.name: trial does not know 'nobody'")

    def charge(self, agent: Any, path_type: PathType) -> Any:
        return self.options.charge.get(path_type.value, "unknown")

    def preflight(self) -> None:
        if self.options.preflight:
            raise EngineError(self.options.preflight)

    def private_paths(self) -> list[Path]:
        return [self.base / "answers"]

    def _does(self, task: Task, context: Any) -> str:
        does: dict[str, str] = self.options.does
        keys = (f"{context.arm}/{task.id}", task.id, task.id.partition("-")[0])
        return next((does[key] for key in keys if key in does), "score")

    def _called(self, task: Task, phase: Any, context: Any) -> int:
        """Note the call; how often this very attempt was called before."""
        line = f"{context.arm} {context.repeat} {phase} {task.id} {context.attempt_index}\n"
        path = self.base / "calls.log"
        before = path.read_text().splitlines().count(line.strip()) if path.exists() else 0
        with path.open("a") as handle:
            handle.write(line)
        return before

    def run(self, task: Task, phase: Any, path_type: Any, seed: int, *, context: Any) -> Attempt:
        before = self._called(task, phase, context)
        what = self._does(task, context)
        if "-once" in what:
            what = what.replace("-once", "") if before == 0 else "score"
        (context.workdir / "answer.json").write_text(json.dumps({"seed": seed, "try": before}))
        return self._outcome(what, seed, context)

    def _outcome(self, what: str, seed: int, context: Any) -> Attempt:
        usage = Usage(tool_calls_total=10, token_total=100, cost_usd=self.options.usd)
        low, high = self.reward_range
        learned = (context.state / "learned.json").exists()
        score = low + (high - low) * min(1.0, (seed % 1000) / 1250 + (0.2 if learned else 0.0))
        match what:
            case "score":
                return Attempt(Status.GRADED, reward=score, success=score > 0.5, usage=usage)
            case "nan":
                return Attempt(Status.GRADED, reward=float("nan"), usage=usage)
            case "too-high":
                return Attempt(Status.GRADED, reward=high + 1, usage=usage)
            case "no-reward":
                return Attempt(Status.GRADED, usage=usage)
            case "agent-error":
                return Attempt(Status.AGENT_ERROR, error_type="GaveUp", error_message="no", usage=usage)
            case "raise":
                raise RuntimeError("the network is away")
            case "exit":
                sys.exit(3)
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "die-with-child":  # which holds open whatever the worker had open
                if os.fork() == 0:
                    time.sleep(600)
                os._exit(3)
            case "fork-and-return":
                os.fork()
            case "leave":
                raise Leaving("by itself")
            case "cancelled":
                raise asyncio.CancelledError
            case "hang":
                time.sleep(600)
            case "wait":
                time.sleep(0.4)
            case "bytes":
                os.write(1, b"caf\xe9 \xff\xfe\n")
                message = b"caf\xe9".decode("utf-8", "surrogateescape")
                return Attempt(Status.AGENT_ERROR, error_message=message, notes=message, usage=usage)
            case "unknown-usage":
                return Attempt(Status.GRADED, reward=score)
            case "not-an-attempt":
                return {"status": "graded"}  # type: ignore[return-value]
            case "unpicklable":
                return Attempt(Status.GRADED, reward=score, metadata={"f": lambda: 1})
            case "override":
                return Attempt(Status.GRADED, reward=score, overrides={"arm": "other"})
            case "spoil-state":
                (context.state / "more.txt").write_text("more")
        return Attempt(Status.GRADED, reward=score, usage=usage)


class Leaving(BaseException):
    """What `except Exception` does not hear."""


class AsyncTrialBenchmark(TrialBenchmark):
    """The same on the event loop."""

    async def run(  # type: ignore[override]
        self, task: Task, phase: Any, path_type: Any, seed: int, *, context: Any
    ) -> Attempt:
        what = self._does(task, context)
        if what == "hang":
            await asyncio.sleep(600)
        while what == "stubborn":
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(600)
        await asyncio.sleep(0)
        (context.workdir / "where.txt").write_text(str(os.getpid()))
        return super().run(task, phase, path_type, seed, context=context)


class LearnerOptions(Options):
    """``does``: what happens; ``note``: stands for any option that matters; ``usd``: what it says it cost."""

    usd: float | None = None
    charge: str = "unknown"

    does: str = "learn"
    note: str = ""
    reads: str | None = None


class TrialLearner(Adaptation):
    """Writes what it was shown into the agent state."""

    Options = LearnerOptions
    path_type = PathType.EXTERNAL

    @property
    def charge(self) -> Any:  # type: ignore[override]
        return self.options.charge

    def inputs_digest(self) -> str | None:
        reads = self.options.reads
        return None if reads is None else json_digest((self.base / reads).read_text())

    def adapt(self, request: Any) -> AdaptationOutcome:
        shown = sorted(request.attempts.iterdir())
        learned = {
            "tasks": [json.loads((each / "attempt.json").read_text())["task"]["id"] for each in shown],
            "previous": sorted(path.name for path in request.previous.iterdir()),
        }
        seen = {
            "root": str(request.attempts),
            "files": {
                path.relative_to(request.attempts).as_posix(): path.read_text()
                for path in request.attempts.rglob("*")
                if path.is_file()
            },
            "hidden": [str(path) for path in request.hidden],
            "benchmark_made": made > 0,
        }
        (self.base / f"seen-{request.repeat}-{request.phase}.json").write_text(json.dumps(seen))
        marker = self.base / "failed-before"
        match self.options.does:
            case "fail":
                raise AdaptationError("there is nothing to learn here")
            case "fail-once" if not marker.exists():
                marker.touch()
                raise AdaptationError("not this time")
            case "raise":
                raise ValueError("a bug")
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "link":
                (request.state / "link").symlink_to("/etc/passwd")
            case "nan":
                return AdaptationOutcome(metadata={"x": float("nan")})
            case "long":
                return AdaptationOutcome(metadata={"x": "y" * 17 * 1024 * 1024})
        (request.state / "learned.json").write_text(json.dumps(learned))
        usage = Usage(tool_calls_total=3, token_total=0, cost_usd=self.options.usd)
        return AdaptationOutcome(usage, metadata={"shown": len(shown)})

"""One benchmark for each test, in boxes of one store; skips where no box can be started."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sipbench.benchmarks.base import Agent, Attempt, AttemptContext, Limits
from sipbench.protocol.digests import EMPTY_TREE, tree_digest
from sipbench.protocol.vocabulary import PathType, Phase, Split
from tests.sandbox.conftest import Place, place

__all__ = ["HERE", "Engine", "place", "running"]

HERE = "tests.benchmarks.harbor.agents"


def running(word: str) -> list[str]:
    """Command lines of other processes with ``word`` among their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
            except OSError:
                continue
            if word in line.split("\0"):
                found.append(line)
    return found


@dataclass
class Engine:
    """The benchmark over a folder of tasks, and a way to make attempts."""

    root: Path
    options: dict[str, Any] = field(default_factory=dict)
    made: int = 0

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    def benchmark(self) -> Any:
        from sipbench.benchmarks.harbor.benchmark import HarborBenchmark

        given = {"tasks": "tasks", "sandbox": "bwrap", **self.options}
        return HarborBenchmark(HarborBenchmark.Options.model_validate(given), base=self.root)

    def coroutine(
        self,
        agent: str = "nop",
        path_type: PathType = PathType.FROZEN,
        state: Path | None = None,
        task: int = 0,
        timeout_seconds: float | None = None,
        **fields: Any,
    ) -> Any:
        """One attempt, not begun."""
        benchmark = self.benchmark()
        self.made += 1
        workdir = self.root / "study" / "attempts" / f"{self.made:032x}"
        workdir.mkdir(parents=True)
        empty = self.root / "empty"
        empty.mkdir(exist_ok=True)
        name = f"{HERE}:{agent}" if agent[:1].isupper() else agent
        context = AttemptContext(
            agent=Agent(name, limits=Limits(timeout_seconds=timeout_seconds), **fields),
            state=state or empty,
            state_digest=tree_digest(state) if state else EMPTY_TREE,
            workdir=workdir,
            arm="arm",
            split=Split.HELDOUT,
            repeat=0,
            attempt_index=0,
        )
        phase = Phase.T1 if state else Phase.T0
        return benchmark.run(benchmark.tasks()[task], phase, path_type, 7, context=context)

    def attempt(self, agent: str = "nop", *args: Any, **kwargs: Any) -> Attempt:
        """One attempt, made."""
        return asyncio.run(self.coroutine(agent, *args, **kwargs))

    @property
    def workdir(self) -> Path:
        """The folder of the last attempt."""
        return self.root / "study" / "attempts" / f"{self.made:032x}"

    @property
    def trial(self) -> Path:
        """The folder that Harbor made for the last attempt."""
        (folder,) = [path for path in self.workdir.iterdir() if path.is_dir()]
        return folder


@pytest.fixture
def engine(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> Engine:
    pytest.importorskip("harbor", reason="these tests need the extra 'harbor'")
    pytest.importorskip("dockerfile", reason="these tests need the extra 'harbor'")
    monkeypatch.setenv("SIPBENCH_SANDBOX", str(place.store.root))
    return Engine(tmp_path)


@pytest.fixture
def skills_state(tmp_path: Path) -> Callable[..., Path]:
    """Makes an agent state with the given skills."""
    from tests.benchmarks.harbor.made import make_skill

    def make(*names: str) -> Path:
        for name in names:
            make_skill(tmp_path / "state" / "skills" / name)
        return tmp_path / "state"

    return make

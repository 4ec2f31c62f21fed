"""The executor contract, on jobs as the runner makes them."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sipbench import plugins as registry
from sipbench.adaptation.base import AdaptationRequest
from sipbench.benchmarks.base import Agent, AttemptContext, Limits, Task
from sipbench.errors import AdaptationError, EngineError
from sipbench.protocol.digests import EMPTY_TREE
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status
from sipbench.study.executors import local
from sipbench.study.executors.base import AdaptationJob, AttemptDone, AttemptJob, Executor, Recipe
from sipbench.study.executors.local import LocalExecutor


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., AttemptJob]:
    """A function that makes an attempt of a task that does what its id says."""

    def make(does: str, number: int = 0, deadline: float | None = None) -> AttemptJob:
        workdir = tmp_path / f"{does}-{number}"
        workdir.mkdir()
        context = AttemptContext(
            Agent("somebody", limits=Limits(timeout_seconds=deadline)),
            tmp_path / "state",
            EMPTY_TREE,
            workdir,
            "arm",
            Split.HELDOUT,
            0,
            number,
        )
        task = Task(id=f"{does}-{number}", digest="sha256:0")
        return AttemptJob(task, Phase.T0, PathType.FROZEN, 500, context, deadline)

    return make


def recipe(tmp_path: Path, name: str = "trial", **options: Any) -> Recipe:
    kinds = ("score", "raise", "die", "hang", "wait", "exit", "cancelled", "leave", "stubborn")
    kinds += ("die-with-child", "fork-and-return")
    return Recipe(name, {"does": {kind: kind for kind in kinds}, **options}, tmp_path)


def named(job: AttemptJob, does: str) -> AttemptJob:
    """The job of a task that does what cannot be a task's first name."""
    return replace(job, task=replace(job.task, id=does))


def run[Result](work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


def adaptation(tmp_path: Path, **options: Any) -> AdaptationJob:
    for name in ("attempts", "previous", "state"):
        (tmp_path / name).mkdir(exist_ok=True)
    request = AdaptationRequest(
        tmp_path / "attempts", tmp_path / "previous", tmp_path / "state", Phase.T1, 0, 1
    )
    return AdaptationJob("trial-learner", options, tmp_path, request)


def test_the_local_executor_is_registered_like_anybody_s() -> None:
    assert registry.load("executors", "local") is LocalExecutor
    assert issubclass(LocalExecutor, Executor)
    assert LocalExecutor.contract_version == registry.CONTRACT_VERSIONS["executors"]


def test_jobs_are_plain_data(job: Callable[..., AttemptJob], tmp_path: Path) -> None:
    for plain in (job("score"), adaptation(tmp_path), recipe(tmp_path)):
        assert pickle.loads(pickle.dumps(plain)) == plain


@pytest.mark.usefixtures("plugins")
def test_one_bad_job_does_not_disturb_another(job: Callable[..., AttemptJob], tmp_path: Path) -> None:
    async def work() -> list[AttemptDone]:
        async with LocalExecutor(recipe(tmp_path), concurrency=3) as executor:
            kinds = ["score", "die", "raise", "exit", "score"]
            return await asyncio.gather(*(executor.attempt(job(kind, n)) for n, kind in enumerate(kinds)))

    done = run(work())
    assert [each.attempt.error_type for each in done] == [
        None,
        "WorkerDied",
        "RuntimeError",
        "SystemExit",
        None,
    ]
    assert done[0].attempt.status is Status.GRADED
    assert done[0].times.seconds >= 0
    assert done[0].times.started_at <= done[0].times.finished_at


@pytest.mark.usefixtures("plugins")
def test_a_process_is_used_again(job: Callable[..., AttemptJob], tmp_path: Path) -> None:
    async def work() -> None:
        async with LocalExecutor(recipe(tmp_path), concurrency=1) as executor:
            for number in range(3):
                await executor.attempt(job("score", number))
            assert len(executor._attempts._idle) == 1

    run(work())


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("name", ["trial", "trial-async"])
def test_a_job_that_hangs_is_ended_and_the_next_one_is_carried_out(
    job: Callable[..., AttemptJob], tmp_path: Path, name: str
) -> None:
    async def work() -> list[AttemptDone]:
        async with LocalExecutor(recipe(tmp_path, name), concurrency=1) as executor:
            return [await executor.attempt(job("hang", 0, 0.05)), await executor.attempt(job("score"))]

    late, after = run(work())
    assert (late.attempt.status, late.attempt.error_type) == (Status.AGENT_ERROR, "timeout")
    assert after.attempt.status is Status.GRADED


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize("name", ["trial", "trial-async"])
def test_a_job_is_given_up_when_its_caller_is_cancelled(
    job: Callable[..., AttemptJob], tmp_path: Path, name: str
) -> None:
    async def work() -> None:
        async with LocalExecutor(recipe(tmp_path, name), concurrency=1) as executor:
            task = asyncio.create_task(executor.attempt(job("hang")))
            while not task.done() and name == "trial" and not executor._attempts._busy:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await executor.attempt(job("score"))).attempt.status is Status.GRADED

    run(work())


@pytest.mark.usefixtures("plugins")
def test_a_worker_that_dies_is_missed_though_its_child_lives(
    job: Callable[..., AttemptJob], tmp_path: Path
) -> None:
    async def work() -> AttemptDone:
        async with LocalExecutor(recipe(tmp_path), concurrency=1) as executor:
            return await asyncio.wait_for(executor.attempt(named(job("score"), "die-with-child")), 60)

    done = run(work())
    assert (done.attempt.status, done.attempt.error_type) == (Status.INFRASTRUCTURE_ERROR, "WorkerDied")
    assert "ended with status 3" in str(done.attempt.error_message)


def _alive(parent: int) -> list[int]:
    """Children of a process that have not ended."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
    return [int(pid) for pid in found if ") Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")]


@pytest.mark.usefixtures("plugins")
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
def test_an_attempt_that_returns_in_two_processes_answers_once(
    job: Callable[..., AttemptJob], tmp_path: Path
) -> None:
    async def work() -> list[AttemptDone]:
        async with LocalExecutor(recipe(tmp_path), concurrency=1) as executor:
            first = await executor.attempt(named(job("wait"), "fork-and-return"))
            (worker,) = executor._attempts._idle
            while _alive(worker._process.pid):  # the other process, which must not take the next job
                await asyncio.sleep(0.01)
            return [first, *[await executor.attempt(job("raise", number)) for number in range(3)]]

    first, *others = run(asyncio.wait_for(work(), 60))
    assert first.attempt.status is Status.GRADED
    assert {done.attempt.error_type for done in others} == {"RuntimeError"}


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(("does", "said"), [("cancelled", "CancelledError"), ("leave", "Leaving")])
def test_what_an_attempt_on_the_event_loop_raises_ends_nothing_else(
    job: Callable[..., AttemptJob], tmp_path: Path, does: str, said: str
) -> None:
    async def work() -> list[AttemptDone]:
        async with LocalExecutor(recipe(tmp_path, "trial-async"), concurrency=2) as executor:
            return await asyncio.gather(executor.attempt(job(does)), executor.attempt(job("score")))

    broken, other = run(work())
    assert (broken.attempt.status, broken.attempt.error_type) == (Status.INFRASTRUCTURE_ERROR, said)
    assert other.attempt.status is Status.GRADED


@pytest.mark.usefixtures("plugins")
def test_an_attempt_that_ignores_that_it_is_cancelled_does_not_keep_the_study_from_ending(
    job: Callable[..., AttemptJob], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_CANCEL_SECONDS", 0.05)

    async def work() -> AttemptDone:
        async with LocalExecutor(recipe(tmp_path, "trial-async"), concurrency=1) as executor:
            return await executor.attempt(job("stubborn", 0, 0.05))

    assert run(work()).attempt.error_type == "timeout"


@pytest.mark.usefixtures("plugins")
def test_closing_ends_what_still_runs(job: Callable[..., AttemptJob], tmp_path: Path) -> None:
    async def work() -> tuple[int, asyncio.Task[AttemptDone]]:
        executor = LocalExecutor(recipe(tmp_path), concurrency=1)
        await executor.open()
        task = asyncio.create_task(executor.attempt(job("hang")))
        while not executor._attempts._busy:
            await asyncio.sleep(0.01)
        (worker,) = executor._attempts._busy
        await executor.close()
        await asyncio.wait({task})
        return worker._process.pid, task

    pid, task = run(work())
    assert task.result().attempt.error_type == "WorkerDied"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.usefixtures("plugins")
def test_a_benchmark_that_cannot_be_made_ends_the_study_with_its_reason(tmp_path: Path) -> None:
    async def work(name: str) -> None:
        async with LocalExecutor(recipe(tmp_path, name), concurrency=1):
            pass

    with pytest.raises(Exception, match="unknown benchmark 'gone'"):
        run(work("gone"))


def test_a_worker_that_cannot_make_the_benchmark_says_why(
    job: Callable[..., AttemptJob],
    plugins: None,
    installed: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        async with LocalExecutor(recipe(tmp_path), concurrency=1) as executor:
            # From here on a new process does not find the plug-in that this one has loaded.
            monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in installed])
            await executor.attempt(job("score"))

    with pytest.raises(EngineError, match="unknown benchmark 'trial'"):
        run(work())


@pytest.mark.usefixtures("plugins")
def test_an_adaptation_writes_its_state_in_a_process_of_its_own(tmp_path: Path) -> None:
    async def work() -> Any:
        async with LocalExecutor(recipe(tmp_path), concurrency=1) as executor:
            return await executor.adapt(adaptation(tmp_path))

    done = run(work())
    assert done.outcome.usage.tool_calls_total == 3
    assert (tmp_path / "state" / "learned.json").exists()


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("fail", "there is nothing to learn here"),
        ("raise", "adaptation 'trial-learner' failed: ValueError: a bug"),
        ("die", "adaptation 'trial-learner': the worker process was killed by SIGKILL"),
    ],
)
def test_a_failed_adaptation_says_why(tmp_path: Path, does: str, said: str) -> None:
    async def work() -> None:
        async with LocalExecutor(recipe(tmp_path), concurrency=1) as executor:
            await executor.adapt(adaptation(tmp_path, does=does))

    with pytest.raises(AdaptationError) as caught:
        run(work())
    assert str(caught.value) == said

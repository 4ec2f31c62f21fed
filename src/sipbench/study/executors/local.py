"""This machine: worker processes for plain functions, the runner's event loop for coroutine functions."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, ClassVar

from sipbench.benchmarks.base import Attempt, Benchmark
from sipbench.errors import AdaptationError, SipbenchError
from sipbench.protocol.vocabulary import Status
from sipbench.study.executors.base import (
    AdaptationDone,
    AdaptationJob,
    AttemptDone,
    AttemptJob,
    Executor,
    Recipe,
)
from sipbench.study.executors.perform import Clock, broken, perform_attempt_async, runs_async
from sipbench.study.executors.process import WorkerDiedError, WorkerProcess
from sipbench.study.executors.worker import Failure
from sipbench.study.guard import describe

__all__ = ["LocalExecutor"]

_log = logging.getLogger(__name__)

_CANCEL_SECONDS = 5.0


class LocalExecutor(Executor):
    """asyncio and processes.

    A process that ends under a job is replaced, one that hangs is killed with all it started.
    Adaptations have processes of their own, in which the benchmark is never made.
    """

    contract_version: ClassVar[int] = 1

    def __init__(self, recipe: Recipe, *, concurrency: int) -> None:
        super().__init__(recipe, concurrency=concurrency)
        self._attempts = _Pool(recipe)
        self._adaptations = _Pool(None)
        self._benchmark: Benchmark | None = None

    async def open(self) -> None:
        """Make the benchmark here if its attempts run on the event loop."""
        benchmark = self.recipe.make()
        if runs_async(benchmark):
            self._benchmark = benchmark

    async def attempt(self, job: AttemptJob) -> AttemptDone:
        """See :meth:`Executor.attempt`."""
        if self._benchmark is not None:
            return await self._here(self._benchmark, job)
        clock = Clock()
        try:
            answer = await self._attempts.ask(job, job.deadline_seconds)
        except TimeoutError:
            return AttemptDone(_late(job), clock.times())
        except WorkerDiedError as error:
            return AttemptDone(broken("WorkerDied", str(error)), clock.times())
        except SipbenchError:
            raise
        except Exception as error:
            what = f"what run() returned cannot be read here: {type(error).__name__}: {error}"
            return AttemptDone(broken("ContractError", what), clock.times())
        if isinstance(answer, AttemptDone):
            return answer
        return AttemptDone(broken("ContractError", _message(answer)), clock.times())

    async def _here(self, benchmark: Benchmark, job: AttemptJob) -> AttemptDone:
        clock = Clock()
        task = asyncio.create_task(perform_attempt_async(benchmark, job))
        try:
            done, _ = await asyncio.wait({task}, timeout=job.deadline_seconds)
        except asyncio.CancelledError:
            await _give_up(task)
            raise
        if done:
            return _result(task, clock)
        await _give_up(task)
        return AttemptDone(_late(job), clock.times())

    async def adapt(self, job: AdaptationJob) -> AdaptationDone:
        """See :meth:`Executor.adapt`."""
        try:
            answer = await self._adaptations.ask(job, None)
        except WorkerDiedError as error:
            raise AdaptationError(f"adaptation '{job.kind}': {error}") from None
        except SipbenchError:
            raise
        except Exception as error:
            what = f"adaptation '{job.kind}': its outcome cannot be read here"
            raise AdaptationError(f"{what}: {type(error).__name__}: {error}") from None
        if isinstance(answer, AdaptationDone):
            return answer
        raise AdaptationError(_message(answer))

    async def close(self) -> None:
        """End all processes."""
        await asyncio.gather(self._attempts.close(), self._adaptations.close())


class _Pool:
    """Processes of one kind; as many as there are jobs at the same time."""

    def __init__(self, recipe: Recipe | None) -> None:
        self._recipe = recipe
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()

    async def ask(self, job: Any, deadline: float | None) -> Any:
        """Have a process carry out ``job``.

        Raises:
            WorkerDiedError: The process ended.
            TimeoutError: The job took longer than ``deadline`` seconds; it is ended.
            EngineError: No process can be started.
        """
        worker = await self._worker()
        self._busy.add(worker)
        try:
            # Most jobs have no deadline, and a timer for each would cost more than the rest of this.
            answer = await (
                worker.ask(job) if deadline is None else asyncio.wait_for(worker.ask(job), deadline)
            )
        except BaseException:
            # Died, late, given up or unreadable: what this process still holds is nobody's any more.
            self._busy.discard(worker)
            await worker.kill()
            raise
        self._busy.discard(worker)
        self._idle.append(worker)
        return answer

    async def _worker(self) -> WorkerProcess:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            await worker.kill()
        return await WorkerProcess.start(self._recipe)

    async def close(self) -> None:
        """End them."""
        idle, self._idle = self._idle, []
        busy, self._busy = self._busy, set()
        await asyncio.gather(*(worker.close() for worker in idle), *(worker.kill() for worker in busy))


async def _give_up(task: asyncio.Task[AttemptDone]) -> None:
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=_CANCEL_SECONDS)
    if not done:
        _log.warning("an attempt does not end although it was cancelled; it is left behind")
        # The event loop would wait for it at its own end, for ever.
        asyncio.tasks._unregister_task(task)


def _result(task: asyncio.Task[AttemptDone], clock: Clock) -> AttemptDone:
    """What a task that ended came to; one that something else than the runner ended is broken."""
    if task.cancelled():
        return AttemptDone(broken("CancelledError", "run() was cancelled from inside"), clock.times())
    error = task.exception()
    if error is None:
        return task.result()
    return AttemptDone(broken(type(error).__name__, describe(error)), clock.times())


def _late(job: AttemptJob) -> Attempt:
    limit = job.context.agent.limits.timeout_seconds
    what = f"ended from outside {job.deadline_seconds:g} s after its start; its limit is {limit:g} s"
    return Attempt(Status.AGENT_ERROR, error_type="timeout", error_message=what)


def _message(answer: Any) -> str:
    return answer.message if isinstance(answer, Failure) else f"unexpected answer {type(answer).__name__}"

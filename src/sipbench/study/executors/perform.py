"""Carrying out one job, in whatever process: the only place that calls ``run`` and ``adapt``."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sipbench import plugins
from sipbench.adaptation.base import Adaptation, AdaptationOutcome
from sipbench.benchmarks.base import Attempt, Benchmark
from sipbench.errors import AdaptationError, SipbenchError
from sipbench.protocol.records import timestamp
from sipbench.protocol.vocabulary import Status
from sipbench.study.executors.base import AdaptationDone, AdaptationJob, AttemptDone, AttemptJob, Times
from sipbench.study.guard import describe, said_by

__all__ = ["Clock", "broken", "perform_adaptation", "perform_attempt", "perform_attempt_async", "runs_async"]

_log = logging.getLogger(__name__)


class Clock:
    """Measures one job: wall-clock times for the record, a monotonic clock for the duration."""

    def __init__(self) -> None:
        self._at = datetime.now(UTC)
        self._start = time.monotonic()

    def times(self) -> Times:
        """From when the clock was made until now."""
        seconds = time.monotonic() - self._start
        # A wall clock may be set back meanwhile; no attempt ends before it starts.
        end = max(self._at, datetime.now(UTC))
        return Times(timestamp(self._at), timestamp(end), seconds)


def broken(error_type: str, message: str) -> Attempt:
    """What an attempt is when its surroundings failed."""
    return Attempt(Status.INFRASTRUCTURE_ERROR, error_type=error_type, error_message=message)


def runs_async(benchmark: Benchmark) -> bool:
    """Whether the benchmark's ``run`` is a coroutine function."""
    return inspect.iscoroutinefunction(benchmark.run)


def perform_attempt(benchmark: Benchmark, job: AttemptJob) -> AttemptDone:
    """Carry out one try in this process."""

    def call() -> Any:
        found = benchmark.run(job.task, job.phase, job.path_type, job.seed, context=job.context)
        return asyncio.run(_awaited(found)) if inspect.isawaitable(found) else found

    clock = Clock()
    try:
        attempt = _checked(call())
    except (Exception, SystemExit) as error:
        attempt = _raised(error)
    return AttemptDone(attempt, clock.times())


async def perform_attempt_async(benchmark: Benchmark, job: AttemptJob) -> AttemptDone:
    """Carry out one try on the running event loop."""
    clock = Clock()
    try:
        attempt = _checked(
            await _awaited(benchmark.run(job.task, job.phase, job.path_type, job.seed, context=job.context))
        )
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # it would end the event loop, and with it every other attempt
        attempt = _raised(error)
    return AttemptDone(attempt, clock.times())


async def _awaited(found: Any) -> Any:
    return await found


def _checked(found: Any) -> Attempt:
    if isinstance(found, Attempt):
        return found
    return broken("ContractError", f"run() returned {type(found).__name__}, not an Attempt")


def _raised(error: BaseException) -> Attempt:
    _log.debug("an attempt raised", exc_info=error)
    return broken(type(error).__name__, said_by(error) or f"{type(error).__name__} without a message")


def perform_adaptation(job: AdaptationJob) -> AdaptationDone:
    """Carry out one adaptation in this process.

    Raises:
        AdaptationError: It failed, in whatever way.
    """
    clock = Clock()
    made = _saying(job.kind, lambda: _made(job))
    outcome = _saying(job.kind, lambda: made.adapt(job.request))
    if not isinstance(outcome, AdaptationOutcome):
        raise AdaptationError(
            f"adaptation '{job.kind}': adapt() returned {type(outcome).__name__}, not an AdaptationOutcome"
        )
    return AdaptationDone(outcome, clock.times())


def _made(job: AdaptationJob) -> Adaptation:
    found = plugins.load("adaptations", job.kind)
    adaptation: Adaptation = found(found.Options.model_validate(dict(job.options)), base=job.base)
    return adaptation


def _saying[Result](kind: str, call: Callable[[], Result]) -> Result:
    try:
        return call()
    except SipbenchError as error:
        raise AdaptationError(str(error)) from error
    except (Exception, SystemExit) as error:
        _log.debug("adaptation '%s' raised", kind, exc_info=True)
        raise AdaptationError(f"adaptation '{kind}' failed: {describe(error)}") from error

"""One attempt: try, score, try again where that was nobody's fault, record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sipbench.benchmarks.base import AttemptContext
from sipbench.protocol.records import RunRecord, Try, timestamp
from sipbench.protocol.vocabulary import Status
from sipbench.study.executors.base import AttemptJob, Executor
from sipbench.study.journal import INTERRUPTED, Failed, Started
from sipbench.study.ledger import Ledger
from sipbench.study.plan import Slot
from sipbench.study.scoring import Identified, Scorer, as_try
from sipbench.study.session import Session

__all__ = ["Attempting"]

_log = logging.getLogger(__name__)

_LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Attempting:
    """Makes attempts.

    Attributes:
        retries: Further tries after a verifier or infrastructure error.
        pause_seconds: How long to wait before the second try after an infrastructure error; twice
            as long before each further one.
        tried: Called with each failed try that another may follow.
        stop: Set when no further try may start.
        halted: Whether none may, asked right before one.
    """

    session: Session
    ledger: Ledger
    executor: Executor
    scorer: Scorer
    retries: int
    pause_seconds: float
    tried: Callable[[Slot, Try], None]
    stop: asyncio.Event
    halted: Callable[[], bool]

    async def make(self, slot: Slot) -> RunRecord | None:
        """Make the attempt in ``slot``; None if the study stopped before it was over."""
        who = self.session.identify(slot)
        tries = self.session.tries(who.run_id)
        for number in range(self.retries + 1):
            record = await self._try(who, tries)
            again = record.status.is_retried and number < self.retries
            if not again:
                return record
            failed = as_try(record)
            self.ledger.note(Failed(run_id=who.run_id, tried=failed))
            self.tried(slot, failed)
            tries.append(failed)
            _log.info("%s: %s (%s), trying again", who.run_id, record.error_message, record.status)
            if record.status is Status.INFRASTRUCTURE_ERROR:
                await self._pause(min(_LONGEST_PAUSE, self.pause_seconds * 2**number))
            if self.halted():
                return None
        return None

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.stop.wait()

    async def _try(self, who: Identified, tries: list[Try]) -> RunRecord:
        job = self._job(who, self._output(who.run_id, len(tries)))
        started_at = timestamp()
        self.ledger.note(Started(run_id=who.run_id, at=started_at))
        try:
            done = await self.executor.attempt(job)
        except asyncio.CancelledError:
            what = "the runner was told to drop it"
            dropped = Try(
                status=Status.CANCELLED,
                error_type=INTERRUPTED,
                error_message=what,
                started_at=started_at,
                finished_at=max(started_at, timestamp()),  # a clock may be set back meanwhile
            )
            self.ledger.note(Failed(run_id=who.run_id, tried=dropped))
            raise
        return self.scorer.record(who, done, tries)

    def _job(self, who: Identified, output: Path) -> AttemptJob:
        slot, design = who.slot, self.session.design
        arm = design.arms[slot.arm]
        limit = arm.agent.limits.timeout_seconds
        context = AttemptContext(
            agent=arm.agent,
            state=self.session.states.path(slot.state_key),
            state_digest=who.state_digest,
            workdir=output,
            arm=slot.arm,
            split=slot.split,
            repeat=slot.repeat,
            attempt_index=slot.attempt_index,
        )
        return AttemptJob(
            task=design.tasks[slot.task_id],
            phase=slot.phase,
            path_type=arm.path_type,
            seed=who.attempt_seed,
            context=context,
            deadline_seconds=None if limit is None else limit + design.benchmark.grace_seconds,
        )

    def _output(self, run_id: str, earlier: int) -> Path:
        """A new folder for the engine's output; that of an earlier try is kept beside it."""
        output = self.session.directory.output(run_id)
        try:
            output.mkdir()
        except FileExistsError:
            number = max(1, earlier)
            while (aside := output.with_name(f"{run_id}.try{number}")).exists():
                number += 1
            output.rename(aside)
            output.mkdir()
        return output

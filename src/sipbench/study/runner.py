"""The runner: so many jobs at a time, in the order of the agenda, until nothing is left or it must stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from sipbench.errors import AdaptationError, SipbenchError
from sipbench.protocol.records import Try, Usage
from sipbench.study.adapting import Adaptations
from sipbench.study.agenda import Agenda
from sipbench.study.attempting import Attempting
from sipbench.study.executors.base import Executor, Recipe
from sipbench.study.journal import Planned, Stopped
from sipbench.study.ledger import Ledger
from sipbench.study.plan import Slot, Step
from sipbench.study.progress import Progress
from sipbench.study.scoring import Scorer
from sipbench.study.session import Session
from sipbench.study.standing import Standing

__all__ = ["PAUSE_SECONDS", "Ended", "run_session"]

_log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Before the second try after an infrastructure error."""

_INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Ended:
    """How a session ended.

    Attributes:
        stopped: Why it ended before everything was done that can be done; None if it did not.
        interrupted: Whether a person ended it.
        failures: Adaptations that failed, each with the reason.
        blocked: Attempts and adaptations that were not done since an adaptation before them failed.
        due_at: When the rest may begin, which waits for the declared delay before T2; None if none does.
    """

    stopped: str | None = None
    interrupted: bool = False
    failures: dict[Step, str] = field(default_factory=dict)
    blocked: list[Slot | Step] = field(default_factory=list)
    due_at: datetime | None = None


async def run_session(
    session: Session,
    kind: type[Executor],
    progress: Progress,
    *,
    pause_seconds: float = PAUSE_SECONDS,
) -> Ended:
    """Do what is left of a study.

    Args:
        session: The study, taken up.
        kind: What carries out its jobs.
        progress: Is shown again and again how it stands.
        pause_seconds: Before the second try after an infrastructure error.

    Raises:
        StudyError: The directory cannot be written, or an agent state was changed.
        EngineError: The executor cannot carry out anything.
    """
    design = session.design
    recipe = Recipe(design.config.benchmark.name, design.benchmark_options, design.loaded.base)
    session.directory.attempts.mkdir(exist_ok=True)
    async with (
        Ledger(session.directory) as ledger,
        kind(recipe, concurrency=design.config.concurrency) as executor,
    ):
        runner = _Runner(session, ledger, executor, pause_seconds)
        ledger.note(runner.planned())
        with _showing(session.standing, progress), runner.hearing_signals():
            await runner.run()
        ended = runner.ended
        reason = ended.stopped or session.standing.due or "nothing left to do"
        ledger.note(Stopped(reason=reason, seconds=session.standing.seconds))
    return ended


class _Runner:
    def __init__(self, session: Session, ledger: Ledger, executor: Executor, pause_seconds: float) -> None:
        self._session = session
        self._standing = session.standing
        self._ledger = ledger
        self.ended = Ended()
        self._config = session.design.config
        self._wait = session.wait
        self._agenda = Agenda(
            session.design.plan,
            done=session.done.keys(),
            made=session.made.keys(),
            order=session.design.order,
            holds=self._wait.holds if self._wait is not None else None,
        )
        session.standing.held = self._agenda.held
        self._spending = session.spending
        self._stop = asyncio.Event()
        self._capped = False
        self._unsettled = 0  # handed out by the agenda, which has not heard yet what became of it
        self._broken: BaseException | None = None
        design = session.design
        self._attempting = Attempting(
            session=session,
            ledger=ledger,
            executor=executor,
            scorer=Scorer(design.benchmark, design.manifest, design.arms),
            retries=self._config.retries,
            pause_seconds=pause_seconds,
            tried=self._tried,
            stop=self._stop,
            halted=self._halted,
        )
        self._adaptations = Adaptations(session, ledger, executor)
        self._news = asyncio.Event()
        self._lanes: list[asyncio.Task[None]] = []

    def planned(self) -> Planned:
        """The event that begins a session."""
        from importlib.metadata import version

        plan = self._session.design.plan
        return Planned(
            sipbench_version=version("sipbench"),
            attempts=len(plan.slots),
            adaptations=len(plan.steps),
            finished=len(self._session.done),
        )

    async def run(self) -> None:
        """Keep as many jobs going as the study wants, to the end."""
        count = min(self._config.concurrency, max(1, self._agenda.open + self._agenda.held))
        try:
            async with asyncio.TaskGroup() as group:
                self._lanes = [group.create_task(self._lane()) for _ in range(count)]
        except BaseExceptionGroup as group_of:
            # One line is what a person can use; the others failed for the same reason, or because of it.
            raise _first(group_of) from None
        if self._broken is not None:
            raise self._broken
        self.ended.blocked = self._agenda.blocked
        if self._capped:  # what was running then is spent by now as well
            self.ended.stopped = self._spending.reached(self._config.caps) or self.ended.stopped
            self._standing.stopping = self.ended.stopped
        for said in self._spending.unknowns(self._config.caps):
            _log.warning("%s: %s", self._session.directory.root, said)
        # An attempt that changed the state it ran with was not the agent that its record names.
        self._session.states.check_all()

    async def _lane(self) -> None:
        while (item := await self._next()) is not None:
            if isinstance(item, Slot):
                await self._attempt(item)
            else:
                await self._adapt(item)

    async def _next(self) -> Slot | Step | None:
        while not self._stop.is_set():
            startable = self._agenda.open > self._unsettled
            if startable and self._at_cap():
                break
            item = self._agenda.take()
            if item is not None:
                self._unsettled += 1
                self._standing.running += 1
                return item
            if not self._unsettled:
                if self._t2_begins():
                    continue
                break
            self._news.clear()
            await self._news.wait()
        return None

    def _t2_begins(self) -> bool:
        """Whether what is held back for T2 may begin, now that nothing else is left; else note when."""
        if self._wait is None or not self._agenda.held:
            return False
        if self._wait.release():
            self._agenda.release()
            self._standing.held = self._agenda.held
            self._news.set()
            return self._agenda.open > 0
        self.ended.due_at = self._wait.due_at
        self._standing.due = self._wait.words()
        return False

    async def _attempt(self, slot: Slot) -> None:
        record = None
        try:
            record = await self._attempting.make(slot)
        finally:
            self._standing.running -= 1
            if record is None:
                self._unsettled -= 1
                self._news.set()
        if record is None:
            return
        self._session.add(slot, record)
        # The lane goes on at once; what depends on this attempt waits until it is durable.
        self._ledger.record(record).add_done_callback(lambda written: self._written(slot, written))

    def _written(self, slot: Slot, written: asyncio.Future[None]) -> None:
        error = written.exception()
        if error is None:
            self._settle(slot)
            return
        self._broken = self._broken or error
        self._unsettled -= 1
        self.stop("the study cannot be written")
        self._news.set()

    def _settle(self, item: Slot | Step, *, made: bool = True) -> None:
        self._unsettled -= 1
        self._agenda.settle(item, made=made)
        self._news.set()

    async def _adapt(self, step: Step) -> None:
        try:
            record = await self._adaptations.make(step)
        except AdaptationError as error:
            _log.error("arm '%s', repeat %d: %s", step.key.arm, step.key.repeat, error)
            self.ended.failures[step] = str(error)
            self._spending.adapted(step.key.arm, Usage())
            self._settle(step, made=False)
        else:
            self._session.made[step.key] = record
            self._spending.adapted(step.key.arm, record)
            self._standing.adapted()
            self._settle(step)
        finally:
            self._standing.running -= 1

    def _tried(self, slot: Slot, tried: Try) -> None:
        self._standing.tried += 1
        self._spending.attempted(slot.arm, tried)
        self._halted()

    def _halted(self) -> bool:
        """Whether nothing more may start: another try is one more execution, which a cap stops as well."""
        return self._stop.is_set() or self._at_cap()

    def _at_cap(self) -> bool:
        """Whether a cap is reached; then nothing more starts."""
        cap = self._spending.reached(self._config.caps)
        if cap is not None and not self._stop.is_set():
            self._capped = True
            self.stop(cap)
        return cap is not None

    def stop(self, reason: str) -> None:
        """Start nothing more; what runs is let finish."""
        if self.ended.stopped is None:
            self.ended.stopped = self._standing.stopping = reason
            self._stop.set()
            self._news.set()

    def interrupt(self) -> None:
        """What a person asks for: the first time to stop, the second time to drop what runs."""
        if self.ended.interrupted:
            for lane in self._lanes:
                lane.cancel()
            return
        self.ended.interrupted = True
        self.stop(_INTERRUPTED)
        if self._standing.running:
            _log.warning(
                "interrupted: waiting for %d running; interrupt again to drop them", self._standing.running
            )

    @contextlib.contextmanager
    def hearing_signals(self) -> Iterator[None]:
        """Hear Ctrl-C and SIGTERM, where a program may."""
        loop = asyncio.get_running_loop()
        heard = []
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.interrupt)
                heard.append(number)
        try:
            yield
        finally:
            for number in heard:
                loop.remove_signal_handler(number)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    errors = list(group.exceptions)
    known = [error for error in errors if isinstance(error, SipbenchError)]
    first = (known or errors)[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


@contextlib.contextmanager
def _showing(standing: Standing, progress: Progress) -> Iterator[None]:
    async def forever() -> None:
        while True:
            await asyncio.sleep(progress.interval)
            progress.show(standing)

    progress.begin(standing)
    task = asyncio.create_task(forever())
    try:
        yield
    finally:
        task.cancel()
        progress.end(standing)

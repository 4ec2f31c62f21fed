"""The declared delay before T2: what waits for it, from when on it counts, and when it is over.

An arm and repeat is what waits (a *unit*). Those whose T1 is recorded wait together, so that arms that are
compared come to T2 at the same time: they are due the declared delay after the last counted attempt that
any of them made on held-out or replay tasks at T1, by the times in its record. Then all of T2 may begin,
a second adaptation as well.

- A unit that has begun T2 goes on, whatever a clock says now.
- Once a unit is due its T1 is closed: attempts at T1 that ended without a grade are not tried again, since
  a score made now would not lie the declared delay before T2. Before that they are, and what they score
  moves the moment.
- A unit whose adaptation failed is not waited for; its T1 is made later, and it waits from then on.

Nobody sleeps here: whether the delay is over is looked at when nothing else is left to do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime

from sipbench.protocol.delay import Delay, moment_text
from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, Phase
from sipbench.study.design import Design
from sipbench.study.plan import Slot, StateKey, Step

__all__ = ["Clock", "T2Wait", "t2_wait", "utc_now"]

type Clock = Callable[[], datetime]
type Unit = tuple[str, int]


def utc_now() -> datetime:
    """The moment, by this machine's clock."""
    return datetime.now(UTC)


class T2Wait:
    """Which units wait for T2, and until when."""

    def __init__(self, delay: Delay, slots: Iterable[Slot], clock: Clock = utc_now) -> None:
        """Take up a plan of which nothing is recorded.

        Args:
            delay: What was declared.
            slots: All attempts of the plan.
            clock: Says what time it is.
        """
        self._delay = delay
        self._clock = clock
        self._left: dict[Unit, set[Slot]] = defaultdict(set)
        self._ends: dict[Unit, datetime] = {}
        self._lost: dict[Unit, datetime] = {}
        self._free: set[Unit] = set()
        for slot in slots:
            if _is_measured(slot):
                self._left[_unit(slot)].add(slot)

    def add(self, slot: Slot, record: RunRecord) -> None:
        """Take note of a recorded attempt; twice is as once."""
        unit = _unit(slot)
        if slot.phase is Phase.T2:
            self._free.add(unit)
        elif _is_measured(slot):
            self._left[unit].discard(slot)
            ends = self._lost if record.status.is_missing else self._ends
            found = record.finished_at or record.started_at
            if found is not None:
                moment = datetime.fromisoformat(found)
                ends[unit] = max(moment, ends.get(unit, moment))

    def take_up(
        self,
        made: Collection[StateKey],
        failed: Collection[StateKey],
        again: Iterable[tuple[Slot, RunRecord]],
    ) -> frozenset[Slot]:
        """Find who is due by now, once all that is recorded was added but what may be tried again.

        Nobody is while T1 is still being made: who was interrupted in it comes to T2 like who was not.

        Args:
            made: The agent states that exist.
            failed: Those that an adaptation once failed to make.
            again: Recorded attempts that would be tried again.

        Returns:
            Those of them that may be: their T1 is not over.
        """
        again = list(again)
        for slot, record in again:
            self.add(slot, record)
        self._free.update((key.arm, key.repeat) for key in made if key.phase is Phase.T2)
        missed = {(key.arm, key.repeat) for key in failed if key.phase is Phase.T1 and key not in made}
        if all(not left or unit in missed for unit, left in self._left.items()):
            self.release()
        still = frozenset(slot for slot, _ in again if not self.is_over(slot))
        for slot in still:
            if _is_measured(slot):
                self._left[_unit(slot)].add(slot)
        return still

    def is_over(self, slot: Slot) -> bool:
        """Whether an attempt belongs to a T1 that is over."""
        return _is_measured(slot) and _unit(slot) in self._free

    def holds(self, item: Slot | Step) -> bool:
        """Whether an attempt or adaptation must not begin yet."""
        phase = item.phase if isinstance(item, Slot) else item.key.phase
        return phase is Phase.T2 and _unit(item) not in self._free

    def is_waiting(self, slot: Slot) -> bool:
        """Whether all that an attempt still waits for is the delay."""
        return self.holds(slot) and not self._left[_unit(slot)]

    def release(self) -> bool:
        """Let those begin that are due by now; whether there are any."""
        due = self.due_at
        if due is None or self._clock() < due:
            return False
        self._free.update(self._waiting())
        return True

    @property
    def due_at(self) -> datetime | None:
        """When those are due whose T1 is recorded and who have not begun; None if there are none."""
        waiting = self._waiting()
        if not waiting:
            return None
        # Where nothing was scored there is nothing to compare, but who comes back may want another try.
        ends = [self._ends[unit] for unit in waiting if unit in self._ends] or [
            self._lost[unit] for unit in waiting if unit in self._lost
        ]
        return self._delay.due(max(ends, default=None)) or self._clock()

    def words(self) -> str:
        """When T2 is due, in a line."""
        due = self.due_at
        return "" if due is None else f"T2 is due at {moment_text(due)}; run the same command then"

    def complaint(self) -> str | None:
        """What is wrong with the clock; None if nothing is known to be."""
        ends = [self._ends[unit] for unit in self._waiting() if unit in self._ends]
        now = self._clock()
        if not ends or max(ends) <= now:
            return None
        return (
            f"this machine's clock says {moment_text(now)}, before the last score at T1 "
            f"({moment_text(max(ends))}): check the clock"
        )

    def _waiting(self) -> list[Unit]:
        return [unit for unit, left in self._left.items() if not left and unit not in self._free]


def t2_wait(design: Design, clock: Clock) -> T2Wait | None:
    """What waits in a study; None if nothing does.

    Attempts that happened before the study have their own times, and nobody can wait for them any more.
    """
    delay = design.config.t2.waits
    if delay is None or design.benchmark.recorded:
        return None
    return T2Wait(delay, design.plan.slots, clock)


def _is_measured(slot: Slot) -> bool:
    return slot.phase is Phase.T1 and slot.split in EVALUATION_SPLITS


def _unit(item: Slot | Step) -> Unit:
    return (item.arm, item.repeat) if isinstance(item, Slot) else (item.key.arm, item.key.repeat)

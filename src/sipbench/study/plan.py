"""The plan of a study: every attempt and every adaptation, and what waits for what.

=========  ==============================================  =======================================
phase      what is attempted                               with which agent state
=========  ==============================================  =======================================
T0         held-out, replay; drift if T2 comes on drift    empty, for every arm
T1, first  adapt (only for arms that learn from attempts)  that of T0
T1, then   held-out, replay                                what the arm's adaptation made
T2, first  adapt_t2, if T2 comes by a second adaptation    that of T1
T2, then   held-out, replay; drift if T2 comes on drift    what the second adaptation made, else T1's
=========  ==============================================  =======================================

With a delay alone, T2 is what T1 is, later. Drift tasks are left out at T1: drift gain compares T2 with
T0, and nothing reads them at T1. Arms without an adaptation keep the empty state through all phases. The
plan is a pure function of the manifest and the study's numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.settings import PlannedCell
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.study.config import AttemptCounts, Exposure

__all__ = ["ArmShape", "Plan", "Slot", "StateKey", "Step", "make_plan"]


@dataclass(frozen=True, slots=True)
class ArmShape:
    """What the plan needs to know of an arm."""

    name: str
    adapts: bool = False
    needs_attempts: bool = False


@dataclass(frozen=True, slots=True)
class StateKey:
    """An agent state: whose it is, and the phase it was made for."""

    arm: str
    repeat: int
    phase: Phase


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the design that one attempt fills.

    Attributes:
        state: The phase whose agent state it runs with.
    """

    arm: str
    repeat: int
    phase: Phase
    split: Split
    task_id: str
    attempt_index: int
    state: Phase

    @property
    def state_key(self) -> StateKey:
        """The agent state it runs with."""
        return StateKey(self.arm, self.repeat, self.state)


@dataclass(frozen=True, slots=True)
class Step:
    """One adaptation: makes the agent state ``key`` from ``previous`` and from ``attempts``."""

    key: StateKey
    previous: StateKey
    attempts: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All attempts and all adaptations."""

    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]

    def cells(self) -> list[PlannedCell]:
        """The number of attempts per arm, phase and split, over all repeats."""
        counts = Counter((slot.arm, slot.phase, slot.split) for slot in self.slots)
        return [
            PlannedCell(arm=arm, phase=phase, split=split, attempts=count)
            for (arm, phase, split), count in counts.items()
        ]


def make_plan(
    arms: Sequence[ArmShape],
    manifest: SplitManifest,
    *,
    phases: Sequence[Phase],
    repeats: int,
    attempts: AttemptCounts,
    by: Collection[Exposure] = (),
) -> Plan:
    """Lay out a study.

    Attempts stand here repeat by repeat, phase by phase, task by task with the arms side by side; in which
    order they are begun is decided by :mod:`sipbench.study.order`.

    Args:
        arms: The arms, in the order of the study file.
        manifest: The splits.
        phases: The phases to run, from T0 on.
        repeats: Whole passes.
        attempts: Attempts per task, by split.
        by: What lies between T1 and T2.
    """
    slots: list[Slot] = []
    steps: list[Step] = []
    for repeat in range(repeats):
        for phase in phases:
            part = _Part(repeat, phase, phase is Phase.T1 or (phase is Phase.T2 and "adaptation" in by))
            if part.adapting:
                tasks = manifest.adapt if phase is Phase.T1 else manifest.adapt_t2
                learners = [arm for arm in arms if arm.adapts and arm.needs_attempts]
                adapt = list(part.slots(learners, Split.ADAPT, tasks, attempts))
                slots += adapt
                steps += part.steps(arms, adapt)
            for split in _evaluated(phase, by):
                slots += part.slots(arms, split, manifest.tasks(split), attempts)
    return Plan(tuple(slots), tuple(steps))


def _evaluated(phase: Phase, by: Collection[Exposure]) -> tuple[Split, ...]:
    drift = "drift" in by and phase is not Phase.T1
    return (Split.HELDOUT, Split.REPLAY, Split.DRIFT) if drift else (Split.HELDOUT, Split.REPLAY)


@dataclass(frozen=True, slots=True)
class _Part:
    """One phase of one repeat."""

    repeat: int
    phase: Phase
    adapting: bool

    def slots(
        self, arms: Sequence[ArmShape], split: Split, tasks: Sequence[TaskEntry], attempts: AttemptCounts
    ) -> Iterator[Slot]:
        for task in tasks:
            for index in range(attempts.of(split)):
                for arm in arms:
                    state = self._state(arm, split)
                    yield Slot(arm.name, self.repeat, self.phase, split, task.id, index, state)

    def steps(self, arms: Sequence[ArmShape], adapt: Sequence[Slot]) -> Iterator[Step]:
        for arm in arms:
            if arm.adapts:
                yield Step(
                    StateKey(arm.name, self.repeat, self.phase),
                    StateKey(arm.name, self.repeat, _before(self.phase)),
                    tuple(slot for slot in adapt if slot.arm == arm.name),
                )

    def _state(self, arm: ArmShape, split: Split) -> Phase:
        if not arm.adapts or self.phase is Phase.T0:
            return Phase.T0
        return self.phase if self.adapting and split is not Split.ADAPT else _before(self.phase)


def _before(phase: Phase) -> Phase:
    return Phase.T0 if phase is Phase.T1 else Phase.T1

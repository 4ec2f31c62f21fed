"""How a study stands while it runs: counts, means so far, cost, time left."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import COST_FIELDS, CostUnit
from sipbench.protocol.vocabulary import Phase, Split, Status
from sipbench.stats.running import RunningMeans
from sipbench.study.design import Design

__all__ = ["Cell", "Standing"]

_LEAST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """One phase and split: attempts made and planned, all arms together, and the mean of each arm so far."""

    phase: Phase
    split: Split
    made: int
    planned: int
    means: dict[str, float | None]


@dataclass(slots=True)
class Standing:
    """Numbers for whoever watches a study.

    Attributes:
        planned: Attempts of the whole study.
        made: Attempts that are recorded, in this session and before.
        statuses: How they ended.
        tried: Failed tries in this session.
        adaptations: Adaptations that made a state, and all of them.
        running: Attempts and adaptations in flight.
        spent: What attempts and adaptations cost by now, in the study's cost unit, as far as known.
        spent_unknown: Of how many attempts the cost is unknown.
        stopping: Why no further attempt is started, if so.
        held: Attempts that wait for the declared delay before T2.
        due: When they may begin, in words, once nothing else is left to do.
    """

    name: str
    planned: int
    cost_unit: CostUnit | None
    arms: tuple[str, ...]
    cells: dict[tuple[Phase, Split], int]
    adaptations: tuple[int, int] = (0, 0)
    made: int = 0
    statuses: Counter[Status] = field(default_factory=Counter)
    tried: int = 0
    running: int = 0
    spent: float = 0.0
    spent_unknown: int = 0
    stopping: str | None = None
    held: int = 0
    due: str | None = None
    _means: RunningMeans = field(default_factory=RunningMeans)
    _made: Counter[tuple[Phase, Split]] = field(default_factory=Counter)
    _start: float = field(default_factory=time.monotonic)
    _now: int = 0

    @classmethod
    def of(cls, design: Design) -> Standing:
        """A study of which nothing is made yet."""
        cells: Counter[tuple[Phase, Split]] = Counter()
        for cell in design.plan.cells():
            cells[cell.phase, cell.split] += cell.attempts
        return cls(
            name=design.config.name,
            planned=len(design.plan.slots),
            cost_unit=design.config.analysis.cost_unit,
            arms=tuple(design.arms),
            cells=dict(cells),
            adaptations=(0, len(design.plan.steps)),
        )

    def add(self, record: RunRecord, *, earlier: bool = False) -> None:
        """Count a recorded attempt; ``earlier`` if another session made it."""
        self.made += 1
        self._now += not earlier
        self.statuses[record.status] += 1
        self._made[record.phase, record.benchmark_split] += 1
        self._means.add(record)
        if self.cost_unit is not None:
            parts = [getattr(part, COST_FIELDS[self.cost_unit]) for part in (record, *record.tries)]
            self.spent += sum(part for part in parts if part is not None)
            self.spent_unknown += None in parts

    def adapted(self) -> None:
        """Count an adaptation that made a state."""
        self.adaptations = (self.adaptations[0] + 1, self.adaptations[1])

    def table(self) -> list[Cell]:
        """One row per phase and split, in the order in which they are run."""
        means = self._means.means()
        return [
            Cell(
                phase,
                split,
                self._made[phase, split],
                planned,
                {arm: means.get((arm, phase, split)) for arm in self.arms},
            )
            for (phase, split), planned in self.cells.items()
        ]

    @property
    def seconds(self) -> float:
        """Since this session began."""
        return time.monotonic() - self._start

    @property
    def seconds_left(self) -> float | None:
        """What the rest will take at the pace of this session, without what is held; None while a guess."""
        if self._now < _LEAST_ATTEMPTS:
            return None
        return max(0, self.planned - self.made - self.held) * self.seconds / self._now

"""A row of the calibration table: figures against limits, with the rule and without it."""

from __future__ import annotations

from dataclasses import dataclass

from sipbench.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Figure:
    """A simulated figure and the limits that it must keep.

    Attributes:
        name: What was measured, such as ``coverage, 20 tasks, 3 trials``.
        value: What came out.
        low: Least acceptable value.
        high: Greatest acceptable value.
    """

    name: str
    value: float
    low: float = float("-inf")
    high: float = float("inf")

    @property
    def passed(self) -> bool:
        """Whether the value lies within the limits."""
        return self.low <= self.value <= self.high


@dataclass(frozen=True, slots=True)
class Row:
    """One rule of estimation under simulation.

    Attributes:
        name: What is calibrated.
        settings: The simulated studies, in words.
        repetitions: Simulated studies per figure.
        figures: Measured with the rule in place; all must pass.
        removed: What was put in the rule's place.
        without: The same measured without the rule; one must fail.
    """

    name: str
    settings: str
    repetitions: int
    figures: tuple[Figure, ...]
    removed: str
    without: tuple[Figure, ...]

    @property
    def passed(self) -> bool:
        """Whether every figure keeps its limits."""
        return all(figure.passed for figure in self.figures)

    @property
    def rule_matters(self) -> bool:
        """Whether the row would fail without the rule."""
        return not all(figure.passed for figure in self.without)


@dataclass(slots=True)
class Hits:
    """Counts how often an interval contains a value; no interval is a miss.

    Attributes:
        hits: Studies whose interval contains the value.
        total: Studies.
    """

    hits: int = 0
    total: int = 0

    def add(self, interval: Interval | None, value: float) -> None:
        """Count one study."""
        self.total += 1
        self.hits += interval is not None and interval.contains(value)

    @property
    def share(self) -> float:
        """Share of studies whose interval contains the value."""
        return self.hits / self.total

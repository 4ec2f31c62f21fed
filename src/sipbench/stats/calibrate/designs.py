"""The designs of the coverage map: tasks, families, trials, scores, and what the changes look like."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sipbench.stats._arrays import Floats, Ints
from sipbench.stats.calibrate.worlds import U_SHAPED

TASKS = (10, 20, 40, 87)
TRIALS = (1, 3, 5)
FAMILY_SIZES = (1, 2, 3, 4)
"""Sizes that repeat until the tasks are used up: as unequal as templates are."""
CHECKS = 10
"""Checks behind one graded score, which is the share of them that pass."""

_POPULATION = 2_000_000


class Changes(StrEnum):
    """How an adaptation changes tasks; with families, whole families change.

    ``regular``: chances Beta(.35, .5), every task changes by its own amount, SD .25.
    ``skewed``: hard tasks, Beta(.2, 3.8); one in ten closes 80 % of the way to 1, the rest
    do not change. ``tied``: 85 % of the tasks are never or always solved and stay so, the
    rest gain .35.
    """

    REGULAR = "regular"
    SKEWED = "skewed"
    TIED = "tied"


class Scores(StrEnum):
    """``binary``: solved or not. ``graded``: the share of ten independent checks that pass."""

    BINARY = "binary"
    GRADED = "graded"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the map."""

    changes: Changes
    scores: Scores
    grouped: bool
    tasks: int
    trials: int

    @property
    def sizes(self) -> Ints:
        """Tasks per family, shape (G,)."""
        if not self.grouped:
            return np.ones(self.tasks, dtype=np.int64)
        sizes: list[int] = []
        while (left := self.tasks - sum(sizes)) > 0:
            sizes.append(min(FAMILY_SIZES[len(sizes) % len(FAMILY_SIZES)], left))
        return np.asarray(sizes, dtype=np.int64)

    @property
    def truth(self) -> float:
        """Mean of p(T1) - p(T0) over the population of tasks."""
        return _truth(self.changes, self.grouped)

    def differences(self, rng: np.random.Generator, studies: int) -> Floats:
        """Per-task differences of simulated studies, shape (studies, tasks)."""
        before, after = _chances(self.changes, rng, studies, self.sizes, self.grouped)
        draws = self.trials * (1 if self.scores is Scores.BINARY else CHECKS)
        return np.asarray(rng.binomial(draws, after) - rng.binomial(draws, before), dtype=np.float64) / draws


def cells() -> tuple[Cell, ...]:
    """Every cell, in the order of the tables."""
    return tuple(Cell(*choice) for choice in product(Changes, Scores, (False, True), TASKS, TRIALS))


def _chances(
    changes: Changes, rng: np.random.Generator, studies: int, sizes: Ints, grouped: bool
) -> tuple[Floats, Floats]:
    """Chances at T0 and T1, shape (studies, tasks) each."""
    shape = (studies, int(sizes.sum()))
    labels = np.repeat(np.arange(sizes.size), sizes)

    def chosen(share: float) -> NDArray[np.bool_]:
        return (rng.random((studies, sizes.size)) < share)[:, labels]

    if changes is Changes.REGULAR:
        before = rng.beta(*U_SHAPED, shape)
        effect = rng.normal(0.105, 0.20 if grouped else 0.25, shape)
        if grouped:
            effect = effect + rng.normal(0.0, 0.15, (studies, sizes.size))[:, labels]
        return before, np.clip(before + effect, 0.0, 1.0)
    if changes is Changes.SKEWED:
        before = rng.beta(0.2, 3.8, shape)
        return before, np.where(chosen(0.10), before + 0.8 * (1.0 - before), before)
    moving = chosen(0.15)
    still = (rng.random(shape) < 0.4).astype(np.float64)
    before = np.where(moving, rng.uniform(0.0, 0.6, shape), still)
    return before, np.where(moving, before + 0.35, before)


@cache
def _truth(changes: Changes, grouped: bool) -> float:
    rng = np.random.default_rng(0)
    sizes = np.ones(_POPULATION, dtype=np.int64)
    before, after = _chances(changes, rng, 1, sizes, grouped)
    return float((after - before).mean())

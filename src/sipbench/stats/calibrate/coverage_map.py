"""Where the default interval covers less than it says: simulated coverage over many designs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sipbench.stats._arrays import Floats, Ints
from sipbench.stats.calibrate.designs import Cell, cells
from sipbench.stats.intervals import ROUNDING, satterthwaite_df, t_quantile
from sipbench.stats.undercoverage import LEAST_COVERAGE, moments
from sipbench.stats.verdicts import MIN_FAMILIES

STUDIES = 10_000
"""Studies per design: a coverage of .93 is then known to .005."""


@dataclass(frozen=True, slots=True, eq=False)
class Shapes:
    """Shapes of many studies of one design, as `undercoverage.Shape` has them.

    Attributes:
        unchanged: Share of families whose differences sum to 0, shape (studies,).
        skewness: Skewness of the family residuals, shape (studies,).
        reach: ``G * SE``, shape (studies,).
    """

    unchanged: Floats
    skewness: Floats
    reach: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What the interval did on one design.

    Attributes:
        cell: The design.
        n_families: Families G.
        coverage: Share of studies whose interval holds the truth; no interval is a miss.
        given: Coverage among the studies that have an interval.
        without: Share of studies without an interval.
        shapes: Of the studies that have one.
    """

    cell: Cell
    n_families: int
    coverage: float
    given: float
    without: float
    shapes: Shapes

    @property
    def low(self) -> bool:
        """Whether the design covers less than 93 %."""
        return self.coverage < LEAST_COVERAGE

    @property
    def few(self) -> bool:
        """Whether the product gives no verdict anyway: under six families."""
        return self.n_families < MIN_FAMILIES


def intervals(d: Floats, sizes: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """`clustered_t` of many studies of one design at once.

    Args:
        d: Per-task differences, shape (studies, n), tasks of a family side by side.
        sizes: Tasks per family, shape (G,).

    Returns:
        Mean, standard error (0 where there is no interval) and half width, shape
        (studies,) each; and the family sums of residuals, shape (studies, G).
    """
    n, n_families = d.shape[1], sizes.size
    mean = d.mean(axis=1)
    sums = np.add.reduceat(d - mean[:, np.newaxis], np.cumsum(sizes) - sizes, axis=1)
    if sizes.min() == sizes.max():
        variance, df = n_families / (n_families - 1) * np.sum(sums**2, axis=1) / n**2, n_families - 1.0
    else:
        variance, df = np.sum(sums**2 / (1.0 - sizes / n), axis=1) / n**2, satterthwaite_df(sizes)
    se = np.sqrt(variance)
    se[se <= ROUNDING * np.abs(d).max(axis=1)] = 0.0
    return mean, se, t_quantile(df, 0.05) * se, sums


def measure(cell: Cell, seed: int = 0, studies: int = STUDIES) -> Measured:
    """Simulate one design; its draws depend on the seed and the design alone."""
    d = cell.differences(np.random.default_rng([seed, 1_000 + cells().index(cell)]), studies)
    sizes = cell.sizes
    mean, se, half, sums = intervals(d, sizes)
    there = se > 0.0
    hits = there & (np.abs(mean - cell.truth) <= half)
    unchanged, skewness = moments(sums[there] + sizes * mean[there, np.newaxis], sums[there])
    given = float(hits[there].mean()) if there.any() else 0.0
    shapes = Shapes(unchanged, skewness, sizes.size * se[there])
    return Measured(cell, sizes.size, float(hits.mean()), given, float(1.0 - there.mean()), shapes)


def coverage_map(seed: int = 0, studies: int = STUDIES) -> tuple[Measured, ...]:
    """Simulate every design.

    Args:
        seed: Seed of all simulations.
        studies: Studies per design.
    """
    return tuple(measure(cell, seed, studies) for cell in cells())

"""When the default interval is known to be too narrow, told from the shape of the data.

A t interval on few, skewed or mostly tied differences misses the truth more often than it
says. The sample cannot show what it does not hold, so this is no estimate of the coverage of
one study: it is the chance that the study comes from one of the simulated designs whose 95 %
intervals cover less than 93 %. The coefficients are those that ``make calibrate`` fits to its
coverage map; ``docs/calibration.md`` holds the map, the fit and how often each cell warns.

References:
    Hall (1992), The Bootstrap and Edgeworth Expansion, section 2.6: the coverage error of a
    t interval is of the order skewness²/n, hence ``|skewness|/sqrt(G)`` below.
    Bahadur & Savage (1956), The nonexistence of certain statistical procedures in
    nonparametric problems, Annals of Mathematical Statistics 27(4), 1115-1122: no interval
    for a mean can be right for every distribution, so a rare large effect may leave no trace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Floats, group, vector
from sipbench.stats.intervals import ROUNDING

LEAST_COVERAGE = 0.93
"""Coverage of nominal 95 % intervals below which a design counts as under-covered."""


@dataclass(frozen=True, slots=True)
class Model:
    """A logistic model of the chance that a design covers less than 93 %.

    Attributes:
        constant: Intercept.
        skewness: Weight of ``|skewness|/sqrt(G)``.
        unchanged: Weight of the share of families whose differences sum to 0.
        reach: Weight of ``log(G * SE)``.
        threshold: Chance above which the product warns.
    """

    constant: float
    skewness: float
    unchanged: float
    reach: float
    threshold: float


# As fitted by `make calibrate`, which fails when they no longer fit the map.
FITTED = Model(constant=-4.78, skewness=8.22, unchanged=5.23, reach=-1.33, threshold=0.4)


@dataclass(frozen=True, slots=True)
class Shape:
    """What per-task differences look like to an interval that rests on families.

    Attributes:
        n_families: Families G, the independent units.
        unchanged: Share of them whose differences sum to 0.
        skewness: Sample skewness of the families' sums of residuals.
        reach: ``G * SE``: the standard error in units of what one family of average size
            moves the mean by when all of its tasks change fully. Near 1 and below, a single
            such family outside of the sample would throw the mean out of the interval.
    """

    n_families: int
    unchanged: float
    skewness: float
    reach: float


def shape_of(d: ArrayLike, families: ArrayLike | None, se: float) -> Shape | None:
    """The shape of per-task differences; None where they have no spread.

    Args:
        d: Per-task differences, shape (n,), score units.
        families: Family label of each task, shape (n,), or None.
        se: Standard error of their mean, clustered by family.
    """
    values = vector(d, "d")
    by_family = group(families, values.size)
    n_families = by_family.sizes.size
    if n_families < 2 or se <= 0.0:
        return None
    totals = by_family.sums(values)
    residuals = totals - by_family.sizes * values.mean()
    unchanged, skewness = moments(totals[np.newaxis, :], residuals[np.newaxis, :])
    return Shape(n_families, float(unchanged[0]), float(skewness[0]), n_families * se)


def moments(totals: Floats, residuals: Floats) -> tuple[Floats, Floats]:
    """Share of unchanged families and skewness of many samples at once.

    Args:
        totals: Family sums of the differences, shape (samples, G).
        residuals: Family sums of the differences less their mean, shape (samples, G).

    Returns:
        Both of shape (samples,); the skewness is 0 where there is no spread.
    """
    unchanged = np.asarray(np.mean(np.abs(totals) <= ROUNDING, axis=1), dtype=np.float64)
    second = np.mean(residuals**2, axis=1)
    spread = second > ROUNDING**2
    third = np.mean(residuals**3, axis=1)
    return unchanged, np.where(spread, third / np.where(spread, second, 1.0) ** 1.5, 0.0)


def risk(shape: Shape, model: Model = FITTED) -> float:
    """Chance that data of this shape come from a design that covers less than 93 %."""
    score = (
        model.constant
        + model.skewness * abs(shape.skewness) / math.sqrt(shape.n_families)
        + model.unchanged * shape.unchanged
        + model.reach * math.log(shape.reach)
    )
    return 1.0 / (1.0 + math.exp(-min(max(score, -500.0), 500.0)))


def too_narrow(d: ArrayLike, families: ArrayLike | None, se: float) -> str | None:
    """Why the interval of such differences may be too narrow, in words; None if it need not be.

    Args:
        d: Per-task differences, shape (n,), score units.
        families: Family label of each task, shape (n,), or None.
        se: Standard error of their mean, clustered by family.
    """
    shape = shape_of(d, families, se)
    if shape is None or risk(shape) <= FITTED.threshold:
        return None
    causes = _causes(shape)
    listed = " and ".join(filter(None, (", ".join(causes[:-1]), causes[-1])))
    return f"{listed}; on such data intervals at 95% often cover less than {LEAST_COVERAGE:.0%}"


# Where one family moves the mean by a third of a standard error, no single one matters.
_USUAL_REACH = 3.0
# A cause is named if it alone raises the odds of under-coverage by e.
_WEIGHTY = 1.0


def _causes(shape: Shape) -> list[str]:
    """What sets the shape apart, the weightiest first; at least one."""
    n = shape.n_families
    changed, errors = round(n * (1.0 - shape.unchanged)), 1.0 / shape.reach
    skewed = FITTED.skewness * abs(shape.skewness) / math.sqrt(n)
    narrow = FITTED.reach * math.log(min(shape.reach / _USUAL_REACH, 1.0))
    weights = {
        f"the changes are skewed (skewness {shape.skewness:+.1f} over {n} families)": skewed,
        f"only {changed} of {n} families changed": FITTED.unchanged * shape.unchanged,
        f"one more family that goes from 0 to 1 would move the mean by {errors:.1f} standard errors": narrow,
    }
    ordered = sorted(weights, key=lambda cause: -weights[cause])
    return [cause for cause in ordered if weights[cause] >= _WEIGHTY] or ordered[:1]

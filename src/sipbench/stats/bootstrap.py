"""Intervals by resampling families, for statistics without a closed form only.

Where the default interval exists it is better: at 10 tasks the percentile bootstrap of a
mean covers 87 % in place of 95 %. So this one asks for forty families, resamples whole
families (never rows or trials, whose noise it would count twice) and records its seed.

References:
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 13.
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 3.8 (whole
    clusters).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Families, Floats, check_alpha, finite, group
from sipbench.stats.intervals import Interval

FAMILY_BOOTSTRAP = "family_bootstrap_percentile"
MIN_FAMILIES = 40
MIN_DRAWS = 2_000


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    """A statistic with a percentile interval over resampled families.

    Attributes:
        estimate: The statistic of the data; None without a task.
        interval: The interval, or None.
        reason: Why there is no interval, in words.
        n_families: Families.
        draws: Resamples.
        seed: Seed of the resampling.
    """

    estimate: float | None
    interval: Interval | None
    reason: str | None
    n_families: int
    draws: int
    seed: int


def family_bootstrap(
    rows: ArrayLike,
    statistic: Callable[[Floats], float],
    families: ArrayLike | None = None,
    *,
    alpha: float = 0.05,
    draws: int = MIN_DRAWS,
    seed: int = 0,
) -> Bootstrapped:
    """Percentile interval of a statistic of per-task rows, resampling whole families.

    Args:
        rows: Per-task values, shape (n, m): whatever columns the statistic reads.
        statistic: Maps resampled rows, shape (n', m), to a number.
        families: Family label of each task, shape (n,), or None.
        alpha: One minus the level.
        draws: Resamples B, at least 2,000.
        seed: Seed of the resampling.

    Raises:
        ValueError: ``rows`` is not 2-D or not finite, or there are too few draws.
    """
    check_alpha(alpha)
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"rows must have one row per task, not shape {table.shape}")
    if draws < MIN_DRAWS:
        raise ValueError(f"a percentile interval needs at least {MIN_DRAWS} draws, not {draws}")
    finite(table, "rows")
    by_family = group(families, table.shape[0])
    n_families = by_family.sizes.size
    if table.shape[0] == 0:
        return Bootstrapped(None, None, "no task to resample", 0, draws, seed)
    estimate = float(statistic(table))
    if n_families < MIN_FAMILIES:
        reason = f"{n_families} families: a bootstrap interval needs {MIN_FAMILIES}"
        return Bootstrapped(estimate, None, reason, n_families, draws, seed)
    values = _resampled(table, statistic, by_family, draws, seed)
    low, high = np.quantile(finite(values, "the resampled statistic"), [alpha / 2, 1.0 - alpha / 2])
    if low == high:
        return Bootstrapped(
            estimate, None, "all resamples agree: no spread to go by", n_families, draws, seed
        )
    interval = Interval(float(low), float(high), 1.0 - alpha, FAMILY_BOOTSTRAP)
    return Bootstrapped(estimate, interval, None, n_families, draws, seed)


def _resampled(
    table: Floats, statistic: Callable[[Floats], float], by_family: Families, draws: int, seed: int
) -> Floats:
    # Sorted by family, so that a drawn family is a slice.
    table = table[np.argsort(by_family.codes, kind="stable")]
    sizes = by_family.sizes
    starts = np.cumsum(sizes) - sizes
    rng = np.random.default_rng(seed)
    values = np.empty(draws)
    for b in range(draws):
        drawn = rng.integers(0, sizes.size, sizes.size)
        lengths = sizes[drawn]
        offset = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        values[b] = statistic(table[np.repeat(starts[drawn], lengths) + offset])
    return values

"""The default interval: paired t on task means, clustered by family.

The unit of generalisation is the task; tasks of one family (template, repository)
are not independent, so whole families are the sampling units. With families of equal
size the interval is the cluster-robust t interval on (families - 1) degrees of
freedom. With unequal sizes that one is too narrow (nominal 95 % intervals cover 83 %
with one dominant family); the bias-reduced linearisation CR2 with Satterthwaite
degrees of freedom repairs it and equals the former when the sizes are equal.

References:
    Bell & McCaffrey (2002), Bias reduction in standard errors for linear regression
    with multi-stage samples, Survey Methodology 28(2), 169-181.
    Pustejovsky & Tipton (2018), Small-sample methods for cluster-robust variance
    estimation and hypothesis testing in fixed effects models, JBES 36(4), 672-683.
    Satterthwaite (1946), Biometrics Bulletin 2(6), 110-114.
    Miller (2024), Adding error bars to evals, arXiv 2411.00640 (clustered SE of evals).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Families, Floats, check_alpha, group, vector

PAIRED_T = "paired_t"
CLUSTERED_T = "clustered_t"
CR2 = "cr2_satterthwaite"

# Spread below this share of the largest value is rounding, not evidence.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided confidence interval.

    Attributes:
        low: Lower end, in units of the estimate.
        high: Upper end, ``low <= high``.
        level: Nominal coverage, such as 0.95.
        method: How it was computed, such as ``cr2_satterthwaite``.
        df: Degrees of freedom of the t distribution used, or None where there is none.
        se: Standard error of the estimate, or None where the method has none.
    """

    low: float
    high: float
    level: float
    method: str
    df: float | None = None
    se: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise ValueError(f"not an interval: [{self.low}, {self.high}]")

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return self.high - self.low

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies inside or on an end."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """An unweighted mean over tasks with its family-clustered interval.

    Attributes:
        estimate: Mean over tasks; None only without tasks.
        interval: The interval, or None where the data cannot support one.
        n: Tasks.
        n_families: Families; the number of independent units.
        sizes: Whether the families are of equal size.
        reason: Why ``interval`` is None, in words; None if there is an interval.
    """

    estimate: float | None
    interval: Interval | None
    n: int
    n_families: int
    sizes: Literal["equal", "unequal"]
    reason: str | None


class Estimated(Protocol):
    """What an estimate with a t interval has in common, whichever function made it."""

    @property
    def estimate(self) -> float | None:
        """The point estimate, or None."""

    @property
    def interval(self) -> Interval | None:
        """Its interval, or None."""

    @property
    def reason(self) -> str | None:
        """Why there is no interval."""


def t_quantile(df: float, alpha: float) -> float:
    """The two-sided critical value of Student's t: its 1 - alpha/2 quantile."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 1.0 - alpha / 2.0))


def t_interval(estimate: float, se: float, df: float, alpha: float, method: str) -> Interval:
    """The interval ``estimate ± t(1 - alpha/2, df) * se``, labelled with ``method``."""
    half = t_quantile(df, alpha) * se
    return Interval(estimate - half, estimate + half, 1.0 - alpha, method, df, se)


def t_p_value(estimate: float, se: float, df: float) -> float:
    """Two-sided p of ``estimate / se`` under Student's t with ``df`` degrees of freedom."""
    from scipy.special import stdtr

    return float(2.0 * stdtr(df, -abs(estimate) / se))


def clustered_t(d: ArrayLike, families: ArrayLike | None = None, alpha: float = 0.05) -> ClusteredMean:
    r"""Mean of per-task values with a t interval whose units are families.

    Estimand: the expected value of ``d`` for a task drawn as these were, by families.
    With ``m = mean(d)``, ``R_g`` the sum of ``d - m`` in family g, ``w_g = n_g / n``:

    - equal sizes: ``SE² = G/(G-1) * sum R_g² / n²`` on ``G - 1`` degrees of freedom;
    - unequal sizes (CR2): ``SE² = sum R_g²/(1-w_g) / n²`` on ``tr(M)²/tr(M²)`` degrees,
      ``M_gh = (n_g [g=h] - n_g n_h / n) / sqrt((1-w_g)(1-w_h))``.

    Args:
        d: Per-task values, shape (n,), in score units: task means, or their paired
            differences. Average the attempts of a task before.
        families: Family label of each task, shape (n,); None makes each task its own.
        alpha: One minus the level.

    Returns:
        Estimate and interval. The interval is None, with the reason, if there is one
        task or one family, if all values are equal, or if the family means are.

    Raises:
        ValueError: ``d`` is not 1-D or not finite, or the labels do not fit it.
    """
    check_alpha(alpha)
    values = vector(d, "d")
    n = values.size
    by_family = group(families, n)
    n_families = by_family.sizes.size
    sizes: Literal["equal", "unequal"] = "equal" if by_family.equal else "unequal"
    if n == 0:
        return ClusteredMean(None, None, 0, 0, sizes, "no task to average over")
    mean = float(values.mean())
    reason = _no_interval(values, n_families)
    if reason is not None:
        return ClusteredMean(mean, None, n, n_families, sizes, reason)
    covariance, df, method = clustered_covariance(values[:, np.newaxis], by_family)
    se = math.sqrt(covariance[0, 0])
    if se <= ROUNDING * float(np.abs(values).max()):
        reason = "all family means are equal: the spread between families cannot be estimated"
        return ClusteredMean(mean, None, n, n_families, sizes, reason)
    return ClusteredMean(mean, t_interval(mean, se, df, alpha, method), n, n_families, sizes, None)


def satterthwaite_df(sizes: ArrayLike) -> float:
    """Satterthwaite degrees of freedom of the CR2 variance of a mean, in O(G).

    ``tr(M)²/tr(M²)`` of `clustered_t` without forming M. Divided by n, M has the
    diagonal ``w_g`` and the off-diagonal ``-b_g b_h`` with ``b_g² = w_g²/(1-w_g)``, so
    ``tr M = 1`` and ``tr M² = sum w_g² + (sum b_g²)² - sum b_g⁴``.

    Args:
        sizes: Tasks per family, shape (G,), G >= 2.

    Returns:
        A number in [1, G-1], and G - 1 exactly for equal sizes (up to rounding).
    """
    n_g = vector(sizes, "sizes")
    if n_g.size < 2 or n_g.min() <= 0:
        raise ValueError("degrees of freedom need at least two families, none of them empty")
    w = n_g / n_g.sum()
    b2 = w**2 / (1.0 - w)
    return float(1.0 / (np.sum(w**2) + b2.sum() ** 2 - np.sum(b2**2)))


def _no_interval(values: Floats, n_families: int) -> str | None:
    if values.size == 1:
        return "one task: the spread between tasks cannot be estimated"
    if n_families == 1:
        return "one family: the spread between families cannot be estimated"
    if float(np.ptp(values)) <= ROUNDING * float(np.abs(values).max()):
        return "all tasks have the same value: the spread between tasks cannot be estimated"
    return None


def clustered_covariance(columns: Floats, by_family: Families) -> tuple[Floats, float, str]:
    """Covariance matrix of the means of several per-task columns, clustered by family.

    The multivariate form of `clustered_t`: squares of ``R_g`` become products.

    Args:
        columns: Per-task values, shape (n, m), finite.
        by_family: Membership of the n tasks, at least two families.

    Returns:
        The matrix, shape (m, m), in squared units of the columns; the degrees of
        freedom; the name of the method.
    """
    n = columns.shape[0]
    n_families = by_family.sizes.size
    residuals = columns - columns.mean(axis=0)
    sums = np.stack([by_family.sums(column) for column in residuals.T], axis=1)
    if by_family.equal:
        method = PAIRED_T if n == n_families else CLUSTERED_T
        return n_families / (n_families - 1) * (sums.T @ sums) / n**2, float(n_families - 1), method
    weighted = sums / (1.0 - by_family.sizes / n)[:, np.newaxis]
    return (sums.T @ weighted) / n**2, satterthwaite_df(by_family.sizes), CR2

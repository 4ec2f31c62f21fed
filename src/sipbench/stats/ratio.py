"""Ratios of means, the joint region of gain and price, and the NIS box.

IE and BR_ratio are ratios of means with Fieller intervals, never means of ratios: with
log-normal costs the mean of per-seed ratios is too large by the factor 1 + CV².

References:
    Fieller (1954), Some problems in interval estimation, JRSS B 16(2), 175-185.
    Franz (2007), Ratios: a short guide to confidence limits and proper use, arXiv 0710.2024.
    Willan & O'Brien (1996), Confidence intervals for cost-effectiveness ratios, Health
    Economics 5(4), 297-305 (gain and cost jointly before their ratio).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Floats, check_alpha, group, vector
from sipbench.stats.intervals import (
    ROUNDING,
    Estimated,
    Interval,
    clustered_covariance,
    clustered_t,
    t_interval,
    t_quantile,
)

FIELLER = "fieller"
FIXED_COST = "gain_interval_over_one_cost"
NIS_BOX = "nis_box"

UNBOUNDED = "unbounded: the denominator is too close to 0 for its noise"


@dataclass(frozen=True, slots=True)
class RatioEstimate:
    """A ratio of two means.

    Attributes:
        estimate: The ratio, numerator units per denominator unit; None if undefined.
        interval: Its interval, or None.
        unbounded: Whether the confidence set is not a finite interval: a result, to be
            said in that word.
        reason: Why there is no interval, in words.
        n_denominator: Observations behind the denominator.
    """

    estimate: float | None
    interval: Interval | None
    unbounded: bool
    reason: str | None
    n_denominator: int


def fieller(
    numerator: float,
    denominator: float,
    v_numerator: float,
    v_denominator: float,
    covariance: float,
    df: float,
    alpha: float = 0.05,
) -> Interval | None:
    """The ratios not rejected at level alpha, if they form a finite interval.

    With g and c the means, ``V`` the variances of these means and t the two-sided
    quantile: ``A = c² - t² V_c``, ``B = -2 (g c - t² V_gc)``, ``C = g² - t² V_g``; the
    interval lies between the roots of ``A x² + B x + C``.

    Returns:
        The interval, or None if it is unbounded: ``A <= 0`` or ``B² < 4 A C``.
    """
    t2 = t_quantile(df, alpha) ** 2
    a = denominator**2 - t2 * v_denominator
    half_b = numerator * denominator - t2 * covariance
    c = numerator**2 - t2 * v_numerator
    discriminant = half_b**2 - a * c
    if a <= 0.0 or discriminant < -ROUNDING * half_b**2:
        return None
    root = math.sqrt(max(0.0, discriminant))
    return Interval((half_b - root) / a, (half_b + root) / a, 1.0 - alpha, FIELLER, df, None)


def improvement_efficiency(gain: Estimated, costs: ArrayLike | None, alpha: float = 0.05) -> RatioEstimate:
    """IE: forward gain per unit of learning cost, ``FG / E cost``.

    Estimand: the ratio of the expected gain to the expected cost of an adaptation. The
    costs are those of learning only, in one declared unit; evaluation is no fallback.
    Gains (over tasks) and costs (over adaptations) are separate samples, so ``V_gc = 0``
    and df is the smaller of theirs. One cost observation is taken as a constant.

    Args:
        gain: Estimate and interval of the gain, score units.
        costs: Cost of each adaptation, shape (s,), none negative; None if unknown.
        alpha: One minus the level.

    Returns:
        The ratio; its estimate is None if the cost is unknown or its mean is 0.

    Raises:
        ValueError: A cost is negative or not finite.
    """
    check_alpha(alpha)
    if costs is None:
        return RatioEstimate(None, None, False, "the cost of learning is unknown", 0)
    spent = _costs(costs)
    n = spent.size
    mean_cost = float(spent.mean()) if n else 0.0
    if n == 0 or mean_cost == 0.0:
        return RatioEstimate(
            None, None, False, "the cost of learning is 0" if n else "no cost was recorded", n
        )
    if gain.estimate is None:
        return RatioEstimate(None, None, False, gain.reason, n)
    estimate = gain.estimate / mean_cost
    if gain.interval is None or gain.interval.se is None or gain.interval.df is None:
        return RatioEstimate(estimate, None, False, gain.reason or "the gain has no standard error", n)
    se, df = gain.interval.se, gain.interval.df
    if n == 1:
        at_cost = t_interval(estimate, se / mean_cost, df, alpha, FIXED_COST)
        return RatioEstimate(estimate, at_cost, False, None, n)
    v_cost = float(spent.var(ddof=1)) / n
    interval = fieller(gain.estimate, mean_cost, se**2, v_cost, 0.0, min(df, n - 1), alpha)
    return RatioEstimate(estimate, interval, interval is None, UNBOUNDED if interval is None else None, n)


def retention_ratio(
    before: ArrayLike,
    after: ArrayLike,
    families: ArrayLike | None = None,
    *,
    eps: float = 0.05,
    alpha: float = 0.05,
) -> RatioEstimate:
    """BR_ratio: ``E p(T1) / E p(T0)`` on replay, paired Fieller clustered by family.

    Args:
        before: Task means at T0, shape (n,).
        after: Task means at T1 of the same tasks, shape (n,).
        families: Family label of each task, shape (n,), or None.
        eps: The least mean T0 score at which a ratio says anything.
        alpha: One minus the level.

    Returns:
        The ratio; its estimate is None if the mean of ``before`` is below ``eps`` or 0.

    Raises:
        ValueError: The arrays differ in shape or are not finite.
    """
    check_alpha(alpha)
    y0, y1 = vector(before, "before"), vector(after, "after")
    if y0.shape != y1.shape:
        raise ValueError(f"before and after must hold the same tasks, not {y0.size} and {y1.size}")
    n = y0.size
    if n == 0:
        return RatioEstimate(None, None, False, "no task to average over", 0)
    mean0, mean1 = float(y0.mean()), float(y1.mean())
    if mean0 < eps or mean0 <= 0.0:
        return RatioEstimate(None, None, False, f"the mean T0 score {mean0:.3g} is below eps = {eps:g}", n)
    ratio = mean1 / mean0
    # Without spread of the differences, or around the ratio itself, there is no noise to go by.
    reason = (
        clustered_t(y1 - y0, families, alpha).reason or clustered_t(y1 - ratio * y0, families, alpha).reason
    )
    if reason is not None:
        return RatioEstimate(ratio, None, False, reason, n)
    covariance, df, _ = clustered_covariance(np.stack([y1, y0], axis=1), group(families, n))
    v1, v0, v10 = float(covariance[0, 0]), float(covariance[1, 1]), float(covariance[0, 1])
    interval = fieller(mean1, mean0, v1, v0, v10, df, alpha)
    return RatioEstimate(ratio, interval, interval is None, UNBOUNDED if interval is None else None, n)


@dataclass(frozen=True, slots=True)
class JointRegion:
    """A simultaneous region for (gain, cost of learning), as a box and as an ellipse.

    Attributes:
        gain: Estimate of the gain, score units.
        cost: Mean cost of an adaptation, its own unit.
        gain_interval: Side of the box; with ``cost_interval`` it covers both at ``level``.
        cost_interval: The other side, cut off at 0; None with one cost observation.
        gain_radius: Half-axis of the ellipse along the gain.
        cost_radius: Half-axis along the cost; None with one cost observation.
        level: Joint nominal coverage of the box, and of the ellipse.
        cost_n: Cost observations.
    """

    gain: float
    cost: float
    gain_interval: Interval
    cost_interval: Interval | None
    gain_radius: float
    cost_radius: float | None
    level: float
    cost_n: int

    def ellipse(self, points: int = 72) -> Floats:
        """Points on the ellipse's edge, shape (points, 2) as (gain, cost); flat with one cost."""
        angle = np.linspace(0.0, 2.0 * np.pi, points, endpoint=False)
        return np.stack(
            [
                self.gain + self.gain_radius * np.cos(angle),
                self.cost + (self.cost_radius or 0.0) * np.sin(angle),
            ],
            axis=1,
        )


def joint_region(gain: Estimated, costs: ArrayLike | None, alpha: float = 0.05) -> JointRegion | None:
    """The pair (gain, learning cost) with a region that covers both at 1 - alpha.

    Box: t intervals at level 1 - alpha/2 each (Bonferroni). Ellipse, for the independent
    means g and c: ``(g - g0)²/V_g + (c - c0)²/V_c <= 2 F(1-alpha; 2, df)`` with df the
    smaller sample's. With one cost observation the cost is a constant and the region is
    the gain's own interval.

    Args:
        gain: Estimate and interval of the gain.
        costs: Cost of each adaptation, shape (s,); None if unknown.
        alpha: One minus the joint level.

    Returns:
        The region, or None if the gain has no interval or no cost is known.
    """
    check_alpha(alpha)
    if costs is None or gain.estimate is None or gain.interval is None:
        return None
    spent = _costs(costs)
    se, df = gain.interval.se, gain.interval.df
    if spent.size == 0 or se is None or df is None:
        return None
    n = spent.size
    mean = float(spent.mean())
    if n == 1:
        alone = t_interval(gain.estimate, se, df, alpha, gain.interval.method)
        return JointRegion(gain.estimate, mean, alone, None, alone.width / 2, None, 1.0 - alpha, 1)
    from scipy.special import fdtri

    se_cost = float(spent.std(ddof=1)) / math.sqrt(n)
    radius = math.sqrt(2.0 * float(fdtri(2, min(df, n - 1), 1.0 - alpha)))
    side = t_interval(gain.estimate, se, df, alpha / 2, gain.interval.method)
    full = t_interval(mean, se_cost, n - 1, alpha / 2, "t")
    cost_side = Interval(max(0.0, full.low), full.high, full.level, full.method, full.df, full.se)
    return JointRegion(gain.estimate, mean, side, cost_side, radius * se, radius * se_cost, 1.0 - alpha, n)


@dataclass(frozen=True, slots=True)
class NetScore:
    """NIS, the net improvement score: a reporting convenience, never a ranking.

    Attributes:
        estimate: ``FG - lambda * max(0, -BR)``; None if FG or BR is.
        interval: Box-rule interval, or None.
        reason: Why there is no interval.
    """

    estimate: float | None
    interval: Interval | None
    reason: str | None


def net_improvement(fg: Estimated, br: Estimated, lam: float = 1.0, alpha: float = 0.05) -> NetScore:
    """NIS = FG - lambda * max(0, -BR) with the box rule.

    The plug-in estimate is biased down near BR = 0 (by 0.4 lambda SE(BR) at 0), so its
    interval is no multiple of a standard error: both parts get intervals at level
    1 - alpha/2, and NIS, which rises with either, is evaluated at their lower and at
    their upper ends. The cover is at least 1 - alpha (Bonferroni).

    Args:
        fg: Forward gain.
        br: Backward retention.
        lam: Price of a point of loss in points of gain, not negative.
        alpha: One minus the level.
    """
    check_alpha(alpha)
    if lam < 0.0 or not math.isfinite(lam):
        raise ValueError(f"lambda must be finite and not negative, not {lam}")
    if fg.estimate is None or br.estimate is None:
        return NetScore(None, None, fg.reason if fg.estimate is None else br.reason)
    estimate = _net(fg.estimate, br.estimate, lam)
    gain, kept = _at_level(fg, alpha / 2), _at_level(br, alpha / 2)
    if gain is None or kept is None:
        return NetScore(estimate, None, fg.reason if gain is None else br.reason)
    low, high = _net(gain.low, kept.low, lam), _net(gain.high, kept.high, lam)
    return NetScore(estimate, Interval(low, high, 1.0 - alpha, NIS_BOX), None)


def _net(fg: float, br: float, lam: float) -> float:
    return fg - lam * max(0.0, -br)


def _at_level(mean: Estimated, alpha: float) -> Interval | None:
    interval = mean.interval
    if interval is None or interval.se is None or interval.df is None or mean.estimate is None:
        return None
    return t_interval(mean.estimate, interval.se, interval.df, alpha, interval.method)


def _costs(costs: ArrayLike) -> Floats:
    spent = vector(costs, "costs")
    if spent.size and spent.min() < 0.0:
        raise ValueError("costs must not be negative")
    return spent

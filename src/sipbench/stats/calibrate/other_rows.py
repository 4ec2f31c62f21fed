"""Calibration of ratios, the NIS box, bounds of lost attempts, attrition and pass^k."""

from __future__ import annotations

import numpy as np

from sipbench.stats._arrays import Floats, group
from sipbench.stats.calibrate.row import Figure, Hits, Row
from sipbench.stats.calibrate.worlds import AIRLINE, U_SHAPED, means, trials, world
from sipbench.stats.crossfit_lost import crossfit_bound
from sipbench.stats.intervals import Interval, clustered_t, t_interval
from sipbench.stats.losses import ratio_bounds
from sipbench.stats.means import Trials
from sipbench.stats.missing import Policy, Tally, attrition, sensitivity
from sipbench.stats.passk import pass_hat_k
from sipbench.stats.ratio import improvement_efficiency, joint_region, net_improvement
from sipbench.stats.selection import SolvedRule, crossfit_retention


def fieller_ratio(rng: np.random.Generator, reps: int) -> Row:
    """IE by Fieller against a cost taken as known."""
    n, n_costs, gain, cost, cv = 20, 10, 0.10, 100.0, 1.0
    sigma = np.sqrt(np.log(1 + cv**2))
    with_rule, fixed = Hits(), Hits()
    unbounded = 0
    for _ in range(reps):
        fg = clustered_t(rng.normal(gain, 0.25, n))
        costs = cost * np.exp(rng.normal(-(sigma**2) / 2, sigma, n_costs))
        got = improvement_efficiency(fg, costs)
        unbounded += got.unbounded
        # An unbounded set claims nothing that could be wrong.
        with_rule.add(got.interval or Interval(-1.0, 1.0, 0.95, "unbounded"), gain / cost)
        known = improvement_efficiency(fg, [float(costs.mean())])
        fixed.add(known.interval, gain / cost)
    figures = (
        Figure("coverage", with_rule.share, 0.94),
        Figure("share unbounded", unbounded / reps, 1 / reps, 0.5),
    )
    settings = f"{n} gains, {n_costs} log-normal costs, CV {cv:g}"
    without = (Figure("coverage", fixed.share, 0.94),)
    return Row("Fieller", settings, reps, figures, "the mean cost taken as known", without)


def joint(rng: np.random.Generator, reps: int) -> Row:
    """The joint region of gain and price, against two separate 95 % intervals."""
    n, n_costs, gain, cost = 20, 10, 0.10, 100.0
    box, ellipse, separate = 0, 0, 0
    for _ in range(reps):
        fg = clustered_t(rng.normal(gain, 0.25, n))
        costs = np.abs(rng.normal(cost, 30.0, n_costs))
        region = joint_region(fg, costs)
        alone = clustered_t(costs).interval
        if region is None or region.cost_interval is None or region.cost_radius is None:
            continue
        box += region.gain_interval.contains(gain) and region.cost_interval.contains(cost)
        z = ((gain - region.gain) / region.gain_radius) ** 2 + (
            (cost - region.cost) / region.cost_radius
        ) ** 2
        ellipse += z <= 1.0
        both = fg.interval is not None and fg.interval.contains(gain)
        separate += both and alone is not None and alone.contains(cost)
    figures = (
        Figure("coverage, box", box / reps, 0.94),
        Figure("coverage, ellipse", ellipse / reps, 0.94),
    )
    without = (Figure("coverage, two 95 % intervals", separate / reps, 0.94),)
    settings = f"{n} gains, {n_costs} normal costs, CV .3"
    return Row("joint region", settings, reps, figures, "each at its own 95 %", without)


def nis_box(rng: np.random.Generator, reps: int) -> Row:
    """The NIS interval at BR = 0, against an interval that takes BR as known."""
    n, k, lam = 40, 4, 2.0
    still = world(AIRLINE)
    with_rule, known = Hits(), Hits()
    for _ in range(reps):
        parts = [clustered_t(_unchanged(rng, still.beta, n, k)) for _ in range(2)]
        got = net_improvement(parts[0], parts[1], lam)
        with_rule.add(got.interval, 0.0)
        known.add(_br_known(got.estimate, parts[0].interval), 0.0)
    figures = (Figure("coverage", with_rule.share, 0.95),)
    without = (Figure("coverage", known.share, 0.95),)
    settings = f"{n} + {n} tasks, chances Beta{AIRLINE}, {k} trials, no change, lambda {lam:g}"
    return Row("NIS box", settings, reps, figures, "BR taken as known", without)


def lost_failures(rng: np.random.Generator, reps: int) -> Row:
    """Outer limits when failing attempts are lost at T1, against complete cases."""
    n, k, lost = 60, 4, 0.12
    ids = tuple(f"t{i:02d}" for i in range(n))
    planned = np.full(n, k)
    outer, complete, flagged = Hits(), Hits(), 0
    for _ in range(reps):
        p = rng.beta(*AIRLINE, n)
        passes, later = rng.binomial(k, p), rng.binomial(k, p)
        failures = k - later
        gone = rng.binomial(failures, min(1.0, lost * n * k / failures.sum()))
        before = Tally(ids, planned, planned, planned * 0, passes.astype(np.float64))
        after = Tally(ids, planned, planned - gone, planned * 0, later.astype(np.float64))
        got = sensitivity([after], [before])
        bounds = got.bounds
        outer.add(_limits(bounds.outer_low, bounds.outer_high) if bounds is not None else None, 0.0)
        complete.add(got.complete_case.interval, 0.0)
        flagged += attrition(before, after).flagged
    figures = (
        Figure("coverage of the outer limits", outer.share, 0.95),
        Figure("attrition flagged", flagged / reps, 0.95),
    )
    without = (Figure("coverage of complete cases", complete.share, 0.95),)
    settings = f"{n} tasks, {k} trials, no change, {lost:.0%} of attempts lost at T1, all failures"
    return Row("bounds", settings, reps, figures, Policy.COMPLETE_CASE.value, without)


def lost_before(rng: np.random.Generator, reps: int) -> Row:
    """Outer limits of BR_ratio and cross-fitted BR when T0 failures are lost, against complete cases."""
    n, k, lost = 60, 4, 0.12
    ids = tuple(f"t{i:02d}" for i in range(n))
    none, planned, rule, alone = np.zeros(n, np.int64), np.full(n, k), SolvedRule(), group(None, n)
    ratio, folds, complete = Hits(), Hits(), Hits()
    for _ in range(reps):
        p = rng.beta(*AIRLINE, n)
        t0, later = trials(rng, p, k), trials(rng, p, k).sum(axis=1)
        gone = (t0 == 0.0) & (rng.random((n, k)) < lost * n * k / np.sum(t0 == 0.0))
        before = Tally(ids, planned, planned - gone.sum(axis=1), none, t0.sum(axis=1))
        bounds = ratio_bounds(before, Tally(ids, planned, planned, none, later))
        limits = (bounds.outer_low, bounds.outer_high) if bounds is not None else (None, None)
        ratio.add(_limits(*limits), 1.0)
        made = Trials(ids, t0, ~gone, ~gone, np.ones((n, k), np.bool_))
        low, high = (crossfit_bound(made, later / k, rule, alone, 0.05, low=low) for low in (True, False))
        ends = low.interval, high.interval
        folds.add(_limits(ends[0].low if ends[0] else None, ends[1].high if ends[1] else None), 0.0)
        fitted = crossfit_retention(t0, t0 == 1.0, later / k, observed=~gone)
        complete.add(fitted.interval, 0.0)
    figures = (
        Figure("coverage of the outer limits, BR_ratio", ratio.share, 0.95),
        Figure("coverage of the outer limits, cross-fitted BR", folds.share, 0.95),
    )
    without = (Figure("coverage of complete cases, cross-fitted BR", complete.share, 0.95),)
    settings = f"{n} tasks, {k} trials, no change, {lost:.0%} of attempts lost at T0, all failures"
    return Row("bounds of replay", settings, reps, figures, Policy.COMPLETE_CASE.value, without)


def _limits(low: float | None, high: float | None) -> Interval | None:
    return None if low is None or high is None else Interval(low, high, 0.95, "outer")


def pass_hat(rng: np.random.Generator, reps: int) -> Row:
    """pass^4 from four trials, against the fourth power of the pass rate."""
    n, k = 50, 4
    a, b = U_SHAPED
    truth = float(np.prod([(a + j) / (a + b + j) for j in range(k)]))
    passes = rng.binomial(k, rng.beta(a, b, (reps, n)))
    unbiased = pass_hat_k(np.full(passes.size, k), passes.ravel(), k).mean()
    figures = (Figure("bias", float(unbiased) - truth, -0.005, 0.005),)
    without = (Figure("bias", float(np.mean((passes / k) ** k)) - truth, -0.005, 0.005),)
    settings = f"{n} tasks, chances Beta{U_SHAPED}, {k} trials, true pass^4 {truth:.3f}"
    return Row("pass^k", settings, reps, figures, "the plug-in rate", without)


def _unchanged(rng: np.random.Generator, beta: tuple[float, float], n: int, k: int) -> Floats:
    p = rng.beta(*beta, n)
    return means(rng, p, k) - means(rng, p, k)


def _br_known(estimate: float | None, fg: Interval | None) -> Interval | None:
    if estimate is None or fg is None or fg.se is None or fg.df is None:
        return None
    return t_interval(estimate, fg.se, fg.df, 0.05, "br_known")

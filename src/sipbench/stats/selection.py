"""Replay chosen by its own scores, and how to undo it.

Tasks chosen because a trial succeeded, and then scored on that trial, look worse ever
after although nothing changed: regression to the mean. Cross-fitting chooses on one
trial and scores on the others, for each trial in turn.

References:
    Barnett, van der Pols & Dobson (2005), Regression to the mean: what it is and how to
    deal with it, International Journal of Epidemiology 34(1), 215-220.
    Chernozhukov et al. (2018), Double/debiased machine learning, Econometrics Journal
    21(1), C1-C68 (cross-fitting).
    Bell & McCaffrey (2002), see `sipbench.stats.intervals` (unequal families).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sipbench.stats._arrays import Families, Floats, check_alpha, finite, group, vector
from sipbench.stats.intervals import ROUNDING, Interval, satterthwaite_df, t_interval

CROSSFIT = "crossfit_t"
CROSSFIT_CR2 = "crossfit_cr2_satterthwaite"

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """Cross-fitted backward retention.

    Attributes:
        estimate: Mean of ``per_fold``; None if no fold selects a task.
        interval: t interval from the per-task influences, or None.
        reason: Why there is no interval.
        n: Tasks that at least one fold selects.
        n_families: Families among them.
        per_fold: B_j of each fold that selects a task.
        fold_sizes: Tasks selected in each fold, ``|S_j|``, all folds.
        weights: Share of each task in the estimate, shape (tasks given,), sums to 1: the
            estimand weights tasks by their chance of being selected.
        differences: Mean change of each task over the folds that select it, shape (tasks
            given,), 0 where none does; the estimate is its mean by ``weights``.
    """

    estimate: float | None
    interval: Interval | None
    reason: str | None
    n: int
    n_families: int
    per_fold: tuple[float, ...]
    fold_sizes: tuple[int, ...]
    weights: Floats
    differences: Floats


def crossfit_retention(
    trials: ArrayLike,
    selected: ArrayLike,
    after: ArrayLike,
    families: ArrayLike | None = None,
    *,
    observed: ArrayLike | None = None,
    alpha: float = 0.05,
) -> CrossFit:
    """BR on replay tasks chosen on trial j and scored at T0 on the other trials.

    With ``S_j`` the tasks whose trial j meets the rule, ``r_ij`` the T1 mean of task i
    less the mean of its T0 trials other than j, ``B_j`` the mean of ``r_ij`` over S_j:
    ``BR = mean_j B_j``, influence ``u_i = mean_j [i in S_j] (r_ij - B_j)/|S_j|``,
    ``SE² = n/(n-1) * sum u_i²`` on ``mean_j |S_j| - 1`` degrees of freedom. Families of
    equal size take the place of tasks, their u summed. With families of unequal size
    that interval is too narrow (85 % where one dominates), so each family's square is
    divided by ``1 - w_g``, w_g its share of the weights, on Satterthwaite's degrees.

    Estimand: ``E[sel(i) (p_i(T1) - p_i(T0))] / E[sel(i)]``, tasks weighted by the
    chance sel(i) that a trial of theirs is selected.

    Args:
        trials: T0 scores, shape (n, k), k >= 2.
        selected: Whether the trial meets the rule, boolean, shape (n, k).
        after: T1 task means, shape (n,).
        families: Family label of each task, shape (n,), or None.
        observed: Which T0 trials have a score, boolean, shape (n, k); the score of the
            rest is ignored. None means all. A fold selects a task only if its trial j
            and at least one other are observed.
        alpha: One minus the level.

    Raises:
        ValueError: Shapes that do not fit, fewer than two trials, values not finite.
    """
    check_alpha(alpha)
    scores, chosen, known, y1 = _inputs(trials, selected, after, observed)
    others = known.sum(axis=1, keepdims=True) - known
    chosen = chosen & known & (others > 0)
    rest = (scores.sum(axis=1, keepdims=True) - scores) / np.maximum(others, 1)
    return fold_means(y1[:, np.newaxis] - rest, chosen, group(families, y1.size), alpha)


def fold_means(r: Floats, chosen: Flags, by_family: Families, alpha: float) -> CrossFit:
    """The mean over folds of the mean of ``r`` over the tasks that each selects, with its interval.

    Args:
        r: What is averaged, shape (n tasks, k folds), finite.
        chosen: Which tasks each fold selects, shape (n, k); a fold without one enters nothing.
        by_family: Membership of the n tasks.
        alpha: One minus the level.
    """
    sizes = chosen.sum(axis=0)
    used = sizes > 0
    fold_sizes = tuple(int(size) for size in sizes)
    if not used.any():
        none = np.zeros(r.shape[0])
        return CrossFit(None, None, "no fold selects a task", 0, 0, (), fold_sizes, none, none)
    picked, counts, values = chosen[:, used], sizes[used], r[:, used]
    per_fold = np.sum(np.where(picked, values, 0.0), axis=0) / counts
    estimate = float(per_fold.mean())
    influence = np.where(picked, (values - per_fold) / counts, 0.0).mean(axis=1)
    weights = (picked / counts).mean(axis=1)
    share = np.where(picked, values / counts, 0.0).mean(axis=1)
    differences = np.divide(share, weights, out=np.zeros_like(share), where=weights > 0.0)
    interval, reason = _interval(estimate, influence, weights, by_family, float(counts.mean()) - 1.0, alpha)
    return CrossFit(
        estimate,
        interval,
        reason,
        int(np.count_nonzero(weights)),
        int(np.count_nonzero(by_family.sums(weights))),
        tuple(per_fold.tolist()),
        fold_sizes,
        weights,
        differences,
    )


def same_run_bias(pass1: float, pass2: float) -> float | None:
    """Expected BR of an unchanged agent on tasks chosen because the scored trial succeeded.

    ``E[p²]/E[p] - 1 = -(pass^1 - pass^2)/pass^1``: among tasks solved in one trial the
    next trial succeeds at the rate ``pass^2/pass^1``, while the scored one is 1.

    Args:
        pass1: Chance that one trial succeeds, averaged over tasks (pass^1).
        pass2: Chance that two trials both do (pass^2), at most ``pass1``.

    Returns:
        The bias in score units, at most 0; None if nothing is ever solved.
    """
    if not 0.0 <= pass2 <= pass1 <= 1.0:
        raise ValueError(f"need 0 <= pass^2 <= pass^1 <= 1, not {pass2} and {pass1}")
    return (pass2 - pass1) / pass1 if pass1 > 0.0 else None


def expected_selection_bias(pass1: float, pass2: float, trials: int, least: int) -> float | None:
    """Expected BR of an unchanged agent on tasks solved in ``least`` of ``trials`` scored trials.

    With the chances of tasks taken as Beta(a, b) of the same pass^1 and pass^2: the passes of
    a task are beta-binomial, a task with c of k passes has the expected chance
    ``(a + c)/(a + b + k)``, and the bias is the mean of ``(a + c)/(a + b + k) - c/k`` over the
    selected tasks. For one trial of one it is `same_run_bias`, whatever the distribution.

    Args:
        pass1: Chance that one trial succeeds, averaged over tasks (pass^1).
        pass2: Chance that two trials both do (pass^2), between ``pass1²`` and ``pass1``.
        trials: Trials k that a task is chosen by and scored with.
        least: Passes that choose it, 1 .. k.

    Returns:
        The bias in score units, at most 0; None if nothing is ever solved.
    """
    if not 1 <= least <= trials:
        raise ValueError(f"a rule of {least} in {trials} trials chooses nothing")
    bias = same_run_bias(pass1, pass2)
    if bias is None or trials == 1 or pass1 == 1.0:
        return bias
    # Sampling can put pass^2 below pass1 squared, which no distribution has, or at pass1.
    icc = min(max((pass2 - pass1**2) / (pass1 * (1.0 - pass1)), 1e-6), 1.0 - 1e-6)
    a, b = pass1 * (1.0 / icc - 1.0), (1.0 - pass1) * (1.0 / icc - 1.0)
    from scipy.stats import betabinom

    c = np.arange(least, trials + 1)
    weight = betabinom.pmf(c, trials, a, b)
    return float(np.sum(weight * ((a + c) / (a + b + trials) - c / trials)) / np.sum(weight))


@dataclass(frozen=True, slots=True)
class SolvedRule:
    """When a task is chosen for replay: ``least`` of ``of`` trials score at least ``score``."""

    least: int = 1
    of: int = 1
    score: float = 1.0


_SOLVED = re.compile(r"solved|score *>= *(?P<score>[01]?\.?\d{1,8})")
_TIMES = re.compile(r"(?: +in(?: +at +least)? +(?P<least>\d{1,4}) +of +(?P<of>\d{1,4})| +once)?")
_SHORT = re.compile(r"(?P<least>\d{1,4})/(?P<of>\d{1,4})(?:@(?P<score>[01]?\.?\d{1,8}))?")


def solved_rule(text: str) -> SolvedRule | None:
    """Read a replay rule; None if it is not one of these.

    ``solved``, ``score >= 0.5``, either followed by ``in at least 2 of 3``; or ``2/3``,
    ``2/3@0.5``.
    """
    plain = text.strip().lower()
    if match := _SHORT.fullmatch(plain):
        found = match.groupdict()
    elif (what := _SOLVED.match(plain)) and (times := _TIMES.fullmatch(plain, what.end())):
        found = what.groupdict() | times.groupdict()
    else:
        return None
    rule = SolvedRule(int(found["least"] or 1), int(found["of"] or 1), float(found["score"] or 1.0))
    return rule if 1 <= rule.least <= rule.of and 0.0 < rule.score <= 1.0 else None


def _inputs(
    trials: ArrayLike, selected: ArrayLike, after: ArrayLike, observed: ArrayLike | None
) -> tuple[Floats, Flags, Flags, Floats]:
    scores = np.asarray(trials, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(f"cross-fitting needs at least two T0 trials per task, not shape {scores.shape}")
    known = (
        np.ones(scores.shape, dtype=np.bool_) if observed is None else np.asarray(observed, dtype=np.bool_)
    )
    chosen = np.asarray(selected, dtype=np.bool_)
    y1 = vector(after, "after")
    if known.shape != scores.shape or chosen.shape != scores.shape or y1.shape != scores.shape[:1]:
        raise ValueError("trials, selected, observed and after must hold the same tasks and trials")
    return finite(np.where(known, scores, 0.0), "trials"), chosen, known, y1


def _interval(
    estimate: float, influence: Floats, weights: Floats, by_family: Families, fold_df: float, alpha: float
) -> tuple[Interval | None, str | None]:
    n_families = by_family.sizes.size
    share = by_family.sums(weights)
    if fold_df <= 0.0 or np.count_nonzero(share) < 2:
        return None, "fewer than two selected tasks or families: their spread cannot be estimated"
    squares = by_family.sums(influence) ** 2
    df = min(fold_df, n_families - 1.0)
    if by_family.equal:
        variance, method = n_families / (n_families - 1) * float(squares.sum()), CROSSFIT
    else:
        held = share > 0.0
        variance, method = float(np.sum(squares[held] / (1.0 - share[held]))), CROSSFIT_CR2
        df = min(df, satterthwaite_df(share[held]))
    if math.sqrt(variance) <= ROUNDING:
        return None, "all selected tasks changed alike: their spread cannot be estimated"
    return t_interval(estimate, math.sqrt(variance), df, alpha, method), None

"""What lost attempts could change in cross-fitted replay.

A lost T0 attempt would have chosen its task in one fold or not, and would have counted in the other
folds. Each fold is taken at its own least: every attempt that it averages at its worst, and of the
tasks that a lost attempt might have chosen those that lower the fold's mean. The mean of these minima
is a lower bound of BR. It is sharp where only T1 attempts are lost; where T0 attempts are it is an outer
bound, since folds may take the same attempt at different scores. The upper bound mirrors it.

References:
    Manski (2003), Partial Identification of Probability Distributions, ch. 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sipbench.protocol import metrics
from sipbench.stats._arrays import Families, Floats, group
from sipbench.stats.adjusted import Subject
from sipbench.stats.changes import crossfit_contrast
from sipbench.stats.contrasts import Contrast, cluster_labels, linear_contrast
from sipbench.stats.means import Trials
from sipbench.stats.missing import Bounds, Policy, Sensitivity, Tally, below_eps, least_coverage
from sipbench.stats.selection import CrossFit, SolvedRule, crossfit_retention, fold_means

__all__ = [
    "CrossFitRatio",
    "Trials",
    "crossfit_ratio",
    "crossfit_sensitivity",
    "least_mean",
    "planned_trials",
]

Flags = NDArray[np.bool_]


def planned_trials(trials: Trials, tally: Tally) -> Trials:
    """The same with attempts that were planned and never made; they are taken as the last ones of a task.

    Args:
        trials: The attempts that were made.
        tally: How many were planned, with every task of ``trials``.
    """
    n, k = len(tally.ids), max(trials.planned.shape[1], int(tally.planned.max(initial=0)))
    position = {task: i for i, task in enumerate(tally.ids)}
    rows = [position[task] for task in trials.ids]
    made = trials.planned.shape[1]

    def widened(columns: Flags | Floats) -> Any:
        wide = np.zeros((n, k), dtype=columns.dtype)
        wide[rows, :made] = columns
        return wide

    planned: Flags = np.arange(k) < tally.planned[:, np.newaxis]
    scores, graded, counted = (widened(part) for part in (trials.scores, trials.graded, trials.counted))
    return Trials(tally.ids, scores, graded, counted, planned)


def _chosen(trials: Trials, rule: SolvedRule) -> Flags:
    """Which tasks each counted attempt chooses, shape (n, k), as the primary analysis has it."""
    others = trials.counted.sum(axis=1, keepdims=True) - trials.counted
    chosen: Flags = trials.counted & (trials.scores >= rule.score) & (others > 0)
    return chosen


def _possible(trials: Trials, rule: SolvedRule) -> Flags:
    """Which tasks each attempt chooses or might have chosen, shape (n, k)."""
    others = trials.planned.sum(axis=1, keepdims=True) - trials.planned
    possible: Flags = trials.planned & (~trials.graded | (trials.scores >= rule.score)) & (others > 0)
    return possible


def _rest(trials: Trials, lost: float) -> Floats:
    """Mean of the other attempts of a task with those without a grade at ``lost``, shape (n, k)."""
    filled: Floats = np.where(trials.graded, trials.scores, lost) * trials.planned
    others = trials.planned.sum(axis=1, keepdims=True) - trials.planned
    rest: Floats = (filled.sum(axis=1, keepdims=True) - filled) / np.maximum(others, 1)
    return rest


def least_mean(r: Floats, chosen: Flags, possible: Flags, by_family: Families, alpha: float) -> CrossFit:
    """The least mean over folds of the means of ``r``, where each fold may leave out what it need not select.

    A fold takes, beside the tasks it has, those of its possible ones that lower its mean: the lowest
    first, as long as they do. A fold without any task of its own enters only if that lowers the mean
    over folds.

    Args:
        r: What is averaged, shape (n tasks, k folds).
        chosen: What a fold selects for certain, shape (n, k).
        possible: What it may select, shape (n, k).
        by_family: Membership of the n tasks.
        alpha: One minus the level.
    """
    picked = chosen.copy()
    free: list[tuple[float, int, int]] = []
    means = []
    for fold in range(r.shape[1]):
        own = chosen[:, fold]
        spare = np.flatnonzero(possible[:, fold] & ~own)
        spare = spare[np.argsort(r[spare, fold], kind="stable")]
        if not own.any():
            if spare.size:
                free.append((float(r[spare[0], fold]), fold, int(spare[0])))
            continue
        sums = np.concatenate([[r[own, fold].sum()], r[spare, fold]]).cumsum()
        average = sums / (np.count_nonzero(own) + np.arange(spare.size + 1))
        least = int(np.argmin(average))
        picked[spare[:least], fold] = True
        means.append(float(average[least]))
    for value, fold, task in sorted(free):
        if means and value >= float(np.mean(means)):
            break
        picked[task, fold] = True
        means.append(value)
    return fold_means(r, picked, by_family, alpha)


def crossfit_bound(
    trials: Trials,
    after: Floats,
    rule: SolvedRule,
    by_family: Families,
    alpha: float,
    *,
    low: bool,
    certain: Flags | None = None,
) -> CrossFit:
    """The cross-fitted change with every lost attempt at its worst, or at its best.

    Args:
        trials: The planned T0 attempts, n tasks.
        after: T1 task means with lost attempts at the end that is asked for, shape (n,).
        rule: When an attempt chooses its task.
        by_family: Membership of the n tasks.
        alpha: One minus the level.
        low: Which of the two.
        certain: Tasks that each fold selects whatever was lost, shape (n, k); None: those that its
            counted attempts select.
    """
    own = _chosen(trials, rule) if certain is None else certain
    r = after[:, np.newaxis] - _rest(trials, 1.0 if low else 0.0)
    return _extreme(r, own, _possible(trials, rule), by_family, alpha, low=low)


def _extreme(
    r: Floats, chosen: Flags, possible: Flags, by_family: Families, alpha: float, *, low: bool
) -> CrossFit:
    if low:
        return least_mean(r, chosen, possible, by_family, alpha)
    return _mirrored(least_mean(-r, chosen, possible, by_family, alpha))


def crossfit_sensitivity(
    subject: Subject,
    control: Subject | None,
    metric: str,
    headline: Contrast,
    rule: SolvedRule,
    alpha: float,
) -> Sensitivity | None:
    """The cross-fitted headline under each way to treat lost attempts; None without attempts in a cell.

    Args:
        subject: The arm, whose attempts choose.
        control: The control arm, whose change is subtracted from each task; None without one.
        metric: The metric, by its name in ``PAIRS``.
        headline: The primary estimate.
        rule: When an attempt chooses its task.
        alpha: One minus the level.
    """
    if not _cells(subject, control, metric):
        return None
    at = _Replay(subject, control, metric, rule, alpha)
    if all(np.array_equal(cell.graded, cell.planned) for cell in at.cells):
        return Sensitivity(headline, headline, headline, headline, headline, at.coverage)
    return Sensitivity(
        at.under(Policy.COMPLETE_CASE),
        headline,
        at.under(Policy.ERRORS_AS_0),
        at.bound(low=True),
        at.bound(low=False),
        at.coverage,
        sharp=at.sharp,
    )


@dataclass(frozen=True, slots=True)
class CrossFitRatio:
    """The ratio of cross-fitted means where attempts were lost.

    Attributes:
        complete_case: With lost attempts dropped; None without a selected task.
        errors_as_0: With each counted as 0.
        bounds: What it can be; None if even the best mean T0 score is below eps.
    """

    complete_case: float | None
    errors_as_0: float | None
    bounds: Bounds | None


def crossfit_ratio(
    subject: Subject, metric: str, rule: SolvedRule, eps: float, alpha: float
) -> CrossFitRatio | None:
    """The ratio of cross-fitted means under each way to treat lost attempts, with outer bounds.

    ``[least mean of T1 / greatest mean of T0, greatest of T1 / least of T0]``, each mean over the tasks
    that make it so. The outer limits are the ratios of the ends of their intervals at 1 - alpha/2,
    which hold together at 1 - alpha (Bonferroni).

    Args:
        subject: The arm.
        metric: The metric, by its name in ``PAIRS``.
        rule: When an attempt chooses its task.
        eps: The least mean T0 score at which a ratio says anything.
        alpha: One minus the level.

    Returns:
        The values; None without attempts in one of the phases.
    """
    if not _cells(subject, None, metric):
        return None
    at = _Replay(subject, None, metric, rule, alpha / 2)
    return CrossFitRatio(
        at.ratio(Policy.COMPLETE_CASE, eps), at.ratio(Policy.ERRORS_AS_0, eps), _ratio_bounds(at, eps)
    )


def _ratio_bounds(at: _Replay, eps: float) -> Bounds | None:
    (worst1, best0), (best1, worst0) = at.sides(low=True), at.sides(low=False)
    low1, high0, high1, low0 = worst1.estimate, best0.estimate, best1.estimate, worst0.estimate
    if low1 is None or high0 is None or high1 is None or low0 is None or high0 < eps:
        return None
    outer_low = outer_high = None
    if worst1.interval is not None and best0.interval is not None:
        outer_low = max(0.0, worst1.interval.low) / min(1.0, best0.interval.high)
    if best1.interval is not None and worst0.interval is not None and worst0.interval.low >= eps:
        outer_high = min(1.0, best1.interval.high) / worst0.interval.low
    reason = worst1.reason or best0.reason or best1.reason or worst0.reason
    if low0 < eps:
        reason = below_eps(low0, eps)
    elif outer_high is None and reason is None:
        reason = "unbounded above: with its noise the mean T0 score may lie below eps"
    above = None if low0 < eps else high1 / low0
    return Bounds(low1 / high0, above, outer_low, outer_high if above else None, reason, sharp=False)


def _cells(subject: Subject, control: Subject | None, metric: str) -> list[Tally]:
    """T0 and T1 of the arm, then of the control; nothing if one of them is missing."""
    pair = subject.changes[metric].pair
    sides = (subject,) if control is None else (subject, control)
    keys = [(side, (phase, pair.split)) for side in sides for phase in (pair.before, pair.after)]
    if any(key not in side.tallies for side, key in keys):
        return []
    return [side.tallies[key] for side, key in keys]


class _Replay:
    """The attempts of a cross-fitted change, as every treatment of lost ones needs them."""

    def __init__(
        self, subject: Subject, control: Subject | None, metric: str, rule: SolvedRule, alpha: float
    ) -> None:
        change = subject.changes[metric]
        self.cells = _cells(subject, control, metric)
        self.coverage = least_coverage(self.cells)
        self.rule, self.alpha, self.families = rule, alpha, subject.arm.families
        made = subject.arm.trials(change.pair.before, change.pair.split)
        self.trials = planned_trials(made, self.cells[0])
        counted = set(change.plain.ids)
        if control is not None:
            counted &= set(control.changes[metric].plain.ids)
        self.counted = counted

    @property
    def sharp(self) -> bool:
        """Whether no lost attempt could have chosen a task: T1 alone is open, on tasks that count anyway."""
        before, after = self.cells[0], self.tasks(Policy.LOW, Policy.HIGH)[0].ids
        return np.array_equal(before.graded, before.planned) and set(after) <= self.counted

    def tasks(self, own: Policy, other: Policy) -> tuple[Trials, Floats]:
        """Trials of the tasks that a policy keeps, and the mean of each after, less the control's change.

        Args:
            own: What a lost attempt of the arm counts as.
            other: What one of the control counts as after; before it is ``own`` again.
        """
        _, after, *control = self.cells
        amount = after.means(own).by_task
        if control:
            before, later = control
            less = linear_contrast([later.means(other)], [before.means(own)], test=False)
            minus = dict(zip(less.ids, less.differences.tolist(), strict=True))
            amount = {task: amount[task] - minus[task] for task in amount.keys() & minus.keys()}
        ids = tuple(sorted(amount.keys() & set(self.trials.ids)))
        return self.trials.of(ids), np.asarray([amount[task] for task in ids])

    def under(self, policy: Policy) -> Contrast:
        """The change with lost attempts dropped, or each counted as 0."""
        kept, after = self.tasks(policy, policy)
        labels = cluster_labels(kept.ids, self.families)
        return crossfit_contrast(self._fitted(kept, after, policy), kept.ids, labels, (), test=False)

    def ratio(self, policy: Policy, eps: float) -> float | None:
        """The ratio of the means that the same change sets against each other."""
        kept, after = self.tasks(policy, policy)
        found = self._fitted(kept, after, policy)
        if found.estimate is None:
            return None
        later = float(np.sum(found.weights * after))
        return metrics.br_ratio(later - found.estimate, later, eps)

    def _fitted(self, kept: Trials, after: Floats, policy: Policy) -> CrossFit:
        if kept.planned.shape[1] < 2 or not kept.ids:
            none = np.zeros(len(kept.ids))
            return CrossFit(None, None, "no task has two attempts before", 0, 0, (), (), none, none)
        return crossfit_retention(
            kept.scores,
            kept.scores >= self.rule.score,
            after,
            cluster_labels(kept.ids, self.families),
            observed=kept.graded if policy is Policy.COMPLETE_CASE else kept.planned,
            alpha=self.alpha,
        )

    def bound(self, *, low: bool) -> Contrast:
        """The change with every lost attempt at its worst, or at its best."""
        kept, after = self.tasks(*_ends(low=low))
        labels = cluster_labels(kept.ids, self.families)
        own, by_family = self._certain(kept), group(labels, len(kept.ids))
        found = crossfit_bound(kept, after, self.rule, by_family, self.alpha, low=low, certain=own)
        return crossfit_contrast(found, kept.ids, labels, (), test=False)

    def sides(self, *, low: bool) -> tuple[CrossFit, CrossFit]:
        """The least cross-fitted mean of T1 and the greatest of T0, or the reverse."""
        kept, after = self.tasks(*_ends(low=low))
        own, possible = self._certain(kept), _possible(kept, self.rule)
        by_family = group(cluster_labels(kept.ids, self.families), len(kept.ids))
        later = np.broadcast_to(after[:, np.newaxis], kept.scores.shape)
        rest = _rest(kept, 1.0 if low else 0.0)
        return (
            _extreme(later, own, possible, by_family, self.alpha, low=low),
            _extreme(rest, own, possible, by_family, self.alpha, low=not low),
        )

    def _certain(self, kept: Trials) -> Flags:
        """What each fold selects whatever was lost: on tasks that the primary analysis counts."""
        certain: Flags = _chosen(kept, self.rule) & np.isin(kept.ids, list(self.counted))[:, np.newaxis]
        return certain


def _ends(*, low: bool) -> tuple[Policy, Policy]:
    return (Policy.LOW, Policy.HIGH) if low else (Policy.HIGH, Policy.LOW)


def _mirrored(found: CrossFit) -> CrossFit:
    """The same of what has the other sign."""
    if found.estimate is None:
        return found
    ends = found.interval
    return replace(
        found,
        estimate=-found.estimate,
        interval=replace(ends, low=-ends.high, high=-ends.low) if ends is not None else None,
        per_fold=tuple(-value for value in found.per_fold),
        differences=-found.differences,
    )

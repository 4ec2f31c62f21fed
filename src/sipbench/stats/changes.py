"""A change between two phases on one split: what every metric of differences rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sipbench.protocol.manifest import Crossfit, ReplaySelection
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats._arrays import Floats
from sipbench.stats.contrasts import Contrast, TaskMeans, cluster_labels, paired_contrast
from sipbench.stats.means import ArmTable
from sipbench.stats.selection import CrossFit, SolvedRule, crossfit_retention, solved_rule

__all__ = ["EMPTY", "PAIRS", "Change", "Pair", "change_of", "crossfit_against", "crossfit_contrast"]

EMPTY = TaskMeans((), np.empty(0))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two phases on one split."""

    split: Split
    before: Phase
    after: Phase


PAIRS: Mapping[str, Pair] = {
    "fg": Pair(Split.HELDOUT, Phase.T0, Phase.T1),
    "br": Pair(Split.REPLAY, Phase.T0, Phase.T1),
    "pds": Pair(Split.HELDOUT, Phase.T1, Phase.T2),
    "drift_gain": Pair(Split.DRIFT, Phase.T0, Phase.T2),
    "br_t2": Pair(Split.REPLAY, Phase.T0, Phase.T2),
}
"""The metrics that are paired differences."""


@dataclass(frozen=True, slots=True)
class Change:
    """A paired change of mean scores of one arm.

    Attributes:
        pair: Between what.
        contrast: The change with its interval: cross-fitted where replay is.
        plain: The change over all tasks counted in both phases; the same as ``contrast`` unless
            that is cross-fitted.
        before: Means of all tasks counted before.
        after: Means of all tasks counted after.
        pairs: Repeat to (mean before, mean after, tasks), on what the repeat counts in both.
        reason: Why there is no change, if there is none.
        crossfit: The cross-fitted change, if replay was chosen so.
        rule: When an attempt chooses its task for it.
    """

    pair: Pair
    contrast: Contrast
    plain: Contrast
    before: TaskMeans
    after: TaskMeans
    pairs: Mapping[int, tuple[float, float, int]]
    reason: str | None
    crossfit: CrossFit | None = None
    rule: SolvedRule | None = None

    @property
    def means(self) -> tuple[float, float] | None:
        """Mean before and after over the tasks of ``contrast``, as it weights them."""
        if self.contrast.estimate is None:
            return None
        if self.crossfit is not None:
            after = float(np.sum(self.crossfit.weights * self.after.of(self.plain.ids)))
            return after - self.contrast.estimate, after
        before, after = (float(side.of(self.plain.ids).mean()) for side in (self.before, self.after))
        return before, after

    def sides(self) -> tuple[Floats, Floats]:
        """Means before and after of the tasks of ``plain``, shape (n,) each."""
        return self.before.of(self.plain.ids), self.after.of(self.plain.ids)


def change_of(arm: ArmTable, pair: Pair, alpha: float, selection: ReplaySelection | None = None) -> Change:
    """The change of one arm between two phases.

    Args:
        arm: Its attempts.
        pair: Which phases, which split.
        alpha: One minus the level of the interval.
        selection: How replay was chosen; only ``crossfit`` changes how BR is computed.
    """
    cells = arm.task_means
    before, after = (cells.get((phase, pair.split), EMPTY) for phase in (pair.before, pair.after))
    plain = paired_contrast(before, after, arm.families, alpha=alpha)
    pairs = arm.paired(pair.split, pair.before, pair.after) if plain.n else {}
    reason = None if plain.n else _no_pair(pair, before, after)
    found = Change(pair, plain, plain, before, after, pairs, reason)
    if isinstance(selection, Crossfit) and pair.split is Split.REPLAY and plain.n:
        return _crossfitted(arm, found, selection, alpha)
    return found


def _no_pair(pair: Pair, before: TaskMeans, after: TaskMeans) -> str:
    empty = [phase for phase, side in ((pair.before, before), (pair.after, after)) if not side.ids]
    if empty:
        return f"no counted {' and no '.join(empty)} attempt on {pair.split.noun} tasks"
    return f"no {pair.split.noun} task was counted in both {pair.before} and {pair.after}"


def _crossfitted(arm: ArmTable, change: Change, selection: Crossfit, alpha: float) -> Change:
    rule = solved_rule(selection.rule)
    if rule is None:
        reason = (
            f"the cross-fitting rule '{selection.rule}' is not one that can be read; "
            "say `solved` or `score >= S`"
        )
        return _without(change, reason)
    fitted = _fit(arm, change, rule, alpha)
    if isinstance(fitted, str):
        return _without(change, fitted)
    plain = change.plain
    pairs: dict[int, tuple[float, float, int]] = {}
    for repeat in arm.repeats:
        of_repeat = _fit(arm, change, rule, alpha, repeat)
        if not isinstance(of_repeat, str) and of_repeat.estimate is not None:
            cell = _in_repeat(arm, change.pair, change.pair.after, repeat)
            after = float(np.sum(of_repeat.weights * cell.of(_common(arm, change, repeat))))
            pairs[repeat] = (after - of_repeat.estimate, after, of_repeat.n)
    return Change(
        change.pair,
        crossfit_contrast(fitted, plain.ids, plain.families, plain.unpaired),
        change.plain,
        change.before,
        change.after,
        pairs,
        None if fitted.estimate is not None else fitted.reason,
        fitted if fitted.estimate is not None else None,
        rule if fitted.estimate is not None else None,
    )


def crossfit_against(arm: ArmTable, change: Change, less: TaskMeans, alpha: float) -> Contrast:
    """The cross-fitted change less another change of each task, such as the control arm's.

    Args:
        arm: The adapted arm, whose trials choose.
        change: Its own change.
        less: What to subtract from each task; tasks without it enter nothing.
        alpha: One minus the level.
    """
    rule = change.rule or SolvedRule()
    minus = less.by_task
    keep = [i for i, task in enumerate(change.plain.ids) if task in minus]
    ids = tuple(change.plain.ids[i] for i in keep)
    amount = np.asarray([minus[task] for task in ids])
    fitted = _fit(arm, change, rule, alpha, tasks=(ids, change.after.of(ids) - amount))
    if isinstance(fitted, str):
        return _nothing(change.plain, fitted)
    families = tuple(change.plain.families[i] for i in keep)
    return crossfit_contrast(fitted, ids, families, change.plain.unpaired)


def _fit(
    arm: ArmTable,
    change: Change,
    rule: SolvedRule,
    alpha: float,
    repeat: int | None = None,
    tasks: tuple[tuple[str, ...], Floats] | None = None,
) -> CrossFit | str:
    """Cross-fit on the attempts before, of all repeats or of one; or why that cannot be done."""
    trials = arm.trials(change.pair.before, change.pair.split, repeat)
    if tasks is None:
        ids = change.plain.ids if repeat is None else _common(arm, change, repeat)
        pair = change.pair
        cell = change.after if repeat is None else _in_repeat(arm, pair, pair.after, repeat)
        tasks = ids, cell.of(ids)
    ids, after = tasks
    if trials.scores.shape[1] < 2 or not ids:
        return "cross-fitting needs two attempts of a replay task before"
    rows = trials.of(ids)
    return crossfit_retention(
        rows.scores,
        rows.scores >= rule.score,
        after,
        cluster_labels(ids, arm.families),
        observed=rows.counted,
        alpha=alpha,
    )


def _common(arm: ArmTable, change: Change, repeat: int) -> tuple[str, ...]:
    """Tasks that one repeat counts in both phases, sorted."""
    pair = change.pair
    sides = (_in_repeat(arm, pair, phase, repeat) for phase in (pair.before, pair.after))
    return tuple(sorted(set.intersection(*(set(side.ids) for side in sides))))


def _in_repeat(arm: ArmTable, pair: Pair, phase: Phase, repeat: int) -> TaskMeans:
    return arm.repeated_means.get((phase, pair.split), {}).get(repeat, EMPTY)


def crossfit_contrast(
    fitted: CrossFit,
    ids: tuple[str, ...],
    families: tuple[str, ...],
    unpaired: tuple[str, ...],
    *,
    test: bool = True,
) -> Contrast:
    """A cross-fitted change in the form of the others, on the tasks that a fold selects.

    Args:
        fitted: The change.
        ids: The tasks that it was fitted on.
        families: Their cluster labels.
        unpaired: Tasks counted on one side only.
        test: Whether to flip signs.
    """
    keep = np.flatnonzero(fitted.weights)
    found = Contrast(
        fitted.estimate,
        fitted.interval,
        fitted.reason,
        None,
        fitted.n,
        fitted.n_families,
        tuple(ids[i] for i in keep),
        fitted.differences[keep],
        tuple(families[i] for i in keep),
        unpaired,
        fitted.weights[keep],
    )
    return replace(found, p=found.flipped()) if test and keep.size else found


def _nothing(plain: Contrast, reason: str) -> Contrast:
    return Contrast(None, None, reason, None, 0, 0, (), np.empty(0), (), plain.unpaired)


def _without(change: Change, reason: str) -> Change:
    nothing = _nothing(change.plain, reason)
    return Change(change.pair, nothing, change.plain, change.before, change.after, {}, reason)

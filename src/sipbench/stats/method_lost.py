"""What lost attempts could change in a claim about a method: tasks by adaptations, under every policy.

Planned attempts that no adaptation has made are spread over the adaptations as evenly as possible. The
bounds set every lost attempt of the arm to one end of the score range and every one of the control to
the end that moves the difference the same way; some lost grades reach them, so they are sharp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sipbench.stats._arrays import Floats, Ints
from sipbench.stats.adjusted import Subject, merged_families
from sipbench.stats.contrasts import MethodMean, TaskMeans, cluster_labels, linear_contrast, method_scope
from sipbench.stats.means import ArmTable, CellKey
from sipbench.stats.missing import Policy, Sensitivity, Tally, least_coverage, under_every_policy

__all__ = ["method_sensitivity"]

type _Column = Mapping[str, float]


def method_sensitivity(
    subject: Subject, control: Subject | None, metric: str, primary: MethodMean, alpha: float, *, shared: bool
) -> Sensitivity | None:
    """A mean over tasks and adaptations under each way to treat lost attempts.

    Args:
        subject: The adapted arm.
        control: The control arm, whose change over all repeats is subtracted; None without one.
        metric: The metric, by its name in ``PAIRS``.
        primary: The primary estimate.
        alpha: One minus the level.
        shared: Whether the earlier attempts of both arms are the same; they enter nothing then.

    Returns:
        The mean under every policy; None without attempts in one of its cells.
    """
    pair = subject.changes[metric].pair
    before, after = (pair.before, pair.split), (pair.after, pair.split)
    keys = (after,) if shared else (after, before)
    sides = (subject,) if control is None else (subject, control)
    if any(key not in side.tallies for side in sides for key in keys):
        return None
    cells = [side.tallies[key] for side in sides for key in keys]
    coverage = least_coverage(cells)
    if all(np.array_equal(cell.graded, cell.planned) for cell in cells):
        return Sensitivity(primary, primary, primary, primary, primary, coverage)
    families = merged_families(subject, control)
    parts = [_Repeats(subject.arm, key, subject.tallies[key]) for key in keys]

    def under(added: Policy, subtracted: Policy) -> MethodMean:
        less = None
        if control is not None:
            plus = [control.tallies[after].means(subtracted)]
            minus = [] if shared else [control.tallies[before].means(added)]
            found = linear_contrast(plus, minus, test=False)
            less = TaskMeans(found.ids, found.differences).by_task
        policies = (added, subtracted)
        columns = [
            _difference(*(part.means(policy, at) for part, policy in zip(parts, policies, strict=False)))
            for at in range(len(subject.arm.repeats))
        ]
        return _mean([column for column in columns if column], less, families, alpha)

    return under_every_policy(under, primary, coverage)


def _mean(
    columns: Sequence[_Column], less: _Column | None, families: Mapping[str, str], alpha: float
) -> MethodMean:
    known = [set(column) for column in (*columns, *([less] if less is not None else []))]
    ids = tuple(sorted(set.intersection(*known))) if columns else ()
    cells = np.asarray([[column[task] for column in columns] for task in ids], dtype=np.float64)
    cells = cells.reshape(len(ids), len(columns))
    if less is not None:
        cells = cells - np.asarray([less[task] for task in ids]).reshape(-1, 1)
    return method_scope(cells, cluster_labels(ids, families), alpha)


def _difference(after: _Column, before: _Column | None = None) -> _Column:
    if before is None:
        return after
    return {task: after[task] - before[task] for task in after.keys() & before.keys()}


class _Repeats:
    """The attempts of one phase and split, repeat by repeat; all arrays have shape (repeats, tasks)."""

    def __init__(self, arm: ArmTable, key: CellKey, tally: Tally) -> None:
        phase, split = key
        chosen = (pl.col("phase") == phase.value) & (pl.col("benchmark_split") == split.value)
        made = (
            arm.frame.filter(chosen)
            .group_by("repeat", "task_id")
            .agg(
                pl.len().alias("recorded"),
                pl.col("score").is_not_null().sum().alias("graded"),
                pl.col("score").sort().sum().alias("total"),
            )
        )
        rows = np.searchsorted(np.asarray(arm.repeats), made["repeat"].to_numpy())
        columns = np.searchsorted(np.asarray(tally.ids), made["task_id"].cast(pl.String).to_numpy())
        shape = (len(arm.repeats), len(tally.ids))
        recorded, self.graded, self.total = (np.zeros(shape) for _ in range(3))
        recorded[rows, columns] = made["recorded"].to_numpy()
        self.graded[rows, columns] = made["graded"].to_numpy()
        self.total[rows, columns] = made["total"].to_numpy()
        self.planned = _spread(recorded, tally.planned)
        self.ids = tally.ids

    def means(self, policy: Policy, at: int) -> _Column:
        """Mean of each task in one repeat, on the tasks that a policy leaves with an attempt."""
        top, bottom = self.total[at], self.planned[at]
        if policy is Policy.COMPLETE_CASE:
            bottom = self.graded[at]
        elif policy is Policy.HIGH:
            top = top + (self.planned[at] - self.graded[at])
        keep = np.flatnonzero(bottom)
        return dict(zip((self.ids[i] for i in keep), (top[keep] / bottom[keep]).tolist(), strict=True))


def _spread(recorded: Floats, planned: Ints) -> Floats:
    """Planned attempts of each repeat: those recorded, and what no repeat has made in even shares."""
    unmade = planned - recorded.sum(axis=0)
    even = planned / recorded.shape[0]
    filled = np.where(even >= recorded.max(axis=0), even, recorded + unmade / recorded.shape[0])
    spread: Floats = np.where(unmade > 0.0, filled, recorded)
    return spread

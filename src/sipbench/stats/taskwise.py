"""The change of each task: raw, shrunken, and whether it flipped."""

from __future__ import annotations

import numpy as np

from sipbench.protocol.inference import TaskChanges
from sipbench.stats._arrays import Floats
from sipbench.stats.changes import Change
from sipbench.stats.means import ArmTable
from sipbench.stats.shrinkage import Shrunken, flips, shrink_changes

__all__ = ["LISTED_TASKS", "task_changes"]

LISTED_TASKS = 10_000
"""Tasks whose changes are listed one by one."""

# Columns of thousands of tasks need no 17 digits.
_DIGITS = 9


def task_changes(arm: ArmTable, change: Change) -> TaskChanges | None:
    """The change of each task counted in both phases; None without one."""
    ids = change.plain.ids
    if not ids:
        return None
    before, after = change.sides()
    shrunk = _shrunken(arm, change, before, after)
    shown = slice(0, LISTED_TASKS)
    return TaskChanges(
        ids=ids[shown],
        families=tuple(arm.families.get(task) for task in ids[shown]),
        before=_column(before[shown]),
        after=_column(after[shown]),
        shrunken=_column(shrunk.effects[shown]) if shrunk else None,
        kept=shrunk.weight if shrunk else None,
        flips=tuple(int(flip) for flip in flips(before, after)[shown]),
        omitted=max(0, len(ids) - LISTED_TASKS),
    )


def _shrunken(arm: ArmTable, change: Change, before: Floats, after: Floats) -> Shrunken | None:
    trials, variances = [], []
    for phase in (change.pair.before, change.pair.after):
        cell = arm.counts[phase, change.pair.split]
        position = {task: i for i, task in enumerate(cell.ids)}
        rows = [position[task] for task in change.plain.ids]
        trials.append(cell.counted[rows])
        # A single attempt has no variance; shrinking does not happen then.
        variances.append(np.nan_to_num(cell.variance[rows]))
    return shrink_changes(before, trials[0], after, trials[1], (variances[0], variances[1]))


def _column(values: Floats) -> tuple[float, ...]:
    return tuple(round(value, _DIGITS) for value in values.tolist())

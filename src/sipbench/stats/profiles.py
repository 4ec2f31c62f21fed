"""How one split went over the phases: the mean of each phase with its interval, and every task.

A mean here describes one phase; how phases differ is for the paired contrasts, whose intervals are
narrower where tasks differ more than they change.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from sipbench.protocol.inference import Interval
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats._arrays import Floats
from sipbench.stats.contrasts import cluster_labels
from sipbench.stats.entries import interval_entry
from sipbench.stats.intervals import clustered_t
from sipbench.stats.means import ArmTable

__all__ = ["Bundle", "PhaseMean", "Profile", "bundles", "profile"]

# Finer than any difference that can be seen, then coarser and coarser; all divide 1 evenly.
_STEPS = (1e-6, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class PhaseMean:
    """The mean score of one phase over its tasks.

    Attributes:
        phase: The phase.
        mean: Unweighted mean over tasks of the mean over a task's counted attempts.
        interval: Family-clustered t interval of that mean; None where the spread is not known.
        n_tasks: Tasks with a counted attempt.
    """

    phase: Phase
    mean: float
    interval: Interval | None
    n_tasks: int


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One arm on one split.

    Attributes:
        split: The split.
        phases: Phases with a counted attempt, in order, m of them.
        ids: Tasks with a counted attempt in any of them, sorted, n of them.
        scores: Mean score of each task in each phase, shape (n, m); NaN without a counted attempt.
        means: The mean of each phase.
    """

    split: Split
    phases: tuple[Phase, ...]
    ids: tuple[str, ...]
    scores: Floats
    means: tuple[PhaseMean, ...]


def profile(arm: ArmTable, split: Split, alpha: float) -> Profile | None:
    """The means of an arm on one split over the phases; None without a counted attempt.

    Args:
        arm: Its attempts.
        split: The split.
        alpha: One minus the level of the intervals.
    """
    cells = {phase: cell for phase in Phase if (cell := arm.task_means.get((phase, split)))}
    if not cells:
        return None
    ids = tuple(sorted({task for cell in cells.values() for task in cell.ids}))
    position = {task: i for i, task in enumerate(ids)}
    scores = np.full((len(ids), len(cells)), np.nan)
    means = []
    for column, (phase, cell) in enumerate(cells.items()):
        scores[[position[task] for task in cell.ids], column] = cell.means
        found = clustered_t(cell.means, cluster_labels(cell.ids, arm.families), alpha)
        interval = interval_entry(found.interval)
        means.append(PhaseMean(phase, float(cell.means.mean()), interval, len(cell.ids)))
    return Profile(split, tuple(cells), ids, scores, tuple(means))


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tasks that went alike.

    Attributes:
        scores: Their mean score in each phase of the profile; None where they have none.
        n_tasks: How many.
        task: The task, if it is one.
    """

    scores: tuple[float | None, ...]
    n_tasks: int
    task: str | None


def bundles(found: Profile, limit: int) -> list[Bundle]:
    """The lines of a profile: tasks that went alike together.

    Tasks are alike if they have the same scores; where that leaves more than ``limit`` lines, if their
    scores round to the same multiples of a step, the finest that leaves few enough. A bundle shows the
    mean of its tasks, not the rounded value.

    Args:
        found: The profile.
        limit: The most lines that can be drawn.
    """
    grouped: dict[tuple[int, ...], list[int]] = {}
    for step in _STEPS:
        grouped = _grouped(found.scores, step)
        if len(grouped) <= limit:
            break
    made = []
    for rows in sorted(grouped.values(), key=len, reverse=True)[:limit]:
        task = found.ids[rows[0]] if len(rows) == 1 else None
        made.append(Bundle(_known(found.scores[rows].mean(axis=0)), len(rows), task))
    return made


def _grouped(scores: Floats, step: float) -> dict[tuple[int, ...], list[int]]:
    codes = np.where(np.isnan(scores), -1, np.rint(np.nan_to_num(scores) / step)).astype(np.int64)
    grouped: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row, code in enumerate(map(tuple, codes.tolist())):
        grouped[code].append(row)
    return dict(grouped)


def _known(row: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in row)

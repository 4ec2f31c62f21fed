"""The change of an arm against its control, and over several adaptations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sipbench.protocol.manifest import Crossfit, ReplaySelection
from sipbench.protocol.vocabulary import PathType, Split
from sipbench.stats.changes import EMPTY, Change, Pair, crossfit_against
from sipbench.stats.contrasts import (
    Contrast,
    MethodMean,
    TaskMeans,
    cluster_labels,
    difference_in_differences,
    method_scope,
)
from sipbench.stats.means import ArmTable, CellKey
from sipbench.stats.missing import Tally

__all__ = ["Subject", "against", "merged_families", "over_adaptations"]


@dataclass(frozen=True, slots=True)
class Subject:
    """An arm, adapted or control: its attempts and its plan.

    Attributes:
        arm: Its attempts.
        path_type: Its path type.
        tallies: What became of its planned attempts, per phase and split.
        changes: Its changes by metric.
    """

    arm: ArmTable
    path_type: PathType
    tallies: Mapping[CellKey, Tally]
    changes: Mapping[str, Change]


def merged_families(subject: Subject, control: Subject | None) -> dict[str, str]:
    """Families of the tasks of both arms; what the adapted arm says of a task comes first."""
    return {**(control.arm.families if control else {}), **subject.arm.families}


def against(
    subject: Subject,
    control: Subject,
    metric: str,
    selection: ReplaySelection | None,
    alpha: float,
    *,
    shared: bool,
) -> Contrast:
    """The arm's change less the control's, per task; the earlier phase cancels where it is shared.

    Cross-fitted replay is chosen by the arm's own trials; what is subtracted from each task is the
    control's change over all of its attempts, which took no part in the choice.

    Args:
        subject: The adapted arm.
        control: The control arm.
        metric: The metric, by its name in ``PAIRS``.
        selection: How replay was chosen.
        alpha: One minus the level.
        shared: Whether the earlier attempts of both arms are the same.
    """
    change = subject.changes[metric]
    if isinstance(selection, Crossfit) and change.pair.split is Split.REPLAY and not shared:
        if change.crossfit is None:
            return change.contrast
        other = control.changes[metric].plain
        less = TaskMeans(other.ids, other.differences)
        return crossfit_against(subject.arm, change, less, alpha)
    pair = change.pair
    own, theirs = subject.arm.task_means, control.arm.task_means
    before, after = ((phase, pair.split) for phase in (pair.before, pair.after))
    return difference_in_differences(
        own.get(after, EMPTY),
        theirs.get(after, EMPTY),
        None if shared else own.get(before, EMPTY),
        None if shared else theirs.get(before, EMPTY),
        merged_families(subject, control),
        alpha=alpha,
    )


def over_adaptations(
    subject: Subject, control: Subject | None, change: Change, alpha: float, *, shared: bool
) -> MethodMean | None:
    """The change under each adaptation, tasks by repeats; None with fewer than two adaptations.

    A repeat is one adaptation with its own seed. The control has none: its change over all repeats is
    subtracted from each, so that its noise counts once, as a task's.

    Args:
        subject: The adapted arm.
        control: The control arm, where the headline is a difference in differences.
        change: The arm's change.
        alpha: One minus the level.
        shared: Whether the earlier attempts of both arms are the same.
    """
    if subject.path_type in (PathType.FROZEN, PathType.ORACLE) or change.crossfit is not None:
        return None
    pair = change.pair
    columns = [_column(subject.arm, repeat, pair, shared=shared) for repeat in subject.arm.repeats]
    columns = [column for column in columns if column]
    if len(columns) < 2:
        return None
    less = _control_column(control.arm, pair, shared=shared) if control is not None else None
    known = [*columns, less] if less is not None else columns
    ids = tuple(sorted(set.intersection(*(set(column) for column in known))))
    if not ids:
        return None
    cells = np.asarray([[column[task] for column in columns] for task in ids])
    if less is not None:
        cells = cells - np.asarray([less[task] for task in ids])[:, np.newaxis]
    return method_scope(cells, cluster_labels(ids, merged_families(subject, control)), alpha)


def _column(arm: ArmTable, repeat: int, pair: Pair, *, shared: bool) -> dict[str, float]:
    before, after = (
        arm.repeated_means.get((phase, pair.split), {}).get(repeat, EMPTY).by_task
        for phase in (pair.before, pair.after)
    )
    return after if shared else _less(after, before)


def _control_column(control: ArmTable, pair: Pair, *, shared: bool) -> dict[str, float]:
    before, after = (
        control.task_means.get((phase, pair.split), EMPTY).by_task for phase in (pair.before, pair.after)
    )
    return after if shared else _less(after, before)


def _less(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    return {task: after[task] - before[task] for task in after.keys() & before.keys()}

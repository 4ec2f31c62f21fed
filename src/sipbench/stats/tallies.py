"""What was planned and what became of it, task by task: the plan laid over the attempts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.means import ArmTable, CellKey
from sipbench.stats.missing import Tally

__all__ = ["tallies"]


def tallies(
    arm: ArmTable, planned: Mapping[CellKey, int] | None, manifest: SplitManifest | None
) -> dict[CellKey, Tally]:
    """The tally of each phase and split of an arm.

    A plan counts the attempts of a phase and split; they are spread evenly over the tasks of the
    split, which is how studies are planned. Where that does not come out even, or without a plan,
    what was recorded is what was planned.

    Args:
        arm: Its attempts.
        planned: Planned attempts per phase and split, over all repeats; None if unknown.
        manifest: The splits; without it a split's tasks are those attempted in any phase.
    """
    keys = set(arm.counts) | set(planned or {})
    return {
        key: _tally(arm, key, _expected(arm, key, planned, manifest)) for key in keys if key[1] in _SCORED
    }


_SCORED = (Split.HELDOUT, Split.REPLAY, Split.DRIFT)


def _expected(
    arm: ArmTable, key: CellKey, planned: Mapping[CellKey, int] | None, manifest: SplitManifest | None
) -> dict[str, int]:
    total = (planned or {}).get(key, 0)
    if not total:
        return {}
    if manifest is not None and manifest.tasks(key[1]):
        tasks = {entry.id for entry in manifest.tasks(key[1])}
    else:
        tasks = {task for phase in Phase if (cell := arm.counts.get((phase, key[1]))) for task in cell.ids}
    if not tasks or total % len(tasks):
        return {}
    return dict.fromkeys(tasks, total // len(tasks))


def _tally(arm: ArmTable, key: CellKey, expected: Mapping[str, int]) -> Tally:
    cell = arm.counts.get(key)
    if cell is not None and not expected:
        return Tally(cell.ids, cell.recorded, cell.graded, cell.errors, cell.total)
    recorded = dict(zip(cell.ids, cell.recorded.tolist(), strict=True)) if cell else {}
    ids = tuple(sorted({*recorded, *(task for task, n in expected.items() if n)}))
    asked = np.asarray([max(recorded.get(task, 0), expected.get(task, 0)) for task in ids], dtype=np.int64)
    graded, errors = (np.zeros(len(ids), dtype=np.int64) for _ in range(2))
    total = np.zeros(len(ids))
    if cell is not None:
        position = {task: i for i, task in enumerate(ids)}
        rows = [position[task] for task in cell.ids]
        graded[rows], errors[rows], total[rows] = cell.graded, cell.errors, cell.total
    return Tally(ids, asked, graded, errors, total)

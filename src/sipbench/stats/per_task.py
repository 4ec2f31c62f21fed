"""Single tasks and attempts, in as many pieces as can be drawn: bars of changes, a grid of attempts.

Where there are more tasks than a drawing has room for, neighbours are put together and a piece is the
mean of its tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sipbench.protocol.inference import TaskChanges
from sipbench.protocol.vocabulary import Phase, Split, Status
from sipbench.stats.means import ArmTable

__all__ = ["Bar", "Grid", "GridCell", "GridColumn", "Pieces", "attempt_grid", "task_pieces", "waterfall"]


@dataclass(frozen=True, slots=True)
class Bar:
    """The change of one task, or the mean of neighbours in the order of their changes.

    Attributes:
        first: Rank of the first of its tasks, from 0.
        tasks: How many.
        task: The task, if it is one.
        family: Its family, if it has one.
        before: Mean score before.
        after: Mean score after.
        change: After less before.
        shrunken: The same, shrunken towards the mean of all by as much as it is trial noise; None where
            a task has a single attempt before or after.
        gained: Tasks that went from never to always.
        lost: Tasks that went from always to never.
    """

    first: int
    tasks: int
    task: str | None
    family: str | None
    before: float
    after: float
    change: float
    shrunken: float | None
    gained: int
    lost: int


def waterfall(found: TaskChanges, limit: int) -> list[Bar]:
    """The changes of tasks, largest first: by the shrunken change, then by the raw one, then by id.

    Args:
        found: The changes.
        limit: The most bars that can be drawn; beyond it neighbours share a bar, as evenly as it goes.
    """
    before, after = np.asarray(found.before), np.asarray(found.after)
    change = after - before
    shrunken = None if found.shrunken is None else np.asarray(found.shrunken)
    flips = np.asarray(found.flips, dtype=np.int64)
    first = change if shrunken is None else shrunken
    order = sorted(range(len(found.ids)), key=lambda i: (-first[i], -change[i], found.ids[i]))
    bars, start = [], 0
    for rows in np.array_split(np.asarray(order, dtype=np.int64), min(limit, len(order)) or 1):
        if not rows.size:
            continue
        alone = int(rows[0]) if rows.size == 1 else None
        bars.append(
            Bar(
                first=start,
                tasks=int(rows.size),
                task=None if alone is None else found.ids[alone],
                family=None if alone is None else found.families[alone],
                before=float(before[rows].mean()),
                after=float(after[rows].mean()),
                change=float(change[rows].mean()),
                shrunken=None if shrunken is None else float(shrunken[rows].mean()),
                gained=int((flips[rows] > 0).sum()),
                lost=int((flips[rows] < 0).sum()),
            )
        )
        start += int(rows.size)
    return bars


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tasks of a split in the order in which they are drawn, in pieces.

    Attributes:
        split: The split.
        piece: Number of the piece of each task id.
        tasks: Number of tasks of each piece.
        names: Id of each piece that is one task, else None.
    """

    split: Split
    piece: Mapping[str, int]
    tasks: tuple[int, ...]
    names: tuple[str | None, ...]


def task_pieces(arms: Sequence[ArmTable], split: Split, limit: int) -> Pieces | None:
    """The tasks of a split from easy to hard, the same for all arms; None without one.

    Easy is what scores high on average: by the mean of a task's mean scores over all arms and phases, then
    by id; a task that was never counted comes last. (By the scores of one phase alone the order itself
    would make that phase look more extreme than the others: regression to the mean.)

    Args:
        arms: The arms.
        split: The split.
        limit: The most pieces that can be drawn.
    """
    ids = sorted({task for arm in arms for task in arm.tasks(split)})
    if not ids:
        return None
    position = {task: i for i, task in enumerate(ids)}
    total, counts = np.zeros(len(ids)), np.zeros(len(ids))
    for arm in arms:
        for (_, place), cell in arm.task_means.items():
            if place is split:
                rows = [position[task] for task in cell.ids]
                total[rows] += cell.means
                counts[rows] += 1
    ease = np.where(counts > 0, total / np.maximum(counts, 1), -1.0)
    order = sorted(range(len(ids)), key=lambda i: (-ease[i], ids[i]))
    parts = np.array_split(np.asarray(order, dtype=np.int64), min(limit, len(order)))
    piece = {ids[i]: number for number, rows in enumerate(parts) for i in rows}
    names = tuple(ids[rows[0]] if rows.size == 1 else None for rows in parts)
    return Pieces(split, piece, tuple(int(rows.size) for rows in parts), names)


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column: one attempt of each task, or the mean of several.

    Attributes:
        phase: The phase.
        repeat: The repeat; None if all are in it.
        attempt: The attempt's index; None if all are in it.
    """

    phase: Phase
    repeat: int | None
    attempt: int | None


@dataclass(frozen=True, slots=True)
class GridCell:
    """What one piece scored in one column.

    Attributes:
        piece: The piece.
        column: Number of the column.
        value: Mean of the scores that count, agent errors as 0; None without one.
        attempts: Attempts recorded.
        counted: Attempts that count.
        status: How it ended, if it is one attempt.
        row: The attempt's row in the table of all attempts, if it is one attempt.
    """

    piece: int
    column: int
    value: float | None
    attempts: int
    counted: int
    status: Status | None
    row: int | None


@dataclass(frozen=True, slots=True)
class Grid:
    """Attempts of one arm and split: pieces of tasks by phases, repeats and attempts."""

    columns: tuple[GridColumn, ...]
    cells: tuple[GridCell, ...]


def attempt_grid(arm: ArmTable, pieces: Pieces, limit: int) -> Grid | None:
    """Every attempt of an arm on one split, or means of them where they are more than can be drawn.

    Args:
        arm: Its attempts; ``row`` of a cell needs their column ``row``.
        pieces: The tasks, as drawn.
        limit: The most columns; beyond it attempts are put together by repeat, then by phase.

    Returns:
        The grid; None without an attempt.
    """
    frame = arm.frame.filter(pl.col("benchmark_split") == pieces.split.value)
    if frame.is_empty():
        return None
    task = frame["task_id"].cast(pl.String)
    frame = frame.with_columns(
        task.replace_strict(pieces.piece, return_dtype=pl.Int64).alias("piece"),
        pl.col("phase").to_physical().cast(pl.Int64).alias("at"),
    )
    if "row" not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.Int64).alias("row"))
    keys = next(
        (keys for keys in _KEYS if frame.select(keys).n_unique() <= limit),
        _KEYS[-1],
    )
    places = frame.select(keys).unique().sort(keys)
    columns = tuple(_column(place) for place in places.iter_rows(named=True))
    frame = frame.join(places.with_row_index("column"), on=keys)
    cells = frame.group_by("piece", "column").agg(
        pl.col("value").sort().mean(),
        pl.len().alias("attempts"),
        pl.col("value").count().alias("counted"),
        pl.col("status").cast(pl.String).first(),
        pl.col("row").first(),
    )
    return Grid(columns, tuple(_cell(*cell) for cell in cells.sort("piece", "column").iter_rows()))


_KEYS = (["at", "repeat", "attempt_index"], ["at", "repeat"], ["at"])


def _column(place: Mapping[str, int]) -> GridColumn:
    return GridColumn(list(Phase)[place["at"]], place.get("repeat"), place.get("attempt_index"))


def _cell(
    piece: int,
    column: int,
    value: float | None,
    attempts: int,
    counted: int,
    status: str,
    row: int | None,
) -> GridCell:
    one = attempts == 1
    return GridCell(
        piece, column, value, attempts, counted, Status(status) if one else None, row if one else None
    )

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol.inference import TaskChanges
from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Phase, Split, Status
from sipbench.stats.means import ArmTable, split_arms
from sipbench.stats.per_task import attempt_grid, task_pieces, waterfall
from sipbench.stats.tables import table_of
from tests.protocol.made import cell


def arms(records: list[RunRecord]) -> list[ArmTable]:
    frame = table_of(records, None).frame.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    return split_arms(frame)


def changes(**given: object) -> TaskChanges:
    fields: dict[str, object] = {
        "ids": ("a", "b", "c"),
        "families": ("f", None, "f"),
        "before": (0.0, 1.0, 0.5),
        "after": (1.0, 0.0, 0.5),
        "shrunken": (0.4, -0.2, 0.1),
        "kept": 0.5,
        "flips": (1, -1, 0),
        **given,
    }
    return TaskChanges.model_validate(fields)


def test_bars_fall_from_the_largest_gain_to_the_largest_loss() -> None:
    bars = waterfall(changes(), 10)
    assert [bar.task for bar in bars] == ["a", "c", "b"]
    assert [bar.shrunken for bar in bars] == [0.4, 0.1, -0.2]
    assert [bar.change for bar in bars] == [1.0, 0.0, -1.0]
    assert [(bar.gained, bar.lost) for bar in bars] == [(1, 0), (0, 0), (0, 1)]
    assert [bar.family for bar in bars] == ["f", "f", None]


def test_without_shrinking_the_raw_change_orders() -> None:
    bars = waterfall(changes(shrunken=None, kept=None), 10)
    assert [bar.task for bar in bars] == ["a", "c", "b"]
    assert {bar.shrunken for bar in bars} == {None}


def test_neighbours_share_a_bar_where_there_is_no_room() -> None:
    first, second = waterfall(changes(), 2)
    assert (first.first, first.tasks, second.first, second.tasks) == (0, 2, 2, 1)
    assert first.change == pytest.approx(0.5)  # of 1 and 0
    assert first.shrunken == pytest.approx(0.25)  # of .4 and .1
    assert (first.task, first.gained, second.task, second.lost) == (None, 1, "b", 1)


@given(n=st.integers(1, 60), limit=st.integers(1, 20))
def test_every_task_is_in_one_bar(n: int, limit: int) -> None:
    ids = tuple(f"t{i}" for i in range(n))
    after = tuple(i / n for i in range(n))
    zeros = (0.0,) * n
    found = changes(
        ids=ids, families=(None,) * n, before=zeros, after=after, shrunken=None, kept=None, flips=(0,) * n
    )
    bars = waterfall(found, limit)
    assert len(bars) == min(n, limit)
    assert sum(bar.tasks for bar in bars) == n
    assert sum(bar.tasks * bar.change for bar in bars) == pytest.approx(sum(after))
    assert [bar.change for bar in bars] == sorted((bar.change for bar in bars), reverse=True)


STUDY = [
    *cell("T0", "heldout", {"hard": [0.0, "agent_error"], "easy": [1.0, 0.5]}, arm="x"),
    *cell("T1", "heldout", {"hard": [1.0, "cancelled"]}, arm="x"),
]


def test_tasks_stand_from_easy_to_hard_the_same_for_all_arms() -> None:
    other = cell("T0", "heldout", {"hard": [0.2], "easy": [0.9], "lost": ["cancelled"]}, arm="y")
    pieces = task_pieces(arms([*STUDY, *other]), Split.HELDOUT, 10)
    assert pieces is not None
    # hard: (0 + 1 + .2) / 3 over the cells that count it; easy: (.75 + .9) / 2.
    assert pieces.names == ("easy", "hard", "lost")
    assert pieces.tasks == (1, 1, 1)
    assert task_pieces(arms(STUDY), Split.DRIFT, 10) is None


def test_no_phase_decides_the_order_alone() -> None:
    # At T0 `a` scores more, over both phases `b` does.
    records = [
        *cell("T0", "heldout", {"a": [0.6], "b": [0.5]}),
        *cell("T1", "heldout", {"a": [0.1], "b": [0.9]}),
    ]
    pieces = task_pieces(arms(records), Split.HELDOUT, 10)
    assert pieces is not None
    assert pieces.names == ("b", "a")


def test_each_attempt_has_a_cell_with_its_status_and_its_row() -> None:
    (arm,) = arms(STUDY)
    pieces = task_pieces([arm], Split.HELDOUT, 10)
    assert pieces is not None
    grid = attempt_grid(arm, pieces, 10)
    assert grid is not None
    places = [(column.phase, column.repeat, column.attempt) for column in grid.columns]
    assert places == [(Phase.T0, 0, 0), (Phase.T0, 0, 1), (Phase.T1, 0, 0), (Phase.T1, 0, 1)]
    found = {(cell.piece, cell.column): (cell.value, cell.status, cell.row) for cell in grid.cells}
    assert found == {
        (0, 0): (1.0, Status.GRADED, 2),
        (0, 1): (0.5, Status.GRADED, 3),
        (1, 0): (0.0, Status.GRADED, 0),
        (1, 1): (0.0, Status.AGENT_ERROR, 1),
        (1, 2): (1.0, Status.GRADED, 4),
        (1, 3): (None, Status.CANCELLED, 5),
    }


@pytest.mark.parametrize(("limit", "columns"), [(4, 4), (3, 2), (2, 2), (1, 2)])
def test_columns_are_put_together_by_repeat_then_by_phase(limit: int, columns: int) -> None:
    (arm,) = arms(STUDY)
    pieces = task_pieces([arm], Split.HELDOUT, 10)
    assert pieces is not None
    grid = attempt_grid(arm, pieces, limit)
    assert grid is not None
    assert len(grid.columns) == columns
    if columns == 2:
        hard = next(cell for cell in grid.cells if (cell.piece, cell.column) == (1, 1))
        assert (hard.value, hard.attempts, hard.counted, hard.status, hard.row) == (1.0, 2, 1, None, None)


def test_pieces_of_many_tasks_show_their_mean() -> None:
    (arm,) = arms(STUDY)
    pieces = task_pieces([arm], Split.HELDOUT, 1)
    assert pieces is not None
    assert (pieces.tasks, pieces.names) == ((2,), (None,))
    grid = attempt_grid(arm, pieces, 10)
    assert grid is not None
    assert [cell.value for cell in grid.cells] == [0.5, 0.25, 1.0, None]


def test_a_split_without_an_attempt_has_no_grid() -> None:
    (arm,) = arms(STUDY)
    (other,) = arms(cell("T0", "replay", {"r": [1.0]}))
    pieces = task_pieces([other], Split.REPLAY, 10)
    assert pieces is not None
    assert attempt_grid(arm, pieces, 10) is None

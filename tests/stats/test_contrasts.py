"""Paired contrasts, difference in differences, and claims about a method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.stats.contrasts import (
    METHOD_SCOPE,
    TaskMeans,
    cluster_labels,
    difference_in_differences,
    linear_contrast,
    method_scope,
    paired_contrast,
    task_means,
)
from sipbench.stats.intervals import clustered_t


def means(**values: float) -> TaskMeans:
    return TaskMeans(tuple(values), np.asarray(list(values.values())))


def test_attempts_are_averaged_per_task_before_anything_else() -> None:
    # The page's example: p = 1 and p = 0, run 9+1 times at T0 and 5+5 at T1; pooled rows give -.40.
    before = task_means(["a"] * 9 + ["b"], [1.0] * 9 + [0.0])
    after = task_means(["a"] * 5 + ["b"] * 5, [1.0] * 5 + [0.0] * 5)
    assert paired_contrast(before, after).estimate == 0.0


def test_a_contrast_by_hand() -> None:
    got = paired_contrast(means(a=0.0, b=0.5, c=0.5, d=1.0), means(a=0.5, b=0.5, c=1.0, d=0.5))
    assert got.ids == ("a", "b", "c", "d")
    assert got.differences.tolist() == [0.5, 0.0, 0.5, -0.5]
    assert got.estimate == pytest.approx(0.125)
    # residuals .375, -.125, .375, -.625; squares sum to .6875
    assert got.interval is not None
    assert got.interval.se == pytest.approx(np.sqrt(0.6875 / 3 / 4))
    # of the 8 sign choices of three halves, all have a total of .5 or 1.5 in size
    assert got.p is not None
    assert got.p.p == 1.0


def test_tasks_of_one_side_only_enter_nothing_and_are_named() -> None:
    got = paired_contrast(means(a=0.0, b=0.5, z=1.0), means(b=1.0, a=0.5, y=0.0))
    assert (got.n, got.unpaired) == (2, ("y", "z"))
    assert got.estimate == pytest.approx(0.5)


def test_without_a_common_task_there_is_no_estimate() -> None:
    got = paired_contrast(means(a=0.0), means(b=1.0))
    assert (got.estimate, got.interval, got.p, got.n) == (None, None, None, 0)
    assert got.reason == "no task to average over"


def test_families_cluster_and_a_task_without_one_stands_alone() -> None:
    families = {"a": "f", "b": "f"}
    assert cluster_labels(("a", "b", "f"), families) == ("family:f", "family:f", "task:f")
    got = paired_contrast(means(a=0.0, b=0.0, f=0.0), means(a=1.0, b=1.0, f=0.0), families)
    assert (got.n, got.n_families) == (3, 2)


def test_difference_in_differences_by_hand() -> None:
    # a: (1 - 0) - (.5 - 0) = .5; b: (.5 - .5) - (0 - .5) = .5; c: (0 - 1) - (1 - 1) = -1
    got = difference_in_differences(
        means(a=1.0, b=0.5, c=0.0),
        means(a=0.5, b=0.0, c=1.0),
        means(a=0.0, b=0.5, c=1.0),
        means(a=0.0, b=0.5, c=1.0),
    )
    assert got.differences.tolist() == [0.5, 0.5, -1.0]


def test_shared_earlier_rows_cancel() -> None:
    after, control, before = means(a=1.0, b=0.5), means(a=0.5, b=0.5), means(a=0.25, b=0.75)
    shared = difference_in_differences(after, control)
    given_twice = difference_in_differences(after, control, before, before)
    assert shared.differences == pytest.approx(given_twice.differences)


def test_drift_of_both_arms_vanishes() -> None:
    rng = np.random.default_rng(1)
    ids = tuple(f"t{i}" for i in range(30))
    before = TaskMeans(ids, rng.uniform(0.3, 0.6, 30))
    worse = TaskMeans(ids, before.means - 0.1)
    raw = paired_contrast(before, worse)
    assert raw.estimate == pytest.approx(-0.1)
    adjusted = difference_in_differences(worse, worse, before, before)
    assert adjusted.estimate == 0.0
    assert adjusted.interval is None


def test_one_earlier_cell_without_the_other_is_refused() -> None:
    one = means(a=1.0)
    with pytest.raises(ValueError, match="of both arms"):
        difference_in_differences(one, one, one)
    with pytest.raises(ValueError, match="at least one cell"):
        linear_contrast([], [])


def test_task_means_are_one_per_task() -> None:
    with pytest.raises(ValueError, match="twice"):
        TaskMeans(("a", "a"), np.zeros(2))
    with pytest.raises(ValueError, match="2 task ids for 1"):
        TaskMeans(("a", "b"), np.zeros(1))
    with pytest.raises(ValueError, match="1 task ids for 2"):
        task_means(["a"], [0.0, 1.0])


unit = st.integers(0, 4).map(lambda x: x / 4)
tables = st.lists(st.tuples(unit, unit), min_size=2, max_size=25)


@given(tables)
def test_swapping_the_phases_negates(rows: list[tuple[float, float]]) -> None:
    ids = tuple(f"t{i}" for i in range(len(rows)))
    before, after = (TaskMeans(ids, np.asarray(side)) for side in zip(*rows, strict=True))
    forth, back = paired_contrast(before, after), paired_contrast(after, before)
    assert forth.estimate == pytest.approx(-(back.estimate or 0.0), abs=1e-15)
    assert forth.p == back.p
    assert (forth.interval is None) == (back.interval is None)
    if forth.interval is not None and back.interval is not None:
        assert (forth.interval.low, forth.interval.high) == pytest.approx(
            (-back.interval.high, -back.interval.low), abs=1e-12
        )


@given(tables)
def test_row_order_does_not_reach_the_last_digit(rows: list[tuple[float, float]]) -> None:
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    ids = [f"t{i:02d}" for i in range(len(rows))]
    sides = [np.asarray(side) for side in zip(*rows, strict=True)]
    plain = paired_contrast(*(TaskMeans(tuple(ids), side) for side in sides))
    mixed = paired_contrast(*(TaskMeans(tuple(ids[i] for i in order), side[order]) for side in sides))
    assert (plain.estimate, plain.interval, plain.p) == (mixed.estimate, mixed.interval, mixed.p)


def test_method_scope_by_hand() -> None:
    # tasks 0, .5, 1 under two seeds that differ by .2 without interaction
    cells = np.array([[0.0, 0.2], [0.5, 0.7], [1.0, 1.2]])
    got = method_scope(cells)
    assert got.estimate == pytest.approx(0.6)
    assert got.v_task == pytest.approx(0.25 / 3)
    assert got.v_seed == pytest.approx(0.02 / 2)
    assert got.v_cell == pytest.approx(0.0)
    assert got.interval is not None
    v = 0.25 / 3 + 0.01
    assert got.interval.se == pytest.approx(np.sqrt(v))
    assert got.interval.df == pytest.approx(v**2 / ((0.25 / 3) ** 2 / 2 + 0.01**2 / 1))
    assert got.interval.method == METHOD_SCOPE


def test_method_scope_never_falls_below_either_source_alone() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        cells = rng.normal(0.1, 0.3, (12, 3))
        got = method_scope(cells)
        assert got.interval is not None
        assert got.interval.se is not None
        assert got.v_task is not None
        assert got.v_seed is not None
        assert got.interval.se**2 >= max(got.v_task, got.v_seed) - 1e-15


def test_method_scope_without_difference_between_seeds_is_the_interval_of_task_means() -> None:
    d = np.random.default_rng(3).normal(0.1, 0.3, 20)
    got = method_scope(np.stack([d, d], axis=1)).interval
    alone = clustered_t(d).interval
    assert got is not None
    assert alone is not None
    assert (got.se, got.df) == pytest.approx((alone.se, alone.df))


def test_method_scope_needs_two_adaptations() -> None:
    got = method_scope(np.ones((3, 1)))
    assert (got.estimate, got.interval) == (1.0, None)
    assert "one adaptation seed" in (got.reason or "")
    assert method_scope(np.empty((0, 2))).reason == "no task or no adaptation to average over"
    with pytest.raises(ValueError, match="one row per task"):
        method_scope([1.0, 2.0])

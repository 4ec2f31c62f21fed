"""Attempts without a grade: policies, bounds, coverage and its gate, attrition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.stats.missing import (
    Gate,
    Policy,
    Tally,
    attrition,
    coverage_gate,
    sensitivity,
    tally,
)


def counted(ids: list[str], planned: list[int], graded: list[int], total: list[float]) -> Tally:
    return Tally(
        tuple(ids), np.asarray(planned), np.asarray(graded), np.zeros(len(ids), dtype=int), np.asarray(total)
    )


def test_counting_by_hand() -> None:
    got = tally(
        ["a", "a", "a", "b", "b"],
        ["graded", "agent_error", "infrastructure_error", "timeout_graded", "cancelled"],
        [1.0, None, None, 0.5, None],
        planned={"a": 4, "c": 2},
    )
    assert got.ids == ("a", "b", "c")
    assert got.planned.tolist() == [4, 2, 2]
    assert got.graded.tolist() == [1, 1, 0]
    assert got.agent_errors.tolist() == [1, 0, 0]
    assert got.missing.tolist() == [2, 1, 2]
    assert got.coverage == pytest.approx(3 / 8)


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        (Policy.COMPLETE_CASE, 1.5 / 2),
        (Policy.PRIMARY, 1.5 / 4),
        (Policy.ERRORS_AS_0, 1.5 / 8),
        (Policy.LOW, 1.5 / 8),
        (Policy.HIGH, (1.5 + 6) / 8),
    ],
)
def test_each_policy_by_hand(policy: Policy, want: float) -> None:
    # 8 planned, 2 graded with a sum of 1.5, 2 agent errors, 4 lost
    one = Tally(("a",), np.array([8]), np.array([2]), np.array([2]), np.array([1.5]))
    assert one.means(policy).means.tolist() == pytest.approx([want])


def test_a_policy_leaves_out_a_task_that_it_leaves_without_an_attempt() -> None:
    got = tally(["a", "b"], ["verifier_error", "agent_error"], [None, None])
    assert got.means(Policy.COMPLETE_CASE).ids == ()
    assert got.means(Policy.PRIMARY).ids == ("b",)
    assert got.means(Policy.HIGH).ids == ("a", "b")


def test_status_is_not_score() -> None:
    with pytest.raises(ValueError, match="needs a score"):
        tally(["a"], ["graded"], [None])
    with pytest.raises(ValueError, match="only a grade gives one"):
        tally(["a"], ["agent_error"], [0.0])
    with pytest.raises(ValueError, match="unknown status"):
        tally(["a"], ["lost"], [None])
    with pytest.raises(ValueError, match="unknown status"):
        tally(["a", "b"], ["graded", "Graded"], [1.0, None])


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="more attempts than were planned"):
        counted(["a"], [1], [2], [1.0])
    with pytest.raises(ValueError, match="grades must lie"):
        counted(["a"], [2], [2], [2.5])
    with pytest.raises(ValueError, match="twice"):
        counted(["a", "a"], [1, 1], [1, 1], [1.0, 1.0])
    with pytest.raises(ValueError, match="one value for each"):
        counted(["a"], [1, 1], [1], [1.0])


def test_bounds_by_hand() -> None:
    # before: a 1/2 known, b 2/2; after: a 1 of 2 graded (1), b 1 of 2 graded (0)
    before = counted(["a", "b"], [2, 2], [2, 2], [1.0, 2.0])
    after = counted(["a", "b"], [2, 2], [1, 1], [1.0, 0.0])
    got = sensitivity([after], [before])
    assert got.complete_case.differences.tolist() == [0.5, -1.0]
    assert got.errors_as_0.differences.tolist() == [0.0, -1.0]
    assert got.low.differences.tolist() == [0.0, -1.0]
    assert got.high.differences.tolist() == [0.5, -0.5]
    assert got.coverage == 0.5
    bounds = got.bounds
    assert bounds is not None
    assert (bounds.low, bounds.high) == (-0.5, 0.0)
    assert got.low.interval is not None
    assert bounds.outer_low == got.low.interval.low


cell = st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))


@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=12))
def test_bounds_hold_whatever_the_lost_grades_were(rows: list[tuple[tuple[int, ...], ...]]) -> None:
    sides, truths = [], []
    for side in zip(*rows, strict=True):
        planned = np.array([p for p, *_ in side])
        graded = np.array([min(g, p) for p, g, *_ in side])
        passed = np.array([min(x, g) for (_, _, x, _), g in zip(side, graded, strict=True)])
        lost_passes = np.array([min(y, p - g) for (p, _, _, y), g in zip(side, graded, strict=True)])
        ids = [f"t{i:02d}" for i in range(len(side))]
        sides.append(counted(ids, planned.tolist(), graded.tolist(), passed.astype(float).tolist()))
        truths.append((passed + lost_passes) / planned)
    bounds = sensitivity([sides[1]], [sides[0]]).bounds
    assert bounds is not None
    truth = float(np.mean(truths[1] - truths[0]))
    assert bounds.low - 1e-12 <= truth <= bounds.high + 1e-12


def test_nothing_lost_makes_every_policy_the_same() -> None:
    before, after = (
        counted(["a", "b"], [2, 2], [2, 2], [1.0, 0.0]),
        counted(["a", "b"], [2, 2], [2, 2], [2.0, 0.0]),
    )
    got = sensitivity([after], [before])
    every = (got.complete_case, got.primary, got.errors_as_0, got.low, got.high)
    assert {c.estimate for c in every} == {0.25}
    assert got.coverage == 1.0


@pytest.mark.parametrize(
    ("coverage", "want"),
    [
        (1.0, Gate.VERDICT),
        (0.90, Gate.VERDICT),
        (0.899, Gate.NUMBERS),
        (0.60, Gate.NUMBERS),
        (0.599, Gate.BOUNDS),
        (None, Gate.BOUNDS),
    ],
)
def test_the_gate(coverage: float | None, want: Gate) -> None:
    assert coverage_gate(coverage) is want


def test_attrition_by_hand() -> None:
    before = counted(["a", "b", "c", "d"], [4] * 4, [4] * 4, [0.0] * 4)
    after = counted(["a", "b", "c", "d"], [4] * 4, [3, 3, 3, 4], [0.0] * 4)
    got = attrition(before, after)
    # shares .25, .25, .25, 0: mean .1875, sd .125, se .0625, t = 3 on 3 degrees
    assert got.gap == pytest.approx(0.1875)
    assert got.p == pytest.approx(0.0577, abs=1e-4)
    assert got.flagged  # by the gap of more than two points


def test_a_gap_of_two_points_does_not_flag_by_itself() -> None:
    ids = [f"t{i:03d}" for i in range(100)]
    before = counted(ids, [1] * 100, [1] * 100, [0.0] * 100)
    for lost, flagged in ((2, False), (3, True)):
        graded = [0] * lost + [1] * (100 - lost)
        assert attrition(before, counted(ids, [1] * 100, graded, [0.0] * 100)).flagged is flagged


def test_equal_losses_are_no_attrition() -> None:
    one = counted(["a", "b"], [4, 4], [3, 2], [0.0, 0.0])
    got = attrition(one, one)
    assert (got.gap, got.p, got.flagged) == (0.0, None, False)
    assert attrition(one, counted(["x"], [1], [1], [0.0])).gap is None

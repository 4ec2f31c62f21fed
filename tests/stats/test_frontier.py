from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.stats.frontier import pareto_front


def test_an_arm_that_costs_more_and_gains_less_is_not_on_the_front() -> None:
    #         cheap  dominated  middle  dear
    costs = [1.0, 2.0, 3.0, 9.0]
    gains = [0.1, 0.05, 0.3, 0.4]
    assert pareto_front(costs, gains) == [0, 2, 3]


def test_of_equal_costs_the_larger_gain_counts_and_ties_are_all_kept() -> None:
    assert pareto_front([1.0, 1.0, 1.0], [0.1, 0.2, 0.2]) == [1, 2]
    assert pareto_front([1.0, 2.0], [0.2, 0.2]) == [0]


def test_nothing_has_an_empty_front() -> None:
    assert pareto_front([], []) == []


def test_one_gain_for_each_cost() -> None:
    with pytest.raises(ValueError, match="1 gains for 2 costs"):
        pareto_front([1.0, 2.0], [0.1])


points = st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3)), max_size=12)


@given(points)
def test_the_front_is_what_no_other_point_dominates(found: list[tuple[int, int]]) -> None:
    costs, gains = [float(cost) for cost, _ in found], [float(gain) for _, gain in found]

    def dominated(i: int) -> bool:
        return any(
            costs[j] <= costs[i] and gains[j] >= gains[i] and (costs[j], gains[j]) != (costs[i], gains[i])
            for j in range(len(found))
        )

    assert set(pareto_front(costs, gains)) == {i for i in range(len(found)) if not dominated(i)}

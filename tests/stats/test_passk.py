"""pass@k and pass^k from counts of trials."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.stats.passk import pass_at_k, pass_curve, pass_hat_k


def test_by_hand() -> None:
    # of C(4,2) = 6 pairs of trials with three passes, C(3,2) = 3 pass both and all but none pass one
    assert pass_hat_k([4], [3], 2).tolist() == [0.5]
    assert pass_at_k([4], [3], 2).tolist() == [1.0]
    assert pass_at_k([4], [1], 2).tolist() == [0.5]


@given(st.integers(1, 6), st.data())
def test_they_count_subsets(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    trials = [True] * c + [False] * (n - c)
    subsets = list(combinations(trials, k))
    assert pass_hat_k([n], [c], k)[0] == pytest.approx(np.mean([all(s) for s in subsets]))
    assert pass_at_k([n], [c], k)[0] == pytest.approx(np.mean([any(s) for s in subsets]))


def test_the_curve_stops_at_the_fewest_trials() -> None:
    got = pass_curve([4, 2], [2, 2])
    assert got.pass_hat == pytest.approx((0.75, (1 / 6 + 1) / 2))
    assert got.pass_at == pytest.approx((0.75, (5 / 6 + 1) / 2))
    assert got.n == 2
    empty = pass_curve([], [])
    assert (empty.pass_hat, empty.n) == ((), 0)


def test_the_published_table_of_the_airline_tasks(shared_data: object) -> None:
    # sierra-research/tau-bench, README: gpt-4o with tool calling, airline
    import json

    rows = json.loads(shared_data("tau", "gpt-4o-airline.json").read_text(encoding="utf-8"))  # type: ignore[operator]
    passes = np.zeros(50, dtype=int)
    for row in rows:
        passes[row["task_id"]] += row["reward"] == 1.0
    assert pass_curve(np.full(50, 4), passes).pass_hat == pytest.approx(
        (0.420, 0.273, 0.220, 0.200), abs=5e-4
    )


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="no more passes than trials"):
        pass_hat_k([2], [3], 1)
    with pytest.raises(ValueError, match="needs at least 3 trials"):
        pass_hat_k([2], [1], 3)
    with pytest.raises(ValueError, match="k = 0"):
        pass_at_k([2], [1], 0)
    with pytest.raises(ValueError, match="whole numbers"):
        pass_hat_k([2.0], [1.0], 1)
    with pytest.raises(ValueError, match="one count per task"):
        pass_hat_k([2, 2], [1], 1)

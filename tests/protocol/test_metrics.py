from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol import metrics

score = st.floats(0, 1)


def test_fg_is_the_gain_on_heldout_tasks() -> None:
    assert metrics.forward_gain(0.3, 0.5) == pytest.approx(0.2)


def test_br_is_negative_where_old_tasks_were_forgotten() -> None:
    assert metrics.backward_retention(0.8, 0.5) == pytest.approx(-0.3)


def test_br_ratio_is_the_share_that_is_left() -> None:
    assert metrics.br_ratio(0.8, 0.5, 0.05) == pytest.approx(0.625)


def test_br_ratio_divides_by_eps_when_nothing_was_solved_before() -> None:
    assert metrics.br_ratio(0.0, 0.2, 0.05) == pytest.approx(4.0)
    assert metrics.br_ratio(0.0, 0.2, 1e-6) == pytest.approx(200_000)


def test_ie_is_gain_per_unit_of_learning_cost() -> None:
    assert metrics.improvement_efficiency(0.2, 100) == pytest.approx(0.002)


@pytest.mark.parametrize("cost", [None, 0, 0.0])
def test_ie_is_null_when_the_cost_is_zero_or_unknown(cost: float | None) -> None:
    assert metrics.improvement_efficiency(0.2, cost) is None


def test_pds_is_what_became_of_the_gain() -> None:
    assert metrics.persistence(0.5, 0.48) == pytest.approx(-0.02)


def test_drift_gain_compares_the_same_shifted_tasks() -> None:
    assert metrics.drift_gain(0.1, 0.4) == pytest.approx(0.3)


def test_nis_charges_what_was_forgotten() -> None:
    assert metrics.net_improvement(0.15, -0.3, 1.0) == pytest.approx(-0.15)
    assert metrics.net_improvement(0.15, -0.3, 0.5) == pytest.approx(0.0)


@given(score, score, score, st.floats(0, 10))
def test_nis_never_pays_for_a_gain_on_old_tasks(
    fg: float, before: float, after: float, weight: float
) -> None:
    br = metrics.backward_retention(before, after)
    nis = metrics.net_improvement(fg, br, weight)
    assert nis == fg if br >= 0 else nis <= fg


@given(score, score)
def test_swapping_the_phases_negates_fg_and_br(before: float, after: float) -> None:
    assert metrics.forward_gain(before, after) == -metrics.forward_gain(after, before)
    assert metrics.backward_retention(before, after) == -metrics.backward_retention(after, before)

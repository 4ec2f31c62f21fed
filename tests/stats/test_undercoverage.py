"""The warning of intervals that are known to be too narrow, from the shape of the data alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sipbench.stats.intervals import clustered_t
from sipbench.stats.undercoverage import FITTED, Shape, risk, shape_of, too_narrow


def warning(d: list[float], families: list[str] | None = None) -> str | None:
    interval = clustered_t(d, families).interval
    assert interval is not None
    assert interval.se is not None
    return too_narrow(d, families, interval.se)


def test_the_shape_by_hand() -> None:
    # families a: .5 + .5, b: 0 + 0, c: .25 - .25; totals 1, 0, 0; mean 1/6; residuals 2/3, -1/3, -1/3
    shape = shape_of([0.5, 0.5, 0.0, 0.0, 0.25, -0.25], ["a", "a", "b", "b", "c", "c"], 0.1)
    assert shape is not None
    assert (shape.n_families, shape.unchanged, shape.reach) == (3, pytest.approx(2 / 3), pytest.approx(0.3))
    third, second = (8 - 1 - 1) / 27 / 3, (4 + 1 + 1) / 9 / 3
    assert shape.skewness == pytest.approx(third / second**1.5)


def test_the_risk_by_hand() -> None:
    shape = Shape(25, 0.5, -2.0, math.e)
    logit = FITTED.constant + FITTED.skewness * 2 / 5 + FITTED.unchanged * 0.5 + FITTED.reach
    assert risk(shape) == pytest.approx(1 / (1 + math.exp(-logit)))
    assert risk(Shape(2, 1.0, 1.0, 1e-300)) == pytest.approx(1.0)


def test_skew_ties_and_narrowness_each_raise_it() -> None:
    usual = Shape(40, 0.3, 0.2, 4.0)
    for worse in (Shape(40, 0.3, -2.0, 4.0), Shape(40, 0.8, 0.2, 4.0), Shape(40, 0.3, 0.2, 0.5)):
        assert risk(worse) > risk(usual)


def test_even_changes_of_many_families_give_no_warning() -> None:
    rng = np.random.default_rng(1)
    assert warning(rng.normal(0.1, 0.3, 40).tolist()) is None


def test_one_large_gain_among_tasks_that_hardly_moved_is_named_skewed() -> None:
    found = warning([1.0, *np.linspace(-0.05, 0.05, 19)])
    assert found is not None
    assert "the changes are skewed (skewness +4." in found
    assert "over 20 families" in found
    assert "less than 93%" in found


def test_tasks_that_did_not_change_are_counted_by_family() -> None:
    # a family gains, one loses, and the last two cancel out
    d = [0.0] * 32 + [1.0, 1.0, -0.5, -0.5, -1.0, 1.0, -1.0, 1.0]
    found = warning(d, [f"f{i // 2}" for i in range(40)])
    assert found is not None
    assert "only 2 of 20 families changed" in found


def test_an_interval_narrower_than_one_family_is_named() -> None:
    rng = np.random.default_rng(2)
    found = warning(rng.normal(0.0, 0.005, 20).tolist())
    assert found is not None
    assert "one more family that goes from 0 to 1 would move the mean by" in found


def test_data_without_spread_have_no_shape() -> None:
    assert shape_of([0.1, 0.1], None, 0.0) is None
    assert shape_of([0.1], None, 0.1) is None
    assert too_narrow([0.1, 0.1], None, 0.0) is None

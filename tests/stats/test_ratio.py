"""Ratios of means by Fieller, gain with its price, and the NIS box."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sipbench.stats.intervals import ClusteredMean, clustered_t, t_quantile
from sipbench.stats.ratio import (
    FIXED_COST,
    UNBOUNDED,
    fieller,
    improvement_efficiency,
    joint_region,
    net_improvement,
    retention_ratio,
)

NOTHING = ClusteredMean(None, None, 0, 0, "equal", "no task to average over")


def gain(mean: float = 0.2, n: int = 20, seed: int = 1) -> ClusteredMean:
    d = np.random.default_rng(seed).normal(0.0, 0.25, n)
    return clustered_t(d - d.mean() + mean)


def test_fieller_by_hand() -> None:
    # g = 1, c = 2, V = .01 and .04, t = 2 at df where it is: A = 4 - 4*.04, B/2 = 2, C = 1 - 4*.01
    df = 60.0
    t2 = t_quantile(df, 0.05) ** 2
    a, half_b, c = 4 - t2 * 0.04, 2.0, 1 - t2 * 0.01
    root = math.sqrt(half_b**2 - a * c)
    got = fieller(1.0, 2.0, 0.01, 0.04, 0.0, df)
    assert got is not None
    assert (got.low, got.high) == pytest.approx(((half_b - root) / a, (half_b + root) / a))


@given(st.floats(-2, 2), st.floats(0.5, 3), st.floats(0.001, 0.02), st.floats(0.001, 0.02))
def test_its_ends_are_where_the_test_of_the_ratio_just_rejects(
    g: float, c: float, v_g: float, v_c: float
) -> None:
    got = fieller(g, c, v_g, v_c, 0.0, 15.0)
    if got is None:
        return
    for end in (got.low, got.high):
        t = abs(g - end * c) / math.sqrt(v_g + end**2 * v_c)
        assert t == pytest.approx(t_quantile(15.0, 0.05), rel=1e-6)


def test_a_denominator_near_0_makes_it_unbounded() -> None:
    assert fieller(1.0, 0.1, 0.01, 0.04, 0.0, 20.0) is None


def test_efficiency_is_a_ratio_of_means_never_a_mean_of_ratios() -> None:
    costs = [10.0, 1000.0, 190.0]
    got = improvement_efficiency(gain(0.2), costs)
    assert got.estimate == pytest.approx(0.2 / 400.0)
    assert got.estimate != pytest.approx(np.mean(0.2 / np.asarray(costs)))
    assert got.n_denominator == 3


def test_one_cost_is_a_constant() -> None:
    fg = gain(0.2)
    got = improvement_efficiency(fg, [50.0])
    assert got.interval is not None
    assert fg.interval is not None
    assert (got.interval.low, got.interval.high) == pytest.approx(
        (fg.interval.low / 50, fg.interval.high / 50)
    )
    assert got.interval.method == FIXED_COST


def test_scattered_costs_are_unbounded_and_say_so() -> None:
    got = improvement_efficiency(gain(0.2), [1.0, 500.0, 20.0])
    assert (got.interval, got.unbounded, got.reason) == (None, True, UNBOUNDED)
    assert got.estimate is not None


@pytest.mark.parametrize(
    ("costs", "reason"),
    [
        (None, "the cost of learning is unknown"),
        ([], "no cost was recorded"),
        ([0.0, 0.0], "the cost of learning is 0"),
    ],
)
def test_an_unknown_or_absent_cost_gives_no_efficiency(costs: list[float] | None, reason: str) -> None:
    got = improvement_efficiency(gain(), costs)
    assert (got.estimate, got.interval, got.reason) == (None, None, reason)


def test_a_gain_without_spread_or_without_a_value() -> None:
    flat = improvement_efficiency(clustered_t([0.1, 0.1, 0.1]), [5.0])
    assert flat.estimate == pytest.approx(0.02)
    assert flat.interval is None
    assert improvement_efficiency(NOTHING, [5.0]).estimate is None
    with pytest.raises(ValueError, match="negative"):
        improvement_efficiency(gain(), [-1.0])


def test_retention_ratio_is_paired() -> None:
    rng = np.random.default_rng(3)
    before = rng.uniform(0.3, 0.9, 60)
    after = np.clip(before - rng.normal(0.02, 0.05, 60), 0, 1)
    paired, shuffled = retention_ratio(before, after), retention_ratio(before, after[rng.permutation(60)])
    assert paired.estimate == pytest.approx(after.mean() / before.mean()) == shuffled.estimate
    assert paired.interval is not None
    assert shuffled.interval is not None
    assert paired.interval.width < 0.5 * shuffled.interval.width


def test_retention_ratio_below_eps_or_without_spread() -> None:
    low = retention_ratio([0.0, 0.04], [0.5, 0.5])
    assert low.estimate is None
    assert "below eps" in (low.reason or "")
    assert retention_ratio([0.0, 0.0], [0.1, 0.2], eps=0.0).estimate is None
    flat = retention_ratio([0.5, 0.5], [0.25, 0.25])
    assert (flat.estimate, flat.interval) == (0.5, None)
    assert retention_ratio([], []).reason == "no task to average over"
    with pytest.raises(ValueError, match="same tasks"):
        retention_ratio([0.5], [0.5, 0.5])


def test_the_joint_region_by_hand() -> None:
    fg, costs = gain(0.2), np.array([90.0, 110.0, 100.0, 120.0])
    got = joint_region(fg, costs)
    assert got is not None
    assert fg.interval is not None
    assert fg.interval.se is not None
    se = costs.std(ddof=1) / 2
    assert got.cost_interval is not None
    assert got.cost_interval.low == pytest.approx(105 - stats.t.ppf(1 - 0.0125, 3) * se)
    radius = math.sqrt(2 * stats.f.ppf(0.95, 2, 3))
    assert (got.gain_radius, got.cost_radius) == pytest.approx((radius * fg.interval.se, radius * se))
    edge = got.ellipse(4)
    assert edge[0] == pytest.approx([0.2 + got.gain_radius, 105.0])
    assert edge.shape == (4, 2)


def test_the_joint_region_of_one_cost_is_the_gain_alone() -> None:
    fg = gain(0.2)
    got = joint_region(fg, [10.0])
    assert got is not None
    assert fg.interval is not None
    assert (got.gain_interval.low, got.cost_interval, got.cost_radius) == (
        pytest.approx(fg.interval.low),
        None,
        None,
    )
    assert np.ptp(got.ellipse()[:, 1]) == 0.0
    assert joint_region(fg, None) is None
    assert joint_region(NOTHING, [1.0]) is None
    wide = joint_region(fg, [1.0, 300.0])
    assert wide is not None
    assert wide.cost_interval is not None
    assert wide.cost_interval.low == 0.0


def test_the_nis_box_by_hand() -> None:
    fg, br = gain(0.2, seed=1), gain(-0.1, seed=2)
    got = net_improvement(fg, br, 2.0)
    assert got.estimate == pytest.approx(0.2 - 2 * 0.1)
    assert fg.interval is not None
    assert br.interval is not None
    t = t_quantile(19, 0.025)
    ends = [
        0.2 + sign * t * (fg.interval.se or 0) - 2 * max(0, 0.1 - sign * t * (br.interval.se or 0))
        for sign in (-1, 1)
    ]
    assert got.interval is not None
    assert (got.interval.low, got.interval.high) == pytest.approx(tuple(ends))


def test_nis_without_a_part() -> None:
    assert net_improvement(NOTHING, gain()).reason == "no task to average over"
    flat = net_improvement(gain(), clustered_t([0.1, 0.1]))
    assert flat.estimate is not None
    assert flat.interval is None
    with pytest.raises(ValueError, match="lambda"):
        net_improvement(gain(), gain(), -1.0)

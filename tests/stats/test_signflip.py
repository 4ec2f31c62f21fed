"""The sign-flip test: exact when small, drawn and seeded when not, by whole families."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sipbench.stats.signflip import sign_flip

thirds = st.integers(-3, 3).map(lambda x: x / 3)
quarters = st.integers(-4, 4).map(lambda x: x / 4)  # exact, so that scipy sees the ties too


def test_hand_computed_three_tasks() -> None:
    # observed 1.5; of the eight totals ±2.5, ±1.5, ±.5 (twice each) four reach it
    got = sign_flip([1.0, 1.0, -0.5])
    assert got.p == 4 / 8
    assert (got.method, got.flips, got.n_nonzero, got.smallest_p, got.seed) == ("exact", 8, 3, 0.25, None)


def test_whole_families_flip() -> None:
    # family sums 2 and -1: totals ±3, ±1; observed 1
    assert sign_flip([1.0, 1.0, -1.0], ["a", "a", "b"]).p == 1.0
    # family sums 2 and 1: observed 3
    assert sign_flip([1.0, 1.0, 1.0], ["a", "a", "b"]).p == 0.5


def test_tasks_that_did_not_change_change_nothing() -> None:
    d = [0.5, 0.25, -0.25, 1.0]
    assert sign_flip(d + [0.0] * 30) == sign_flip(d)


def test_no_change_at_all_has_p_one() -> None:
    got = sign_flip([0.0, 0.0])
    assert (got.p, got.n_nonzero) == (1.0, 0)
    assert sign_flip([0.1 + 0.2, -0.3], ["a", "a"]).n_nonzero == 0


def test_under_six_families_five_percent_is_out_of_reach() -> None:
    assert sign_flip([1.0] * 5).p == sign_flip([1.0] * 5).smallest_p == 0.0625
    assert sign_flip([1.0] * 6).p == 0.03125


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=14))
def test_with_one_attempt_it_is_the_binomial_test_of_discordant_pairs(d: list[float]) -> None:
    gains, losses = d.count(1.0), d.count(-1.0)
    want = stats.binomtest(gains, gains + losses).pvalue if gains + losses else 1.0
    assert sign_flip(d).p == pytest.approx(want, abs=1e-12)


@given(st.lists(quarters, min_size=2, max_size=9), st.integers(2, 9))
def test_it_equals_scipys_permutation_test_on_family_sums(d: list[float], n_families: int) -> None:
    family = np.arange(len(d)) % n_families
    sums = np.bincount(family, weights=d)
    if np.abs(sums).max() < 1e-9:
        return
    want = stats.permutation_test(
        (sums,),
        lambda x, axis: np.abs(np.sum(x, axis=axis)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=2**10,
    )
    assert sign_flip(d, family).p == pytest.approx(want.pvalue, abs=1e-12)


@given(st.lists(thirds, min_size=1, max_size=30))
def test_sign_scale_and_row_order_do_not_matter(d: list[float]) -> None:
    order = np.random.default_rng(len(d)).permutation(len(d))
    got = sign_flip(d)
    assert sign_flip([-x for x in d]) == got
    assert sign_flip(np.asarray(d)[order] * 7.0) == got


def test_drawn_flips_approach_the_enumerated_p_and_repeat_with_their_seed() -> None:
    d = np.random.default_rng(5).normal(0.35, 1.0, 15)
    halves = np.random.default_rng(6).choice([-1.0, 0.5, 1.0], 22)
    for values in (d, halves):
        drawn = sign_flip(values, draws=40_000, seed=1)
        assert (drawn.method, drawn.flips, drawn.seed) == ("monte_carlo", 40_000, 1)
        assert drawn == sign_flip(values, draws=40_000, seed=1)
        totals = np.zeros(1)
        for x in values:
            totals = np.concatenate([totals + x, totals - x])
        want = np.mean(np.abs(totals) >= abs(values.sum()) - 1e-9)
        assert drawn.p == pytest.approx(want, abs=4 * np.sqrt(want * (1 - want) / 40_000))


def test_a_drawn_p_is_never_zero() -> None:
    got = sign_flip(np.linspace(1, 2, 60), draws=99)
    assert got.p == got.smallest_p == 0.01


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        sign_flip([0.0, float("nan")])

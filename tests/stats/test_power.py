"""Detectable effects, margins, noise floors and sizes, before money is spent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sipbench.stats.passk import pass_curve
from sipbench.stats.power import (
    Design,
    detectable,
    intraclass_correlation,
    minimum_detectable_effect,
    noise_floor,
    power_to_detect,
    power_to_retain,
    repeats_needed,
    smallest_margin,
    tasks_needed,
    trial_noise,
    trials_needed,
)


def design(n: int, k: int, noise: float, tau: float) -> Design:
    return Design(n, k, k, noise, noise, tau)


@pytest.mark.parametrize(
    ("n", "k", "noise", "tau", "want"),
    [
        (20, 4, 0.14, 0.15, 0.201),
        (20, 4, 0.14, 0.25, 0.240),
        (40, 4, 0.12, 0.15, 0.130),
        (40, 4, 0.12, 0.25, 0.159),
        (87, 3, 0.12, 0.15, 0.097),
        (87, 3, 0.12, 0.25, 0.115),
        (300, 3, 0.12, 0.15, 0.052),
        (300, 3, 0.12, 0.25, 0.061),
    ],
)
def test_the_published_table(n: int, k: int, noise: float, tau: float, want: float) -> None:
    found = minimum_detectable_effect(design(n, k, noise, tau))
    assert found == pytest.approx(want, abs=1.2e-3)


def test_the_standard_error_by_hand() -> None:
    # (.2^2 + .12/4 + .16/2)/25 = .006
    assert Design(25, 4, 2, 0.12, 0.16, 0.2).se == pytest.approx(np.sqrt(0.15 / 25))
    # families of 3 with rho .5 make 25 tasks count as 12.5; two repeats halve the trial noise
    clustered = Design(25, 4, 2, 0.12, 0.16, 0.2, repeats=2, family_size=3.0, rho=0.5)
    assert clustered.se == pytest.approx(np.sqrt((0.04 + 0.11 / 2) / 12.5))
    assert clustered.df == pytest.approx(25 / 3 - 1)


def test_claims_about_a_method_add_the_spread_of_adaptations() -> None:
    agent = Design(40, 4, 4, 0.12, 0.12, 0.15, repeats=3)
    method = replace(agent, repeat_sd=0.05)
    v_tasks, v_repeats = agent.se**2, 0.05**2 / 3
    assert method.se == pytest.approx(np.sqrt(v_tasks + v_repeats))
    assert method.df == pytest.approx((v_tasks + v_repeats) ** 2 / (v_tasks**2 / 39 + v_repeats**2 / 2))
    assert replace(method, repeats=1).df is None
    assert minimum_detectable_effect(replace(method, repeats=1)) is None


@pytest.mark.parametrize(("df", "want"), [(19, 2.95), (39, 2.87), (1e6, 2.80)])
def test_the_factor_of_the_non_central_t(df: float, want: float) -> None:
    assert detectable(1.0, df) == pytest.approx(want, abs=5e-3)


@pytest.mark.parametrize("df", [9.0, 19.0, 120.0])
def test_it_has_the_wanted_power_under_scipys_non_central_t(df: float) -> None:
    shift = detectable(1.0, df, power=0.9)
    assert stats.nct.sf(stats.t.ppf(0.975, df), df, shift) == pytest.approx(0.9, abs=1e-6)


def test_power_and_effect_are_inverse() -> None:
    at = design(40, 4, 0.12, 0.15)
    effect = minimum_detectable_effect(at)
    assert effect is not None
    assert power_to_detect(at, effect) == pytest.approx(0.80, abs=1e-6)
    assert power_to_detect(at, -effect) == pytest.approx(0.80, abs=1e-6)
    margin = smallest_margin(at)
    assert margin is not None
    assert power_to_retain(at, margin) == pytest.approx(0.80, abs=1e-6)
    assert power_to_retain(at, margin, change=-margin) == pytest.approx(0.025, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "k", "noise", "margin", "want"),
    [
        (40, 4, 0.12, 0.05, 0.17),
        (40, 4, 0.12, 0.10, 0.52),
        (87, 3, 0.12, 0.10, 0.74),
        (260, 4, 0.12, 0.05, 0.74),
    ],
)
def test_the_published_power_of_retention_at_an_effect_spread_of_15_to_20(
    n: int, k: int, noise: float, margin: float, want: float
) -> None:
    powers = [power_to_retain(design(n, k, noise, tau), margin) or 0.0 for tau in (0.15, 0.20)]
    assert powers[1] - 0.06 <= want <= powers[0] + 0.06


def test_the_published_noise_floors() -> None:
    assert noise_floor(0.147, 50, 1) == pytest.approx(0.150, abs=1e-3)
    assert noise_floor(0.147, 50, 4) == pytest.approx(0.075, abs=1e-3)
    assert noise_floor(0.113, 115, 1) == pytest.approx(0.087, abs=1e-3)
    assert noise_floor(0.113, 115, 4) == pytest.approx(0.043, abs=1e-3)


def test_sizes_needed_are_the_smallest_that_suffice() -> None:
    at = design(20, 4, 0.12, 0.15)
    n = tasks_needed(at, 0.05)
    assert n == pytest.approx(259, abs=3)
    assert n is not None
    assert (minimum_detectable_effect(replace(at, tasks=n)) or 1) <= 0.05
    assert (minimum_detectable_effect(replace(at, tasks=n - 1)) or 1) > 0.05
    k = trials_needed(at, 0.15)
    assert k is not None
    for trials, enough in ((k, True), (k - 1, False)):
        found = minimum_detectable_effect(replace(at, trials_before=trials, trials_after=trials))
        assert ((found or 1) <= 0.15) is enough


def test_no_number_of_trials_removes_the_spread_between_tasks() -> None:
    assert trials_needed(design(20, 4, 0.12, 0.25), 0.10) is None
    assert repeats_needed(replace(design(20, 4, 0.12, 0.25), repeat_sd=0.05), 0.10) is None
    found = repeats_needed(design(40, 1, 0.14, 0.05), 0.08)
    assert found is not None
    assert found > 1


def test_trial_noise_is_pass_1_less_pass_2() -> None:
    passes = np.array([0, 1, 2, 3, 4, 2])
    curve = pass_curve(np.full(6, 4), passes)
    assert trial_noise(passes / 4, np.full(6, 4)) == pytest.approx(curve.pass_hat[0] - curve.pass_hat[1])
    assert trial_noise([0.0, 1.0], [1, 1]) is None
    assert trial_noise([0.5, 1.0], [2, 1]) == pytest.approx(0.5)


def test_the_icc_of_the_published_table() -> None:
    assert intraclass_correlation(0.420, 0.273) == pytest.approx((0.273 - 0.420**2) / (0.42 * 0.58))
    assert intraclass_correlation(1.0, 1.0) is None
    with pytest.raises(ValueError, match="pass"):
        intraclass_correlation(0.2, 0.3)


def test_no_plan_is_refused_as_such() -> None:
    with pytest.raises(ValueError, match="at least one task"):
        design(0, 1, 0.1, 0.1)
    with pytest.raises(ValueError, match="negative"):
        design(10, 1, -0.1, 0.1)
    with pytest.raises(ValueError, match="rho"):
        Design(10, 1, 1, 0.1, 0.1, 0.1, rho=1.5)
    with pytest.raises(ValueError, match="power"):
        detectable(1.0, 10, power=0.01)
    with pytest.raises(ValueError, match="above 0"):
        tasks_needed(design(10, 1, 0.1, 0.1), 0.0)
    with pytest.raises(ValueError, match="noise floor"):
        noise_floor(0.1, 0, 1)
    assert design(1, 1, 0.1, 0.1).df is None

"""Replay chosen by its own scores: cross-fitting, and the bias of not doing so."""

from __future__ import annotations

import numpy as np
import pytest

from sipbench.stats.changes import crossfit_contrast
from sipbench.stats.selection import CROSSFIT, CROSSFIT_CR2, crossfit_retention, same_run_bias


def test_by_hand() -> None:
    # two trials; fold 1 selects tasks a and c, fold 2 tasks a and b
    trials = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    after = [1.0, 0.5, 0.0]
    got = crossfit_retention(trials, trials == 1.0, after)
    # fold 1: a 1 - 1, c 0 - 0; fold 2: a 1 - 1, b .5 - 0
    assert got.per_fold == (0.0, 0.25)
    assert got.estimate == pytest.approx(0.125)
    assert got.fold_sizes == (2, 2)
    assert got.weights == pytest.approx([0.5, 0.25, 0.25])
    assert got.differences == pytest.approx([0.0, 0.5, 0.0])
    # influences: a (0 - .25)/2/2, b (.5 - .25)/2/2, c 0
    u = np.array([-0.0625, 0.0625, 0.0])
    assert got.interval is not None
    assert got.interval.se == pytest.approx(np.sqrt(3 / 2 * np.sum(u**2)))
    assert (got.interval.df, got.interval.method) == (1.0, CROSSFIT)


def test_equal_families_take_the_place_of_tasks() -> None:
    trials = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    got = crossfit_retention(trials, trials == 1.0, [1.0, 0.5, 0.0, 0.25], ["f", "f", "g", "g"])
    assert got.interval is not None
    assert (got.n, got.n_families, got.interval.method, got.interval.df) == (4, 2, CROSSFIT, 1.0)


def test_unequal_families_are_corrected() -> None:
    rng = np.random.default_rng(1)
    trials, after = rng.integers(0, 2, (12, 3)).astype(float), rng.random(12)
    got = crossfit_retention(trials, trials == 1.0, after, ["a"] * 7 + ["b", "b", "c", "d", "e"])
    assert got.interval is not None
    assert got.interval.method == CROSSFIT_CR2


def test_an_unchanged_agent_keeps_what_it_had_although_same_run_scores_halve() -> None:
    rng = np.random.default_rng(2)
    p = rng.choice([0.25, 0.75], 3_000)
    trials = (rng.random((3_000, 4)) < p[:, np.newaxis]).astype(float)
    after = (rng.random((3_000, 4)) < p[:, np.newaxis]).mean(axis=1)
    got = crossfit_retention(trials, trials == 1.0, after)
    assert got.estimate == pytest.approx(0.0, abs=0.02)
    # E[p^2]/E[p] - 1 = .3125/.5 - 1
    same_run = np.mean(after[trials[:, 0] == 1.0] - 1.0)
    assert same_run == pytest.approx(-0.375, abs=0.03)


def test_an_unobserved_trial_neither_selects_nor_scores() -> None:
    trials = np.array([[1.0, 0.0, np.nan], [1.0, 1.0, 0.0], [np.nan, 1.0, np.nan]])
    observed = np.isfinite(trials)
    got = crossfit_retention(trials, trials >= 1.0, [0.5, 1.0, 1.0], observed=observed)
    # fold 1: task 0 scored on trial 2 alone (0), task 1 on .5; fold 2: task 1 on .5, task 2 has no other
    assert got.per_fold == (0.5, 0.5)
    assert got.fold_sizes == (2, 1, 0)


def test_order_of_trials_and_tasks_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    trials, after = rng.integers(0, 2, (15, 3)).astype(float), rng.random(15)
    order = rng.permutation(15)
    a = crossfit_retention(trials, trials >= 1, after)
    b = crossfit_retention(trials[order][:, ::-1], trials[order][:, ::-1] >= 1, after[order])
    assert a.estimate == pytest.approx(b.estimate)
    assert a.interval is not None
    assert b.interval is not None
    assert a.interval.low == pytest.approx(b.interval.low)


def test_selections_too_small_for_an_interval_say_so() -> None:
    none = crossfit_retention(np.zeros((3, 2)), np.zeros((3, 2)), np.zeros(3))
    assert (none.estimate, none.interval, none.reason) == (None, None, "no fold selects a task")
    one = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert crossfit_retention(one, one >= 1, [1.0, 0.0]).interval is None
    alike = np.ones((5, 2))
    got = crossfit_retention(alike, alike >= 1, np.ones(5))
    assert (got.estimate, got.interval) == (0.0, None)


def test_misfitting_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two"):
        crossfit_retention(np.ones((3, 1)), np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="same tasks"):
        crossfit_retention(np.ones((3, 2)), np.ones((3, 2)), np.ones(4))
    with pytest.raises(ValueError, match="not finite"):
        crossfit_retention(np.full((3, 2), np.nan), np.ones((3, 2)), np.ones(3))


def test_same_run_bias_of_the_published_airline_table() -> None:
    # tau-bench airline, gpt-4o: pass^1 .420, pass^2 .273
    assert same_run_bias(0.420, 0.273) == pytest.approx(-0.35)
    assert same_run_bias(0.5, 0.5) == 0.0
    assert same_run_bias(0.0, 0.0) is None
    with pytest.raises(ValueError, match="pass"):
        same_run_bias(0.3, 0.4)


def test_the_sign_flip_test_of_a_crossfitted_change_by_hand() -> None:
    # weights .5, .25, .25 and changes 0, .5, 0: of the parts 0, .125, 0 one can be flipped,
    # and both ways are as far from 0
    trials = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    got = crossfit_contrast(
        crossfit_retention(trials, trials == 1.0, [1.0, 0.5, 0.0]), ("a", "b", "c"), ("a", "b", "c"), ()
    )
    assert got.p is not None
    assert (got.p.p, got.p.n_nonzero) == (1.0, 1)
    # less a loss of .5: parts .25, .25, .125 of one sign, of which 2 of 8 flips are as far
    assert got.flipped(0.5).p == 0.25


def test_the_parts_of_the_tasks_add_up_to_the_crossfitted_change() -> None:
    rng = np.random.default_rng(5)
    trials, after = rng.integers(0, 2, (20, 3)).astype(float), rng.random(20)
    got = crossfit_retention(trials, trials == 1.0, after)
    assert float(np.sum(got.weights * got.differences)) == pytest.approx(got.estimate)
    assert float(got.weights.sum()) == pytest.approx(1.0)

"""What varies: repeats, tasks, and the trials within them."""

from __future__ import annotations

import numpy as np
import pytest

from sipbench.stats.repeats import over_repeats, variance_components


def test_mean_and_sd_over_repeats() -> None:
    got = over_repeats([0.1, None, 0.3])
    assert (got.mean, got.n) == (pytest.approx(0.2), 2)
    assert got.sd == pytest.approx(0.2 / np.sqrt(2))
    assert over_repeats([0.1]).sd is None
    assert over_repeats([None]).mean is None


def test_components_by_hand() -> None:
    # cell means of two tasks in two repeats: .5 1 / 0 .5; rows .75 .25, columns .25 .75, no interaction
    scores = [0, 1, 1, 1, 0, 0, 0, 1]
    tasks, repeats = ["a"] * 4 + ["b"] * 4, [0, 0, 1, 1] * 2
    got = variance_components(scores, tasks, repeats)
    assert got.within == pytest.approx((0.5 + 0 + 0 + 0.5) / 4)
    assert got.task_by_repeat == 0.0
    assert (got.between_task, got.between_repeat) == (pytest.approx(0.125), pytest.approx(0.125))
    assert (got.n, got.n_repeats, got.n_dropped) == (2, 2, 0)


def test_it_finds_the_variances_it_was_drawn_with() -> None:
    rng = np.random.default_rng(4)
    n, n_repeats, k = 400, 40, 3
    task, repeat = rng.normal(0, 0.3, (n, 1, 1)), rng.normal(0, 0.2, (1, n_repeats, 1))
    both, trial = rng.normal(0, 0.1, (n, n_repeats, 1)), rng.normal(0, 0.4, (n, n_repeats, k))
    y = task + repeat + both + trial
    place = np.indices(y.shape)
    got = variance_components(y.ravel(), place[0].ravel(), place[1].ravel())
    assert got.between_task == pytest.approx(0.09, rel=0.2)
    assert got.between_repeat == pytest.approx(0.04, rel=0.5)
    assert got.task_by_repeat == pytest.approx(0.01, rel=0.15)
    assert got.within == pytest.approx(0.16, rel=0.05)


def test_what_is_not_identified_is_none() -> None:
    one_trial = variance_components([0.0, 1.0, 1.0, 0.0], ["a", "a", "b", "b"], [0, 1, 0, 1])
    assert one_trial.task_by_repeat is None
    assert one_trial.within is not None
    one_repeat = variance_components([0.0, 1.0, 1.0, 1.0], ["a", "a", "b", "b"], [0, 0, 0, 0])
    assert one_repeat.between_repeat is None
    # task means .5 and 1: variance .125, less .25/2 of trial noise
    assert one_repeat.between_task == pytest.approx(0.0)
    assert variance_components([0.0], ["a"], [0]).between_task is None


def test_a_task_without_a_trial_in_every_repeat_is_left_out_and_counted() -> None:
    got = variance_components([0.0, 1.0, 1.0, 0.0, 1.0], ["a", "a", "b", "b", "c"], [0, 1, 0, 1, 0])
    assert (got.n, got.n_dropped) == (2, 1)
    assert variance_components([1.0, 1.0], ["a", "b"], [0, 1]).n == 0

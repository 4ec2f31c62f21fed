"""Empirical-Bayes shrinkage of per-task changes."""

from __future__ import annotations

import numpy as np
import pytest

from sipbench.stats.shrinkage import flips, shrink_changes


def test_by_hand() -> None:
    # d = .5, -.5, 1; mean 1/3; var 7/12; noise of y .5 with 2 trials .25, of 0 or 1 none
    before, after = [0.5, 0.5, 0.0], [1.0, 0.0, 1.0]
    got = shrink_changes(before, [2, 2, 2], after, [2, 2, 2])
    assert got is not None
    assert got.noise == pytest.approx((0.25 + 0.25 + 0) / 3)
    assert got.tau2 == pytest.approx(7 / 12 - 1 / 6)
    assert got.weight == pytest.approx((5 / 12) / (7 / 12))
    assert got.effects == pytest.approx(1 / 3 + 5 / 7 * (np.array([0.5, -0.5, 1.0]) - 1 / 3))


def test_pure_noise_shrinks_to_the_mean_and_no_noise_not_at_all() -> None:
    noise = shrink_changes([0.5] * 4, [2] * 4, [0.5, 0.6, 0.4, 0.5], [2] * 4)
    assert noise is not None
    assert noise.effects == pytest.approx(np.zeros(4))
    exact = shrink_changes([0.0, 1.0, 0.0], [3] * 3, [1.0, 1.0, 0.0], [3] * 3)
    assert exact is not None
    assert exact.effects == pytest.approx([1.0, 0.0, 0.0])
    still = shrink_changes([1.0, 1.0], [3, 3], [1.0, 1.0], [3, 3])
    assert still is not None
    assert still.effects.tolist() == [0.0, 0.0]


def test_graded_scores_bring_their_own_variances() -> None:
    binary = shrink_changes([0.5, 0.25, 1.0], [4] * 3, [0.75, 0.25, 0.0], [4] * 3)
    y0, y1 = np.array([0.5, 0.25, 1.0]), np.array([0.75, 0.25, 0.0])
    same = shrink_changes(y0, [4] * 3, y1, [4] * 3, (y0 * (1 - y0) * 4 / 3, y1 * (1 - y1) * 4 / 3))
    assert binary is not None
    assert same is not None
    assert same.effects == pytest.approx(binary.effects)


def test_one_trial_or_one_task_cannot_be_shrunk() -> None:
    assert shrink_changes([0.0, 1.0], [1, 2], [1.0, 1.0], [2, 2]) is None
    assert shrink_changes([0.5], [2], [0.5], [2]) is None
    assert shrink_changes([], [], [], []) is None
    with pytest.raises(ValueError, match="same tasks"):
        shrink_changes([0.5], [2, 2], [0.5], [2])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        shrink_changes([1.5, 0.0], [2, 2], [0.5, 0.0], [2, 2])


def test_it_is_closer_to_the_truth_than_the_raw_changes() -> None:
    # tasks 87, trials 3, skewed chances: the published errors are .33 raw, .14 shrunken
    rng = np.random.default_rng(8)
    raw, shrunken = [], []
    for _ in range(60):
        p0 = rng.beta(0.35, 0.5, 87)
        p1 = np.clip(p0 + 0.1, 0, 1)
        y0, y1 = rng.binomial(3, p0) / 3, rng.binomial(3, p1) / 3
        got = shrink_changes(y0, [3] * 87, y1, [3] * 87)
        assert got is not None
        raw.append(np.mean((y1 - y0 - (p1 - p0)) ** 2))
        shrunken.append(np.mean((got.effects - (p1 - p0)) ** 2))
    assert np.mean(shrunken) < 0.5 * np.mean(raw)


def test_flips() -> None:
    assert flips([0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.5, 1.0]).tolist() == [1.0, -1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="same tasks"):
        flips([0.0], [1.0, 0.0])

"""Real attempts of an agent that did not change: the estimators must not find a change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sipbench.stats.intervals import clustered_t
from sipbench.stats.missing import Gate
from sipbench.stats.passk import pass_curve
from sipbench.stats.power import noise_floor, trial_noise
from sipbench.stats.selection import crossfit_retention, same_run_bias
from sipbench.stats.verdicts import Evidence, Word, gain_verdict


@pytest.fixture(scope="module")
def rewards(shared_data: Callable[..., Path]) -> np.ndarray:
    """Rewards of 50 tasks in 4 trials, shape (50, 4)."""
    rows = json.loads(shared_data("tau", "gpt-4o-airline.json").read_text(encoding="utf-8"))
    table = np.full((50, 4), np.nan)
    for row in rows:
        table[row["task_id"], row["trial"]] = row["reward"]
    return table


def test_two_fake_phases_rarely_differ(rewards: np.ndarray) -> None:
    rng = np.random.default_rng(20_240_612)
    claims = 0
    for _ in range(500):
        shuffled = rng.permuted(rewards, axis=1)
        got = clustered_t(shuffled[:, 2:].mean(axis=1) - shuffled[:, :2].mean(axis=1))
        verdict = gain_verdict(Evidence(got.interval, got.n_families, Gate.VERDICT), 0.11, 0.05)
        claims += verdict.word in (Word.IMPROVED, Word.WORSE)
    assert claims <= 0.07 * 500


def test_its_noise_floor(rewards: np.ndarray) -> None:
    trials = np.full(50, 4)
    noise = trial_noise(rewards.mean(axis=1), trials)
    curve = pass_curve(trials, rewards.sum(axis=1).astype(int))
    assert noise == pytest.approx(curve.pass_hat[0] - curve.pass_hat[1]) == pytest.approx(0.147, abs=5e-4)
    assert noise_floor(noise, 50, 4) == pytest.approx(0.075, abs=5e-4)


def test_replay_solved_once_loses_what_was_announced_and_crossfit_nothing(rewards: np.ndarray) -> None:
    curve = pass_curve(np.full(50, 4), rewards.sum(axis=1).astype(int))
    announced = same_run_bias(*curve.pass_hat[:2])
    losses = []
    for j in range(4):
        others = np.delete(rewards, j, axis=1).mean(axis=1)
        losses.append(float((others - 1.0)[rewards[:, j] == 1.0].mean()))
    assert np.mean(losses) == pytest.approx(announced, abs=0.01)
    rng = np.random.default_rng(1)
    kept = []
    for _ in range(200):
        shuffled = rng.permuted(rewards, axis=1)
        got = crossfit_retention(shuffled[:, :3], shuffled[:, :3] == 1.0, shuffled[:, 3])
        assert got.estimate is not None
        kept.append(got.estimate)
    assert np.mean(kept) == pytest.approx(0.0, abs=0.01)

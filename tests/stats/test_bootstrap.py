"""The family bootstrap, for statistics without a closed form."""

from __future__ import annotations

import numpy as np
import pytest

from sipbench.stats.bootstrap import FAMILY_BOOTSTRAP, family_bootstrap
from sipbench.stats.intervals import clustered_t


def mean(rows: np.ndarray) -> float:
    return float(rows[:, 0].mean())


def test_of_a_mean_of_many_families_it_nears_the_default_interval() -> None:
    rng = np.random.default_rng(1)
    d = rng.normal(0.1, 0.3, 200)
    got, want = family_bootstrap(d[:, np.newaxis], mean).interval, clustered_t(d).interval
    assert got is not None
    assert want is not None
    assert got.method == FAMILY_BOOTSTRAP
    assert (got.low, got.high) == pytest.approx((want.low, want.high), abs=0.01)


def test_whole_families_are_drawn() -> None:
    # families of identical tasks: resampling tasks would make the interval half as wide
    rng = np.random.default_rng(2)
    d = np.repeat(rng.normal(0.0, 0.3, 60), 4)
    clustered = family_bootstrap(d[:, np.newaxis], mean, np.repeat(np.arange(60), 4)).interval
    alone = family_bootstrap(d[:, np.newaxis], mean).interval
    assert clustered is not None
    assert alone is not None
    assert clustered.width == pytest.approx(2 * alone.width, rel=0.15)


def test_it_repeats_with_its_seed() -> None:
    rows = np.random.default_rng(3).random((50, 2))
    assert family_bootstrap(rows, mean, seed=5) == family_bootstrap(rows, mean, seed=5)
    assert family_bootstrap(rows, mean, seed=5) != family_bootstrap(rows, mean, seed=6)


def test_under_forty_families_it_gives_no_interval_and_says_so() -> None:
    got = family_bootstrap(np.zeros((39, 1)), mean)
    assert (got.estimate, got.interval, got.reason) == (
        0.0,
        None,
        "39 families: a bootstrap interval needs 40",
    )
    assert family_bootstrap(np.zeros((40, 1)), mean).reason == "all resamples agree: no spread to go by"
    assert family_bootstrap(np.empty((0, 1)), mean).reason == "no task to resample"


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="2000 draws"):
        family_bootstrap(np.zeros((40, 1)), mean, draws=100)
    with pytest.raises(ValueError, match="one row per task"):
        family_bootstrap([0.0, 1.0], mean)
    with pytest.raises(ValueError, match="not finite"):
        family_bootstrap([[float("nan")]], mean)

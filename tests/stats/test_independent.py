"""Independent code gives the same numbers wherever the estimand is the same."""

from __future__ import annotations

import numpy as np
import pytest

from sipbench.stats.intervals import CR2, clustered_t


def sample(seed: int, n: int = 40, n_families: int = 9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    families = np.sort(rng.integers(0, n_families, n))
    return rng.normal(0.1, 0.3, n) + rng.normal(0, 0.2, n_families)[families], families


@pytest.mark.parametrize("seed", range(5))
def test_equal_families_give_the_cluster_robust_interval_of_statsmodels(seed: int) -> None:
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    d, _ = sample(seed)
    families = np.arange(40) // 4
    fitted = api.OLS(d, np.ones(40)).fit(cov_type="cluster", cov_kwds={"groups": families}, use_t=True)
    got = clustered_t(d, families).interval
    assert got is not None
    assert got.se == pytest.approx(float(fitted.bse[0]))
    assert got.df == fitted.df_resid_inference
    assert (got.low, got.high) == pytest.approx(tuple(fitted.conf_int()[0]))


def cr2_by_matrices(d: np.ndarray, families: np.ndarray) -> tuple[float, float]:
    """CR2 and Satterthwaite's degrees of freedom of a mean, from Bell & McCaffrey's matrices."""
    n = d.size
    x = np.ones((n, 1))
    hat = x @ x.T / n
    residual = np.eye(n) - hat
    middle, vectors = np.zeros((n, n)), []
    for g in np.unique(families):
        own = np.flatnonzero(families == g)
        values, basis = np.linalg.eigh(residual[np.ix_(own, own)])
        root = basis @ np.diag(values**-0.5) @ basis.T
        middle[np.ix_(own, own)] = root
        vectors.append(residual[:, own] @ root @ x[own] / n)
    adjusted = middle @ residual @ d
    variance = sum(float(adjusted[families == g].sum() / n) ** 2 for g in np.unique(families))
    gram = np.hstack(vectors).T @ np.hstack(vectors)
    return float(np.sqrt(variance)), float(np.trace(gram) ** 2 / np.sum(gram**2))


@pytest.mark.parametrize("seed", range(5))
def test_unequal_families_give_the_cr2_of_its_matrices(seed: int) -> None:
    d, families = sample(seed)
    got = clustered_t(d, families).interval
    assert got is not None
    assert got.method == CR2
    assert (got.se, got.df) == pytest.approx(cr2_by_matrices(d, families))


@pytest.mark.parametrize("seed", range(3))
def test_the_clustered_error_of_inspect_is_ours_with_equal_families(seed: int) -> None:
    scorer = pytest.importorskip(
        "inspect_ai.scorer", reason="inspect_ai is not installed; install it to compare with its stderr"
    )
    d, ragged = sample(seed)
    for families in (np.arange(40) // 4, np.arange(40)):
        got = clustered_t(d, families).interval
        assert got is not None
        assert got.se == pytest.approx(inspect_error(scorer, d, families))
    # With unequal families theirs has no CR2: the same sums without dividing by 1 - w.
    sums = np.bincount(ragged, weights=d - d.mean())
    sums = sums[np.bincount(ragged) > 0]
    plain = np.sqrt(sums.size / (sums.size - 1) * np.sum(sums**2)) / d.size
    assert inspect_error(scorer, d, ragged) == pytest.approx(plain)


def inspect_error(scorer: object, d: np.ndarray, families: np.ndarray) -> float:
    scores = [
        scorer.SampleScore(  # type: ignore[attr-defined]
            score=scorer.Score(value=float(x)),  # type: ignore[attr-defined]
            sample_metadata={"family": int(family)},
        )
        for x, family in zip(d, families, strict=True)
    ]
    return float(scorer.stderr(cluster="family")(scores))  # type: ignore[attr-defined]

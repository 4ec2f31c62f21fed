"""The default interval: paired t on task means, clustered by family, CR2 when sizes differ."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sipbench.stats.intervals import CLUSTERED_T, CR2, PAIRED_T, Interval, clustered_t, satterthwaite_df

RAGGED = [1, 2, 4, 8, 16, 3, 5, 9]


def labels(sizes: list[int]) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes)


def explicit_m(sizes: list[int]) -> np.ndarray:
    n_g = np.asarray(sizes, dtype=float)
    n = n_g.sum()
    root = np.sqrt(1 - n_g / n)
    return (np.diag(n_g) - np.outer(n_g, n_g) / n) / np.outer(root, root)


def test_hand_computed_without_families() -> None:
    # mean .25, squared residuals .0625 + .0625 + .5625 + .0625 + ... = 1.25 over four tasks
    got = clustered_t([0.0, 0.5, 1.0, -0.5])
    assert got.estimate == 0.25
    assert got.interval is not None
    assert got.interval.se == pytest.approx(np.sqrt(1.25 / 3 / 4))
    assert got.interval.df == 3
    assert got.interval.method == PAIRED_T
    assert got.interval.high == pytest.approx(0.25 + 3.182446305284263 * np.sqrt(1.25 / 12))


def test_hand_computed_equal_families() -> None:
    # families (0, .5), (1, .5), (-.5, 0): mean .25; R = 0, 1, -1; SE^2 = 3/2 * 2 / 36
    got = clustered_t([0.0, 0.5, 1.0, 0.5, -0.5, 0.0], ["a", "a", "b", "b", "c", "c"])
    assert got.interval is not None
    assert got.interval.se == pytest.approx(np.sqrt(3 / 36))
    assert got.interval.df == 2
    assert (got.n, got.n_families, got.sizes, got.interval.method) == (6, 3, "equal", CLUSTERED_T)


def test_hand_computed_unequal_families() -> None:
    # sizes 1, 1, 2 with values 1 | 0 | (.5, .5): mean .5, R = .5, -.5, 0; w = 1/4, 1/4, 1/2
    got = clustered_t([1.0, 0.0, 0.5, 0.5], ["a", "b", "c", "c"])
    assert got.interval is not None
    assert got.interval.se == pytest.approx(np.sqrt((0.25 / 0.75 + 0.25 / 0.75) / 16))
    # M/n: diagonal 1/4, 1/4, 1/2; b^2 = 1/12, 1/12, 1/2
    assert got.interval.df == pytest.approx(1 / (3 / 8 + (2 / 3) ** 2 - (2 / 144 + 1 / 4)))
    assert (got.sizes, got.interval.method) == ("unequal", CR2)


def test_without_families_it_is_the_one_sample_t_of_scipy() -> None:
    d = np.random.default_rng(1).normal(0.1, 0.3, 25)
    want = stats.ttest_1samp(d, 0.0).confidence_interval(0.9)
    got = clustered_t(d, alpha=0.1).interval
    assert got is not None
    assert (got.low, got.high) == pytest.approx((want.low, want.high))
    assert got.level == pytest.approx(0.9)


@given(st.lists(st.integers(1, 30), min_size=2, max_size=20))
def test_degrees_of_freedom_equal_those_of_the_explicit_matrix(sizes: list[int]) -> None:
    m = explicit_m(sizes)
    df = satterthwaite_df(sizes)
    assert df == pytest.approx(np.trace(m) ** 2 / np.trace(m @ m))
    assert 1 - 1e-9 <= df <= len(sizes) - 1 + 1e-9


def test_cr2_meets_the_default_where_sizes_are_equal() -> None:
    assert satterthwaite_df([5] * 8) == pytest.approx(7)


def test_one_family_more_makes_equal_sizes_unequal_but_the_interval_moves_little() -> None:
    rng = np.random.default_rng(2)
    equal = labels([10] * 30)
    d = rng.normal(0, 0.3, equal.size) + rng.normal(0, 0.15, 30)[equal]
    a = clustered_t(d, equal).interval
    b = clustered_t(d[:-1], equal[:-1]).interval
    assert a is not None
    assert b is not None
    assert b.method == CR2
    assert b.width == pytest.approx(a.width, rel=0.02)


values = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=3, max_size=40)


@given(values, st.integers(1, 12))
def test_row_order_and_label_names_do_not_matter(d: list[float], n_families: int) -> None:
    rng = np.random.default_rng(len(d))
    family = rng.integers(0, n_families, len(d))
    order = rng.permutation(len(d))
    a = clustered_t(d, family)
    b = clustered_t(np.asarray(d)[order], [f"family {x}" for x in family[order]])
    assert (a.n_families, a.sizes, a.reason) == (b.n_families, b.sizes, b.reason)
    assert a.estimate == pytest.approx(b.estimate, abs=1e-12)
    if a.interval is not None and b.interval is not None:
        assert (a.interval.low, a.interval.df) == pytest.approx((b.interval.low, b.interval.df), abs=1e-9)


@given(values, st.floats(-3, 3), st.floats(0.1, 5))
def test_shift_and_scale_move_the_interval_with_the_values(
    d: list[float], shift: float, scale: float
) -> None:
    family = np.arange(len(d)) // 2
    a = clustered_t(d, family).interval
    b = clustered_t(np.asarray(d) * scale + shift, family).interval
    flipped = clustered_t(-np.asarray(d), family).interval
    if a is None or b is None or flipped is None:
        return
    assert (b.low, b.high) == pytest.approx((a.low * scale + shift, a.high * scale + shift), abs=1e-9)
    assert (flipped.low, flipped.high) == pytest.approx((-a.high, -a.low), abs=1e-12)


@pytest.mark.parametrize(
    ("d", "family", "word"),
    [
        ([], None, "no task"),
        ([0.3], None, "one task"),
        ([0.3, 0.1], ["a", "a"], "one family"),
        ([0.2] * 5, None, "same value"),
        ([0.1 + 0.2, 0.3, 0.3], None, "same value"),
        ([0.0, 1.0, 0.0, 1.0], ["a", "a", "b", "b"], "family means"),
    ],
)
def test_data_without_spread_give_no_interval_and_say_why(
    d: list[float], family: list[str] | None, word: str
) -> None:
    got = clustered_t(d, family)
    assert got.interval is None
    assert got.reason is not None
    assert word in got.reason
    assert (got.estimate is None) == (not d)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"index \(1,\)"):
        clustered_t([0.0, bad])


def test_misfitting_labels_and_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="one label for each"):
        clustered_t([0.0, 1.0], ["a"])
    with pytest.raises(ValueError, match="None"):
        clustered_t([0.0, 1.0], ["a", None])
    with pytest.raises(ValueError, match="not finite"):
        clustered_t([0.0, 1.0], [1.0, float("nan")])
    with pytest.raises(ValueError, match="alpha"):
        clustered_t([0.0, 1.0], alpha=1.0)
    with pytest.raises(ValueError, match="one-dimensional"):
        clustered_t([[0.0, 1.0]])


def test_an_interval_has_finite_ordered_ends() -> None:
    with pytest.raises(ValueError, match="not an interval"):
        Interval(1.0, 0.0, 0.95, "x")
    with pytest.raises(ValueError, match="not an interval"):
        Interval(float("nan"), 0.0, 0.95, "x")
    assert Interval(0.0, 0.5, 0.95, "x").contains(0.5)


def test_importing_the_estimators_does_not_load_scipy() -> None:
    modules = [
        "bootstrap", "contrasts", "intervals", "missing", "multiplicity", "passk", "power", "ratio",
        "repeats", "selection", "shrinkage", "signflip", "verdicts",
    ]  # fmt: skip
    imports = ", ".join(f"sipbench.stats.{module}" for module in modules)
    code = f"import sys, {imports}; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_hundred_thousand_tasks_need_no_square_matrix() -> None:
    # A G x G matrix would need 16 GB here; the assertion is that this returns at all.
    rng = np.random.default_rng(3)
    got = clustered_t(rng.normal(size=100_000), rng.integers(0, 50_000, 100_000))
    assert got.interval is not None
    assert got.interval.df == pytest.approx(got.n_families, rel=0.4)

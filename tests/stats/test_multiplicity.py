"""Holm over arms, Benjamini-Hochberg over flags."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.stats.multiplicity import benjamini_hochberg, holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm_by_hand() -> None:
    # sorted .01, .02, .04: 3*.01, 2*.02, then .04 raised to what stands before it
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.5, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([]).size == 0


@given(p_values)
def test_they_are_those_of_statsmodels(p: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])
    assert benjamini_hochberg(p) == pytest.approx(multitest.multipletests(p, method="fdr_bh")[1])


@given(p_values)
def test_adjusting_never_lowers_a_p(p: list[float]) -> None:
    assert np.all(holm(p) >= np.asarray(p) - 1e-15)
    assert np.all(benjamini_hochberg(p) >= np.asarray(p) - 1e-15)


def test_what_is_no_p_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([0.1, 1.2])
    assert benjamini_hochberg([]).size == 0

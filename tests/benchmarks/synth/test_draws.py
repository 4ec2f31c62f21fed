"""Draws: the same everywhere, uniform, and what a choice needs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.benchmarks.synth.draws import Draws


def test_draws_are_the_same_in_every_release() -> None:
    # Fixed once: a change here changes every task, id by id.
    draws = Draws("a", 1)
    assert [draws.below(1000) for _ in range(6)] == [76, 127, 651, 104, 915, 960]
    assert "".join(Draws("a", 1).shuffled("abcdef")) == "dbecfa"


def test_parts_decide_the_stream() -> None:
    assert Draws("a", 1).random() == Draws("a", 1).random()
    assert len({Draws(*parts).random() for parts in [("a", 1), ("a", 2), ("a", "1"), ("b", 1), ("a",)]}) == 5


@given(seed=st.integers(), low=st.integers(-50, 50), width=st.integers(0, 50))
def test_between_reaches_both_ends_and_no_further(seed: int, low: int, width: int) -> None:
    assert low <= Draws(seed).between(low, low + width) <= low + width


def test_below_is_uniform() -> None:
    draws = Draws("uniform")
    counts = Counter(draws.below(6) for _ in range(6000))
    assert set(counts) == set(range(6))
    # 1000 each, standard deviation 29.
    assert all(abs(count - 1000) < 130 for count in counts.values())


@given(seed=st.integers(), items=st.lists(st.integers(), max_size=30))
def test_shuffling_keeps_the_items(seed: int, items: list[int]) -> None:
    assert Counter(Draws(seed).shuffled(items)) == Counter(items)


def test_every_order_is_equally_likely() -> None:
    counts = Counter(tuple(Draws("order", number).shuffled("abc")) for number in range(6000))
    assert len(counts) == 6
    assert all(abs(count - 1000) < 130 for count in counts.values())


@given(seed=st.integers(), size=st.integers(0, 20))
def test_a_sample_keeps_the_order(seed: int, size: int) -> None:
    sample = Draws(seed).sample(range(20), size)
    assert len(sample) == size
    assert sample == sorted(set(sample))


def test_normal_draws_have_mean_0_and_sd_1() -> None:
    draws = Draws("normal")
    values = [draws.normal() for _ in range(20_000)]
    mean = sum(values) / len(values)
    assert mean == pytest.approx(0, abs=0.03)
    assert sum((value - mean) ** 2 for value in values) / len(values) == pytest.approx(1, abs=0.04)
    # Normal: 68.3 % within one standard deviation.
    assert sum(abs(value) < 1 for value in values) / len(values) == pytest.approx(0.683, abs=0.015)

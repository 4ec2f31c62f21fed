from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.errors import ConfigError
from sipbench.splits.sizes import Size, parse_sizes, shared_out


def test_counts_and_shares_are_read() -> None:
    assert parse_sizes("adapt=20, heldout=40%,replay=0.3") == {
        "adapt": Size(count=20),
        "heldout": Size(share=0.4),
        "replay": Size(share=0.3),
    }


def test_one_is_a_count_and_one_point_zero_is_all() -> None:
    sizes = parse_sizes("adapt=1,drift=1.0")
    assert sizes["adapt"].wanted(50) == 1
    assert sizes["drift"].wanted(50) == 50


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("adapt", "expected NAME=NUMBER"),
        ("", "expected NAME=NUMBER"),
        ("helout=3", "'helout' is no split, did you mean 'heldout'"),
        ("adapt=1,adapt=2", "adapt is given twice"),
        ("adapt=-1", "expected a count such as 20"),
        ("adapt=nan", "expected a count"),
        ("adapt=150%", "expected a count"),
        ("adapt=1e9999", "expected a count"),
        ("adapt=99999999999999999999", "expected a count"),
        ("adapt=٣", "expected a count"),
        ("adapt=0.7,heldout=0.7", "the shares add up to 1.4"),
    ],
)
def test_what_is_no_size_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_sizes(text)


def test_a_share_gives_at_least_one_task() -> None:
    assert Size(share=0.01).wanted(10) == 1
    assert Size(share=0.0).wanted(10) == 0


def test_what_does_not_fit_is_shared_out_by_largest_remainders() -> None:
    # 7 over 5:3:2 is 3.5, 2.1, 1.4: 3, 2, 1 and the one left goes to the largest remainder.
    assert shared_out(7, {"a": 5, "b": 3, "c": 2}) == {"a": 4, "b": 2, "c": 1}


@given(st.integers(0, 200), st.dictionaries(st.sampled_from("abcd"), st.integers(0, 100)))
def test_nothing_gets_more_than_it_asked_for_and_nothing_is_wasted(
    total: int, weights: dict[str, int]
) -> None:
    parts = shared_out(total, weights)
    assert sum(parts.values()) == min(total, sum(weights.values()))
    assert all(0 <= parts[name] <= weight for name, weight in weights.items())

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol.inference import Interval
from sipbench.report.words import amount, clean, count, interval, points, probability, score, share, spent


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.575, "+57.5"), (-0.0283, "−2.8"), (0.0, "+0.0"), (-0.0001, "+0.0"), (1, "+100.0"), (None, "–")],
)
def test_a_difference_of_scores_is_in_points_with_its_sign(value: float | None, text: str) -> None:
    assert points(value) == text


def test_an_amount_of_points_has_no_plus() -> None:
    assert points(0.05, sign=False) == "5.0"
    assert points(-0.0001, sign=False) == "0.0"


def test_an_interval_stands_in_brackets() -> None:
    found = Interval(low=-0.379, high=0.0004, level=0.95, method="paired_t")
    assert interval(found) == "[−37.9, +0.0]"
    assert interval(found, ".3f") == "[−0.379, 0.000]"
    assert interval(None) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "100 %"),
        (0.9999, "over 99.9 %"),
        (0.996, "99.6 %"),
        (0.0, "0 %"),
        (0.00001, "under 0.1 %"),
        (0.004, "0.4 %"),
        (0.5, "50 %"),
        (None, "–"),
    ],
)
def test_a_share_that_is_not_all_never_reads_as_all(value: float | None, text: str) -> None:
    assert share(value) == text


def test_costs_and_counts_read_as_people_write_them() -> None:
    assert spent(9143, "tool_calls") == "9,143 tool calls"
    assert spent(0.25, "usd") == "0.25 US dollars"
    assert spent(None, "tokens") == amount(None) == "–"
    assert (count(1, "task"), count(1200, "task"), count(2, "family", "families")) == (
        "1 task",
        "1,200 tasks",
        "2 families",
    )
    assert (probability(0.00001), probability(0.0042), probability(0.201)) == ("< 0.0001", "0.0042", "0.201")
    assert score(-0.00001) == "0.000"


def test_what_turns_the_reading_direction_is_shown_as_its_code() -> None:
    assert clean("safe\u202egnp.exe") == "safe‹202E›gnp.exe"
    assert clean("a\u200bb\x00c\nd") == "a‹200B›b‹0000›c‹000A›d"
    assert clean("ein Name mit Umlaut: ä, 名前, \N{ROCKET}") == "ein Name mit Umlaut: ä, 名前, \N{ROCKET}"


def test_a_long_name_is_cut() -> None:
    assert len(clean("x" * 10_000)) == 120
    assert clean("x" * 10_000).endswith("…")
    assert clean("x" * 120) == "x" * 120


@given(st.text())
def test_what_is_clean_has_no_control_or_format_character(text: str) -> None:
    found = clean(text, 50)
    assert not {unicodedata.category(character) for character in found} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    found.encode("utf-8")

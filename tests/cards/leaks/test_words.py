from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.cards.leaks.words import distinctive_numbers, plain_words, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Per-read agreement", "per read   AGREEMENT"),
        ("agree-\nment of reads", "agreement of reads"),
        ("193,759 transcripts", "193759 transcripts"),
        ("193 759 transcripts", "193759 transcripts"),  # a thin space
        ("naïve ﬁt", "naive fit"),
        ("zero\u200bwidth", "zerowidth"),
        ("soft\u00adhyphen", "softhyphen"),
        ("**bold** `code`", "bold code"),
        ("0.998 540", "0.998 540"),
        ("ＦＵＬＬ width", "full width"),
        ("a_b", "a b"),
        ("don’t", "don't"),
    ],
)
def test_texts_that_differ_in_spelling_are_the_same_words(one: str, other: str) -> None:
    assert plain_words(one) == plain_words(other)


def test_a_decimal_number_is_one_word() -> None:
    assert plain_words("r = 0.99854, p<0.05.") == ("r", "0.99854", "p", "0.05")


def test_words_know_their_place() -> None:
    assert [(word.text, word.start, word.end) for word in words_of("Ab, cd")] == [("ab", 0, 2), ("cd", 4, 6)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("correlation of 0.99854", {"0.99854": ""}),
        ("agreement at 99.83%", {"99.83": "%"}),
        ("36 bp reads", {"36": "bp"}),
        ("1,093,957 reads", {"1093957": ""}),
        ("12 groups", {}),
        ("published in 2014", {}),
        ("2014 bp", {"2014": "bp"}),
        ("version 1.12.0", {}),
        ("ERR458493 and task_001", {}),
        ("1e-10", {"1e-10": ""}),
        ("5 °C", {"5": "°C"}),
        ("5 of 9", {}),
        ("3 mg/ml", {"3": "mg/ml"}),
    ],
)
def test_numbers_that_tell_something(text: str, numbers: dict[str, str]) -> None:
    assert distinctive_numbers(text) == numbers


@given(st.text(max_size=200))
def test_any_text_has_words(text: str) -> None:
    assert tuple(word.text for word in words_of(text)) == plain_words(text)
    distinctive_numbers(text)


@given(st.lists(st.from_regex(r"[a-z]{1,9}", fullmatch=True), min_size=1, max_size=20))
def test_case_and_separators_never_matter(words: list[str]) -> None:
    assert plain_words(" - ".join(word.upper() for word in words)) == tuple(words)

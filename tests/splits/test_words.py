from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.splits.words import MAX_CHARACTERS, normal_text, shingle_sets, word_shingles


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Book a flight,  to Rome!\n", "book a flight to rome"),
        ("user mia_li_3668", "user mia li 3668"),
        ("ﬁve Ａｐｐｌｅｓ", "five apples"),
        ("STRASSE straße", "strasse strasse"),
        ("hel\u200blo soft\u00adware", "hello software"),
        ("cafe\u0301 caf\u00e9", "caf\u00e9 caf\u00e9"),
        ("订机票", "订 机 票"),
        ("", ""),
        (" -- !? __ ", ""),
        ("\ud800 lone", "lone"),
    ],
)
def test_what_counts_as_the_same_text(text: str, normal: str) -> None:
    assert normal_text(text) == normal


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_plain_text_is_normalised_like_any_other(text: str) -> None:
    # A letter that is not ASCII takes the long way.
    assert normal_text(text + " é") == f"{normal_text(text)} é".strip()


def test_shingles_are_words_in_a_row() -> None:
    assert word_shingles("a b c d", 3) == {("a", "b", "c"), ("b", "c", "d")}


def test_a_text_shorter_than_a_shingle_is_one_shingle() -> None:
    assert word_shingles("a b", 5) == {("a", "b")}


def test_a_gigantic_text_is_cut() -> None:
    assert len(normal_text("word " * 1_000_000)) <= MAX_CHARACTERS
    assert len(normal_text("\ufdfa" * 1_000_000)) <= 3 * MAX_CHARACTERS


def test_a_gigantic_run_of_combining_marks_is_normalised_in_short_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Ordering such a run takes time quadratic in its length: minutes for this one.
    lengths = []

    def normalize(form: str, text: str) -> str:
        lengths.append(len(text))
        return text

    monkeypatch.setattr("sipbench.splits.words.unicodedata.normalize", normalize)
    normal_text("a" + "\u0301\u0316" * 100_000)
    assert 0 < max(lengths) <= 1024


TEXTS = st.lists(st.lists(st.sampled_from(["a", "b", "é", "机", "word", "9"]), min_size=1).map(" ".join))


@given(TEXTS, st.integers(1, 6))
def test_hashed_shingles_are_equal_where_the_words_are(texts: list[str], size: int) -> None:
    sets = shingle_sets(texts, size)
    assert len(sets) == len(texts)
    meaning: dict[int, tuple[str, ...]] = {}
    for position, text in enumerate(texts):
        hashes = sets.hashes[sets.bounds[position] : sets.bounds[position + 1]]
        expected = word_shingles(text, size)
        assert len(hashes) == len(expected)
        assert np.array_equal(hashes, np.unique(hashes))
        alone = {tuple_: int(shingle_sets([" ".join(tuple_)], size).hashes[0]) for tuple_ in expected}
        assert set(alone.values()) == set(hashes.tolist())
        for words, value in alone.items():
            assert meaning.setdefault(value, words) == words


def test_texts_are_hashed_alike_in_whatever_chunk_they_come() -> None:
    long = ["word " * 300_000 + "end", "a b c", "word " * 300_000 + "end"]
    sets = shingle_sets([text.strip() for text in long], 2)
    first, _, last = (sets.hashes[sets.bounds[i] : sets.bounds[i + 1]].tolist() for i in range(3))
    assert first == last

"""The language: what each primitive does, and how programs are written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sipbench.benchmarks.synth.language import (
    MAX_TEXT,
    NAMES,
    PRIMITIVES,
    apply,
    format_program,
    parse_program,
)

BY_HAND = {
    "drop_vowels": "pr Fg ppl9",
    "reverse": "9elppa giF raep",
    "rotate_left": "ear Fig apple9p",
    "swap_halves": "g apple9pear Fi",
    "swap_pairs": "epraF gia ppel9",
    "odd_letters": "pa i pl9",
    "drop_first": "ear Fig apple9",
    "mirror": "pear Fig apple99elppa giF raep",
    "append_length": "pear Fig apple9 15",
    "capitalize_first": "Pear Fig apple9",
    "hyphen_first": "pear-Fig apple9",
    "reverse_words": "apple9 Fig pear",
    "rotate_words": "Fig apple9 pear",
    "sort_words": "Fig apple9 pear",
    "longest_first": "apple9 pear Fig",
    "swap_end_words": "apple9 Fig pear",
    "odd_words": "pear apple9",
    "drop_first_word": "Fig apple9",
    "repeat_last_word": "pear Fig apple9 apple9",
    "capitalize_words": "Pear Fig Apple9",
    "flip_each_word": "raep giF 9elppa",
    "trim_each_word": "pea Fi apple",
    "rotate_each_word": "earp igF pple9a",
    "sort_each_word": "aepr Fgi 9aelpp",
}

texts = st.text(max_size=80)
programs = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(tuple)


def test_there_are_24_primitives() -> None:
    assert len(NAMES) == len(set(NAMES)) == 24
    assert set(BY_HAND) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_primitive_does_what_its_name_says(name: str) -> None:
    assert PRIMITIVES[name]("pear Fig apple9") == BY_HAND[name]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(text=texts)
def test_a_primitive_has_a_value_for_every_text(name: str, text: str) -> None:
    made = PRIMITIVES[name](text)
    assert isinstance(made, str)
    assert made == PRIMITIVES[name](text)


@pytest.mark.parametrize("name", NAMES)
def test_a_primitive_has_a_value_for_the_empty_text(name: str) -> None:
    assert PRIMITIVES[name]("").strip() in ("", "0")


def test_words_of_equal_length_keep_their_order() -> None:
    assert PRIMITIVES["longest_first"]("bb aa c dd") == "bb aa dd c"


def test_a_program_runs_from_left_to_right() -> None:
    assert apply(("reverse", "drop_first"), "abc") == "ba"
    assert apply(("drop_first", "reverse"), "abc") == "cb"


def test_the_empty_program_changes_nothing() -> None:
    assert apply((), "as it was") == "as it was"


@given(first=programs, second=programs, text=texts)
def test_programs_compose(first: tuple[str, ...], second: tuple[str, ...], text: str) -> None:
    between = apply(first, text)
    assert apply(first + second, text) == (None if between is None else apply(second, between))


def test_a_text_that_grows_too_long_has_no_value() -> None:
    half = "x" * (MAX_TEXT // 2)
    assert apply(("mirror",), half) == "x" * MAX_TEXT
    assert apply(("mirror",), half + "x") is None
    assert apply(("mirror",) * 100, "x") is None


def test_an_unknown_primitive_is_refused() -> None:
    with pytest.raises(KeyError):
        apply(("eval",), "x")


@given(programs)
def test_a_program_reads_back_as_written(program: tuple[str, ...]) -> None:
    assert parse_program(format_program(program)) == program


def test_spaces_around_steps_do_not_matter() -> None:
    assert parse_program("  reverse>drop_first >  mirror\n") == ("reverse", "drop_first", "mirror")


@pytest.mark.parametrize(
    "text", ["", ">", "reverse >", "reverse > > mirror", "Reverse", "reverse, mirror", "os.system"]
)
def test_what_is_not_a_program_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a primitive"):
        parse_program(text)

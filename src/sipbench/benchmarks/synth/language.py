"""The language: 24 primitives from text to text, and programs as sequences of them.

Growing primitives could make texts double with each step, so a text longer than :data:`MAX_TEXT`
has no value: the program that would make it is not defined there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType

__all__ = [
    "MAX_TEXT",
    "NAMES",
    "PRIMITIVES",
    "Primitive",
    "Program",
    "apply",
    "format_program",
    "parse_program",
]

type Primitive = Callable[[str], str]
type Program = tuple[str, ...]
"""Names of primitives, applied from left to right."""

MAX_TEXT = 500
"""Longest text, in characters, that a program may make on its way."""

_SEPARATOR = " > "
_VOWELS = frozenset("aeiouAEIOU")
# A full table: with a sparse one `str.translate` raises and catches a KeyError per character.
_WITHOUT_VOWELS = {code: None if chr(code) in _VOWELS else code for code in range(128)}


def _each_word(change: Primitive) -> Primitive:
    return lambda text: " ".join([change(word) for word in text.split(" ")])


def _swap_pairs(text: str) -> str:
    even = len(text) & ~1
    letters = list(text)
    letters[0:even:2], letters[1:even:2] = text[1:even:2], text[0:even:2]
    return "".join(letters)


def _swap_end_words(text: str) -> str:
    words = text.split(" ")
    words[0], words[-1] = words[-1], words[0]
    return " ".join(words)


def _rotate_words(text: str) -> str:
    first, space, rest = text.partition(" ")
    return rest + space + first


PRIMITIVES: MappingProxyType[str, Primitive] = MappingProxyType(
    {
        # letters, wherever they stand
        "drop_vowels": lambda text: text.translate(_WITHOUT_VOWELS),
        # the whole text
        "reverse": lambda text: text[::-1],
        "rotate_left": lambda text: text[1:] + text[:1],
        "swap_halves": lambda text: text[len(text) // 2 :] + text[: len(text) // 2],
        "swap_pairs": _swap_pairs,
        "odd_letters": lambda text: text[::2],
        "drop_first": lambda text: text[1:],
        "mirror": lambda text: text + text[::-1],
        "append_length": lambda text: f"{text} {len(text)}",
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
        "hyphen_first": lambda text: text.replace(" ", "-", 1),
        # words
        "reverse_words": lambda text: " ".join(text.split(" ")[::-1]),
        "rotate_words": _rotate_words,
        "sort_words": lambda text: " ".join(sorted(text.split(" "))),
        "longest_first": lambda text: " ".join(sorted(text.split(" "), key=len, reverse=True)),
        "swap_end_words": _swap_end_words,
        "odd_words": lambda text: " ".join(text.split(" ")[::2]),
        "drop_first_word": lambda text: text.partition(" ")[2],
        "repeat_last_word": lambda text: f"{text} {text.rpartition(' ')[2]}",
        # letters within each word
        "capitalize_words": _each_word(str.capitalize),
        "flip_each_word": _each_word(lambda word: word[::-1]),
        "trim_each_word": _each_word(lambda word: word[:-1]),
        "rotate_each_word": _each_word(lambda word: word[1:] + word[:1]),
        "sort_each_word": _each_word(lambda word: "".join(sorted(word))),
    }
)
"""Every primitive by its name. Words are what single spaces separate; "odd" counts from one."""

NAMES: Program = tuple(PRIMITIVES)


def apply(program: Iterable[str], text: str) -> str | None:
    """Run ``program`` on ``text``; None if it makes a text longer than :data:`MAX_TEXT`.

    Raises:
        KeyError: A step is not a primitive.
    """
    for name in program:
        text = PRIMITIVES[name](text)
        if len(text) > MAX_TEXT:
            return None
    return text


def format_program(program: Program) -> str:
    """``reverse > drop_vowels``."""
    return _SEPARATOR.join(program)


def parse_program(text: str) -> Program:
    """Read what :func:`format_program` wrote.

    Raises:
        ValueError: It is empty or names something that is not a primitive.
    """
    program = tuple(name.strip() for name in text.split(_SEPARATOR.strip()))
    for name in program:
        if name not in PRIMITIVES:
            raise ValueError(f"{name[:40]!r} is not a primitive")
    return program

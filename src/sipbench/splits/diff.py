"""How two texts differ, for a person to read."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

__all__ = ["word_diff"]

MAX_WORDS = 1500
"""Only this many words of each text are compared: the comparison takes quadratic time."""


def word_diff(first: str, second: str, *, limit: int = 1000, context: int = 6) -> str:
    """What has to change in ``first`` to give ``second``: ``fly to [-Rome-] {+Oslo+} on May 20``.

    Args:
        first: The one text.
        second: The other.
        limit: Most characters of the result; what is longer ends in ``…``.
        context: Equal words that are kept on each side of a change; ``…`` stands for the rest.
    """
    a, b = first.split(), second.split()
    cut = max(len(a), len(b)) > MAX_WORDS
    text = " ".join(_marked(a[:MAX_WORDS], b[:MAX_WORDS], context)) + (" …" if cut else "")
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def _marked(a: list[str], b: list[str], context: int) -> Iterator[str]:
    codes = SequenceMatcher(a=a, b=b).get_opcodes()
    for number, (kind, a_from, a_to, b_from, b_to) in enumerate(codes):
        if kind == "equal":
            yield from _shortened(a[a_from:a_to], context * (number > 0), context * (number < len(codes) - 1))
            continue
        if a_from < a_to:
            yield f"[-{' '.join(a[a_from:a_to])}-]"
        if b_from < b_to:
            yield f"{{+{' '.join(b[b_from:b_to])}+}}"


def _shortened(words: list[str], head: int, tail: int) -> list[str]:
    if len(words) <= head + tail + 1:
        return words
    return [*words[:head], "…", *words[len(words) - tail :]]

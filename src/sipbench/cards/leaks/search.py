"""Secrets in texts: whole, or in a run of words; and the answer's numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sipbench.cards.leaks.secrets import Secret
from sipbench.cards.leaks.words import RUN, distinctive_numbers, normalised, words_of

__all__ = ["Match", "NumberMatch", "Searcher"]

_CONTEXT = 60


@dataclass(frozen=True, slots=True)
class Match:
    """A secret that a text shares words with.

    Attributes:
        secret: Which.
        words: The words that both hold, in order.
        whole: Whether that is all of the secret.
        context: What stands there, normalised.
    """

    secret: Secret
    words: tuple[str, ...]
    whole: bool
    context: str


@dataclass(frozen=True, slots=True)
class NumberMatch:
    """A number of the answer in a text: a leak, or a parameter that both name."""

    number: str
    unit: str
    context: str


class Searcher:
    """Looks for the secrets of one card.

    A run of ``RUN`` words that a text shares with a secret is a match; a secret of fewer words matches
    as a whole, unless it is so short that it could stand anywhere.

    Args:
        secrets: What is looked for.
        answer: The finding, whose numbers are looked for.
    """

    def __init__(self, secrets: Iterable[Secret], answer: str) -> None:
        self._runs: dict[int, dict[tuple[str, ...], list[tuple[Secret, int]]]] = defaultdict(dict)
        self._numbers = distinctive_numbers(answer)
        for secret in secrets:
            if _says_nothing(secret.words):
                continue
            size = min(RUN, len(secret.words))
            for at in range(len(secret.words) - size + 1):
                run = secret.words[at : at + size]
                self._runs[size].setdefault(run, []).append((secret, at))

    def matches(self, text: str) -> Iterator[Match]:
        """Yield the longest run of each place that a text shares with each secret."""
        found = words_of(text)
        words = tuple(word.text for word in found)
        plain = ""
        for size, runs in sorted(self._runs.items()):
            covered: dict[int, int] = {}
            for at in range(len(words) - size + 1):
                for secret, start in runs.get(words[at : at + size], ()):
                    if covered.get(id(secret), -1) > at:
                        continue
                    length = _length(words, at, secret.words, start)
                    covered[id(secret)] = at + length - size + 1
                    plain = plain or normalised(text)
                    first, last = found[at].start, found[at + length - 1].end
                    context = " ".join(plain[max(0, first - 20) : min(last, first + 200) + 20].split())
                    yield Match(secret, words[at : at + length], length == len(secret.words), context)

    def numbers(self, text: str) -> Iterator[NumberMatch]:
        """Yield the answer's telling numbers that a text holds."""
        if not self._numbers:
            return
        for number, unit in distinctive_numbers(text).items():
            if number in self._numbers:
                at = max(0, text.find(number))
                context = " ".join(text[max(0, at - _CONTEXT) : at + len(number) + _CONTEXT].split())
                yield NumberMatch(number, self._numbers[number] or unit, context)


def _says_nothing(words: tuple[str, ...]) -> bool:
    """Whether a secret is so short that finding it means nothing."""
    return len(words) < 3 and not any(len(word) > 5 or "." in word for word in words)


def _length(words: tuple[str, ...], at: int, secret: tuple[str, ...], start: int) -> int:
    length = 0
    while (
        at + length < len(words)
        and start + length < len(secret)
        and words[at + length] == secret[start + length]
    ):
        length += 1
    return length

"""Seeded draws that are the same in every Python release and on every machine.

Of the standard library's generator only ``Random(int).random()`` is promised to stay as it is;
``shuffle``, ``sample`` and ``gauss`` may change. Everything here is made from that one method, with
additions only, so that no library of mathematics has a say.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from sipbench.protocol.digests import seed_from

__all__ = ["Draws"]


class Draws:
    """A stream of draws that ``parts`` decide: any plain JSON values."""

    def __init__(self, *parts: Any) -> None:
        self.random = Random(seed_from(*parts)).random
        """The next number, uniform in [0, 1)."""

    def below(self, bound: int) -> int:
        """A whole number, uniform in 0 … ``bound`` - 1."""
        return int(self.random() * bound)

    def between(self, low: int, high: int) -> int:
        """A whole number, uniform in ``low`` … ``high``."""
        return low + self.below(high - low + 1)

    def choice[T](self, items: Sequence[T]) -> T:
        """One of ``items``."""
        return items[self.below(len(items))]

    def shuffled[T](self, items: Sequence[T]) -> list[T]:
        """``items`` in a drawn order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def sample[T](self, items: Sequence[T], size: int) -> list[T]:
        """``size`` of ``items``, kept in their order."""
        chosen = sorted(self.shuffled(range(len(items)))[:size])
        return [items[index] for index in chosen]

    def normal(self) -> float:
        """About standard normal: the sum of twelve uniform draws, less six; within ±6, variance 1."""
        draw = self.random
        return sum([draw() for _ in range(12)]) - 6.0

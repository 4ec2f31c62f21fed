"""Chained cards: the order that ``input_from`` asks for, and the circles that have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from sipbench.cards.load import LoadedCard

__all__ = ["Chains", "chained"]


@dataclass(frozen=True)
class Chains:
    """Cards in the order in which each finds its predecessor done.

    Attributes:
        order: The cards; those of a circle, and what follows from one, are not in it.
        before: For each key in ``order``, the card whose output it starts from.
        circles: For each key that has no place, the circle it is in or waits for, as ``a -> b -> a``.
        dangling: For each key, an ``input_from`` that names no card of its paper.
    """

    order: tuple[LoadedCard, ...]
    before: dict[str, LoadedCard]
    circles: dict[str, str]
    dangling: dict[str, str]


def chained(cards: Iterable[LoadedCard]) -> Chains:
    """Put cards in order; ``input_from`` names a ``task_id`` of the same paper in the same collection."""
    listed = sorted(cards, key=lambda card: (card.collection or "", card.paper, card.card.task_id))
    places = {_place(card, card.card.task_id): card for card in listed}
    before: dict[str, LoadedCard] = {}
    dangling: dict[str, str] = {}
    for card in listed:
        name = card.card.input_from
        if name:
            found = places.get(_place(card, name))
            if found is None:
                dangling[card.key] = name
            else:
                before[card.key] = found
    by_key = {card.key: card for card in listed}
    keys, circles = _sorted({key: before[key].key if key in before else None for key in by_key})
    kept = {key: card for key, card in before.items() if key not in circles}
    return Chains(tuple(by_key[key] for key in keys), kept, circles, dangling)


def _place(card: LoadedCard, task_id: str) -> tuple[str, str, str]:
    return str(card.home), card.paper, task_id


def _sorted(before: Mapping[str, str | None]) -> tuple[list[str], dict[str, str]]:
    graph = {key: [source] if source else [] for key, source in before.items()}
    circles: dict[str, str] = {}
    while True:
        try:
            return list(TopologicalSorter(graph).static_order()), circles
        except CycleError as error:
            circle = error.args[1]
            lost = _with_followers(graph, set(circle))
            circles |= dict.fromkeys(lost, " -> ".join(key.rpartition("__")[2] for key in circle))
            graph = {key: sources for key, sources in graph.items() if key not in lost}


def _with_followers(graph: Mapping[str, list[str]], keys: set[str]) -> set[str]:
    while (grown := keys | {key for key, sources in graph.items() if keys & set(sources)}) != keys:
        keys = grown
    return keys

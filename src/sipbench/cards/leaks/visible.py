"""What an agent may see of a card: four fields and the name of the output."""

from __future__ import annotations

from collections.abc import Iterator

from sipbench.cards.leaks.traces import clean
from sipbench.cards.model import Card

__all__ = ["VISIBLE", "visible_texts"]

VISIBLE = ("task_description", "research_question", "inputs", "expected_outputs")
"""The fields that an instruction is made of; none of the others is ever shown without being asked for."""


def visible_texts(card: Card) -> Iterator[tuple[str, str]]:
    """Yield (field, text as it would leave) of everything that an agent may see."""
    for field in VISIBLE:
        value = getattr(card, field)
        if isinstance(value, str):
            yield field, clean(value)
        else:
            for number, item in enumerate(value):
                yield f"{field}.{number}", clean(item)
    if card.expected_artifact_name:
        yield "expected_artifact_name", clean(card.expected_artifact_name)

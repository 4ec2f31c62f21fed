"""Where real files deviate from the schema in ways that are known, and how each is read.

A known deviation is read and named; anything else that the schema refuses is an error. The table in
``docs/cards.md`` says how often each occurs. Reading never changes a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["GENERATOR_KEYS", "Deviation", "normalised", "normalised_rubric", "schema_view"]

GENERATOR_KEYS = frozenset(
    {
        "abstraction_frame", "data_in", "data_out", "executable", "execution_environment",
        "execution_profile", "prov", "resumption_contract", "spine_condition_ids", "spine_entity_ids",
        "task_inputs", "task_outputs",
    }
)  # fmt: skip
"""Keys that the generator of the known collections adds to every card; the closed class has no slot for
them."""

_REF_KEYS = {"locator", "locator_id", "locator_kind", "name", "prose", "score", "side"}
_ACCESSION_KEYS = {"accession", "kind", "url", "evidence_span"}
_STRATEGY_KEYS = {"llm_or_expert_review", "not_in_scope_for_mvp"}
_ENUMS = ("task_kind", "provenance_source", "reproducibility_tier")


@dataclass(frozen=True, slots=True)
class Deviation:
    """A known deviation that was met and read.

    Attributes:
        rule: Its stable name.
        field: Where.
        reading: How it was read.
    """

    rule: str
    field: str
    reading: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.field}: {self.reading}"


type _Step = Callable[[dict[str, Any]], Iterator[Deviation]]


def normalised(document: dict[str, Any]) -> tuple[dict[str, Any], list[Deviation]]:
    """A card's document as the schema wants it, and what was read otherwise than it stands.

    Args:
        document: The card as read. It is not changed.
    """
    card = dict(document)
    steps: tuple[_Step, ...] = (_references, _accessions, _null_enums, _strategy)
    return card, [deviation for step in steps for deviation in step(card)]


def normalised_rubric(document: dict[str, Any]) -> tuple[dict[str, Any], list[Deviation]]:
    """A rubric's document as its model wants it; it repeats the card's strategy with its deviations."""
    rubric = dict(document)
    return rubric, list(_strategy(rubric, "criteria"))


def schema_view(card: dict[str, Any]) -> dict[str, Any]:
    """A normalised card without the generator's keys: what the closed class is asked about."""
    return {key: value for key, value in card.items() if key not in GENERATOR_KEYS}


def _references(card: dict[str, Any]) -> Iterator[Deviation]:
    yield from _objects(card, "artifact_refs", _REF_KEYS, "locator", "artifact-ref-object")


def _accessions(card: dict[str, Any]) -> Iterator[Deviation]:
    yield from _objects(card, "data_accessions", _ACCESSION_KEYS, "accession", "accession-object")


def _objects(
    card: dict[str, Any], field: str, known: set[str], wanted: str, rule: str
) -> Iterator[Deviation]:
    """Read objects of a list of texts as the one of their texts that the schema means."""
    items = card.get(field)
    if not isinstance(items, list):
        return
    read = [_one(item, known, wanted) for item in items]
    count = sum(new is not old for new, old in zip(read, items, strict=True))
    if count:
        card[field] = read
        yield Deviation(rule, field, f"{count} of {len(items)} items are objects, read as their '{wanted}'")


def _one(item: Any, known: set[str], wanted: str) -> Any:
    if isinstance(item, dict) and item.keys() <= known and isinstance(item.get(wanted), str):
        return item[wanted]
    return item


def _null_enums(card: dict[str, Any]) -> Iterator[Deviation]:
    for field in _ENUMS:
        if field in card and card[field] is None:
            del card[field]
            yield Deviation(
                "null-enum", field, "null where the schema wants a value or no key, read as no key"
            )


def _strategy(document: dict[str, Any], field: str = "evaluation_strategy") -> Iterator[Deviation]:
    strategy = document.get(field)
    if not isinstance(strategy, dict) or not strategy.keys() & _STRATEGY_KEYS:
        return
    if "llm_or_expert_review" in strategy and "expert_review" in strategy:
        return  # which of the two is meant is not known
    new = {key: value for key, value in strategy.items() if key not in _STRATEGY_KEYS}
    if "llm_or_expert_review" in strategy:
        new["expert_review"] = strategy["llm_or_expert_review"]
    document[field] = new
    yield Deviation(
        "mvp-strategy",
        field,
        "llm_or_expert_review read as expert_review, not_in_scope_for_mvp left out",
    )

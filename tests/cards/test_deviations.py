from __future__ import annotations

from typing import Any

import pytest

from sipbench.cards.deviations import GENERATOR_KEYS, normalised, normalised_rubric, schema_view
from tests.cards.made import card, rubric


def rules(changes: dict[str, Any]) -> list[str]:
    return [deviation.rule for deviation in normalised(card(**changes))[1]]


def test_a_card_as_the_schema_wants_it_has_none() -> None:
    document = card()
    assert normalised(document) == (document, [])


@pytest.mark.parametrize(
    ("changes", "rule", "field", "read"),
    [
        (
            {"artifact_refs": ["a", {"locator": "paper.md", "score": 0.5, "side": "input"}]},
            "artifact-ref-object",
            "artifact_refs",
            ["a", "paper.md"],
        ),
        (
            {"data_accessions": [{"accession": "ERR1", "kind": "sra_run", "url": "u", "evidence_span": "e"}]},
            "accession-object",
            "data_accessions",
            ["ERR1"],
        ),
    ],
)
def test_objects_in_lists_of_texts_are_read_as_the_text_that_is_meant(
    changes: dict[str, Any], rule: str, field: str, read: list[str]
) -> None:
    document = card(**changes)
    value, deviations = normalised(document)
    assert value[field] == read
    assert [(deviation.rule, deviation.field) for deviation in deviations] == [(rule, field)]
    assert document == card(**changes), "what was read is not changed"


@pytest.mark.parametrize(
    "item", [{"locator": 3}, {"name": "no locator"}, {"locator": "a", "surprise": 1}, 7, ["paper.md"]]
)
def test_an_object_of_another_shape_stays_for_the_schema_to_refuse(item: Any) -> None:
    value, deviations = normalised(card(artifact_refs=[item]))
    assert value["artifact_refs"] == [item]
    assert deviations == []


@pytest.mark.parametrize("field", ["task_kind", "provenance_source", "reproducibility_tier"])
def test_a_null_where_the_schema_wants_no_key_is_no_key(field: str) -> None:
    value, deviations = normalised(card(**{field: None}))
    assert field not in value
    assert [(deviation.rule, deviation.field) for deviation in deviations] == [("null-enum", field)]


def test_the_strategy_of_early_cards_is_read_under_its_new_name() -> None:
    old = {"direct_checks": ["a"], "llm_or_expert_review": ["b"], "not_in_scope_for_mvp": ["c"]}
    value, deviations = normalised(card(evaluation_strategy=old))
    assert value["evaluation_strategy"] == {"direct_checks": ["a"], "expert_review": ["b"]}
    assert [deviation.rule for deviation in deviations] == ["mvp-strategy"]
    value, deviations = normalised_rubric(rubric(criteria=old))
    assert value["criteria"] == {"direct_checks": ["a"], "expert_review": ["b"]}
    assert [deviation.field for deviation in deviations] == ["criteria"]


def test_a_strategy_with_both_names_is_ambiguous_and_stays() -> None:
    both = {"direct_checks": [], "llm_or_expert_review": ["b"], "expert_review": ["c"]}
    assert rules({"evaluation_strategy": both}) == []


@pytest.mark.parametrize("value", [None, 3, "text", [], {}])
def test_fields_of_any_type_do_not_break_the_reading(value: Any) -> None:
    for field in ("artifact_refs", "data_accessions", "evaluation_strategy"):
        normalised(card(**{field: value}))


def test_the_schema_is_asked_about_all_but_the_generators_keys() -> None:
    assert len(GENERATOR_KEYS) == 12
    assert schema_view(card(prov={}, data_in=[], surprise=1)) == card(surprise=1)

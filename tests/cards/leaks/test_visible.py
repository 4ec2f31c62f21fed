"""What may be seen, what is no finding, and what is allowed to leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.cards.leaks.guard import Guard, check_allowed, parse_allowed
from sipbench.cards.leaks.secrets import no_finding
from sipbench.cards.leaks.visible import VISIBLE, visible_texts
from sipbench.cards.load import load_card
from sipbench.cards.model import Card
from sipbench.errors import CardError
from tests.cards.leaks.made import RUN, guarded, rules
from tests.cards.made import card, loaded, put

# --- what may be seen, and what is no finding


def test_only_four_fields_and_the_name_of_the_output_are_visible() -> None:
    document = card()
    texts = {key: f"secret-{key}" for key, value in document.items() if isinstance(value, str)}
    lists = {
        key: [f"secret-{key}"]
        for key, value in document.items()
        if isinstance(value, list) and key != "evidence_snippets"
    }
    document |= {**texts, **lists, "task_id": "task_001"}
    shown = " ".join(text for _, text in visible_texts(Card.model_validate(document)))
    seen = {key for key in document if f"secret-{key}" in shown}
    assert seen == {*VISIBLE, "expected_artifact_name"}


@pytest.mark.parametrize(
    "finding",
    [
        "The finding should be confirmed by expert review; none was detected.",
        "The provided section text does not contain it.",
        "The available document lacks it.",
        "The document does not contain sufficient evidence.",
        "The document provides a README only.",
        "The document describes a tool and does not report values.",
        "Insufficient evidence was found.",
        " ",
        "...",
    ],
)
def test_placeholders_are_no_findings(finding: str) -> None:
    assert no_finding(Card.model_validate(card(finding=finding)))


def test_a_heuristic_card_has_no_finding() -> None:
    assert no_finding(Card.model_validate(card(task_description="Create a bounded scientific task from it.")))
    assert no_finding(Card.model_validate(card())) is None


# --- what is allowed


def test_an_id_is_that_of_the_words_and_not_of_the_place(tmp_path: Path) -> None:
    report = guarded(tmp_path, {"a.md": f"x {RUN} y", "b/c.txt": f"z {RUN}"})
    assert len({leak.id for leak in report.blocking if leak.rule == "finding"}) == 1
    lone = load_card(put(tmp_path / "lone" / "card.json", card(crossref_doi="10.1/other")))
    other = Guard(lone).files({"a.md": RUN.encode()})
    assert not {leak.id for leak in report.blocking} & {leak.id for leak in other.blocking}


def test_a_leak_goes_only_with_a_reason(tmp_path: Path) -> None:
    card_ = loaded(tmp_path)
    files = {"a.md": RUN.encode()}
    (leak,) = [leak for leak in Guard(card_).files(files).blocking if leak.rule == "finding"]
    report = Guard(card_, {leak.id: "the task asks for the method"}).files(files)
    assert [(found.id, reason) for found, reason in report.allowed] == [
        (leak.id, "the task asks for the method")
    ]
    assert "finding" not in rules(report)


def test_reasons_are_read_from_options() -> None:
    assert parse_allowed(["L1=a  b", "L2 = c=d"]) == {"L1": "a b", "L2": "c=d"}


@pytest.mark.parametrize("option", ["L1", "L1=", "L1=  ", "=why", ""])
def test_an_option_without_a_reason_is_refused(option: str) -> None:
    with pytest.raises(CardError, match="needs a reason"):
        parse_allowed([option])


def test_allowing_what_is_not_there_is_refused() -> None:
    with pytest.raises(CardError, match="no leak has this id"):
        check_allowed({"L1": "why"}, set())

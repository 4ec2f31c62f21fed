from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sipbench.cards.load import load_card, read_card
from sipbench.errors import CardError
from tests.cards.made import CHECKS, FINDING, card, collection, put, rubric


def test_a_card_is_loaded_with_its_capsule_and_key(tmp_path: Path) -> None:
    card_ = load_card(collection(tmp_path)[0])
    assert card_.key == "10_5555_lakes_1__task_001"
    assert (card_.paper, card_.collection) == ("lakes", "hydrology")
    assert card_.card.finding == FINDING
    assert card_.capsule is not None
    assert card_.capsule.rubric is not None
    assert [check.points for check in card_.capsule.rubric.checks] == [2.0] * 3
    assert [claim.claim_id for claim in card_.claims] == ["claim_001"]
    assert [result.claim_ids for result in card_.results] == [("claim_001",)]


def test_a_capsules_directory_names_its_card(tmp_path: Path) -> None:
    file = collection(tmp_path)[0]
    capsule = load_card(file).capsule
    assert capsule is not None
    assert load_card(capsule.path).path.samefile(file)


def test_a_card_outside_of_a_collection_has_no_capsule(tmp_path: Path) -> None:
    card_ = load_card(put(tmp_path / "lone" / "card.json", card(crossref_doi=None)))
    assert card_.capsule is None
    assert (card_.key, card_.collection, card_.claims) == ("lone__task_001", None, ())


@pytest.mark.parametrize(
    ("directory", "doi", "source_doi", "key"),
    [
        ("10_1_a__task_001", "10.1/A", None, "10_1_a__task_001"),
        # Released directories keep their names, even those that slug an address.
        (
            "https___doi_org_10_1_a__task_001",
            None,
            "https://doi.org/10.1/A",
            "https___doi_org_10_1_a__task_001",
        ),
        ("task_001", None, None, "lakes__task_001"),
        # A plain directory is no key: the rule makes one.
        ("task_001", "10.1/A", None, "10_1_a__task_001"),
        ("task_001", None, "10.1/B", "10_1_b__task_001"),
    ],
)
def test_where_a_key_comes_from(
    tmp_path: Path, directory: str, doi: str | None, source_doi: str | None, key: str
) -> None:
    file = collection(tmp_path, card(crossref_doi=doi), capsules=False)[0]
    claims = [{"claim_id": "c", "text": "x", "source_doi": source_doi}]
    put(tmp_path / "hydrology/v1/capsules/lakes" / directory / "ledger/claims.jsonl", claims)
    assert load_card(file).key == key


def test_two_capsules_for_one_card_are_one_too_many(tmp_path: Path) -> None:
    file = collection(tmp_path)[0]
    put(tmp_path / "hydrology/v1/capsules/lakes/task_001/x.json", "{}")
    with pytest.raises(CardError, match="several capsules for task_001"):
        load_card(file)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"title": ...}, "title", "is missing"),
        ({"title": 3}, "title", "valid string"),
        ({"surprise": 1}, "surprise", "unknown key"),
        ({"task_id": "../../etc"}, "task_id", "must match"),
        ({"task_id": "task_001\n"}, "task_id", "must match"),
        ({"task_description": "x" * 66_000}, "task_description", "longer than 20000 characters; shorten it"),
        ({"title": "a\x1b[31mb"}, "title", "control character U+001B"),
        ({"title": "a\x00b"}, "title", "control character U+0000"),
        ({"title": "\ud800"}, "title", "surrogate"),
        ({"inputs": ["a"] * 5001}, "inputs", "at most 5000"),
        ({"inputs": "rain.csv"}, "inputs", "valid tuple"),
        ({"expected_artifact_name": "../../out.csv"}, "expected_artifact_name", "without '..'"),
        ({"expected_artifact_name": "/etc/passwd"}, "expected_artifact_name", "use a relative path"),
        ({"expected_artifact_name": "C:\\out.csv"}, "expected_artifact_name", "use a relative path"),
        ({"expected_artifact_name": "a\\..\\..\\b"}, "expected_artifact_name", "without '..'"),
        ({"expected_artifact_name": " "}, "expected_artifact_name", "use a relative path"),
        ({"expected_artifact_name": "a`\n# b"}, "expected_artifact_name", "no file name needs"),
        ({"expected_artifact_name": "a\u202ecsv.b"}, "expected_artifact_name", "no file name needs"),
        ({"task_kind": "magic"}, "task_kind", "reproduction"),
        ({"run_timeout_seconds": True}, "run_timeout_seconds", "valid number"),
        (
            {"evidence_snippets": [{"snippet_id": "a", "source_path": "b", "reason": "c"}]},
            "evidence_snippets.0.text",
            "is missing",
        ),
        (
            {"evaluation_strategy": {"direct_checks": [], "magic": []}},
            "evaluation_strategy.magic",
            "unknown key",
        ),
    ],
)
def test_what_is_wrong_with_a_card_is_said_with_file_field_and_reason(
    tmp_path: Path, changes: dict[str, Any], field: str, said: str
) -> None:
    path = tmp_path / "p" / "task_001.json"
    path.parent.mkdir()
    path.write_text(json.dumps(card(**changes)), encoding="utf-8")
    reading = read_card(path)
    assert reading.card is None
    assert [problem.field for problem in reading.problems] == [field]
    assert said in reading.problems[0].reason
    with pytest.raises(CardError) as error:
        load_card(path)
    assert str(error.value).startswith(f"{path}: {field}: ")
    assert "\n" not in str(error.value)


def test_many_problems_are_counted_rather_than_listed(tmp_path: Path) -> None:
    path = put(tmp_path / "p/task_001.json", {"task_id": "a"})
    with pytest.raises(CardError, match=r"; and \d+ more$"):
        load_card(path)


def test_infinities_are_no_timeouts(tmp_path: Path) -> None:
    path = put(tmp_path / "p/task_001.json", "")
    path.write_text(json.dumps(card()).replace("{", '{"run_timeout_seconds": 1e999, ', 1), encoding="utf-8")
    assert [problem.field for problem in read_card(path).problems] == ["run_timeout_seconds"]


@pytest.mark.parametrize(
    "name", ["évaluation.json", "out put.csv", ".github/workflows/ci.yml", "résumé/α.csv"]
)
def test_unusual_but_honest_names_of_outputs_are_read(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / "p/task_001.json", card(expected_artifact_name=name))
    assert load_card(path).card.expected_artifact_name == name


def test_a_broken_capsule_is_an_error_when_it_is_asked_for(tmp_path: Path) -> None:
    file = collection(tmp_path)[0]
    capsule = load_card(file).capsule
    assert capsule is not None
    put(capsule.path / "evaluation/review_rubric.json", rubric(CHECKS, max_score="many"))
    with pytest.raises(CardError, match=r"review_rubric\.json: max_score"):
        _ = load_card(file).capsule.rubric  # type: ignore[union-attr]
    put(capsule.path / "ledger/results.jsonl", [{"result_id": 1, "summary": "x"}])
    with pytest.raises(CardError, match=r"results.jsonl:1: result_id"):
        _ = load_card(file).results


def test_a_rubric_with_nan_points_is_refused(tmp_path: Path) -> None:
    file = collection(tmp_path)[0]
    capsule = load_card(file).capsule
    assert capsule is not None
    path = capsule.path / "evaluation/review_rubric.json"
    path.write_text(path.read_text(encoding="utf-8").replace("2.0,", "NaN,", 1), encoding="utf-8")
    with pytest.raises(CardError, match="NaN is not JSON"):
        _ = load_card(file).capsule.rubric  # type: ignore[union-attr]


def test_links_to_capsules_are_not_followed(tmp_path: Path) -> None:
    file = collection(tmp_path, capsules=False)[0]
    other = put(tmp_path / "elsewhere/ledger/claims.jsonl", [{"claim_id": "c", "text": "x"}]).parents[1]
    link = tmp_path / "hydrology/v1/capsules/lakes/task_001"
    link.parent.mkdir(parents=True)
    link.symlink_to(other)
    assert load_card(file).capsule is None


def test_the_given_cards_load_with_the_keys_of_their_capsules(shared_data: Callable[..., Path]) -> None:
    files = sorted(shared_data("asb-collections").glob("*/v1/benchmark/cards/*/*.json"))
    cards = [load_card(file) for file in files]
    assert len(cards) == 81
    assert len({(card_.collection, card_.key) for card_ in cards}) == 81
    for card_ in cards:
        assert card_.capsule is not None
        assert card_.capsule.path.name in (card_.key, card_.card.task_id)

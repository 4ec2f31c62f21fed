from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sipbench.cards.validate import FileReport, check_between, check_file, find_cards, find_files
from sipbench.errors import CardError
from tests.cards.made import CLAIM, card, collection, put, rubric

pytest.importorskip("asb_schema", reason="the schemas of asb-schema (extra 'cards') are not installed")


def report(root: Path, file: str, kind: str) -> FileReport:
    return check_file(root / "hydrology/v1" / file, kind)  # type: ignore[arg-type]


CAPSULE = "capsules/lakes/10_5555_lakes_1__task_001"


def checked(*paths: Path) -> list[FileReport]:
    reports = [check_file(path, kind) for path, kind in find_files(paths)]
    check_between(reports)
    return reports


def test_the_files_of_a_collection_are_found_by_their_kind(tmp_path: Path) -> None:
    collection(tmp_path)
    put(tmp_path / "hydrology/v1/collection.yaml", "a: 1\n")
    put(tmp_path / "hydrology/v1/links.json", {})
    put(tmp_path / "hydrology/v1/benchmark/cards/lakes/task_001.md", "text")
    found = Counter(kind for _, kind in find_files([tmp_path]))
    assert found == {"card": 1, "rubric": 1, "claims": 1, "results": 1, "manifest": 1}


def test_a_folder_of_cards_needs_no_collection(tmp_path: Path) -> None:
    put(tmp_path / "task_007.json", card())
    put(tmp_path / "settings.json", {})
    assert [path.name for path in find_cards([tmp_path])] == ["task_007.json"]


def test_a_path_that_is_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="no such file or folder"):
        find_files([tmp_path / "absent"])
    put(tmp_path / "a.txt", "x")
    with pytest.raises(CardError, match="no file of a collection"):
        find_files([tmp_path / "a.txt"])
    with pytest.raises(CardError, match="no card here"):
        find_cards([tmp_path])


def test_a_sound_collection_is_valid(tmp_path: Path) -> None:
    collection(tmp_path)
    assert {item.state for item in checked(tmp_path)} == {"valid"}


def test_known_deviations_are_named_and_are_no_errors(tmp_path: Path) -> None:
    collection(tmp_path, card(task_kind=None, data_accessions=[{"accession": "ERR1"}], data_in=[]))
    (found,) = [item for item in checked(tmp_path) if item.kind == "card"]
    assert found.state == "deviating"
    assert {deviation.rule for deviation in found.deviations} == {"null-enum", "accession-object"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"inputs": [1]}, "inputs.0"),
        ({"artifact_refs": [{"locator": 1}]}, "artifact_refs.0"),
        ({"surprise": 1}, "surprise"),
        ({"provenance_source": "dream"}, "provenance_source"),
    ],
)
def test_each_problem_of_a_card_is_said_once(tmp_path: Path, changes: dict[str, object], field: str) -> None:
    path = collection(tmp_path, card(**changes))[0]
    assert [problem.field for problem in check_file(path, "card").problems] == [field]


def test_the_schema_has_a_word_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sipbench.cards import validate

    monkeypatch.setattr(validate, "read_card", lambda path: _lenient(path))
    path = collection(tmp_path, card(title=3))[0]
    assert [str(problem) for problem in check_file(path, "card").problems] == [
        f"{path}: title: expected string, found a number"
    ]


def _lenient(path: Path) -> object:
    from sipbench.cards.load import Reading

    return Reading(document=json.loads(path.read_text(encoding="utf-8")))


def test_a_rubric_whose_sum_is_wrong_deviates_and_one_with_twins_is_invalid(tmp_path: Path) -> None:
    collection(tmp_path)
    home = tmp_path / "hydrology/v1" / CAPSULE / "evaluation/review_rubric.json"
    put(home, rubric(max_score=5.0))
    assert [
        deviation.rule
        for deviation in report(tmp_path, f"{CAPSULE}/evaluation/review_rubric.json", "rubric").deviations
    ] == ["rubric-sum"]
    twins = rubric()
    twins["checks"][1]["id"] = "pf_001"
    put(home, twins)
    (problem,) = report(tmp_path, f"{CAPSULE}/evaluation/review_rubric.json", "rubric").problems
    assert "2 checks are called pf_001" in problem.reason


def test_ledgers_are_checked_line_by_line(tmp_path: Path) -> None:
    collection(tmp_path)
    lines = [
        CLAIM,
        {"claim_id": "c2"},
        CLAIM | {"source_doi": "https://doi.org/10.1/x", "claim_id": "c3"},
        CLAIM,
    ]
    put(tmp_path / "hydrology/v1" / CAPSULE / "ledger/claims.jsonl", lines)
    found = report(tmp_path, f"{CAPSULE}/ledger/claims.jsonl", "claims")
    assert [(problem.line, problem.field) for problem in found.problems] == [(2, "text"), (4, "claim_id")]
    assert [deviation.rule for deviation in found.deviations] == ["source-doi-address"]


def test_a_manifest_is_checked_against_its_own_class(tmp_path: Path) -> None:
    good = "title: T\nslug: t\nversion: 1\ndescription: D\nlicense: CC0-1.0\niri: https://x/y\n"
    path = put(tmp_path / "collection.yaml", good + "released_at: 2026-01-01T00:00:00Z\n")
    assert check_file(path, "manifest").problems == []
    put(path, good + "surprise: 1\n")
    assert ["surprise" in problem.reason for problem in check_file(path, "manifest").problems] == [True]
    put(path, good.replace("title: T\n", ""))
    assert ["title" in problem.reason for problem in check_file(path, "manifest").problems] == [True]


def test_provenance_sources_outside_of_the_list_deviate(tmp_path: Path) -> None:
    document = {"schema_version": "v1", "task_id": "t", "artifacts": [{"path": "a", "source": "ro_crate"}]}
    found = check_file(put(tmp_path / "artifact_provenance.json", document), "provenance")
    assert [deviation.rule for deviation in found.deviations] == ["provenance-source"]


def test_a_key_belongs_to_one_card(tmp_path: Path) -> None:
    collection(tmp_path, card(), capsules=False)
    collection(tmp_path, card(), paper="other", capsules=False)
    problems = [problem for item in checked(tmp_path) for problem in item.problems]
    assert ["already that of" in problem.reason for problem in problems] == [True]


def test_circles_are_errors_and_links_to_nowhere_deviate(tmp_path: Path) -> None:
    documents = [
        card(task_id="task_001", input_from="task_002"),
        card(task_id="task_002", input_from="task_001"),
        card(task_id="task_003", input_from="task_000"),
    ]
    collection(tmp_path, *documents)
    reports = [item for item in checked(tmp_path) if item.kind == "card"]
    assert [item.state for item in reports] == ["invalid", "invalid", "deviating"]
    assert "task_001 -> task_002 -> task_001" in reports[0].problems[0].reason or (
        "task_002 -> task_001 -> task_002" in reports[0].problems[0].reason
    )
    assert reports[2].deviations[0].rule == "dangling-input-from"


def test_a_rubric_that_lists_other_checks_is_noticed(tmp_path: Path) -> None:
    collection(tmp_path)
    put(tmp_path / "hydrology/v1" / CAPSULE / "evaluation/review_rubric.json", rubric(["something else"]))
    (found,) = [item for item in checked(tmp_path) if item.kind == "card"]
    assert [deviation.rule for deviation in found.deviations] == ["rubric-drift"]


def test_results_that_the_ledger_lacks_are_noticed(tmp_path: Path) -> None:
    collection(tmp_path, card(linked_result_ids=["result_001", "result_404"]))
    (found,) = [item for item in checked(tmp_path) if item.kind == "card"]
    assert [deviation.rule for deviation in found.deviations] == ["dangling-result"]


def test_the_counts_over_the_given_collections(shared_data: Callable[..., Path]) -> None:
    """What docs/cards.md explains: 15 + 7 objects in lists, 2 early cards; nothing is invalid."""
    reports = checked(shared_data("asb-collections"))
    assert Counter((item.kind, item.state) for item in reports) == {
        ("card", "valid"): 59,
        ("card", "deviating"): 22,
        ("rubric", "valid"): 79,
        ("rubric", "deviating"): 2,
        ("claims", "valid"): 78,
        ("results", "valid"): 78,
        ("provenance", "deviating"): 81,
        ("manifest", "valid"): 2,
    }
    rules = Counter(
        deviation.rule for item in reports if item.kind == "card" for deviation in item.deviations
    )
    assert rules == {"accession-object": 15, "artifact-ref-object": 7, "null-enum": 2, "mvp-strategy": 2}

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import RecordError
from sipbench.protocol.summary import load_summary
from sipbench.protocol.v0 import aggregate
from sipbench.protocol.validation import check_file, kind_of, study_files
from sipbench.protocol.versions import RUN_RECORD_VERSION, SUMMARY_VERSION
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell, document, v0_document, write_lines
from tests.protocol.test_folder import SPLITS, adaptation


def summary_text() -> str:
    return summarize(cell("T0", "heldout", {"a": [0.5]})).to_json()


def v0_summaries() -> list[dict[str, Any]]:
    required = [(p, s) for p in ("T0", "T1") for s in ("heldout", "replay")]
    return aggregate([v0_document(phase=p, benchmark_split=s) for p, s in required])


@pytest.mark.parametrize("name", ["anything.dat", "runs.jsonl", "summary.json"])
def test_the_kind_is_told_by_what_the_file_holds(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    contents = {
        "runs": json.dumps(document()),
        "adaptations": json.dumps(adaptation()),
        "splits": json.dumps(SPLITS),
        "summary": json.dumps(json.loads(summary_text())),
        "summary-v0": json.dumps(v0_summaries()[0]),
    }
    for kind, text in contents.items():
        path.write_text(text + "\n", encoding="utf-8")
        assert kind_of(path) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("runs.jsonl", "runs"),
        ("adaptations.jsonl", "adaptations"),
        ("splits.json", "splits"),
        ("summary.json", "summary"),
        ("my-summary.txt", "summary"),
        ("what.jsonl", "runs"),
    ],
)
def test_a_broken_file_is_told_by_its_name(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"{ broken\n")
    assert kind_of(path) == kind


def test_documents_over_several_lines_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(summary_text(), encoding="utf-8")
    (tmp_path / "y.json").write_text(json.dumps(SPLITS, indent=1), encoding="utf-8")
    assert (kind_of(tmp_path / "x.json"), kind_of(tmp_path / "y.json")) == ("summary", "splits")


def test_good_files_of_each_kind_are_valid(tmp_path: Path) -> None:
    write_lines(tmp_path / "runs.jsonl", [document(), document(task_id="b")])
    write_lines(tmp_path / "adaptations.jsonl", [adaptation()])
    write_lines(tmp_path / "old.jsonl", v0_summaries())
    (tmp_path / "splits.json").write_text(json.dumps(SPLITS), encoding="utf-8")
    (tmp_path / "summary.json").write_text(summary_text(), encoding="utf-8")
    found = {path.name: check_file(path) for path in tmp_path.iterdir()}
    assert {name: check.problems for name, check in found.items()} == {name: [] for name in found}
    assert found["runs.jsonl"].records == 2
    versions = {check.version for check in found.values()}
    assert versions == {"1.0.0", RUN_RECORD_VERSION, "0.1.0", SUMMARY_VERSION}


def test_a_v0_file_is_checked_against_both_and_says_so(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [v0_document(), v0_document(task_id="b", finished_at="soon")])
    found = check_file(path)
    assert (found.version, found.records) == ("0.1.0", 1)
    assert "v0.1.0's own constraints" in found.notes[0]
    assert [problem.field for problem in found.problems] == ["finished_at"]


def test_bad_lines_are_counted_once_however_much_is_wrong_with_them(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document(score=2, repeat=-1), document(score=3)])
    found = check_file(path)
    assert (found.bad_lines, len(found.problems), found.records) == (2, 3, 0)


def test_an_empty_file_holds_no_record(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"\n\n")
    assert [problem.reason for problem in check_file(path).problems] == ["holds no record"]


def test_no_adaptation_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "adaptations.jsonl"
    path.write_bytes(b"")
    assert check_file(path).problems == []


def test_a_broken_split_rule_is_told(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    path.write_text(json.dumps({**SPLITS, "adapt": [{"id": "a"}]}), encoding="utf-8")
    found = check_file(path)
    assert found.problems == []
    assert any("disjoint-ids" in note and "a" in note for note in found.notes)


def test_a_wrong_field_of_a_document_is_named(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    document = json.loads(summary_text())
    document["rows"][0]["metrics"]["fg"]["value"] = "much"
    document["rows"][0]["cells"][0]["coverage"] = 2
    path.write_text(json.dumps(document), encoding="utf-8")
    found = check_file(path)
    assert {problem.field for problem in found.problems} == {
        "rows.0.metrics.fg.value",
        "rows.0.cells.0.coverage",
    }
    assert found.bad_lines == 1
    with pytest.raises(RecordError, match=r"summary\.json: rows\.0.*make it again with `sip summarize`"):
        load_summary(path)


@pytest.mark.parametrize("text", [b"\xff", b"{", b"[]", b'{"rows": NaN}', b'{"a": 1, "a": 2}', b""], ids=repr)
def test_a_summary_that_is_none_is_one_line(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "summary.json"
    path.write_bytes(text)
    assert check_file(path).bad_lines == 1
    with pytest.raises(RecordError, match=r"^[^\n]*$"):
        load_summary(path)


def test_a_summary_of_a_later_major_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text(summary_text().replace(f'"{SUMMARY_VERSION}"', '"2.0.0"', 1), encoding="utf-8")
    with pytest.raises(
        RecordError, match=rf"reads summaries {re.escape(SUMMARY_VERSION)} and older, found 2\.0\.0"
    ):
        load_summary(path)


def test_a_wrong_v0_summary_is_named(tmp_path: Path) -> None:
    (good,) = v0_summaries()
    bad = {**good, "metrics": {**good["metrics"], "fg_std": -1}}
    path = write_lines(tmp_path / "summary.jsonl", [good, bad])
    (problem,) = check_file(path).problems
    assert (problem.line, problem.field) == (2, "metrics.fg_std")


def test_the_files_of_a_study_directory_are_found(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"a directory without runs\.jsonl"):
        study_files(tmp_path)
    write_lines(tmp_path / "runs.jsonl", [document()])
    (tmp_path / "splits.json").write_text(json.dumps(SPLITS), encoding="utf-8")
    assert [path.name for path in study_files(tmp_path)] == ["runs.jsonl", "splits.json"]

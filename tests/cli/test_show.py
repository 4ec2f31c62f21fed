from __future__ import annotations

import json
from pathlib import Path

import pytest

from sipbench import summarize
from tests.cli.command import sip
from tests.protocol.made import cell, document, write_lines


@pytest.fixture
def study(tmp_path: Path) -> Path:
    records = [*cell("T0", "heldout", {"a": [0.1]}), *cell("T1", "heldout", {"a": [0.4]})]
    write_lines(tmp_path / "runs.jsonl", records)
    text = summarize(tmp_path / "runs.jsonl").to_json()
    (tmp_path / "summary.json").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_directory_and_its_summary_show_the_same(study: Path) -> None:
    ended = sip("show", study)
    assert ended.code == 0
    assert "+0.300" in ended.out
    assert sip("show", study / "summary.json") == ended


def test_json_is_the_summary_as_it_stands(study: Path) -> None:
    found = json.loads(sip("show", study, "--json").out)
    assert found == json.loads((study / "summary.json").read_text(encoding="utf-8"))


def test_without_a_summary_it_says_how_to_compute_one(tmp_path: Path) -> None:
    write_lines(tmp_path / "runs.jsonl", [document()])
    ended = sip("show", tmp_path)
    assert ended.code == 2
    assert f"`sip summarize {tmp_path}` computes one" in ended.err


@pytest.mark.parametrize("name", ["", "missing.json"])
def test_another_place_is_one_line_and_exit_2(tmp_path: Path, name: str) -> None:
    ended = sip("show", tmp_path / name)
    assert ended.code == 2
    assert ended.err.count("\n") == 1


def test_what_is_wrong_in_the_arguments_points_to_the_help_of_that_command() -> None:
    assert sip("show").err == "sip: Missing argument 'DIR|SUMMARY'; see `sip show --help`\n"
    wrong = "Invalid value for '--format' / '-f': 'pdf' is not one of 'html', 'md', 'csv', 'latex'"
    assert sip("report", ".", "--format", "pdf").err == f"sip: {wrong}; see `sip report --help`\n"
    assert sip("splits", "shwo").err.endswith("see `sip splits --help`\n")


def test_a_file_of_records_is_no_summary(study: Path) -> None:
    ended = sip("show", study / "runs.jsonl")
    assert ended.code == 2
    assert ended.err.count("\n") == 1

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sipbench.protocol.versions import RUN_RECORD_VERSION
from tests.cli.command import sip
from tests.protocol.made import document, v0_document, write_lines


def test_a_good_file_is_valid(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document(), document(task_id="b")])
    ended = sip("validate", path)
    assert ended.code == 0
    assert ended.out == f"{path}: runs {RUN_RECORD_VERSION}, 2 good records: valid\n"
    assert ended.err == ""


def test_every_bad_line_is_named_and_counted(tmp_path: Path) -> None:
    records = [document(score=7), document(task_id="b"), document(task_id="c", arm="")]
    path = write_lines(tmp_path / "runs.jsonl", records)
    ended = sip("validate", path)
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[0].startswith(f"{path}:1: score: ")
    assert lines[1].startswith(f"{path}:3: arm: ")
    assert lines[2] == f"{path}: runs {RUN_RECORD_VERSION}, 1 good record: 2 bad lines"


def test_several_files_have_a_count_at_the_end(tmp_path: Path) -> None:
    good = write_lines(tmp_path / "a.jsonl", [document()])
    bad = write_lines(tmp_path / "b.jsonl", [document(phase="T5")])
    ended = sip("validate", good, bad)
    assert ended.code == 1
    assert ended.out.splitlines()[-1] == "2 files: 1 bad line"


def test_json_says_the_same(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document(score=7), document(task_id="b")])
    ended = sip("validate", path, "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["bad"]) == (1, 1)
    (file,) = found["files"]
    assert (file["kind"], file["records"], file["schema_version"]) == ("runs", 1, RUN_RECORD_VERSION)
    assert (file["problems"][0]["line"], file["problems"][0]["field"]) == (1, "score")


def test_a_v0_file_says_against_what_it_was_checked(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [v0_document()])
    assert (
        f"checked against v0.1.0's own constraints and, read as {RUN_RECORD_VERSION},"
        in sip("validate", path).out
    )


def test_a_study_directory_is_checked_as_a_whole(tmp_path: Path) -> None:
    write_lines(tmp_path / "runs.jsonl", [document()])
    (tmp_path / "splits.json").write_text("{}", encoding="utf-8")
    ended = sip("validate", tmp_path)
    assert ended.code == 1
    assert "splits.json:1: schema_version" in ended.out


def test_the_kind_can_be_said(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x", [document()])
    assert sip("validate", path, "--kind", "adaptations").code == 1
    ended = sip("validate", path, "--kind", "run")
    assert ended.code == 2
    assert "did you mean 'runs'?" in ended.err


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_what_cannot_be_read_is_one_line_and_exit_2(tmp_path: Path, name: str) -> None:
    ended = sip("validate", tmp_path / name)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("sip: ")


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_records_is_no_result_anywhere(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(text, encoding="utf-8")
    ended = sip("validate", path)
    assert ended.code == 1
    assert ended.out.startswith(f"{path}:1: holds no record\n")
    for options in ((), ("--trusted",), ("--schema", "0.1.0"), ("-o", tmp_path / "summary.json")):
        for place in (path, tmp_path):
            ended = sip("summarize", place, *options)
            assert (ended.code, ended.out) == (2, "")
            assert ended.err == f"sip: {path}: holds no record; there is nothing to summarise\n"
    assert not (tmp_path / "summary.json").exists()
    ended = sip("leaderboard", tmp_path)
    assert (ended.code, ended.err) == (2, f"sip: {path}: holds no record; there is nothing to show yet\n")


def test_what_a_file_says_cannot_reach_the_terminal_as_a_command(tmp_path: Path) -> None:
    key = "\x1b]0;owned\x07"
    path = write_lines(tmp_path / "runs.jsonl", [{**document(), key: 1}])
    ended = sip("validate", path)
    assert ended.code == 1
    assert "\x1b" not in ended.out


def test_public_files_are_valid(shared_data: Callable[..., Path]) -> None:
    folder = shared_data("sip-runs")
    files = sorted(folder.glob("*/*.jsonl"))
    ended = sip("validate", *files)
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == f"{len(files)} files: valid"

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sipbench.errors import RecordError
from sipbench.protocol import jsonl
from sipbench.protocol.jsonl import (
    LineWriter,
    Problem,
    check_records,
    drop_torn_line,
    parse_object,
    read_lines,
    read_records,
)
from sipbench.protocol.records import RunRecord
from tests.protocol.made import document, v0_document, write_lines


def problems(path: Path) -> list[Problem]:
    return [item for item in check_records(path) if isinstance(item, Problem)]


def only(path: Path) -> Problem:
    (problem,) = problems(path)
    return problem


def written(tmp_path: Path, *lines: bytes) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"".join(lines))
    return path


GOOD = json.dumps(document(run_id="good")).encode() + b"\n"


def test_records_of_a_good_file_are_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document(task_id="a"), document(task_id="b")])
    assert [record.task_id for record in read_records(path)] == ["a", "b"]


def test_crlf_blank_lines_and_a_missing_last_line_feed_are_no_problem(tmp_path: Path) -> None:
    last = json.dumps(document(task_id="b")).encode()
    path = written(tmp_path, b"\r\n", GOOD.replace(b"\n", b"\r\n"), b"  \n", last)
    assert len(list(read_records(path))) == 2


def test_a_problem_names_file_line_and_field(tmp_path: Path) -> None:
    path = written(tmp_path, b"\n", GOOD, json.dumps(document(task_id="b", score=1.5)).encode())
    problem = only(path)
    assert (problem.file, problem.line, problem.field) == (str(path), 3, "score")
    assert "less than or equal to 1" in problem.reason


def test_each_wrong_field_is_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document(score=2, repeat=-1, phase="T9")])
    assert {problem.field for problem in problems(path)} == {"score", "repeat", "phase"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"score": NaN}', "NaN is not JSON"),
        (b'{"score": -Infinity}', "-Infinity is not JSON"),
        (b'{"a": 1, "b": {"x": 1, "x": 2}}', "x: the key stands twice"),
        (b"\xef\xbb\xbf{}", "byte-order mark"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 8"),
        (b'{"a": "\x00"}', "not JSON: Invalid control character"),
        (b"[1, 2]", "not a JSON object but list"),
        (b"{", "not JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too many digits"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ],
    ids=["nan", "infinity", "key twice", "bom", "not utf-8", "nul", "list", "torn", "huge int", "deep"],
)
def test_what_is_no_plain_json_object_is_refused_in_one_line(line: bytes, said: str) -> None:
    with pytest.raises(RecordError, match=r"^[^\n]+$") as caught:
        parse_object(line)
    assert said in str(caught.value)


def test_hostile_lines_do_not_hide_the_good_ones(tmp_path: Path) -> None:
    hostile = [b'{"run_id": "\xff"}\n', b"[" * 50_000 + b"\n", b"\x00\x00\n"]
    path = written(tmp_path, *hostile, GOOD, b'{"a": NaN}\n')
    found = list(check_records(path))
    assert [type(item) for item in found] == [Problem, Problem, Problem, RunRecord, Problem]
    assert [item.line for item in found if isinstance(item, Problem)] == [1, 2, 3, 5]


@pytest.mark.parametrize("number", ["1e999", "9" * 400])
def test_a_number_beyond_any_column_is_a_problem_of_its_field(tmp_path: Path, number: str) -> None:
    line = json.dumps(document(token_total=1)).replace('"token_total": 1', f'"token_total": {number}')
    assert only(written(tmp_path, line.encode())).field == "token_total"


def test_infinity_in_metadata_is_refused(tmp_path: Path) -> None:
    line = json.dumps(document(metadata={"x": 1})).replace('{"x": 1}', '{"x": 1e999}')
    assert only(written(tmp_path, line.encode())).field == "metadata"


def test_a_lone_surrogate_is_refused(tmp_path: Path) -> None:
    line = json.dumps(document(notes="X")).replace('"X"', '"\\ud800"')
    assert "Invalid JSON" in only(written(tmp_path, line.encode())).reason


def test_a_gigantic_line_is_one_problem_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 2000)
    path = written(tmp_path, b'{"a": "' + b"x" * 10_000 + b'"}\n', GOOD)
    found = list(check_records(path))
    assert isinstance(found[0], Problem)
    assert found[0].line == 1
    assert "longer than" in found[0].reason
    assert isinstance(found[1], RunRecord)
    with pytest.raises(RecordError, match="longer than"):
        list(read_lines(path))


def test_a_directory_or_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read: it is a folder"):
        list(check_records(tmp_path))
    with pytest.raises(RecordError, match="cannot be read: No such file"):
        list(check_records(tmp_path / "none.jsonl"))


def test_a_repeated_run_id_is_a_problem(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [document(run_id="x"), document(run_id="x", task_id="other")])
    assert str(only(path)) == f"{path}:2: run_id: already on line 1"


def test_two_records_of_the_same_place_in_the_design_are_a_problem(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [document(), document(attempt_index=1), document()])
    assert only(path).line == 3
    assert "same benchmark" in only(path).reason


def test_attempts_of_two_arms_are_not_the_same(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [document(arm="a"), document(arm="b")])
    assert problems(path) == []


@pytest.mark.parametrize("version", [None, 1, "", "2.0.0", "1", "0.2.0", "01.0.0"])
def test_an_unknown_version_is_refused(tmp_path: Path, version: object) -> None:
    path = write_lines(tmp_path / "r.jsonl", [document(schema_version=version)])
    assert only(path).field == "schema_version"


def test_a_newer_minor_version_with_known_fields_is_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [document(schema_version="1.7.3")])
    assert problems(path) == []


def test_a_problem_of_a_v0_record_says_whose_rule_it_breaks(tmp_path: Path) -> None:
    own = v0_document(task_id="a", score=2)
    strict = v0_document(task_id="b", started_at="yesterday")
    path = write_lines(tmp_path / "r.jsonl", [own, strict])
    first, second = problems(path)
    assert (first.field, second.field) == ("score", "started_at")
    assert "v0.1.0's own constraint" in first.reason
    assert "v0.1.0 lets it pass" in second.reason


def test_reading_stops_at_the_first_bad_line_and_says_how_to_list_all(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [document(score=3), document(score=4)])
    with pytest.raises(RecordError, match=r":1: score: .*sip validate"):
        list(read_records(path))


def test_reading_rewrites_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [v0_document()])
    before = path.read_bytes()
    list(read_records(path))
    assert path.read_bytes() == before


def test_a_torn_last_line_is_dropped_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD, b'{"run_id": "torn')
    assert drop_torn_line(path) == len(b'{"run_id": "torn')
    assert path.read_bytes() == GOOD
    assert drop_torn_line(path) == 0


def test_a_file_of_one_torn_line_becomes_empty(tmp_path: Path) -> None:
    path = written(tmp_path, b"x" * 200_000)
    assert drop_torn_line(path) == 200_000
    assert path.read_bytes() == b""
    assert drop_torn_line(tmp_path / "missing") == 0


def test_a_written_line_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with LineWriter(path) as writer:
        writer.write([document(task_id="ä\n")])
        writer.write([document(task_id="b")])
    assert [record.task_id for record in read_records(path)] == ["ä\n", "b"]

"""Reading files: validated and trusted must agree, and neither lets a bad record through."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from sipbench.errors import RecordError
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import AnalysisSettings
from sipbench.protocol.summary import Summary
from sipbench.stats import tables
from sipbench.stats.summarize import summarize
from sipbench.stats.tables import read_table
from tests.protocol.made import document, record, v0_document, write_lines
from tests.stats.test_summarize_laws import attempts

MODES = [True, False]


def read(path: Path, *, trusted: bool, unit: str = "tokens") -> Summary:
    chosen = AnalysisSettings.model_validate({"cost_unit": unit})
    return summarize(path, settings=chosen, trusted=trusted)


def content(summary: Summary) -> dict[str, Any]:
    found = summary.document()
    del found["provenance"]["generated_at"], found["provenance"]["trusted"]
    return found


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempts())
def test_trusted_and_validated_agree_in_every_bit(tmp_path: Path, records: list[RunRecord]) -> None:
    path = write_lines(tmp_path / "runs.jsonl", records)
    assert content(read(path, trusted=True)) == content(read(path, trusted=False))


@pytest.mark.parametrize("unit", ["tokens", "seconds", "tool_calls", "usd", "human_interventions"])
def test_they_agree_on_costs_with_tries_and_with_unknown_ones(tmp_path: Path, unit: str) -> None:
    amounts = {"token_total": 3, "wall_clock_seconds": 0.1, "tool_calls_total": 1, "cost_usd": 0.2}
    amounts["human_interventions"] = 2
    tried = {"status": "infrastructure_error", **amounts}
    unknown = {"status": "infrastructure_error"}
    records = [
        document(phase="T1", benchmark_split="adapt", task_id="a", tries=[tried, tried], **amounts),
        document(phase="T1", benchmark_split="adapt", task_id="b", tries=[], **amounts),
        document(phase="T1", task_id="c", tries=[tried, unknown], **amounts),
        document(phase="T1", task_id="d"),
        {k: v for k, v in document(phase="T1", task_id="e").items() if k not in ("repeat", "attempt_index")},
    ]
    path = write_lines(tmp_path / "runs.jsonl", records)
    trusted, validated = read(path, trusted=True, unit=unit), read(path, trusted=False, unit=unit)
    assert content(trusted) == content(validated)
    spent = validated.rows[0].evaluation_cost
    assert spent is not None
    assert (spent.value, spent.known, spent.n_attempts, spent.n_unknown) == (None, 0.0, 3, 3)
    learned = validated.rows[0].learning_cost
    assert learned is not None
    one = next(v for k, v in amounts.items() if k == learned.field)
    assert learned.by_repeat[0].attempts == pytest.approx(4 * one)


def test_failed_tries_count_with_their_own_attempt_wherever_its_line_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = {3: 100, 4: 2000, 11: 30_000}
    lines = [
        json.dumps(
            document(
                task_id=f"t{i}",
                token_total=i,
                tries=[{"status": "cancelled", "token_total": tries[i]}] if i in tries else [],
            )
        )
        for i in range(12)
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text(
        "\n\n \n".join(lines[:6]) + "\r\n\r\n" + "\n".join(lines[6:]), encoding="utf-8", newline=""
    )
    expected = [i + tries.get(i, 0) for i in range(12)]
    for piece in (tables._PIECE, 1000):
        monkeypatch.setattr(tables, "_PIECE", piece)
        assert read_table([path], "token_total", trusted=True).frame["cost"].to_list() == expected


def test_they_agree_on_a_file_of_several_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    records = [
        document(
            phase=phase, benchmark_split=split, task_id=f"{split}-{task}", attempt_index=k, repeat=repeat,
            score=rng.random(), token_total=rng.randrange(100), family=f"{split}-{task % 7}",
        )
        for phase in ("T0", "T1", "T2") for split in ("heldout", "replay") for task in range(20)
        for repeat in range(3) for k in range(2)
    ]  # fmt: skip
    path = write_lines(tmp_path / "runs.jsonl", records)
    whole = content(read(path, trusted=True))
    monkeypatch.setattr(tables, "_PIECE", 10_000)
    monkeypatch.setattr(tables, "_BATCH", 17)
    assert content(read(path, trusted=True)) == whole
    assert content(read(path, trusted=False)) == whole
    rng.shuffle(records)
    shuffled = read(write_lines(path, records), trusted=True)
    assert content(shuffled)["rows"] == whole["rows"]


def test_several_files_are_one_table(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a.jsonl", [document(phase="T0")])
    second = write_lines(tmp_path / "b.jsonl", [document(phase="T1", score=0.75)])
    table = read_table([first, second], None)
    assert summarize(table).rows[0].metrics.fg.value == pytest.approx(0.25)
    assert [(source.name, source.records) for source in table.sources] == [("a.jsonl", 1), ("b.jsonl", 1)]


def test_the_source_is_named_with_its_digest(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document()])
    trusted, validated = (read(path, trusted=mode).provenance.sources for mode in MODES)
    assert trusted == validated
    assert trusted[0].digest.startswith("sha256:")


@pytest.mark.parametrize("trusted", MODES)
@pytest.mark.parametrize(
    "wrong",
    [
        {"score": 1.5},
        {"score": -0.1},
        {"score": None},
        {"score": "0.5"},
        {"phase": "T7"},
        {"status": "done"},
        {"status": None},
        {"benchmark_split": None},
        {"task_id": ""},
        {"task_id": None},
        {"arm": None},
        {"repeat": -1},
        {"attempt_index": -1},
        {"repeat": 1.5},
        {"seed": 2**70},
        {"schema_version": None},
        {"schema_version": "2.0.0"},
        {"token_total": -1},
        {"token_total": True},
        {"tries": [{"status": "cancelled", "token_total": -1}]},
        {"tries": "x"},
        {"tries": "[]"},
        {"tries": [1]},
        {"tries": ['{"status":"cancelled","token_total":1}']},
        {"tries": [{"status": "cancelled", "token_total": "1"}]},
    ],
    ids=str,
)
def test_a_bad_record_is_refused_either_way(tmp_path: Path, wrong: dict[str, Any], trusted: bool) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document(), document(task_id="t2") | wrong])
    with pytest.raises(RecordError, match=r"^[^\n]*sip validate[^\n]*$"):
        read(path, trusted=trusted)


@pytest.mark.parametrize("trusted", MODES)
@pytest.mark.parametrize("status", ["cancelled", "agent_error"])
def test_a_score_without_a_grade_is_refused(tmp_path: Path, status: str, trusted: bool) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document() | {"status": status}])
    with pytest.raises(RecordError, match="score"):
        read(path, trusted=trusted)


@pytest.mark.parametrize("trusted", MODES)
@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_no_number_is_infinite_or_nan(tmp_path: Path, number: str, trusted: bool) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(document()).replace("0.5", number) + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=r"^[^\n]*$"):
        read(path, trusted=trusted)


@pytest.mark.parametrize("trusted", MODES)
def test_duplicates_are_refused(tmp_path: Path, trusted: bool) -> None:
    same_id = [document(run_id="x"), document(run_id="x", task_id="t2")]
    same_place = [document(run_id="x"), document(run_id="y", benchmark_version="1")]
    for records, said in ((same_id, "run_id x"), (same_place, "same benchmark, version")):
        path = write_lines(tmp_path / "runs.jsonl", records)
        with pytest.raises(RecordError, match=said):
            read(path, trusted=trusted)


@pytest.mark.parametrize("trusted", MODES)
def test_an_empty_and_a_missing_version_are_the_same_version(tmp_path: Path, trusted: bool) -> None:
    records = [document(benchmark_version=""), document(benchmark_version=None)]
    path = write_lines(tmp_path / "runs.jsonl", records)
    with pytest.raises(RecordError, match="two records have the same benchmark"):
        read(path, trusted=trusted)


@pytest.mark.parametrize("trusted", MODES)
@pytest.mark.parametrize(
    "text", [b"\xff\xfe", b"\xef\xbb\xbf{}", b"[1]", b"{", b"null", b'{"run_id": "\xff"}', b"\x00"], ids=repr
)
def test_what_is_no_record_is_one_clear_line(tmp_path: Path, text: bytes, trusted: bool) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(json.dumps(document()).encode() + b"\n" + text + b"\n")
    with pytest.raises(RecordError, match=r"^[^\n]*sip validate[^\n]*$"):
        read(path, trusted=trusted)


@pytest.mark.parametrize("trusted", MODES)
def test_blank_lines_crlf_and_no_last_line_feed_are_read(tmp_path: Path, trusted: bool) -> None:
    path = tmp_path / "runs.jsonl"
    lines = [json.dumps(document(task_id=task)).encode() for task in "ab"]
    path.write_bytes(b"\r\n\n" + lines[0] + b"\r\n\r\n" + lines[1])
    assert read(path, trusted=trusted).records.total == 2


@pytest.mark.parametrize("trusted", MODES)
def test_an_empty_file_gives_no_row(tmp_path: Path, trusted: bool) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"")
    assert read(path, trusted=trusted).rows == ()


@pytest.mark.parametrize("trusted", MODES)
def test_a_directory_is_one_clear_line(tmp_path: Path, trusted: bool) -> None:
    with pytest.raises(RecordError, match="cannot be read: it is a folder"):
        read(tmp_path, trusted=trusted)


@pytest.mark.parametrize("trusted", MODES)
def test_a_gigantic_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool) -> None:
    monkeypatch.setattr(tables, "_PIECE", 1000)
    monkeypatch.setattr(tables, "MAX_LINE_BYTES", 5000)
    monkeypatch.setattr("sipbench.protocol.jsonl.MAX_LINE_BYTES", 5000)
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"a": "' + b"x" * 20_000 + b'"}\n')
    with pytest.raises(RecordError, match="longer than"):
        read(path, trusted=trusted)


def test_v0_records_are_read_validated_and_refused_trusted(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [v0_document()])
    assert read(path, trusted=False).rows[0].arm == "external"
    with pytest.raises(RecordError, match="read it without --trusted"):
        read(path, trusted=True)


def test_records_in_memory_are_checked_for_duplicates_too() -> None:
    with pytest.raises(RecordError, match="two records have the run_id same"):
        summarize([record(run_id="same"), record(run_id="same", task_id="t2")])


@pytest.mark.parametrize("suite", ["sample", "prepared-suite", "oracle-suite"])
def test_public_records_have_a_summary(shared_data: Callable[..., Path], suite: str) -> None:
    (row,) = read(shared_data("sip-runs", suite, "runs.jsonl"), trusted=False).rows
    fg, br = row.metrics.fg, row.metrics.br
    if suite == "sample":
        assert (fg.value, br.value) == (pytest.approx(0.175), pytest.approx(-0.075))
        assert fg.repeats_sd == pytest.approx(0.03535533905932741)
        assert row.metrics.pds.repeats_mean == pytest.approx(-0.02)
    else:
        # One task per cell and one repeat: a number, no sd, no interval.
        assert (fg.value, fg.repeats_sd, fg.interval) == (0.0, None, None)
    assert row.metrics.ie.value is None

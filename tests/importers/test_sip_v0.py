"""Run records that exist already: selected and renamed by a binding, otherwise as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import ConfigError, RecordError
from sipbench.importers.base import Binding
from sipbench.protocol.vocabulary import Phase, Split, Status
from tests.importers.made import read

V0 = {
    "schema_version": "0.1.0",
    "run_id": "a",
    "benchmark_name": "skillsbench",
    "benchmark_split": "heldout",
    "phase": "T0",
    "path_type": "external",
    "model_name": "m",
    "agent_name": "g",
    "agent_version": "1",
    "task_id": "t",
    "attempt_index": 0,
    "score": 0.5,
    "success": False,
    "token_input": 1,
    "token_output": 1,
    "token_total": 2,
    "tool_calls_total": 0,
    "memory_reads": 0,
    "memory_writes": 0,
    "human_interventions": 0,
    "wall_clock_seconds": 1.0,
    "seed": 3,
    "started_at": "2026-04-14T00:00:00Z",
    "finished_at": "2026-04-14T00:00:01Z",
}


def lines(path: Path, *changes: dict[str, Any]) -> Path:
    text = "".join(json.dumps({**V0, **change}) + "\n" for change in changes)
    path.write_text(text, encoding="utf-8")
    return path


def bind(**fields: Any) -> Binding:
    return Binding.model_validate(fields)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return lines(
        tmp_path / "runs.jsonl",
        {},
        {"run_id": "b", "phase": "T1"},
        {"run_id": "c", "phase": "T1", "benchmark_split": "replay"},
    )


@pytest.mark.parametrize("kind", ["sip-v0", "runs"])
def test_records_are_taken_as_they_are(file: Path, kind: str) -> None:
    items = read(kind, file, bind())
    assert [item.record.run_id for item in items] == ["a", "b", "c"]
    assert {item.record.seed for item in items} == {3}


def test_phase_and_split_select(file: Path) -> None:
    (item,) = read("sip-v0", file, bind(phase="T1", split="replay"))
    assert (item.record.phase, item.record.benchmark_split) == (Phase.T1, Split.REPLAY)
    with pytest.raises(RecordError, match="holds no attempts of T2 heldout"):
        read("sip-v0", file, bind(phase="T2", split="heldout"))


def test_the_arm_is_renamed_and_nothing_else(file: Path) -> None:
    before, after = read("sip-v0", file, bind()), read("sip-v0", file, bind(arm="mine"))
    assert {item.record.arm for item in after} == {"mine"}
    assert [item.record.model_copy(update={"arm": "x"}) for item in before] == [
        item.record.model_copy(update={"arm": "x"}) for item in after
    ]


@pytest.mark.parametrize("field", ["model", "agent", "path_type", "repeat", "seed"])
def test_what_the_records_state_may_not_be_bound(file: Path, field: str) -> None:
    value = {"path_type": "external", "repeat": 1, "seed": 1}.get(field, "x")
    with pytest.raises(ConfigError, match=f"{field}: run records state it themselves"):
        read("sip-v0", file, bind(**{field: value}))


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = lines(tmp_path / "runs.jsonl", {}, {"run_id": "b", "score": 2})
    with pytest.raises(RecordError, match=r"runs\.jsonl:2: score: "):
        read("sip-v0", path, bind())


def test_reading_does_not_write(file: Path) -> None:
    before = file.read_bytes()
    read("sip-v0", file, bind(arm="mine"))
    assert file.read_bytes() == before


@pytest.mark.parametrize(("name", "count"), [("sample", 12), ("oracle-suite", 4), ("prepared-suite", 5)])
def test_the_shipped_files_are_read(shared_data: Callable[..., Path], name: str, count: int) -> None:
    items = read("sip-v0", shared_data("sip-runs", name, "runs.jsonl"), bind(arm="a"))
    assert len(items) == count
    assert all((item.record.score is None) is not (item.record.status is Status.GRADED) for item in items)

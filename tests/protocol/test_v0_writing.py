from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sipbench.errors import RecordError
from sipbench.protocol.digests import canonical_json
from sipbench.protocol.records import RunRecord
from sipbench.protocol.v0 import V0RunRecord, downgrade_records, upgrade_record
from sipbench.protocol.vocabulary import Status
from tests.protocol.made import record

KNOWN: dict[str, Any] = {
    "token_input": 10,
    "token_output": 5,
    "token_total": 15,
    "tool_calls_total": 2,
    "memory_reads": 0,
    "memory_writes": 0,
    "human_interventions": 0,
    "wall_clock_seconds": 3.5,
    "started_at": "2026-05-01T00:00:00Z",
    "finished_at": "2026-05-01T00:00:04Z",
    "success": False,
}


def write(*records: RunRecord, unknown_as_zero: bool = False) -> list[dict[str, Any]]:
    return list(downgrade_records(records, unknown_as_zero=unknown_as_zero).records)


def test_a_fully_known_record_is_written_and_reads_back() -> None:
    before = record(**KNOWN, family="f", concept="c", repeat=2, seed=99, arm="mine", cost_usd=0.5)
    (old,) = write(before)
    V0RunRecord.model_validate(old)
    after = RunRecord.model_validate_json(canonical_json(upgrade_record(old)), strict=True)
    same = RunRecord.model_fields.keys() - {"metadata", "usage_source"}
    assert {name: getattr(after, name) for name in same} == {name: getattr(before, name) for name in same}


def test_repeats_are_told_apart_by_seed_even_where_two_share_one() -> None:
    written = write(record(**KNOWN, repeat=0, seed=5), record(**KNOWN, repeat=1, seed=5))
    assert [old["seed"] for old in written] == [0, 1]


def test_unknown_usage_is_refused_and_the_fields_are_named() -> None:
    with pytest.raises(RecordError, match=r"token_input, token_output .*--unknown-as-zero"):
        write(record(**{**KNOWN, "token_input": None, "token_output": None}))


def test_unknown_times_are_refused() -> None:
    with pytest.raises(RecordError, match="started_at unknown"):
        write(record(**{**KNOWN, "started_at": None}))


def test_the_flag_writes_zero_and_says_so_and_reading_undoes_it() -> None:
    known = {**KNOWN, "token_input": None, "tool_calls_total": None, "started_at": None, "success": None}
    (old,) = write(record(**known), unknown_as_zero=True)
    assert (old["token_input"], old["tool_calls_total"]) == (0, 0)
    assert old["metadata"]["unknown_fields"] == ["token_input", "tool_calls_total", "started_at", "success"]
    again = upgrade_record(old)
    assert [again[name] for name in ("token_input", "tool_calls_total", "started_at", "success")] == [
        None
    ] * 4
    assert again["token_output"] == 5


def test_an_unknown_price_is_left_out() -> None:
    (old,) = write(record(**KNOWN))
    assert "cost_usd" not in old


@pytest.mark.parametrize("status", [status for status in Status if status.is_missing])
def test_an_attempt_without_a_grade_is_never_written(status: Status) -> None:
    written = downgrade_records([record(**KNOWN), record(status=str(status), attempt_index=1)])
    assert len(written.records) == 1
    assert f"1 attempts left out, status {status}" in written.lost


def test_an_agent_error_is_written_with_the_zero_it_counts_as() -> None:
    known = {**KNOWN, "success": None}
    written = downgrade_records([record(**known, status="agent_error")])
    (old,) = written.records
    assert (old["score"], old["success"]) == (0.0, False)
    assert "1 agent errors are written as score 0.0" in written.lost
    assert upgrade_record(old)["status"] == "agent_error"
    assert upgrade_record(old)["score"] is None


def test_the_cost_of_failed_tries_is_listed_as_lost() -> None:
    tried = record(**KNOWN, tries=[{"status": "verifier_error", "token_total": 7}])
    assert "1 attempts had failed tries, whose cost is lost" in downgrade_records([tried]).lost


def test_two_arms_that_v0_would_merge_are_refused() -> None:
    with pytest.raises(RecordError, match="cannot tell the arms 'a' and 'b' apart"):
        write(record(**KNOWN, arm="a"), record(**KNOWN, arm="b", task_id="t2"))


def test_arms_of_different_paths_are_written_together() -> None:
    assert len(write(record(**KNOWN, arm="a"), record(**KNOWN, arm="b", path_type="frozen"))) == 2


def test_what_is_written_keeps_the_public_schema(shared_data: Callable[..., Path]) -> None:
    text = shared_data("sip-runs", "schemas", "runs.schema.json").read_text(encoding="utf-8")
    validator = jsonschema.Draft202012Validator(json.loads(text))
    unknown = record(task_id="b", status="agent_error", family="f")
    for old in write(record(**KNOWN), unknown, unknown_as_zero=True):
        validator.validate(old)

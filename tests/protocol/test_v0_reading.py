from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sipbench.errors import RecordError
from sipbench.protocol.digests import canonical_json
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.records import RunRecord
from sipbench.protocol.v0 import upgrade_record
from sipbench.protocol.vocabulary import PathType, Status
from tests.protocol.made import v0_document, write_lines

EPOCH = "1970-01-01T00:00:00Z"


def read(**given: Any) -> RunRecord:
    lifted = upgrade_record(v0_document(**given))
    return RunRecord.model_validate_json(canonical_json(lifted), strict=True)


def test_all_names_keep_their_meaning() -> None:
    old = v0_document(notes="n", metadata={"k": [1]})
    new = RunRecord.model_validate_json(canonical_json(upgrade_record(old)), strict=True)
    kept = {name: getattr(new, name) for name in old if name != "schema_version"}
    assert kept == {name: value for name, value in old.items() if name != "schema_version"}
    assert new.status is Status.GRADED


def test_reading_changes_no_document() -> None:
    old = v0_document(metadata={"exception_type": "E"})
    before = json.dumps(old)
    upgrade_record(old)
    assert json.dumps(old) == before


def test_the_arm_is_the_path_type_unless_told() -> None:
    assert read(path_type="parameter").arm == "parameter"
    assert upgrade_record(v0_document(), arm="weights")["arm"] == "weights"
    assert read(path_type="parameter").path_type is PathType.PARAMETER


def test_each_seed_is_a_repeat() -> None:
    assert (read(seed=3).repeat, read(seed=3).seed) == (3, 3)
    assert read(seed=2.0).repeat == 2
    assert read(seed=-1).repeat != read(seed=1).repeat
    assert read(seed=-1).seed == -1


def test_the_template_id_is_kept_and_is_no_family() -> None:
    record = read(task_template_id="1.0")
    assert (record.task_template_id, record.family) == ("1.0", None)


def test_an_empty_version_is_no_version() -> None:
    assert read(benchmark_version="").benchmark_version is None


@pytest.mark.parametrize("where", [{"wall_clock_seconds": 0}, {"started_at": EPOCH}, {"finished_at": EPOCH}])
def test_zero_tokens_together_with_no_time_are_unknown(where: dict[str, Any]) -> None:
    nothing = dict.fromkeys(("token_input", "token_output", "token_total", "tool_calls_total", "cost_usd"), 0)
    start = {"started_at": EPOCH} if "finished_at" in where else {}
    record = read(**nothing, **start, **where)
    assert [record.token_input, record.token_output, record.token_total] == [None] * 3
    assert [record.tool_calls_total, record.memory_reads, record.human_interventions] == [None] * 3
    assert record.cost_usd is None


def test_zero_tokens_with_a_time_are_a_measurement() -> None:
    record = read(token_input=0, token_output=0, token_total=0)
    assert record.token_total == 0
    assert record.usage_source == "import"


def test_zero_tokens_of_a_harbor_job_are_unknown_because_its_importer_wrote_0_for_missing() -> None:
    record = read(token_input=0, token_output=0, token_total=0, metadata={"source_format": "harbor_job"})
    assert record.token_total is None


def test_any_token_that_was_counted_makes_the_others_measurements() -> None:
    record = read(token_total=0, token_output=0, wall_clock_seconds=0, tool_calls_total=0)
    assert (record.token_input, record.token_output, record.token_total) == (10, 0, 0)
    assert record.tool_calls_total == 0


def test_tokens_above_zero_are_measured_whatever_the_times_say() -> None:
    record = read(wall_clock_seconds=0, started_at=EPOCH, finished_at=EPOCH)
    assert record.token_total == 15
    assert (record.wall_clock_seconds, record.started_at, record.finished_at) == (None, None, None)


@pytest.mark.parametrize(
    ("given", "price"),
    [
        ({"cost_usd": 0.0}, None),
        ({"cost_usd": 0.25}, 0.25),
        ({"cost_usd": 0.0, "token_input": 0, "token_output": 0, "token_total": 0}, 0.0),
        ({"cost_usd": 0.25, "metadata": {"traj_length": 3, "raw_info": {}}}, None),
    ],
    ids=["tokens without a price", "a price", "no tokens, no price", "the simulated user's last turn"],
)
def test_a_price(given: dict[str, Any], price: float | None) -> None:
    assert read(**given).cost_usd == price


def test_a_missing_price_stays_unknown() -> None:
    old = v0_document()
    del old["cost_usd"]
    assert upgrade_record(old)["cost_usd"] is None


def test_a_record_that_names_an_exception_has_no_score() -> None:
    record = read(score=0.0, metadata={"exception_type": "RuntimeError", "exception_message": "build"})
    assert record.status is Status.INFRASTRUCTURE_ERROR
    assert (record.score, record.success) == (None, None)
    assert (record.error_type, record.error_message) == ("RuntimeError", "build")


def test_a_tau_crash_is_no_zero() -> None:
    record = read(score=0.0, metadata={"raw_info": {"error": "rate limit"}, "traj_length": 0})
    assert record.status is Status.INFRASTRUCTURE_ERROR
    assert record.error_message == "rate limit"


def test_an_agent_that_ran_out_of_time_is_the_agents_doing() -> None:
    timeout = {"exception_type": "AgentTimeoutError"}
    assert read(metadata=timeout).status is Status.AGENT_ERROR
    graded = read(metadata={**timeout, "score_source": "verifier_rewards"}, score=0.7)
    assert (graded.status, graded.score) == (Status.TIMEOUT_GRADED, 0.7)


def test_the_score_that_v0_gave_to_an_ungraded_attempt_is_no_grade() -> None:
    record = read(score=1.0, success=True, metadata={"score_source": "exception_fallback"})
    assert (record.status, record.score, record.error_type) == (Status.VERIFIER_ERROR, None, "ungraded")


def test_a_null_exception_is_no_exception() -> None:
    fine = {"exception_type": None, "score_source": "verifier_rewards", "raw_info": None}
    assert read(metadata=fine).status is Status.GRADED


def test_times_with_an_offset_become_utc() -> None:
    record = read(started_at="2026-04-14T02:00:00+02:00", finished_at="2026-04-14T00:00:02Z")
    assert record.started_at == "2026-04-14T00:00:00.000Z"


@pytest.mark.parametrize("given", [{"score": 1.1}, {"token_total": None}, {"tokens": 1}, {"seed": True}])
def test_what_v0_itself_refuses_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        upgrade_record(v0_document(**given))


def test_a_current_field_cannot_be_smuggled_into_a_v0_record() -> None:
    with pytest.raises(ValidationError, match="status"):
        upgrade_record(v0_document(status="graded"))


def test_another_version_before_1_is_refused() -> None:
    with pytest.raises(RecordError, match=r"only 0\.1\.0 is read"):
        upgrade_record(v0_document(schema_version="0.1.1"))


@pytest.mark.parametrize("carried", [{"status": ["x"]}, {"repeat": -5}, {"arm": ""}, {"family": {}}])
def test_what_a_record_carries_along_is_checked_like_everything_else(tmp_path: Path, carried: Any) -> None:
    path = write_lines(tmp_path / "r.jsonl", [v0_document(metadata={"sipbench": carried})])
    with pytest.raises(RecordError, match=rf"^[^\n]+:1: {next(iter(carried))}: [^\n]+$"):
        list(read_records(path))


@pytest.mark.parametrize("carried", ["text", ["arm"], None, {"score": 0.1, "run_id": "other"}])
def test_only_known_fields_are_carried_along(carried: Any) -> None:
    record = read(metadata={"sipbench": carried})
    assert (record.score, record.arm) == (0.5, "external")
    assert record.run_id != "other"


@pytest.mark.parametrize("suite", ["sample", "prepared-suite", "oracle-suite"])
def test_public_records_are_read(shared_data: Callable[..., Path], suite: str) -> None:
    records = list(read_records(shared_data("sip-runs", suite, "runs.jsonl")))
    assert records
    # The prepared suite's agent ran for minutes and nobody counted its tokens.
    assert all((record.token_total is None) == (suite != "sample") for record in records)

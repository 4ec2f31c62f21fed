from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from sipbench.protocol.records import RunRecord, timestamp
from sipbench.protocol.vocabulary import Status
from tests.protocol.made import document, record


def refused(**given: object) -> str:
    with pytest.raises(ValidationError) as caught:
        record(**given)
    return str(caught.value)


@pytest.mark.parametrize("status", list(Status))
def test_a_score_exists_exactly_where_there_is_a_grade(status: Status) -> None:
    score = 0.5 if status.is_graded else None
    assert record(status=str(status), score=score).score == score
    with pytest.raises(ValidationError, match="score"):
        RunRecord.model_validate(document() | {"status": status, "score": None if score else 0.5})


def test_what_is_unknown_is_null_and_zero_is_a_measurement() -> None:
    assert record().token_total is None
    assert record(token_total=0).token_total == 0


@pytest.mark.parametrize("score", [-0.1, 1.0000001, "0.5", True])
def test_a_score_is_a_number_from_0_to_1(score: object) -> None:
    assert "score" in refused(score=score)


@pytest.mark.parametrize(
    "field", ["token_total", "tool_calls_total", "wall_clock_seconds", "cost_usd", "attempt_index"]
)
def test_no_amount_is_negative(field: str) -> None:
    assert field in refused(**{field: -1})


@pytest.mark.parametrize("field", ["wall_clock_seconds", "cost_usd"])
def test_no_amount_is_too_large_to_be_added_up_and_squared(field: str) -> None:
    assert field in refused(**{field: 1e308})
    assert record(**{field: 1e15})


def test_a_field_nobody_knows_is_refused() -> None:
    assert "tokens_total" in refused(tokens_total=3)


def test_nothing_succeeds_without_a_score() -> None:
    assert "success" in refused(status="infrastructure_error", success=False)


@pytest.mark.parametrize(
    "time", ["yesterday", "2026-05-01", "2026-05-01T09:30:00", "2026-05-01T09:30:00+02:00", "1", ""]
)
def test_times_are_rfc_3339_in_utc(time: str) -> None:
    assert "started_at" in refused(started_at=time)


def test_an_attempt_does_not_end_before_it_starts() -> None:
    assert "finished_at" in refused(started_at="2026-05-01T00:00:01Z", finished_at="2026-05-01T00:00:00Z")


def test_a_timestamp_is_written_in_utc() -> None:
    moment = datetime(2026, 5, 1, 11, 30, tzinfo=timezone(timedelta(hours=2)))
    assert timestamp(moment) == "2026-05-01T09:30:00.000Z"
    assert timestamp(datetime(2026, 5, 1, tzinfo=UTC)) == "2026-05-01T00:00:00.000Z"


def test_failed_tries_keep_what_they_cost() -> None:
    tried = record(tries=[{"status": "infrastructure_error", "token_total": 10}])
    assert tried.tries[0].token_total == 10
    assert tried.tries[0].status is Status.INFRASTRUCTURE_ERROR

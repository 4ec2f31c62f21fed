"""The journal and the ledger: what is written, when it is durable, and what is read back."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import StudyError
from sipbench.protocol.jsonl import LineWriter, read_records
from sipbench.protocol.records import Try
from sipbench.protocol.vocabulary import Phase, Status
from sipbench.study.directory import StudyDirectory
from sipbench.study.journal import (
    AdaptationFailed,
    Adapted,
    Adapting,
    Event,
    Failed,
    Finished,
    History,
    Planned,
    Reopened,
    Started,
    read_history,
)
from sipbench.study.ledger import Ledger
from sipbench.study.plan import StateKey
from tests.protocol.made import record

KEY: dict[str, Any] = {"arm": "a", "repeat": 0, "phase": Phase.T1}
STATE = StateKey("a", 0, Phase.T1)
FAILED = Try(status=Status.VERIFIER_ERROR, token_total=3)


def at(second: int) -> str:
    return f"2026-05-01T09:00:{second:02d}.000Z"


def session(second: int = 0) -> Planned:
    return Planned(at=at(second), sipbench_version="1", attempts=9, adaptations=1, finished=0)


def history(*events: Event) -> History:
    return History.of(events)


def test_tries_come_back_in_order_with_the_one_that_was_interrupted() -> None:
    found = history(
        session(),
        Started(at=at(1), run_id="x"),
        Failed(at=at(2), run_id="x", tried=FAILED),
        Started(at=at(3), run_id="x"),
    )
    first, second = found.tries["x"]
    assert first == FAILED
    assert (second.error_type, second.started_at, second.token_total) == ("interrupted", at(3), None)


def test_what_is_finished_has_no_open_try() -> None:
    found = history(session(), Started(run_id="x"), Finished(run_id="x", status=Status.GRADED))
    assert found.tries.get("x") is None
    assert found.touched


def test_each_interrupted_session_leaves_a_try() -> None:
    found = history(session(), Started(run_id="x"), session(), Started(run_id="x"), session())
    assert [tried.error_type for tried in found.tries["x"]] == ["interrupted"] * 2


def test_a_reopened_attempt_brings_all_its_tries_along() -> None:
    found = history(
        session(),
        Started(run_id="x"),
        Failed(run_id="x", tried=FAILED),
        Started(run_id="x"),
        Finished(run_id="x", status=Status.VERIFIER_ERROR),
        Reopened(run_id="x", tries=(FAILED, FAILED)),
    )
    assert found.tries["x"] == [FAILED, FAILED]


def test_work_time_is_that_of_the_sessions_without_the_nights_between() -> None:
    found = history(
        session(0),
        Started(at=at(10), run_id="x"),
        session(30),
        Finished(at=at(35), run_id="x", status=Status.GRADED),
    )
    assert (found.seconds, found.sessions) == (15.0, 2)


def test_failed_and_interrupted_adaptations_are_remembered() -> None:
    found = history(
        session(),
        Adapting(**KEY),
        AdaptationFailed(**KEY, message="nothing learned"),
        Adapting(**KEY),
        session(),
        Adapting(**KEY),
        Adapted(**KEY, agent_state_digest="sha256:" + "0" * 64),
    )
    assert found.adaptations[STATE] == ["nothing learned", "interrupted"]


def test_a_planned_study_is_not_begun() -> None:
    assert not history(session()).touched


def test_no_journal_is_an_empty_history(tmp_path: Path) -> None:
    assert read_history(tmp_path / "journal.jsonl") == History()


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "started", "schema_version": "1.0.0"}',
        '{"event": "exploded", "schema_version": "1.0.0", "run_id": "x"}',
        '{"event": "started", "schema_version": "2.0.0", "run_id": "x"}',
        '{"event": "started", "schema_version": "1.0.0", "run_id": "x", "at": "yesterday"}',
        "[]",
        "",
        "{" * 5000,
    ],
)
def test_a_line_that_is_no_event_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(f"{Started(run_id='x').model_dump_json()}\n{line or 'x'}\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"journal\.jsonl.*changed by hand"):
        read_history(path)


def write(root: Path, *records: Any) -> None:
    async def work() -> None:
        async with Ledger(StudyDirectory(root)) as ledger:
            written = [ledger.record(made) for made in records]
            # Written at once, though not durable yet: a runner that is killed now loses nothing.
            assert len((root / "runs.jsonl").read_bytes().splitlines()) == len(records)
            await asyncio.gather(*written)

    asyncio.run(work())


def test_a_record_is_a_line_of_the_runs_and_an_event_of_the_journal(tmp_path: Path) -> None:
    made = [record(run_id=f"r{n}", task_id=f"t{n}") for n in range(3)]
    write(tmp_path, *made)
    assert list(read_records(tmp_path / "runs.jsonl")) == made
    events = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [(event["event"], event["run_id"]) for event in events] == [
        ("finished", f"r{n}") for n in range(3)
    ]


def test_many_records_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    sync = LineWriter.sync
    monkeypatch.setattr(LineWriter, "sync", lambda self: (calls.append(self), sync(self)))
    write(tmp_path, *(record(run_id=f"r{n}", task_id=f"t{n}") for n in range(200)))
    assert 0 < len(calls) < 200


def test_a_full_disk_is_said_and_not_recorded_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: LineWriter) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(LineWriter, "sync", full)
    with pytest.raises(
        StudyError, match=r"No space left on device; make room .* what is finished stays finished"
    ):
        write(tmp_path, record())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error_of_the_study_also_when_its_files_are_closed(tmp_path: Path) -> None:
    directory = StudyDirectory(tmp_path)
    directory.runs.symlink_to("/dev/full")

    async def work() -> None:
        ledger = Ledger(directory)
        with pytest.raises(StudyError, match="No space left on device; make room"):
            ledger.record(record())
        await ledger.close()

    with pytest.raises(StudyError, match="No space left on device; make room"):
        asyncio.run(work())

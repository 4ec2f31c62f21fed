"""The clock may be set while a study runs: times stay times, and durations are not measured by it."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, Self

import pytest

from sipbench.protocol.records import Try
from sipbench.protocol.vocabulary import Status
from sipbench.study.attempting import Attempting
from sipbench.study.journal import Finished, History, Planned, Started, Stopped
from tests.study.trial import LEARNER, Trial

DAYS = itertools.cycle([400, 0, -400, 30, -30])


class Jumping(datetime):
    """A clock that is set back and forth by months each time it is read."""

    @classmethod
    def now(cls, tz: Any = None) -> Self:
        at = datetime.now(tz) + timedelta(days=next(DAYS))
        return cls.fromisoformat(at.isoformat())


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the clock of this process, in which the runner and attempts of coroutines stand."""
    monkeypatch.setattr("sipbench.protocol.records.datetime", Jumping)
    monkeypatch.setattr("sipbench.study.executors.perform.datetime", Jumping)


def test_a_study_runs_and_is_resumed(trial: Trial, jumping: None) -> None:
    arms = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}
    does = {"heldout-0": "raise-once"}
    trial.write(benchmark={"name": "trial-async", "does": does}, arms=arms, repeats=2, caps={"hours": 1})
    assert trial.run().missing == 0
    moments = {datetime.fromisoformat(record.started_at or "") for record in trial.records()}
    assert max(moments) - min(moments) > timedelta(days=300), "the clock did jump"
    for record in trial.records():
        for one in (record, *record.tries):
            assert one.started_at is not None
            assert one.finished_at is not None
            assert one.started_at.endswith("Z")
            assert one.started_at <= one.finished_at
            assert one.wall_clock_seconds is not None
            assert 0 <= one.wall_clock_seconds < 60
    path = trial.out / "runs.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-3]))
    result = trial.run()
    # A cap of an hour is not used up by a clock that was set ahead by a year.
    assert (result.missing, result.stopped) == (0, None)


def test_the_work_time_of_a_session_is_the_one_it_measured() -> None:
    def at(days: int) -> str:
        return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=days)).isoformat().replace("+00:00", "Z")

    planned = Planned(at=at(0), sipbench_version="1", attempts=1, adaptations=0, finished=0)
    work = (Started(at=at(300), run_id="x"), Finished(at=at(-5), run_id="x", status=Status.GRADED))
    found = History.of([planned, *work, Stopped(at=at(300), reason="done", seconds=12.5)])
    assert found.seconds == 12.5
    # Two sessions, the second of which was killed and could not say.
    second = planned.model_copy(update={"at": at(400)})
    killed = Started(at=at(401), run_id="y")
    found = History.of([planned, *work, Stopped(at=at(300), reason="done", seconds=12.5), second, killed])
    assert found.seconds == 12.5 + 24 * 3600


def test_a_try_that_was_dropped_does_not_end_before_it_began(jumping: None) -> None:
    tried: list[Try] = []

    async def cancelled(job: object) -> None:
        raise asyncio.CancelledError

    def note(event: Any) -> None:
        tried.extend([event.tried] if hasattr(event, "tried") else [])

    attempting: Any = SimpleNamespace(
        _job=lambda *_: None,
        _output=lambda *_: None,
        ledger=SimpleNamespace(note=note),
        executor=SimpleNamespace(attempt=cancelled),
    )
    who: Any = SimpleNamespace(run_id="x")
    for _ in range(10):
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(Attempting._try(attempting, who, []))
    assert len(tried) == 10
    assert all((one.started_at or "") <= (one.finished_at or "") for one in tried)

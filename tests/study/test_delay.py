"""A declared delay before T2: when it is due, what waits, and what goes on then. Nobody sleeps."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from subprocess import CompletedProcess
from typing import Any

import pytest

from sipbench import summarize
from sipbench.protocol.delay import parse_delay
from sipbench.protocol.records import timestamp
from sipbench.protocol.vocabulary import Phase
from sipbench.study.api import StudyResult, execute
from sipbench.study.delay import utc_now
from sipbench.study.progress import Lines
from tests.study.test_resume import plain
from tests.study.trial import LEARNER, Trial

BOTH = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}
THREE = ["T0", "T1", "T2"]
WEEK = timedelta(days=7)


def delayed(trial: Trial, **fields: Any) -> Trial:
    fields = {"arms": BOTH, "phases": THREE, "t2": {"delay": "7d"}, **fields}
    return trial.write(**fields)


def later(days: float) -> Callable[[], datetime]:
    return lambda: utc_now() + timedelta(days=days)


def phases(trial: Trial, arm: str | None = None) -> set[str]:
    return {record.phase.value for record in trial.records() if arm in (None, record.arm)}


def end_of_t1(trial: Trial) -> datetime:
    ends = [
        record.finished_at
        for record in trial.records()
        if record.phase is Phase.T1 and record.benchmark_split != "adapt"
    ]
    return max(datetime.fromisoformat(end) for end in ends if end is not None)


def age(trial: Trial, days: float) -> None:
    """Make everything recorded so much older."""
    path = trial.out / "runs.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        for name in ("started_at", "finished_at"):
            record[name] = timestamp(datetime.fromisoformat(record[name]) - timedelta(days=days))
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def due(result: StudyResult) -> datetime:
    assert result.due_at is not None
    return datetime.fromisoformat(result.due_at)


def test_t2_waits_for_its_delay_and_the_same_command_then_goes_on(trial: Trial) -> None:
    first = delayed(trial).run()
    assert phases(trial) == {"T0", "T1"}
    assert due(first) == parse_delay("7d").due(end_of_t1(trial))
    assert first.problems == (f"T2 is due at {first.due_at}; run the same command then",)
    assert first.stopped is None
    assert first.waiting == first.missing == 10
    assert trial.run(clock=lambda: due(first) - timedelta(seconds=1)).due_at == first.due_at
    assert phases(trial) == {"T0", "T1"}
    last = trial.run(clock=lambda: due(first))
    assert (last.missing, last.waiting, last.due_at, last.problems) == (0, 0, None, ())
    assert phases(trial) == set(THREE)


def test_what_waits_for_t2_is_not_missing_and_what_is_lost_of_it_is(trial: Trial) -> None:
    waiting = delayed(trial).run()
    assert waiting.summary is not None
    for row in waiting.summary.rows:
        assert row.evaluation.planned == row.evaluation.counted
        assert all(cell.phase is not Phase.T2 for cell in row.cells)
        codes = [warning.code for warning in row.warnings]
        assert "coverage" not in " ".join(codes)
        assert "t2_not_begun" in codes
        assert row.delay is not None
        assert row.delay.due_at == waiting.due_at
    trial.run(clock=lambda: due(waiting))
    path = trial.out / "runs.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-4]), encoding="utf-8")
    rows = summarize(trial.out).rows
    assert sum(row.evaluation.planned - row.evaluation.counted for row in rows) == 4
    # One arm has begun T2 and the other has not: nobody waits any more.
    kept = [line for line in lines if (r := json.loads(line))["phase"] != "T2" or r["arm"] == "learner"]
    path.write_text("".join(kept), encoding="utf-8")
    frozen, learner = (next(r for r in summarize(trial.out).rows if r.arm == arm) for arm in BOTH)
    assert frozen.evaluation.planned - frozen.evaluation.counted == 5
    assert learner.evaluation.planned == learner.evaluation.counted


def test_nothing_is_started_by_a_run_that_only_finds_t2_not_due(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = delayed(trial).run()
    calls, journal = trial.calls(), (trial.out / "journal.jsonl").read_bytes()
    monkeypatch.setattr("sipbench.study.api.run_session", None)
    again = trial.run()
    assert (again.due_at, again.problems, again.waiting) == (first.due_at, first.problems, 10)
    assert again.summary is not None
    assert (trial.calls(), (trial.out / "journal.jsonl").read_bytes()) == (calls, journal)


def test_the_study_is_the_same_as_one_that_never_waited(trial: Trial, tmp_path: Any) -> None:
    delayed(trial, repeats=2).run()
    trial.run(clock=later(8))
    (tmp_path / "other").mkdir()
    other = Trial(tmp_path / "other")
    delayed(other, repeats=2).run(clock=later(8))
    assert plain(other) == plain(trial)
    assert len(plain(trial)) == 2 * (2 * 3 * 5 + 2)


def test_a_delay_that_is_over_when_t1_ends_is_not_waited_for(trial: Trial) -> None:
    result = delayed(trial, t2={"delay": "2020-01-01T00:00:00Z"}).run()
    assert (result.missing, result.due_at) == (0, None)


def test_a_moment_is_waited_for_whenever_t1_ended(trial: Trial) -> None:
    result = delayed(trial, t2={"delay": "2999-01-01T00:00:00Z"}).run()
    assert result.due_at == "2999-01-01T00:00:00Z"
    assert trial.run(clock=lambda: datetime(2999, 1, 1, tzinfo=UTC)).missing == 0


def test_the_second_adaptation_waits_as_well(trial: Trial) -> None:
    delayed(trial, benchmark={"adapt_t2": 2}, t2={"delay": "7d", "by": "adaptation"}).run()
    assert phases(trial, "learner") == {"T0", "T1"}
    assert not trial.state("learner", 0, "T2").exists()
    assert trial.run(clock=later(8)).missing == 0
    assert trial.state("learner", 0, "T2").exists()


def test_all_repeats_and_arms_wait_for_the_last_of_them(trial: Trial) -> None:
    first = delayed(trial, repeats=3).run()
    assert {record.repeat for record in trial.records()} == {0, 1, 2}
    assert first.waiting == 3 * 2 * 5
    assert due(first) >= end_of_t1(trial) + WEEK


def test_a_study_that_was_killed_within_t2_goes_on_whatever_the_clock_says(trial: Trial) -> None:
    delayed(trial).run(clock=later(8))
    path = trial.out / "runs.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    t2 = [json.loads(line)["arm"] for line in lines if json.loads(line)["phase"] == "T2"]
    assert {"frozen", "learner"} <= set(t2[:-1])
    path.write_bytes(b"".join(lines[:-1]))
    result = trial.run()  # seven days too early by the clock
    assert (result.missing, result.due_at) == (0, None)


def test_a_clock_that_went_back_is_named(trial: Trial) -> None:
    first = delayed(trial).run()
    result = trial.run(clock=later(-30))
    assert result.due_at == first.due_at
    assert "this machine's clock says" in result.problems[1]
    assert "before the last score at T1" in result.problems[1]


def test_an_attempt_without_a_grade_is_tried_again_before_t2_is_due(trial: Trial) -> None:
    does = {"frozen/heldout-0": "raise"}
    first = delayed(trial, benchmark={"does": does}, retries=1).run()
    calls = len(trial.calls())
    again = trial.run()
    assert len(trial.calls()) == calls + 2 * 2  # T0 and T1, two tries each
    # No grade came of it, so T1 ended when it had ended before.
    assert again.due_at == first.due_at


def test_a_grade_that_is_made_up_for_before_t2_is_due_moves_it(trial: Trial) -> None:
    first = delayed(trial, benchmark={"does": {"frozen/heldout-0": "raise-once"}}, retries=0).run()
    assert first.missing - first.waiting == 2
    age(trial, days=3)
    trial.edit("retries: 0", "retries: 1")
    again = trial.run()
    assert again.missing == again.waiting
    assert due(again) > due(first) - timedelta(seconds=2)


def test_once_t2_is_due_its_t1_is_over(trial: Trial) -> None:
    delayed(trial, benchmark={"does": {"frozen/heldout-0": "raise"}}, retries=1).run()
    calls = len(trial.calls())
    result = trial.run(clock=later(8))
    made = [line.split()[2:4] for line in trial.calls()[calls:]]
    assert ["T1", "heldout-0"] not in made
    assert ["T0", "heldout-0"] in made
    assert ["T2", "heldout-0"] in made
    assert result.due_at is None
    # T0, T1 and T2 of that task have no grade; of T1 nothing is promised any more.
    assert (result.missing, result.settled) == (3, 1)


def test_who_was_interrupted_within_t1_comes_to_t2_with_all_others(trial: Trial) -> None:
    # T0 of both arms is 10 attempts of 10 calls, adapt 2 and the adaptation 3 calls; then T1 has begun.
    delayed(trial, repeats=2, concurrency=1, order="by_arm", caps={"tool_calls": 173}).run()
    made = {
        (r.arm, r.repeat) for r in trial.records() if r.phase is Phase.T1 and r.benchmark_split != "adapt"
    }
    assert ("frozen", 0) in made
    age(trial, days=8)  # the frozen arm's T1 is complete, and a week ago
    trial.edit("tool_calls: 173", "tool_calls: 99999")
    result = trial.run()
    assert phases(trial) == {"T0", "T1"}
    assert result.waiting == result.missing == 20
    assert due(result) > utc_now() + timedelta(days=6)


def test_an_arm_whose_adaptation_failed_does_not_hold_the_others_back(trial: Trial) -> None:
    arms = {**BOTH, "learner": {**LEARNER, "adaptation": {"kind": "trial-learner", "does": "fail-once"}}}
    first = delayed(trial, arms=arms).run()
    assert phases(trial, "frozen") == {"T0", "T1"}
    assert (first.waiting, first.missing) == (5, 15)
    age(trial, days=8)
    # The others go on, and what is made up for waits from then on.
    second = trial.run()
    assert phases(trial, "frozen") == set(THREE)
    assert phases(trial, "learner") == {"T0", "T1"}
    assert (second.waiting, second.missing) == (5, 5)
    assert due(second) > utc_now() + timedelta(days=6)
    assert trial.run(clock=later(8)).missing == 0


def test_a_failed_adaptation_blocks_its_t2_as_well(trial: Trial) -> None:
    arms = {**BOTH, "learner": {**LEARNER, "adaptation": {"kind": "trial-learner", "does": "fail"}}}
    result = delayed(trial, arms=arms).run()
    said = [line for line in result.problems if "attempts that need its agent state were not made" in line]
    assert len(said) == 1
    assert "; 10 attempts" in said[0]  # five at T1, five at T2


def test_progress_says_what_waits_and_when_it_is_due(trial: Trial) -> None:
    file = io.StringIO()
    result = delayed(trial).run(progress=Lines(file))
    lines = file.getvalue().splitlines()
    assert lines[0].endswith("1 of 1 adaptations to do; 10 attempts wait for T2")
    assert lines[-1].endswith(f"T2 is due at {result.due_at}; run the same command then")


def test_the_journal_says_why_the_session_ended(trial: Trial) -> None:
    result = delayed(trial).run()
    assert (
        trial.journal("stopped")[-1]["reason"] == f"T2 is due at {result.due_at}; run the same command then"
    )


def test_a_delay_alone_comes_to_t2_with_the_state_of_t1(trial: Trial) -> None:
    delayed(trial, benchmark={"adapt_t2": 2, "drift": 1}).run(clock=later(8))
    states = {r.agent_state_digest for r in trial.records() if r.arm == "learner" and r.phase is Phase.T2}
    t1 = {
        r.agent_state_digest
        for r in trial.records()
        if r.arm == "learner" and r.phase is Phase.T1 and r.benchmark_split != "adapt"
    }
    assert states == t1
    assert {r.benchmark_split.value for r in trial.records() if r.phase is Phase.T2} == {"heldout", "replay"}


def test_the_command_says_it_in_one_line_and_exits_with_1(
    trial: Trial, sip: Callable[..., CompletedProcess[str]]
) -> None:
    delayed(trial)
    done = sip("-q", "run", "study.yaml", "--out", "out")
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.strip()]
    assert line.startswith("T2 is due at 20")
    assert line.endswith("Z; run the same command then")
    document = json.loads(sip("run", "study.yaml", "--out", "out", "--json").stdout)
    assert document["due_at"] == line.split()[4].rstrip(";")
    assert (document["waiting"], document["missing"], document["stopped"]) == (10, 10, None)
    assert document["summary"]["rows"]


def test_the_clock_of_a_run_is_this_machines_by_default(trial: Trial) -> None:
    delayed(trial, t2={"delay": "1h"})
    result = execute(trial.file, trial.out)
    assert timedelta(minutes=59) < due(result) - utc_now() <= timedelta(hours=1, seconds=1)


def test_what_happened_before_the_study_is_not_waited_for(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    delayed(trial)
    monkeypatch.setattr("sip_trial.TrialBenchmark.recorded", True)
    assert trial.run().missing == 0

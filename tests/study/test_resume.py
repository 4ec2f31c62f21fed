"""Going on with a study: what is finished stays, what is not is done, and nothing is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import StudyError
from sipbench.protocol.vocabulary import Status
from tests.study.trial import LEARNER, Trial

BOTH = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}


def plain(trial: Trial) -> dict[str, dict[str, Any]]:
    """The records without what may differ between two runs of the same study."""
    volatile = {"started_at", "finished_at", "wall_clock_seconds", "tries"}
    return {r.run_id: r.model_dump(mode="json", exclude=volatile) for r in trial.records()}


def cut(path: Path, keep: int, torn: str = "") -> None:
    """Leave the first lines of a file and the beginning of another."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:keep]) + torn.encode())


def test_what_is_left_is_done_and_the_records_are_those_of_an_undisturbed_run(
    trial: Trial, tmp_path: Path
) -> None:
    trial.write(arms=BOTH, repeats=2).run()
    whole = plain(trial)
    (tmp_path / "again").mkdir()
    other = Trial(tmp_path / "again").write(arms=BOTH, repeats=2)
    other.run()
    cut(other.out / "runs.jsonl", 20)
    other.run()
    assert plain(other) == whole


def test_an_attempt_that_was_started_and_never_ended_is_a_failed_try_of_unknown_cost(trial: Trial) -> None:
    trial.write(phases=["T0"]).run()
    last = trial.records()[-1]
    # As a kill between the start of an attempt and its record leaves it.
    cut(trial.out / "runs.jsonl", 4)
    journal = trial.out / "journal.jsonl"
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    gone = [
        e
        for e in events
        if e["event"] != "stopped" and (e["event"], e.get("run_id")) != ("finished", last.run_id)
    ]
    journal.write_text("".join(json.dumps(event) + "\n" for event in gone))
    assert trial.run().missing == 0
    (record,) = (record for record in trial.records() if record.run_id == last.run_id)
    (tried,) = record.tries
    assert (tried.status, tried.error_type) == (Status.INFRASTRUCTURE_ERROR, "interrupted")
    assert (tried.tool_calls_total, tried.wall_clock_seconds, tried.cost_usd) == (None, None, None)
    assert (record.status, record.score) == (last.status, last.score)


def test_a_torn_last_line_is_dropped_and_that_is_said(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.write(phases=["T0"]).run()
    whole = plain(trial)
    for name in ("runs.jsonl", "journal.jsonl"):
        cut(trial.out / name, 4, torn='{"schema_version": "1.0.0", "run')
    trial.run()
    assert plain(trial) == whole
    said = [record.getMessage() for record in caplog.records if "cut short" in record.getMessage()]
    assert len(said) == 2
    assert "runs.jsonl: dropped 32 bytes of a last line that a crash cut short" in said[0]


def test_records_that_are_gone_are_made_again_and_that_is_said(
    trial: Trial, caplog: pytest.LogCaptureFixture
) -> None:
    trial.write(arms=BOTH).run()
    whole = plain(trial)
    assert "no longer holds" not in caplog.text
    (trial.out / "runs.jsonl").unlink()
    trial.run()
    assert f"the journal knows {len(whole)} finished attempts that the file no longer holds" in caplog.text
    assert plain(trial) == whole


def test_attempts_without_a_grade_are_taken_up_again(trial: Trial) -> None:
    trial.write(benchmark={"does": {"heldout-0": "raise"}}, phases=["T0"], retries=1)
    assert trial.run().missing == 1
    before = plain(trial)
    trial.folder.joinpath("calls.log").write_text("")
    # The network is back: nothing but the options of this test tells the benchmark so.
    trial.edit("heldout-0: raise", "heldout-0: raise-once")
    with pytest.raises(StudyError, match=r"benchmark\.options\.does\.heldout-0 was"):
        trial.run()
    trial.edit("heldout-0: raise-once", "heldout-0: raise")
    assert trial.run().missing == 1
    (record,) = (record for record in trial.records() if record.status is Status.INFRASTRUCTURE_ERROR)
    # Two tries of the first session, one of the second; the record itself is the fourth.
    assert [tried.error_type for tried in record.tries] == ["RuntimeError"] * 3
    assert trial.calls() == ["frozen 0 T0 heldout-0 0"] * 2
    assert plain(trial) == before


def test_without_retries_an_attempt_is_what_it_is_in_any_session(trial: Trial) -> None:
    trial.write(benchmark={"does": {"heldout-0": "raise"}}, phases=["T0"], retries=0)
    assert trial.run().missing == 1
    runs = (trial.out / "runs.jsonl").read_bytes()
    assert trial.run().missing == 1
    assert (trial.out / "runs.jsonl").read_bytes() == runs
    # And whoever allows some later gets them.
    assert trial.run(retries=1).missing == 1
    assert trial.calls().count("frozen 0 T0 heldout-0 0") == 3


def test_what_was_learned_from_is_not_tried_again(trial: Trial) -> None:
    trial.write(arms={"learner": LEARNER}, benchmark={"does": {"adapt-0": "raise"}})
    assert trial.run().missing == 1
    calls = len(trial.calls())
    assert trial.run().missing == 1
    assert len(trial.calls()) == calls


def test_a_failed_adaptation_leaves_its_attempts_undone_and_the_next_run_tries_it_again(trial: Trial) -> None:
    failing = {"path_type": "external", "adaptation": {"kind": "trial-learner", "does": "fail-once"}}
    trial.write(arms={"frozen": {"path_type": "frozen"}, "learner": failing})
    first = trial.run()
    assert first.missing == 5
    (problem,) = first.problems
    assert problem == (
        "arm 'learner', repeat 0, T1: not this time; 5 attempts that need its agent state were not made"
    )
    assert {record.arm for record in trial.records() if record.phase == "T1"} == {"frozen", "learner"}
    assert trial.run().missing == 0
    (line,) = (trial.out / "adaptations.jsonl").read_text().splitlines()
    assert json.loads(line)["metadata"]["failed_before"] == ["not this time"]


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("fail", "there is nothing to learn here"),
        ("raise", "adaptation 'trial-learner' failed: ValueError: a bug"),
        ("die", "the worker process was killed by SIGKILL"),
        ("link", "a symbolic link cannot be part of a digest"),
        ("nan", "its outcome cannot be recorded"),
        ("long", "its outcome cannot be recorded: its line would be longer than 16777216 bytes"),
    ],
)
def test_an_adaptation_that_fails_in_any_way_ends_its_arm_only(trial: Trial, does: str, said: str) -> None:
    failing = {"path_type": "external", "adaptation": {"kind": "trial-learner", "does": does}}
    trial.write(arms={"frozen": {"path_type": "frozen"}, "learner": failing})
    result = trial.run()
    assert result.missing == 5
    assert said in result.problems[0]
    assert not trial.state("learner").exists()
    assert list(trial.out.glob("states/*/*/.*")) == []


def test_a_state_without_a_record_is_put_aside_and_made_again(trial: Trial) -> None:
    trial.write(arms={"learner": LEARNER}).run()
    before = plain(trial)
    cut(trial.out / "adaptations.jsonl", 0)
    t1 = [
        line
        for line in (trial.out / "runs.jsonl").read_bytes().splitlines(keepends=True)
        if b'"T1"' not in line
    ]
    (trial.out / "runs.jsonl").write_bytes(b"".join(t1))
    (trial.state("learner").parent / ".T1.making-0123abcd").mkdir()
    assert trial.run().missing == 0
    assert plain(trial) == before
    names = sorted(path.name for path in trial.state("learner").parent.iterdir())
    assert names[0].startswith(".T1.unrecorded-")
    assert names[1:] == ["T0", "T1"]


def test_the_same_study_has_the_same_ids_in_another_folder_and_under_other_names(
    trial: Trial, tmp_path: Path
) -> None:
    trial.write(arms=BOTH).run()
    (tmp_path / "elsewhere").mkdir()
    other = Trial(tmp_path / "elsewhere")
    arms = {"control": {"path_type": "frozen"}, "adapted": LEARNER}
    other.write(arms=arms, name="another-name", concurrency=3, retries=5).run()
    assert {record.run_id for record in other.records()} == {record.run_id for record in trial.records()}

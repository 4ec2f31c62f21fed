"""``sip import harbor``: jobs become records, whatever Harbor's own summary of them says."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import ConfigError, RecordError
from sipbench.importers.base import Binding
from sipbench.importers.job import make_importer, read_files
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import Status
from tests.importers.harbor.made import (
    DIGEST,
    PLACE,
    SKILL,
    at,
    config,
    exception,
    imported,
    lock,
    make_job,
    make_trial,
    result,
    shell,
    trajectory,
    write,
)
from tests.importers.test_import_command import sip


def test_a_trial_becomes_a_record(tmp_path: Path) -> None:
    folder = make_trial(tmp_path / "t", result(rewards={"reward": 0.5}), lock("fix-csv", SKILL))
    write(folder / "agent" / "trajectory.json", trajectory(shell("cat /runtime/skills/csv/SKILL.md")))
    (item,) = imported(folder)
    record = item.record
    assert (record.task_id, record.task_digest, record.benchmark_name) == ("fix-csv", DIGEST, "harbor")
    assert (record.status, record.score, record.reward) == (Status.GRADED, 0.5, 0.5)
    assert (record.agent_name, record.agent_version, record.model_name) == ("worker", "1.2", "p/m")
    assert (record.token_total, record.cost_usd, record.tool_calls_total) == (950, 0.25, 1)
    assert (record.wall_clock_seconds, record.usage_source) == (10.0, "import")
    assert record.started_at == "2026-11-02T10:00:00.000Z"
    assert [skill.name for skill in record.skills_given or ()] == ["csv"]
    assert [skill.name for skill in record.skills_opened or ()] == ["csv"]
    assert item.trajectory[0]["schema_version"] == "ATIF-v1.8"


def test_trials_at_one_task_are_attempts_in_the_order_they_were_started(tmp_path: Path) -> None:
    late = result(started_at=at(9), finished_at=at(10), rewards={"reward": 0.0})
    job = make_job(tmp_path / "job", late, result(), result("other"))
    found = {(item.record.task_id, item.record.attempt_index): item.record.score for item in imported(job)}
    assert found == {("fix-csv", 0): 1.0, ("fix-csv", 1): 0.0, ("other", 0): 1.0}


def test_p1_configurations_that_differ_in_arguments_are_not_merged(tmp_path: Path) -> None:
    job = make_job(
        tmp_path / "job",
        result(config=config(kwargs={"effort": "low"}), rewards={"reward": 0.0}),
        result(config=config(kwargs={"effort": "high"})),
        # What Harbor makes of it: one evaluation, pass@2 of 1.
        stats={"n_retries": 0, "evals": {"worker__m__adhoc": {"pass_at_k": {"2": 1.0}}}},
    )
    with pytest.raises(RecordError, match=r"trials of 2 configurations.*1: worker, p/m, arguments"):
        imported(job)
    one = [imported(job, configuration=number)[0].record for number in (1, 2)]
    assert sorted(record.score or 0 for record in one) == [0.0, 1.0]
    with pytest.raises(ConfigError, match="configuration: 3 is not one of"):
        imported(job, configuration=3)


def test_p1_configurations_that_differ_in_skills_are_not_merged(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", result())
    make_trial(job / "second", result(), lock("fix-csv", SKILL))
    with pytest.raises(RecordError, match="1: worker, p/m, 1 skills; 2: worker, p/m, no skills"):
        imported(job)


def test_p2_means_are_recomputed_from_trials(tmp_path: Path) -> None:
    """Harbor's mean leaves the timeout of the verifier out and takes the KeyError as 0."""
    job = make_job(
        tmp_path / "job",
        result("a"),
        result("b", verifier_result=None, exception_info=exception("VerifierTimeoutError", 8)),
        result("c", rewards={"reward": 0.0}, exception_info=exception("KeyError")),
        result("d", exception_info=exception("AgentTimeoutError")),
    )
    found = {item.record.task_id: (item.record.status, item.record.score) for item in imported(job)}
    assert found == {
        "a": (Status.GRADED, 1.0),
        "b": (Status.VERIFIER_ERROR, None),
        "c": (Status.INFRASTRUCTURE_ERROR, None),
        "d": (Status.TIMEOUT_GRADED, 1.0),
    }


def test_p3_what_deleted_trials_cost_is_not_taken_for_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job = make_job(tmp_path / "job", result(), stats={"n_retries": 2})
    with caplog.at_level(logging.WARNING):
        (item,) = imported(job)
    assert "2 trials were run again by Harbor" in caplog.text
    assert "not known" in (item.record.notes or "")


def test_p4_three_attempts_are_three_records_whatever_pass_at_k_there_is(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", *(result(rewards={"reward": value}) for value in (1.0, 0.0, 0.0)))
    assert [item.record.attempt_index for item in imported(job)] == [0, 1, 2]


def test_p5_a_job_that_ended_well_may_hold_failed_trials(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", result(verifier_result=None, exception_info=exception("OSError", 1)))
    (item,) = imported(job)
    assert item.record.status is Status.INFRASTRUCTURE_ERROR


def test_p6_what_harbor_does_not_keep_is_null(tmp_path: Path) -> None:
    record = imported(make_job(tmp_path / "job", result()))[0].record
    assert (record.seed, record.attempt_seed, record.agent_state_digest) == (None, None, None)


def test_p7_a_job_that_was_aborted_has_trials_without_a_result(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Also valbaudo/dawn#15: the parent was killed, no result was ever written.
    job = make_job(tmp_path / "job", result(), n_total_trials=3)
    make_trial(job / "fix-csv__zzz", None)
    with caplog.at_level(logging.WARNING):
        records = [item.record for item in imported(job)]
    assert [(record.status, record.attempt_index) for record in records] == [
        (Status.GRADED, 0),
        (Status.CANCELLED, 1),
    ]
    assert (records[1].task_id, records[1].error_type) == ("fix-csv", "NoResult")
    assert "2 of 3 trials have no result" in caplog.text


def test_a_task_with_a_name_of_its_own_is_found_by_its_folder(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job")
    make_trial(job / "one", result(task_name="org/named"), lock("folder"))
    make_trial(job / "two", None, lock("folder"))
    assert {item.record.task_id for item in imported(job)} == {"org/named"}


def test_several_rewards_without_a_name_are_an_error(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", result(rewards={"a": 1.0, "b": 0.0}))
    with pytest.raises(RecordError, match=r"result\.json: the verifier issued a, b.*--set reward_key=NAME"):
        imported(job)
    (item,) = imported(job, reward_key="b")
    assert item.record.score == 0.0
    assert item.record.metadata["harbor"]["rewards"] == {"a": 1.0, "b": 0.0}


def test_a_reward_range_makes_scores(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", result(rewards={"reward": 5.0}))
    assert imported(job)[0].record.status is Status.VERIFIER_ERROR
    record = imported(job, reward_range=(0, 10))[0].record
    assert (record.score, record.reward) == (0.5, 5.0)
    with pytest.raises(ConfigError, match="reward_range"):
        imported(job, reward_range=(1, 1))


def test_families_come_from_a_pattern_and_the_benchmark_from_the_dataset(tmp_path: Path) -> None:
    named = config("lake-01")
    named["task"]["source"] = "skillsbench"
    job = make_job(tmp_path / "job", result("lake-01", config=named))
    record = imported(job, family_pattern=r"^(.+)-\d+$")[0].record
    assert (record.family, record.benchmark_name) == ("lake", "skillsbench")
    assert imported(job, benchmark_name="mine")[0].record.benchmark_name == "mine"
    assert imported(job, task_digest="none")[0].record.task_digest is None
    with pytest.raises(ConfigError, match="family_pattern"):
        imported(job, family_pattern="(a")


def test_what_the_files_state_cannot_be_bound_to_something_else(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", result())
    with pytest.raises(ConfigError, match="the model is p/m, not other"):
        imported(job, PLACE.model_copy(update={"model": "other"}))
    quiet = make_job(tmp_path / "quiet", result(config=config(model_name=None), agent_info={}))
    record = imported(quiet, PLACE.model_copy(update={"model": "other"}))[0].record
    assert (record.model_name, record.agent_name, record.agent_version) == ("other", "worker", "unknown")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: root / "nothing", "not a folder"),
        (lambda root: _empty(root / "x"), "neither a job nor a trial of Harbor"),
        (lambda root: make_job(root / "job"), "no trials in it"),
        (lambda root: make_job(root / "job", result(schema_version=2)), "reads version 1, found 2"),
        (lambda root: _text(make_job(root / "job", result()), "[]"), "expected a JSON object, found list"),
        (lambda root: _text(make_job(root / "job", result()), "{"), "not JSON"),
        (lambda root: _text(make_job(root / "job", result()), "{}"), "not the result of a Harbor trial"),
    ],
)
def test_what_is_no_job_is_refused_with_its_place(tmp_path: Path, make: Any, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        imported(make(tmp_path))


def _empty(path: Path) -> Path:
    path.mkdir()
    return path


def _text(job: Path, text: str) -> Path:
    next(job.glob("*__*/result.json")).write_text(text, encoding="utf-8")
    return job


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.json", trajectory(shell("cat /runtime/skills/csv/SKILL.md")))
    elsewhere = make_trial(tmp_path / "elsewhere", result())
    job = make_job(tmp_path / "job", result())
    (job / "linked").symlink_to(elsewhere)
    (job / "fix-csv__t000000" / "agent").mkdir()
    (job / "fix-csv__t000000" / "agent" / "trajectory.json").symlink_to(secret)
    (item,) = imported(job)
    assert item.trajectory is None
    trial = make_trial(tmp_path / "t", result())
    (trial / "result.json").rename(tmp_path / "moved.json")
    (trial / "result.json").symlink_to(tmp_path / "moved.json")
    with pytest.raises(RecordError):
        imported(trial)


def test_the_name_of_a_step_leads_nowhere_else(tmp_path: Path) -> None:
    write(tmp_path / "agent" / "trajectory.json", trajectory(shell("x")))
    steps = [{"step_name": name} for name in ("..", "../..", "a/b", "", None, 3)]
    (item,) = imported(make_trial(tmp_path / "steps" / "t", result(step_results=steps)))
    assert item.trajectory is None


def test_jobs_that_share_a_place_are_refused(tmp_path: Path) -> None:
    first, second = make_job(tmp_path / "a", result()), make_job(tmp_path / "b", result())
    with pytest.raises(RecordError, match=r"stands in .*a and in .*b"):
        list(read_files(make_importer("harbor", {}), [first, second], PLACE))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_job(tmp_path / "jobs" / "one", result(rewards={"a": 1.0, "b": 0.0}), result("x", rewards={"b": 1}))
    status, said = sip("import", "harbor", "jobs/one", "-o", "runs.jsonl", "--set", "reward_key=b")
    assert (status, "2 records in runs.jsonl: 2 graded" in said) == (0, True)
    assert [record.score for record in read_records(tmp_path / "runs.jsonl")] == [0.0, 1.0]
    status, said = sip("import", "harbor", "jobs/two", "-o", "other.jsonl")
    assert status == 2
    assert said.startswith("sip: jobs/two: not a folder")
    assert "Traceback" not in said


def test_a_place_must_be_bound(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="bind it to one"):
        imported(make_job(tmp_path / "job", result()), Binding())


def test_records_hold_no_path_of_the_machine(tmp_path: Path) -> None:
    record = imported(make_job(tmp_path / "job", result()))[0].record
    assert str(tmp_path) not in json.dumps(record.model_dump(mode="json"))

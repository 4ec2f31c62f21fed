"""What goes wrong in attempts is recorded and counted; it never ends a study."""

from __future__ import annotations

import pytest

from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Phase, Split, Status
from tests.study.trial import Trial


def outcome(trial: Trial, what: str, *, retries: int = 0, **fields: object) -> RunRecord:
    """What becomes of a held-out task that does ``what``; everything else goes well."""
    benchmark = {"heldout": 2, "replay": 1, "does": {"heldout-0": what}, **fields.pop("benchmark", {})}  # type: ignore[dict-item]
    trial.write(benchmark=benchmark, phases=["T0"], retries=retries, **fields)
    result = trial.run()
    (record,) = (record for record in trial.records() if record.task_id == "heldout-0")
    assert {r.status for r in trial.records() if r.task_id != "heldout-0"} == {Status.GRADED}
    assert result.missing == record.status.is_missing
    return record


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nan", "the reward is nan, not a finite number from 0 to 1"),
        ("too-high", "the reward is 2.0, not a finite number from 0 to 1"),
        ("no-reward", "the reward is None, not a finite number from 0 to 1"),
    ],
)
def test_a_reward_that_is_none_is_a_verifier_error(trial: Trial, what: str, said: str) -> None:
    record = outcome(trial, what)
    assert (record.status, record.score, record.error_message) == (Status.VERIFIER_ERROR, None, said)
    assert record.error_type == "invalid_reward"


def test_a_finite_reward_out_of_range_stays_in_the_record(trial: Trial) -> None:
    assert outcome(trial, "too-high").reward == 2.0


def test_verifier_errors_are_tried_again_and_the_failed_try_keeps_its_cost(trial: Trial) -> None:
    record = outcome(trial, "nan-once", retries=2)
    assert record.status is Status.GRADED
    (tried,) = record.tries
    assert (tried.status, tried.tool_calls_total, tried.token_total) == (Status.VERIFIER_ERROR, 10, 100)
    assert tried.error_message == "the reward is nan, not a finite number from 0 to 1"
    assert tried.started_at is not None


def test_tries_end_when_the_retries_are_used_up(trial: Trial) -> None:
    record = outcome(trial, "nan", retries=2)
    assert record.status is Status.VERIFIER_ERROR
    assert [tried.status for tried in record.tries] == [Status.VERIFIER_ERROR] * 2
    assert trial.calls().count("frozen 0 T0 heldout-0 0") == 3


def test_agent_errors_are_the_agent_s_doing_and_not_tried_again(trial: Trial) -> None:
    record = outcome(trial, "agent-error", retries=2)
    assert (record.status, record.error_type, record.tries) == (Status.AGENT_ERROR, "GaveUp", ())
    assert trial.calls().count("frozen 0 T0 heldout-0 0") == 1


def test_an_exception_is_an_infrastructure_error(trial: Trial) -> None:
    record = outcome(trial, "raise", retries=1)
    assert (record.status, record.error_type) == (Status.INFRASTRUCTURE_ERROR, "RuntimeError")
    assert record.error_message == "the network is away"
    assert len(record.tries) == 1


def test_a_worker_that_dies_is_an_infrastructure_error_and_replaced(trial: Trial) -> None:
    record = outcome(trial, "die-once", retries=1)
    assert record.status is Status.GRADED
    assert record.tries[0].error_type == "WorkerDied"
    assert record.tries[0].error_message == "the worker process was killed by SIGKILL"
    assert record.tries[0].token_total is None


@pytest.mark.parametrize("name", ["trial", "trial-async"])
def test_an_attempt_past_its_limit_and_grace_is_ended_as_the_agent_s_timeout(trial: Trial, name: str) -> None:
    record = outcome(
        trial, "hang", retries=2, benchmark={"name": name}, limits={"timeout_seconds": 0.1}, concurrency=1
    )
    assert (record.status, record.error_type, record.tries) == (Status.AGENT_ERROR, "timeout", ())
    assert record.error_message == "ended from outside 0.3 s after its start; its limit is 0.1 s"


def test_bytes_that_are_not_utf_8_are_read_with_replacement(trial: Trial) -> None:
    record = outcome(trial, "bytes")
    assert (record.status, record.error_message, record.notes) == (Status.AGENT_ERROR, "caf?", "caf?")
    log = (trial.out / "study.log").read_text(encoding="utf-8")
    assert "caf\N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}" in log


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("not-an-attempt", "run() returned dict, not an Attempt"),
        ("unpicklable", "what run() returned cannot leave its process"),
        ("override", "overrides: 'arm' is not an attempt's to say"),
    ],
)
def test_what_breaks_the_contract_is_an_error_of_that_attempt(trial: Trial, what: str, said: str) -> None:
    record = outcome(trial, what)
    assert (record.status, record.error_type) == (Status.INFRASTRUCTURE_ERROR, "ContractError")
    assert said in str(record.error_message)


def test_rewards_of_another_range_become_scores_and_the_record_says_how(trial: Trial) -> None:
    trial.write(benchmark={"reward_range": [-1.0, 3.0]}, phases=["T0"]).run()
    for record in trial.records():
        assert record.reward is not None
        assert record.score == pytest.approx((record.reward + 1) / 4)
        assert record.normalization == "linear"


def test_scores_that_are_rewards_need_no_normalisation(trial: Trial) -> None:
    trial.write(phases=["T0"]).run()
    assert {(r.score == r.reward, r.normalization) for r in trial.records()} == {(True, None)}


def test_the_output_of_a_failed_try_is_kept_beside_that_of_the_last(trial: Trial) -> None:
    record = outcome(trial, "nan-once", retries=1)
    assert '"try": 1' in (trial.out / "attempts" / record.run_id / "answer.json").read_text()
    assert '"try": 0' in (trial.out / "attempts" / f"{record.run_id}.try1" / "answer.json").read_text()


def test_missing_attempts_are_counted_and_the_result_says_why(trial: Trial) -> None:
    trial.write(benchmark={"does": {"heldout-0": "nan", "replay-1": "raise"}}, phases=["T0"], retries=0)
    result = trial.run()
    assert (result.planned, result.recorded, result.ungraded, result.missing) == (5, 5, 2, 2)
    (problem,) = result.problems
    assert "1 verifier_error: the reward is nan" in problem
    assert "1 infrastructure_error: the network is away" in problem
    assert result.summary is not None
    heldout = result.summary.rows[0].cell(Phase.T0, Split.HELDOUT)
    assert heldout is not None
    assert (heldout.planned, heldout.recorded, heldout.counted) == (3, 3, 2)


@pytest.mark.parametrize(("retries", "settled"), [(0, 1), (1, 0)])
def test_the_result_knows_which_missing_attempts_no_further_run_tries_again(
    trial: Trial, retries: int, settled: int
) -> None:
    trial.write(benchmark={"does": {"heldout-0": "raise"}}, phases=["T0"], retries=retries)
    result = trial.run()
    assert (result.missing, result.settled) == (1, settled)
    before = len(trial.calls())
    trial.run()
    assert (len(trial.calls()) == before) == bool(settled)

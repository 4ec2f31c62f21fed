"""How a trial ended: only a verifier gives a score, and an exception is read wherever it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sipbench.importers.harbor.causes import Cause, cause_of
from sipbench.protocol.vocabulary import Status
from tests.importers.harbor.made import ended, exception, phase, result, step


def test_a_reward_is_a_grade(tmp_path: Path) -> None:
    found = ended(tmp_path, result(rewards={"reward": 0.5}))
    assert (found.status, found.reward, found.error_type) == (Status.GRADED, 0.5, None)


def test_a_reward_of_zero_is_a_grade(tmp_path: Path) -> None:
    assert ended(tmp_path, result(rewards={"reward": 0})).reward == 0.0


def test_a_timeout_of_the_agent_with_a_grade_is_a_grade(tmp_path: Path) -> None:
    document = result(rewards={"reward": 1.0}, exception_info=exception("AgentTimeoutError"))
    found = ended(tmp_path, document)
    assert (found.status, found.reward, found.error_type) == (Status.TIMEOUT_GRADED, 1.0, "AgentTimeoutError")


def test_a_timeout_that_nobody_graded_is_the_agents(tmp_path: Path) -> None:
    late = exception("AgentTimeoutError")
    document = result(verifier_result=None, verifier=None, exception_info=late)
    found = ended(tmp_path, document)
    assert (found.status, found.reward) == (Status.AGENT_ERROR, None)


def test_a_crash_of_the_agent_with_a_grade_is_a_grade(tmp_path: Path) -> None:
    document = result(rewards={"reward": 1.0}, exception_info=exception("NonZeroAgentExitCodeError"))
    found = ended(tmp_path, document)
    assert (found.status, found.reward) == (Status.GRADED, 1.0)
    assert found.error_type == "NonZeroAgentExitCodeError"


def test_a_crash_of_the_agent_that_nobody_graded_is_the_agents(tmp_path: Path) -> None:
    crash = exception("NonZeroAgentExitCodeError")
    found = ended(tmp_path, result(verifier_result=None, verifier=None, exception_info=crash))
    assert found.status is Status.AGENT_ERROR


@pytest.mark.parametrize("name", ["VerifierTimeoutError", "RewardFileNotFoundError", "AddTestsDirError"])
def test_a_failure_of_the_verifier_is_no_grade(tmp_path: Path, name: str) -> None:
    document = result(verifier_result=None, exception_info=exception(name, 8))
    found = ended(tmp_path, document)
    assert (found.status, found.reward, found.error_type) == (Status.VERIFIER_ERROR, None, name)


def test_an_unknown_exception_in_the_verifiers_time_is_the_verifiers(tmp_path: Path) -> None:
    # A bare number in reward.json raises pydantic's ValidationError.
    document = result(verifier_result=None, exception_info=exception("ValidationError", 8))
    assert ended(tmp_path, document).status is Status.VERIFIER_ERROR


def test_an_image_that_cannot_be_pulled_is_no_reward_of_zero(tmp_path: Path) -> None:
    # skillberry-ai/cap-evolve#307: HTTP 429 before any agent began was read as reward 0.0.
    broken = exception("RuntimeError", 0.5, "toomanyrequests: pull rate limit")
    never = {"agent_setup": None, "agent_execution": None, "verifier": None, "agent_result": None}
    found = ended(tmp_path, result(verifier_result=None, exception_info=broken, **never))
    assert (found.status, found.reward) == (Status.INFRASTRUCTURE_ERROR, None)
    assert found.error_message == "toomanyrequests: pull rate limit"


@pytest.mark.parametrize(
    "name", ["ApiRateLimitError", "RateLimitError", "SandboxBuildFailedError", "AgentAuthenticationError"]
)
def test_what_the_surroundings_did_takes_the_reward_with_it(tmp_path: Path, name: str) -> None:
    document = result(rewards={"reward": 0.0}, exception_info=exception(name, has_valid_reward=False))
    found = ended(tmp_path, document)
    assert (found.status, found.reward) == (Status.INFRASTRUCTURE_ERROR, None)
    assert found.rewards == {"reward": 0.0}  # kept for diagnosis


def test_an_exception_of_unknown_cause_is_no_grade_although_harbor_keeps_it(tmp_path: Path) -> None:
    # Pitfall P2: Harbor leaves unknown exceptions in the mean.
    document = result(rewards={"reward": 0.0}, exception_info=exception("KeyError"))
    assert ended(tmp_path, document).status is Status.INFRASTRUCTURE_ERROR


def test_a_study_may_say_which_exceptions_are_the_agents(tmp_path: Path) -> None:
    document = result(rewards={"reward": 0.0}, exception_info=exception("MyAgentGaveUp"))
    found = ended(tmp_path, document, agent_errors=("MyAgentGaveUp",))
    assert (found.status, found.reward) == (Status.GRADED, 0.0)


def test_an_attempt_that_was_ended_is_cancelled_even_with_a_reward(tmp_path: Path) -> None:
    document = result(exception_info=exception("CancelledError"))
    found = ended(tmp_path, document)
    assert (found.status, found.reward) == (Status.CANCELLED, None)


def test_a_missing_reward_is_not_zero(tmp_path: Path) -> None:
    # modelscope/evalscope#1608, langchain-ai/deepagents#2115.
    for document in (
        result(rewards={}),
        result(verifier_result=None),
        result(verifier_result={"rewards": None}),
    ):
        found = ended(tmp_path, document)
        assert (found.status, found.reward, found.error_type) == (
            Status.VERIFIER_ERROR,
            None,
            "MissingReward",
        )


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", '"1.0"', "true", "null", "[1]", '{"a": 1}']
)
def test_a_reward_that_is_no_finite_number_is_no_grade(tmp_path: Path, value: str) -> None:
    document = result(rewards={"reward": json.loads(value)})
    found = ended(tmp_path, document)
    assert (found.status, found.reward, found.error_type) == (Status.VERIFIER_ERROR, None, "InvalidReward")


def test_a_lone_reward_needs_no_name(tmp_path: Path) -> None:
    assert ended(tmp_path, result(rewards={"accuracy": 0.25})).reward == 0.25


def test_of_several_rewards_none_is_taken_silently(tmp_path: Path) -> None:
    # existential-birds/daydream#820, NVIDIA-NeMo/nemo-platform#544.
    found = ended(tmp_path, result(rewards={"format": 1.0, "reward": 0.0}))
    assert (found.status, found.error_type) == (Status.VERIFIER_ERROR, "AmbiguousReward")
    assert found.error_message == "the verifier issued format, reward; name one as reward_key"


def test_a_named_reward_is_taken_and_the_others_are_kept(tmp_path: Path) -> None:
    found = ended(tmp_path, result(rewards={"format": 1.0, "reward": 0.25}), reward_key="reward")
    assert found.reward == 0.25
    assert found.rewards == {"format": 1.0, "reward": 0.25}


def test_a_named_reward_that_is_not_there_is_missing(tmp_path: Path) -> None:
    found = ended(tmp_path, result(rewards={"format": 1.0}), reward_key="reward")
    assert (found.status, found.error_type) == (Status.VERIFIER_ERROR, "MissingReward")


def test_an_exception_of_a_step_counts_although_the_trials_own_is_null(tmp_path: Path) -> None:
    # NVIDIA-NeMo/nemo-platform#2136.
    first = step("one", exception_info=exception("ApiOverloadedError", 3), verifier_result=None)
    found = ended(tmp_path, result(rewards={"reward": 0.0}, step_results=[first]))
    assert (found.status, found.reward, found.error_type) == (
        Status.INFRASTRUCTURE_ERROR,
        None,
        "ApiOverloadedError",
    )
    assert [raised.step for raised in found.exceptions] == ["one"]


def test_a_step_that_was_verified_without_a_reward_spoils_the_mean_of_the_others(tmp_path: Path) -> None:
    steps = [step("one"), step("two", verifier_result=None)]
    found = ended(tmp_path, result(rewards={"reward": 1.0}, step_results=steps))
    assert (found.status, found.error_type) == (Status.VERIFIER_ERROR, "UngradedStep")


def test_a_timeout_in_a_step_with_grades_is_a_grade(tmp_path: Path) -> None:
    steps = [step("one", exception_info=exception("AgentTimeoutError", 4)), step("two")]
    assert ended(tmp_path, result(step_results=steps)).status is Status.TIMEOUT_GRADED


def test_a_verifier_that_failed_after_a_timeout_is_the_verifiers_failure(tmp_path: Path) -> None:
    # Harbor keeps the first exception only, so the verifier's own is not in the file.
    document = result(verifier_result=None, exception_info=exception("AgentTimeoutError"))
    found = ended(tmp_path, document)
    assert (found.status, found.error_type) == (Status.VERIFIER_ERROR, "MissingReward")
    assert "AgentTimeoutError" in (found.error_message or "")


@pytest.mark.parametrize(
    "damage",
    [
        {"exception_info": "boom"},
        {"exception_info": {"exception_type": 7, "exception_message": ["x"]}},
        {"step_results": "none"},
        {"step_results": [None, 3]},
        {"verifier": []},
    ],
)
def test_a_damaged_result_gives_no_exception(tmp_path: Path, damage: dict[str, Any]) -> None:
    ended(tmp_path, result(**damage))


def test_every_name_stands_for_one_cause() -> None:
    assert cause_of("AgentTimeoutError") is Cause.TIMEOUT
    assert cause_of("RewardFileEmptyError") is Cause.VERIFIER
    assert cause_of("Nobody has heard of this") is Cause.UNKNOWN


def test_the_names_are_those_of_the_installed_harbor() -> None:
    policy = pytest.importorskip("harbor.models.trial.error_policy", reason="needs the extra 'harbor'")
    unknown = [name for name in policy.ERROR_POLICIES if cause_of(name) is Cause.UNKNOWN]
    assert unknown == []
    for name, known in policy.ERROR_POLICIES.items():
        if known.has_valid_reward:
            assert cause_of(name) in (Cause.TIMEOUT, Cause.AGENT), name


def test_the_time_of_a_phase_does_not_decide_without_the_phase(tmp_path: Path) -> None:
    document = result(verifier_result=None, verifier=phase(7, 9), exception_info=exception("OSError", 3))
    assert ended(tmp_path, document).status is Status.INFRASTRUCTURE_ERROR

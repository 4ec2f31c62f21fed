"""From an attempt to its record."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.benchmarks.base import Agent, Attempt
from sipbench.protocol.digests import canonical_json
from sipbench.protocol.jsonl import parse_record
from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.records import RunRecord, SkillRef, Try, Usage
from sipbench.protocol.versions import RUN_RECORD_VERSION
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status
from sipbench.study.arms import Arm
from sipbench.study.executors.base import AttemptDone, Times
from sipbench.study.identity import ArmIdentity
from sipbench.study.plan import Slot
from sipbench.study.scoring import OVERRIDES, Identified, Scorer, as_try

DIGEST = "sha256:" + "a" * 64
TIMES = Times("2026-05-01T09:30:00.000Z", "2026-05-01T09:30:02.500Z", 2.5)
WHO = Identified(Slot("arm", 2, Phase.T1, Split.HELDOUT, "t", 1, Phase.T1), "f" * 32, 99, DIGEST)


class Graded:
    """The part of a benchmark that a scorer needs."""

    name, version, grader_version, engine = "b", "1", "g", "e 1"
    normalization = "halved"

    def __init__(self, low: float = 0.0, high: float = 1.0) -> None:
        self.reward_range = (low, high)

    def normalize(self, reward: float) -> float:
        low, high = self.reward_range
        return (reward - low) / (high - low)


def scorer(benchmark: Any = None) -> Scorer:
    agent = Agent("a", "1", "m")
    arm = Arm(
        "arm",
        PathType.EXTERNAL,
        agent,
        None,
        None,
        {},
        None,
        ArmIdentity(agent.digest, PathType.EXTERNAL, None, 7),
    )
    manifest = SplitManifest(
        schema_version="1.0.0",
        benchmark_name="b",
        heldout=(TaskEntry(id="t", family="f", concept="c", digest=DIGEST),),
    )
    return Scorer(benchmark or Graded(), manifest, {"arm": arm})


def record(attempt: Any, benchmark: Any = None, tries: tuple[Try, ...] = ()) -> RunRecord:
    return scorer(benchmark).record(WHO, AttemptDone(attempt, TIMES), tries)


def graded(reward: Any = 0.25, **fields: Any) -> Attempt:
    return Attempt(Status.GRADED, reward=reward, **fields)


def test_everything_the_plan_knows_is_in_the_record() -> None:
    found = record(graded(success=False, usage=Usage(token_total=5), skills_given=(SkillRef(name="s"),)))
    assert found.model_dump(mode="json", exclude_defaults=True) == {
        "schema_version": RUN_RECORD_VERSION,
        "run_id": "f" * 32,
        "benchmark_name": "b",
        "benchmark_version": "1",
        "benchmark_split": "heldout",
        "phase": "T1",
        "path_type": "external",
        "arm": "arm",
        "model_name": "m",
        "agent_name": "a",
        "agent_version": "1",
        "task_id": "t",
        "family": "f",
        "concept": "c",
        "repeat": 2,
        "attempt_index": 1,
        "seed": 9,
        "attempt_seed": 99,
        "status": "graded",
        "score": 0.25,
        "success": False,
        "reward": 0.25,
        "token_total": 5,
        "wall_clock_seconds": 2.5,
        "usage_source": "engine",
        "started_at": TIMES.started_at,
        "finished_at": TIMES.finished_at,
        "agent_digest": Agent("a", "1", "m").digest,
        "agent_state_digest": DIGEST,
        "skills_given": [{"name": "s"}],
        "task_digest": DIGEST,
        "grader_version": "g",
        "engine": "e 1",
    }


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1))
def test_a_reward_in_range_becomes_a_score_from_0_to_1(low: float, width: float, share: float) -> None:
    high = low + width
    reward = min(high, low + share * width)
    found = record(graded(reward), Graded(low, high))
    assert found.status is Status.GRADED
    assert found.score is not None
    assert 0 <= found.score <= 1
    assert found.reward == reward


def test_a_normalisation_by_hand() -> None:
    # From [-2, 6]: 0 lies a quarter of the way.
    found = record(graded(0), Graded(-2, 6))
    assert (found.score, found.reward, found.normalization) == (0.25, 0.0, "halved")


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, 1.1, -0.1, None, "0.5", b"1", [], "nan"])
def test_anything_else_is_a_verifier_error_that_names_the_reward(reward: Any) -> None:
    found = record(graded(reward, success=True))
    assert (found.status, found.score, found.success) == (Status.VERIFIER_ERROR, None, None)
    assert f"the reward is {reward!r}" in str(found.error_message)
    assert found.reward == (reward if reward in (1.1, -0.1) else None)


@pytest.mark.parametrize("reward", [True, 1, np.float32(1.0), np.float64(1.0), np.int64(1)])
def test_a_number_of_any_kind_is_a_number(reward: Any) -> None:
    found = record(graded(reward))
    assert found.score == 1.0
    assert type(found.reward) is float


class Wrong(Graded):
    """Normalises to what is no score."""

    def __init__(self, score: Any) -> None:
        super().__init__()
        self.score = score

    def normalize(self, reward: float) -> float:
        if isinstance(self.score, Exception):
            raise self.score
        found: float = self.score
        return found


@pytest.mark.parametrize("score", [1.5, math.nan, ZeroDivisionError("by zero")])
def test_a_normalisation_that_fails_is_a_verifier_error(score: Any) -> None:
    found = record(graded(0.5), Wrong(score))
    assert (found.status, found.error_type, found.reward) == (Status.VERIFIER_ERROR, "invalid_score", 0.5)


def test_a_normalisation_may_round() -> None:
    assert record(graded(0.5), Wrong(1 + 1e-12)).score == 1.0
    assert record(graded(0.5), Wrong(-1e-12)).score == 0.0


def test_a_reward_without_a_grade_is_no_score() -> None:
    found = record(Attempt(Status.AGENT_ERROR, reward=0.9, success=True))
    assert (found.score, found.reward, found.success) == (None, None, None)


def test_a_timeout_with_a_grade_is_a_grade() -> None:
    assert record(Attempt(Status.TIMEOUT_GRADED, reward=0.5)).score == 0.5


# --- what an attempt knows better


def test_a_recorded_attempt_keeps_what_it_knows_and_what_it_does_not_know() -> None:
    tried = Try(status=Status.INFRASTRUCTURE_ERROR)
    overrides = {
        "wall_clock_seconds": None,
        "started_at": None,
        "finished_at": None,
        "attempt_seed": None,
        "model_name": "gpt",
        "reward": 3.0,
        "engine": "theirs",
        "tries": (tried,),
    }
    found = record(graded(usage_source="import", overrides=overrides))
    assert (found.wall_clock_seconds, found.started_at, found.attempt_seed) == (None, None, None)
    assert (found.model_name, found.reward, found.score, found.engine) == ("gpt", 3.0, 0.25, "theirs")
    assert (found.usage_source, found.tries) == ("import", (tried,))


@pytest.mark.parametrize("name", sorted(set(RunRecord.model_fields) - OVERRIDES))
def test_no_other_field_is_an_attempt_s_to_say(name: str) -> None:
    found = record(graded(overrides={name: "x"}))
    assert found.status is Status.INFRASTRUCTURE_ERROR
    assert f"overrides: '{name}' is not an attempt's to say" in str(found.error_message)


# --- what cannot be recorded


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"metadata": {"x": math.nan}}, "JSON"),
        ({"metadata": {"x": Path("/")}}, "JSON"),
        ({"metadata": {"x": "y" * 9_000_000}}, "metadata: too large"),
        ({"usage": {"token_total": 5}}, "usage: expected a Usage"),
        ({"usage_source": "guess"}, "usage_source"),
        ({"started_at": "yesterday"}, "started_at"),
        ({"skills_given": ("a name",)}, "skills_given"),
        ({"overrides": {"model_name": ""}}, "model_name"),
    ],
)
def test_what_cannot_be_recorded_is_an_error_of_that_attempt(fields: dict[str, Any], said: str) -> None:
    found = record(graded(**fields))
    assert (found.status, found.error_type, found.score) == (
        Status.INFRASTRUCTURE_ERROR,
        "ContractError",
        None,
    )
    assert said in str(found.error_message)


class Odd:
    """A plug-in's object that cannot be looked at."""

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("reward", [Odd(), 10**5000], ids=["odd", "huge"])
def test_a_reward_that_cannot_even_be_shown_is_a_verifier_error(reward: Any) -> None:
    found = record(graded(reward))
    assert (found.status, found.reward) == (Status.VERIFIER_ERROR, None)
    assert f"the reward is a {type(reward).__name__}" in str(found.error_message)


@pytest.mark.parametrize("status", ["graded", "bogus", None])
def test_a_status_that_is_none_is_an_error_of_that_attempt(status: Any) -> None:
    found = record(Attempt(status, reward=0.5, usage=Usage(token_total=7)))
    assert (found.status, found.error_type, found.score) == (
        Status.INFRASTRUCTURE_ERROR,
        "ContractError",
        None,
    )
    assert "status: expected a Status" in str(found.error_message)
    assert found.token_total == 7


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"in": found}
    return found


def endless() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["in"] = found
    return found


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": nested(230)},
        {"metadata": nested(5000)},
        {"metadata": endless()},
        {"overrides": {"normalization": "x" * 17_000_000}},
        {"notes": Odd()},
    ],
    ids=["deep", "deeper", "endless", "long", "odd"],
)
def test_what_could_not_be_read_again_is_never_written(fields: dict[str, Any]) -> None:
    found = record(graded(usage=Usage(token_total=7), **fields))
    assert (found.status, found.error_type) == (Status.INFRASTRUCTURE_ERROR, "ContractError")
    assert found.token_total == 7
    assert parse_record(canonical_json(found.model_dump(mode="json"))) == found


def test_usage_that_is_no_measurement_is_an_error_of_that_attempt() -> None:
    found = record(graded(usage=Usage.model_construct(token_total=-5)))
    assert (found.status, found.token_total) == (Status.INFRASTRUCTURE_ERROR, None)
    assert "token_total" in str(found.error_message)


def test_what_it_used_is_kept_though_the_rest_cannot_be_recorded() -> None:
    found = record(graded(usage=Usage(token_total=7), metadata={"x": math.nan}))
    assert found.token_total == 7


def test_texts_that_cannot_be_encoded_are_replaced_and_long_ones_cut() -> None:
    odd = "caf\udce9"
    found = record(
        Attempt(
            Status.AGENT_ERROR,
            error_type=odd,
            error_message="x" * 10_000,
            notes=odd,
            metadata={odd: [odd, {"deep": odd}]},
        )
    )
    assert (found.error_type, found.notes, found.metadata) == (
        "caf?",
        "caf?",
        {"caf?": ["caf?", {"deep": "caf?"}]},
    )
    assert found.error_message is not None
    assert found.error_message.endswith("… (10000 characters)")


def test_a_record_becomes_a_try_with_all_that_it_cost() -> None:
    found = record(graded(math.nan, usage=Usage(token_total=7, cost_usd=0.5), usage_source="agent"))
    tried = as_try(found)
    assert (tried.status, tried.token_total, tried.cost_usd) == (Status.VERIFIER_ERROR, 7, 0.5)
    assert (tried.usage_source, tried.wall_clock_seconds) == ("agent", 2.5)
    assert record(graded(), tries=(tried,)).tries == (tried,)

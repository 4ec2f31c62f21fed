"""The learners: what they make of adapt attempts, and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sipbench import plugins
from sipbench.adaptation.base import Adaptation, AdaptationRequest
from sipbench.benchmarks.synth import MacroLearner, WeightLearner
from sipbench.benchmarks.synth.learners import MacroOptions, WeightOptions, mined
from sipbench.benchmarks.synth.state import read_state, write_skill
from sipbench.errors import AdaptationError
from sipbench.protocol.digests import tree_digest
from sipbench.protocol.vocabulary import PathType, Phase

Requests = Callable[..., AdaptationRequest]

A, B, C, D = (
    ("reverse", "mirror"),
    ("drop_first", "odd_words"),
    ("sort_words", "mirror"),
    ("mirror", "odd_words"),
)


def macros(request: AdaptationRequest, **options: Any) -> tuple[tuple[str, ...], ...]:
    MacroLearner(MacroOptions(**options), base=Path()).adapt(request)
    return read_state(request.state).macros


def uses(request: AdaptationRequest, **options: Any) -> dict[str, int]:
    WeightLearner(WeightOptions(**options), base=Path()).adapt(request)
    weights = read_state(request.state).weights
    assert weights is not None
    return {name: count for name, count in weights.uses.items() if count}


# --- registration


@pytest.mark.parametrize(
    ("name", "learner", "path"),
    [("synth-macros", MacroLearner, PathType.EXTERNAL), ("synth-weights", WeightLearner, PathType.PARAMETER)],
)
def test_learners_are_found_by_their_names(name: str, learner: type[Adaptation], path: PathType) -> None:
    found = plugins.load("adaptations", name)
    assert found is learner
    assert found(found.Options(), base=Path()).path is path
    assert found.needs_attempts


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (MacroOptions, {"sample": 0}),
        (MacroOptions, {"sample": 1.1}),
        (MacroOptions, {"max_macros": 0}),
        (MacroOptions, {"min_support": 0}),
        (MacroOptions, {"laplace": 1}),
        (WeightOptions, {"laplace": 0}),
        (WeightOptions, {"laplace": float("nan")}),
        (WeightOptions, {"max_macros": 3}),
    ],
)
def test_options_that_make_no_sense_are_refused(options: type, values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        options(**values)


# --- mining


def test_sequences_of_two_and_three_steps_are_counted_once_per_program() -> None:
    # By hand: (a b) stands in both programs, twice in the first; (a b c) and (b c) in both.
    a, b, c = "reverse", "mirror", "odd_words"
    found = mined([(a, b, c, a, b), (a, b, c)], 2)
    assert found == {(a, b, c): 2, (a, b): 2, (b, c): 2}


def test_useful_is_support_times_the_steps_saved() -> None:
    a, b, c = "reverse", "mirror", "odd_words"
    # By hand: (a b c) saves two steps in two programs: 4; (b a) one in three: 3; (a b), (b c) one in two: 2.
    order = list(mined([(a, b, c), (a, b, c), (b, a), (b, a), (b, a)], 2))
    assert order == [(a, b, c), (b, a), (b, c), (a, b)]


def test_ties_stand_in_the_order_of_names() -> None:
    assert list(mined([C, A, B] * 2, 2)) == sorted([A, B, C])


# --- macros


def test_a_sequence_of_several_solved_tasks_becomes_a_skill(request_for: Requests) -> None:
    request = request_for([A, B, A, C])
    assert macros(request, sample=1) == (A,)
    assert [path.name for path in (request.state / "skills").iterdir()] == ["reverse-then-mirror"]


def test_the_least_support_decides_what_is_kept(request_for: Requests) -> None:
    assert set(macros(request_for([A, B, A]), sample=1, min_support=1)) == {A, B}
    assert macros(request_for([A, B, A]), sample=1, min_support=3) == ()


def test_no_more_macros_than_allowed(request_for: Requests) -> None:
    assert macros(request_for([A, A, A, B, B, C, C]), sample=1, max_macros=1) == (A,)


def test_a_second_adaptation_adds_to_the_first(request_for: Requests) -> None:
    first = request_for([A, A])
    macros(first, sample=1)
    second = request_for([A, A, A, B, B], previous=first.state, phase=Phase.T2)
    assert set(macros(second, sample=1, max_macros=1)) == {A, B}
    old = first.state / "skills" / "reverse-then-mirror" / "SKILL.md"
    assert (second.state / "skills" / "reverse-then-mirror" / "SKILL.md").read_bytes() == old.read_bytes()


def test_the_previous_state_is_not_changed(request_for: Requests) -> None:
    first = request_for([A, A])
    macros(first, sample=1)
    before = tree_digest(first.state)
    macros(request_for([B, B], previous=first.state), sample=1)
    assert tree_digest(first.state) == before


# --- weights


def test_uses_of_primitives_are_counted(request_for: Requests) -> None:
    request = request_for([A, A, B, C])
    assert uses(request, sample=1) == {
        "reverse": 2,
        "mirror": 3,
        "drop_first": 1,
        "odd_words": 1,
        "sort_words": 1,
    }
    weights = read_state(request.state).weights
    assert weights is not None
    # By hand: 8 uses, laplace 1: (3 + 1) / (8 + 24).
    assert weights.probabilities["mirror"] == pytest.approx(4 / 32)
    assert [path.name for path in request.state.iterdir()] == ["weights.json"]


def test_laplace_decides_how_far_weights_move(request_for: Requests) -> None:
    near, far = request_for([A]), request_for([A])
    uses(near, laplace=100)
    uses(far, laplace=0.1)
    chances = [read_state(one.state).weights for one in (near, far)]
    assert chances[0] is not None
    assert chances[1] is not None
    assert 1 / 24 < chances[0].probabilities["mirror"] < chances[1].probabilities["mirror"]


def test_a_second_refit_remembers_the_first(request_for: Requests) -> None:
    first = request_for([A, A])
    uses(first, sample=1)
    assert uses(request_for([B], previous=first.state), sample=1) == {
        "reverse": 2,
        "mirror": 2,
        "drop_first": 1,
        "odd_words": 1,
    }


# --- what both learn from


@pytest.mark.parametrize("learn", [macros, uses])
def test_unsolved_tasks_teach_nothing(request_for: Requests, learn: Callable[..., Any]) -> None:
    assert not learn(request_for([A, A, B], solved=False))
    assert not learn(request_for([None, None]))
    assert not learn(request_for([]))


def test_success_must_be_true_and_nothing_like_it(request_for: Requests) -> None:
    request = request_for([A])
    for value in (None, "yes", 1):
        record = {"task": {}, "record": {"success": value}}
        (request.attempts / "0000" / "attempt.json").write_text(json.dumps(record), encoding="utf-8")
        assert uses(request, sample=1) == {}


def test_learning_nothing_keeps_what_was_known(request_for: Requests) -> None:
    first = request_for([A, A])
    macros(first, sample=1)
    assert macros(request_for([None], previous=first.state)) == (A,)


def test_a_drawn_share_of_the_solved_tasks_is_used(request_for: Requests) -> None:
    request = request_for([A] * 24)
    assert sum(uses(request).values()) == 2 * 18
    request = request_for([A])
    assert sum(uses(request, sample=0.1).values()) == 2


def test_the_seed_and_the_phase_decide_which(request_for: Requests) -> None:
    programs = [A, B, C, D] * 4

    def drawn(seed: int, phase: Phase = Phase.T1) -> tuple[tuple[str, int], ...]:
        return tuple(sorted(uses(request_for(programs, seed=seed, phase=phase), sample=0.4).items()))

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(8)}) > 3
    assert len({drawn(seed, phase) for seed in range(4) for phase in (Phase.T1, Phase.T2)}) > 3


@pytest.mark.parametrize("learn", [macros, uses])
def test_the_same_request_makes_the_same_state(request_for: Requests, learn: Callable[..., Any]) -> None:
    first, second = request_for([A, A, B, B, C]), request_for([A, A, B, B, C])
    learn(first)
    learn(second)
    assert tree_digest(first.state) == tree_digest(second.state)


def test_the_outcome_says_what_was_learned_from(request_for: Requests) -> None:
    outcome = MacroLearner(MacroOptions(sample=1), base=Path()).adapt(request_for([A, A, None]))
    assert outcome.metadata == {"programs": 2, "new_skills": ["reverse-then-mirror"]}
    assert (outcome.usage.token_total, outcome.usage.tool_calls_total) == (None, 0)
    outcome = WeightLearner(WeightOptions(sample=1), base=Path()).adapt(request_for([A, A, None]))
    assert outcome.metadata == {"programs": 2, "uses": 4}


# --- bad input


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", r"attempt\.json: not JSON"),
        (b"{}", r"attempt\.json: no field 'record.success'"),
        (b"[]", r"attempt\.json: no field 'record.success'"),
        (b'{"record": null}', r"attempt\.json: no field 'record.success'"),
        (b'{"record": {}}', r"attempt\.json: no field 'record.success'"),
        (b"[" * 200_000, r"attempt\.json: not JSON"),
        (b"\xff", r"attempt\.json: not JSON"),
    ],
)
def test_a_broken_attempt_is_named(request_for: Requests, data: bytes, reason: str) -> None:
    request = request_for([A])
    (request.attempts / "0000" / "attempt.json").write_bytes(data)
    with pytest.raises(AdaptationError, match=reason) as caught:
        uses(request)
    assert "\n" not in str(caught.value)


def test_a_missing_attempt_file_is_named(request_for: Requests) -> None:
    request = request_for([A])
    (request.attempts / "0000" / "attempt.json").unlink()
    with pytest.raises(AdaptationError, match=r"attempt\.json: cannot be read \(No such file"):
        uses(request)


def test_a_missing_folder_is_named(request_for: Requests) -> None:
    request = request_for([])
    request.attempts.rmdir()
    with pytest.raises(AdaptationError, match="attempts: no such folder"):
        uses(request)


@pytest.mark.parametrize("data", [b"{", b'{"program": ["os.system"]}', b'{"program": 3}', None])
def test_a_broken_answer_is_named(request_for: Requests, data: bytes | None) -> None:
    request = request_for([A])
    path = request.attempts / "0000" / "output" / "answer.json"
    path.unlink() if data is None else path.write_bytes(data)
    with pytest.raises(AdaptationError, match=r"answer\.json: .*run the attempt again"):
        uses(request)


def test_files_beside_the_attempts_are_left_alone(request_for: Requests) -> None:
    request = request_for([A, A])
    (request.attempts / "notes.txt").write_text("x", encoding="utf-8")
    assert macros(request, sample=1) == (A,)


def test_a_broken_previous_state_is_an_error(request_for: Requests) -> None:
    request = request_for([A])
    write_skill(request.previous, A, 2)
    (request.previous / "weights.json").write_text("{", encoding="utf-8")
    for learn in (macros, uses):
        with pytest.raises(AdaptationError, match=r"weights\.json: not JSON"):
            learn(request)

"""The agent: what it knows becomes costs, and costs an attempt that sees the shown pairs only."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.benchmarks.synth import agent as module
from sipbench.benchmarks.synth.agent import attempt, production_costs, share_right
from sipbench.benchmarks.synth.generate import Pair, SynthTask
from sipbench.benchmarks.synth.language import NAMES
from sipbench.benchmarks.synth.state import Knowledge, Skill, Weights
from sipbench.protocol.records import SkillRef

Tasks = tuple[SynthTask, ...]


def knowing(*macros: tuple[str, ...], weights: Weights | None = None) -> Knowledge:
    skills = tuple(Skill(SkillRef(name=f"s{index}"), macro) for index, macro in enumerate(macros))
    return Knowledge(skills, weights)


def costs(knowledge: Knowledge, jitter: float = 0.0, seed: int = 1) -> dict[tuple[str, ...], float]:
    return {
        production.steps: production.cost
        for production in production_costs(knowledge, jitter=jitter, seed=seed)
    }


# --- costs


def test_without_knowledge_each_primitive_has_probability_one_in_24() -> None:
    assert costs(Knowledge()) == {(name,): pytest.approx(math.log(24)) for name in NAMES}


def test_each_macro_takes_one_of_n_and_makes_the_rest_dearer() -> None:
    # By hand: 24 primitives and 2 macros, each with probability 1/26.
    found = costs(knowing(("reverse", "mirror"), ("mirror", "reverse")))
    assert len(found) == 26
    assert all(cost == pytest.approx(math.log(26)) for cost in found.values())


def test_weights_are_the_probabilities_of_primitives() -> None:
    weights = Weights.fitted({"reverse": 6}, 1.0)
    found = costs(knowing(weights=weights))
    assert found["reverse",] == pytest.approx(-math.log(7 / 30))
    assert found["mirror",] == pytest.approx(-math.log(1 / 30))


def test_with_macros_and_weights_primitives_share_what_macros_leave() -> None:
    # By hand: one macro of 25 productions leaves 24/25, of which reverse has 7/30.
    found = costs(knowing(("reverse", "mirror"), weights=Weights.fitted({"reverse": 6}, 1.0)))
    assert found["reverse", "mirror"] == pytest.approx(math.log(25))
    assert found["reverse",] == pytest.approx(-math.log(24 / 25 * 7 / 30))


@given(
    uses=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 50)),
    macros=st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=10),
)
def test_probabilities_of_productions_add_up_to_1(uses: dict[str, int], macros: set[tuple[str, str]]) -> None:
    found = costs(knowing(*sorted(macros), weights=Weights.fitted(uses, 1.0)))
    assert sum(math.exp(-cost) for cost in found.values()) == pytest.approx(1)


def test_jitter_is_a_draw_per_production_with_the_given_spread() -> None:
    draws = [
        (cost - math.log(24)) / 0.5
        for seed in range(200)
        for cost in costs(Knowledge(), jitter=0.5, seed=seed).values()
    ]
    assert sum(draws) / len(draws) == pytest.approx(0, abs=0.05)
    assert sum(draw**2 for draw in draws) / len(draws) == pytest.approx(1, abs=0.07)


def test_a_learned_macro_leaves_the_draws_of_primitives_alone() -> None:
    before = costs(Knowledge(), jitter=0.5)
    after = costs(knowing(("reverse", "mirror")), jitter=0.5)
    for name in NAMES:
        assert after[name,] - before[name,] == pytest.approx(math.log(25 / 24))


def test_costs_stay_above_0_whatever_the_jitter() -> None:
    assert min(min(costs(Knowledge(), jitter=10.0, seed=seed).values()) for seed in range(50)) > 0


def test_equal_costs_stand_in_a_drawn_order() -> None:
    orders = {
        tuple(production.steps for production in production_costs(Knowledge(), jitter=0.0, seed=seed))
        for seed in range(10)
    }
    assert len(orders) == 10


# --- attempts


def test_the_same_seed_gives_the_same_attempt(tasks: Tasks) -> None:
    assert len({attempt(tasks[0], Knowledge(), budget=700, jitter=0.5, seed=3) for _ in range(3)}) == 1


@pytest.mark.parametrize("jitter", [0.0, 0.5])
def test_another_seed_gives_another_search(tasks: Tasks, jitter: float) -> None:
    found = {
        attempt(tasks[0], Knowledge(), budget=700, jitter=jitter, seed=seed).candidates for seed in range(8)
    }
    assert len(found) > 4


def test_draws_differ_between_tasks(tasks: Tasks) -> None:
    # Tasks 0 and 8 have one program.
    assert tasks[0].program == tasks[8].program
    first, second = (attempt(tasks[at], Knowledge(), budget=700, jitter=0.5, seed=3) for at in (0, 8))
    assert first.candidates != second.candidates


def test_the_answer_and_the_hidden_pairs_are_not_looked_at(tasks: Tasks) -> None:
    blind = replace(tasks[0], program=(), concept=None, hidden=())
    for seed in range(5):
        assert attempt(blind, Knowledge(), budget=700, jitter=0.5, seed=seed) == attempt(
            tasks[0], Knowledge(), budget=700, jitter=0.5, seed=seed
        )


def test_attempts_leave_nothing_behind_that_a_later_one_could_use(tasks: Tasks) -> None:
    module._graphs.clear()
    alone = attempt(tasks[60], Knowledge(), budget=700, jitter=0.5, seed=1)
    for seed in range(2, 6):
        attempt(tasks[60], knowing(tasks[60].program), budget=700, jitter=0.5, seed=seed)
    assert attempt(tasks[60], Knowledge(), budget=700, jitter=0.5, seed=1) == alone


def test_two_tasks_with_one_id_do_not_mix(tasks: Tasks) -> None:
    other = replace(tasks[1], id=tasks[0].id)
    assert attempt(tasks[0], Knowledge(), budget=700, jitter=0.5, seed=1).program == tasks[0].program
    assert attempt(other, Knowledge(), budget=700, jitter=0.5, seed=1).program == tasks[1].program


def test_what_is_kept_between_attempts_is_bounded(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    module._graphs.clear()
    monkeypatch.setattr(module, "_MOST_GRAPHS", 3)
    for task in tasks[:6]:
        attempt(task, Knowledge(), budget=50, jitter=0.5, seed=1)
    assert list(module._graphs) == [task.digest for task in tasks[3:6]]
    monkeypatch.setattr(module, "_MOST_STATES", 20)
    attempt(tasks[5], Knowledge(), budget=200, jitter=0.0, seed=1)
    assert tasks[5].digest not in module._graphs


def test_the_default_budget_is_just_above_all_programs_of_two_steps(tasks: Tasks) -> None:
    # Without jitter every program of two steps is cheaper than any of three: 24 + 24 * 24 candidates.
    for task in tasks:
        if task.pool == "replay":
            found = attempt(task, Knowledge(), budget=600, jitter=0.0, seed=1)
            assert found.program is not None


def test_a_macro_brings_a_program_of_three_steps_within_reach(tasks: Tasks) -> None:
    heldout = [task for task in tasks if task.pool == "heldout"][:10]
    for task in heldout:
        assert task.concept is not None
        before = attempt(task, Knowledge(), budget=600, jitter=0.0, seed=1)
        after = attempt(task, knowing(task.concept), budget=650, jitter=0.0, seed=1)
        assert before.program is None
        assert after.program == task.program


# --- grading


def graded(*outputs: str) -> SynthTask:
    hidden = tuple(Pair("ab", output) for output in outputs)
    return SynthTask("t", "heldout", ("reverse",), None, (), hidden, "sha256:0")


def test_the_score_is_the_share_of_hidden_pairs_that_come_out_right() -> None:
    assert share_right(graded("ba", "ba", "ab", "x"), ("reverse",)) == 0.5


def test_no_program_scores_0() -> None:
    assert share_right(graded("ba"), None) == 0.0


def test_doing_nothing_is_a_program() -> None:
    assert share_right(graded("ab", "ba"), ()) == 0.5


def test_a_text_that_grew_too_long_is_wrong() -> None:
    assert share_right(graded("ba"), ("mirror",) * 20) == 0.0


def test_the_known_program_scores_1(tasks: Tasks) -> None:
    assert {share_right(task, task.program) for task in tasks} == {1.0}

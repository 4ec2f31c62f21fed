"""The adapter: tasks, splits, agents, attempts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sipbench import plugins
from sipbench.benchmarks.base import Agent, AttemptContext, Limits, Task
from sipbench.benchmarks.synth.benchmark import AGENT_NAME, SynthBenchmark, SynthOptions
from sipbench.benchmarks.synth.generate import SynthTask
from sipbench.benchmarks.synth.language import NAMES
from sipbench.benchmarks.synth.state import Weights, write_skill, write_weights
from sipbench.errors import ConfigError, EngineError, SplitError
from sipbench.protocol.digests import json_digest
from sipbench.protocol.manifest import Preregistered
from sipbench.protocol.rules import check_manifest
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status

Context = Callable[..., AttemptContext]


def run(
    benchmark: SynthBenchmark,
    task: Task,
    context: AttemptContext,
    path: PathType = PathType.FROZEN,
    seed: int = 1,
) -> Any:
    return benchmark.run(task, Phase.T0, path, seed, context=context)


def pool(benchmark: SynthBenchmark, name: str) -> list[Task]:
    return [task for task in benchmark.tasks() if task.metadata["pool"] == name]


# --- registration and options


def test_it_is_found_by_its_name() -> None:
    assert plugins.load("benchmarks", "synth") is SynthBenchmark


def test_options_have_defaults() -> None:
    assert SynthOptions().model_dump() == {"seed": 7, "adapt": 24, "heldout": 40, "replay": 40, "drift": 20}


@pytest.mark.parametrize(
    "options",
    [{"seed": -1}, {"seed": 2**63}, {"seed": "x"}, {"heldout": -1}, {"replay": 10_001}, {"held": 3}],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SynthOptions(**options)


# --- tasks


def test_tasks_are_those_of_the_generator(benchmark: SynthBenchmark, tasks: tuple[SynthTask, ...]) -> None:
    assert [(task.id, task.digest, task.family) for task in benchmark.tasks()] == [
        (task.id, task.digest, task.family) for task in tasks
    ]


def test_the_text_is_what_the_agent_sees(benchmark: SynthBenchmark, tasks: tuple[SynthTask, ...]) -> None:
    first = benchmark.tasks()[0]
    assert first.text is not None
    lines = first.text.split("\n")
    assert lines == [f"{pair.input} -> {pair.output}" for pair in tasks[0].shown]


def test_a_task_does_not_give_its_program_or_hidden_pairs_away(
    benchmark: SynthBenchmark, tasks: tuple[SynthTask, ...]
) -> None:
    for public, made in zip(benchmark.tasks(), tasks, strict=True):
        written = json.dumps([public.id, public.family, public.concept, public.text, dict(public.metadata)])
        assert not any(name in written for name in NAMES)
        assert not any(pair.input in written for pair in made.hidden)


def test_another_seed_makes_other_tasks(tmp_path: Path, benchmark: SynthBenchmark) -> None:
    other = SynthBenchmark(SynthOptions(seed=8), base=tmp_path)
    assert not {task.id for task in benchmark.tasks()} & {task.id for task in other.tasks()}


# --- splits


def test_every_split_is_filled_and_no_rule_is_broken(benchmark: SynthBenchmark) -> None:
    manifest = benchmark.splits(1, {})
    assert check_manifest(manifest) == []
    sizes = {
        split: len(manifest.tasks(split)) for split in (Split.ADAPT, Split.HELDOUT, Split.REPLAY, Split.DRIFT)
    }
    assert sizes == {Split.ADAPT: 48, Split.HELDOUT: 40, Split.REPLAY: 40, Split.DRIFT: 20}


def test_tasks_stand_in_the_split_they_were_made_for(benchmark: SynthBenchmark) -> None:
    pools = {task.id: task.metadata["pool"] for task in benchmark.tasks()}
    manifest = benchmark.splits(1, {})
    for name in ("adapt", "adapt_t2", "heldout", "replay", "drift"):
        assert {pools[entry.id] for entry in getattr(manifest, name)} == {name}


def test_entries_say_what_tasks_say(benchmark: SynthBenchmark) -> None:
    by_id = {task.id: task for task in benchmark.tasks()}
    for _, entry in benchmark.splits(1, {}).entries():
        task = by_id[entry.id]
        assert (entry.family, entry.concept, entry.digest) == (task.family, task.concept, task.digest)


def test_concepts_span_adapt_and_heldout_but_families_do_not(benchmark: SynthBenchmark) -> None:
    manifest = benchmark.splits(1, {})
    assert {entry.concept for entry in manifest.heldout} == {entry.concept for entry in manifest.adapt}
    assert not {entry.family for entry in manifest.heldout} & {
        entry.family for entry in manifest.tasks(Split.ADAPT)
    }


def test_the_replay_list_is_preregistered(benchmark: SynthBenchmark) -> None:
    manifest = benchmark.splits(1, {Split.REPLAY: 5})
    listed = json_digest([[entry.id, entry.digest] for entry in manifest.replay])
    assert manifest.replay_selection == Preregistered(list_digest=listed, declared_at="2026-12-01T00:00:00Z")


def test_drift_declares_what_changes(benchmark: SynthBenchmark) -> None:
    manifest = benchmark.splits(1, {})
    assert manifest.drift_changes == ("evidence", "policy")
    assert manifest.drift_note


def test_sizes_choose_among_the_tasks(benchmark: SynthBenchmark) -> None:
    full = benchmark.splits(1, {})
    some = benchmark.splits(1, {Split.HELDOUT: 7, Split.ADAPT: 6})
    assert (len(some.heldout), len(some.adapt), len(some.adapt_t2)) == (7, 6, 6)
    assert set(some.heldout) < set(full.heldout)
    assert some.replay == full.replay
    assert list(some.heldout) == sorted(some.heldout, key=lambda entry: entry.id)


def test_the_seed_decides_which_are_chosen(benchmark: SynthBenchmark) -> None:
    sizes = {Split.HELDOUT: 7}
    assert benchmark.splits(1, sizes) == benchmark.splits(1, sizes)
    assert len({benchmark.splits(seed, sizes).heldout for seed in range(5)}) == 5


def test_drift_may_be_left_out(benchmark: SynthBenchmark) -> None:
    assert benchmark.splits(1, {Split.DRIFT: 0}).drift == ()


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({Split.HELDOUT: 41}, r"heldout: 41 tasks wanted, 40 made; .*option 'heldout'"),
        ({Split.ADAPT: 25}, r"adapt: 25 tasks wanted, 24 made; .*option 'adapt'"),
        ({Split.REPLAY: -1}, "replay: -1 tasks wanted"),
        ({Split.SMOKE: 1}, "split 'smoke' has no tasks; sizes may name"),
    ],
)
def test_sizes_that_cannot_be_are_refused(
    benchmark: SynthBenchmark, sizes: dict[Split, int], reason: str
) -> None:
    with pytest.raises(SplitError, match=reason):
        benchmark.splits(1, sizes)


# --- agents


def test_the_agent_of_the_benchmark_is_accepted(benchmark: SynthBenchmark) -> None:
    for path in PathType:
        benchmark.check_agent(Agent(AGENT_NAME, arguments={"budget": 1, "jitter": 0}), path)


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (Agent("claude-code"), "unknown agent 'claude-code'; its only agent is 'enumerative-search'"),
        (
            Agent(AGENT_NAME, model="gpt-4o"),
            "agent 'enumerative-search' uses no model; remove 'gpt-4o'",
        ),
        (
            Agent(AGENT_NAME, arguments={"bugdet": 1}),
            "argument 'bugdet': no such argument, did you mean 'budget'",
        ),
        (Agent(AGENT_NAME, arguments={"budget": 0}), "argument 'budget': .* greater than or equal to 1"),
        (Agent(AGENT_NAME, arguments={"budget": True}), "argument 'budget'"),
        (Agent(AGENT_NAME, arguments={"budget": "700"}), "argument 'budget'"),
        (Agent(AGENT_NAME, arguments={"budget": 10**6 + 1}), "argument 'budget'"),
        (Agent(AGENT_NAME, arguments={"jitter": -1}), "argument 'jitter'"),
        (Agent(AGENT_NAME, arguments={"jitter": float("nan")}), "argument 'jitter'"),
        (Agent(AGENT_NAME, arguments={"jitter": float("inf")}), "argument 'jitter'"),
    ],
)
def test_an_agent_that_cannot_run_here_is_refused(
    benchmark: SynthBenchmark, agent: Agent, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        benchmark.check_agent(agent, PathType.FROZEN)
    assert "\n" not in str(caught.value)


# --- attempts


def test_a_solved_task_scores_1(benchmark: SynthBenchmark, context: Context) -> None:
    attempt = run(benchmark, pool(benchmark, "adapt")[0], context())
    assert (attempt.status, attempt.reward, attempt.success) == (Status.GRADED, 1.0, True)
    assert benchmark.normalize(attempt.reward) == 1.0


def test_a_search_that_finds_nothing_is_graded_0(benchmark: SynthBenchmark, context: Context) -> None:
    attempt = run(benchmark, pool(benchmark, "heldout")[0], context(budget=10))
    assert (attempt.status, attempt.reward, attempt.success) == (Status.GRADED, 0.0, False)
    assert attempt.error_type is None


def test_cost_is_candidates_as_tool_calls_and_time(benchmark: SynthBenchmark, context: Context) -> None:
    attempt = run(benchmark, pool(benchmark, "heldout")[0], context(budget=10))
    usage = attempt.usage
    assert usage.tool_calls_total == 10
    assert usage.wall_clock_seconds > 0
    assert attempt.usage_source == "engine"


def test_what_does_not_exist_here_is_unknown_and_not_0(benchmark: SynthBenchmark, context: Context) -> None:
    usage = run(benchmark, benchmark.tasks()[0], context()).usage
    assert {usage.token_input, usage.token_output, usage.token_total, usage.cost_usd} == {None}


def test_a_limit_on_tool_calls_lowers_the_budget(benchmark: SynthBenchmark, context: Context) -> None:
    task = pool(benchmark, "heldout")[0]
    assert run(benchmark, task, context(tool_calls=25)).usage.tool_calls_total == 25
    assert run(benchmark, task, context(tool_calls=25, budget=9)).usage.tool_calls_total == 9
    assert Agent(AGENT_NAME, limits=Limits(tool_calls=25)).digest != Agent(AGENT_NAME).digest


def test_the_oracle_is_handed_the_program(benchmark: SynthBenchmark, context: Context) -> None:
    for task in benchmark.tasks()[::10]:
        attempt = run(benchmark, task, context(), PathType.ORACLE)
        assert (attempt.reward, attempt.success, attempt.usage.tool_calls_total) == (1.0, True, 0)


def test_the_path_type_alone_changes_nothing(benchmark: SynthBenchmark, context: Context) -> None:
    task = benchmark.tasks()[0]
    paths = (PathType.FROZEN, PathType.EXTERNAL, PathType.PARAMETER)
    assert len({run(benchmark, task, context(), path).usage.tool_calls_total for path in paths}) == 1


def test_neither_phase_nor_arm_nor_split_reaches_the_agent(
    benchmark: SynthBenchmark, context: Context
) -> None:
    # What differs between phases is the seed that the study gives.
    task = benchmark.tasks()[0]
    found = {
        benchmark.run(task, phase, PathType.FROZEN, 5, context=context()).usage.tool_calls_total
        for phase in Phase
    }
    assert len(found) == 1


def test_the_output_is_the_answer_alone(benchmark: SynthBenchmark, context: Context) -> None:
    surroundings = context()
    run(benchmark, benchmark.tasks()[0], surroundings)
    assert [path.name for path in surroundings.workdir.iterdir()] == ["answer.json"]


def test_skills_are_read_from_the_state(
    benchmark: SynthBenchmark, context: Context, tasks: tuple[SynthTask, ...], tmp_path: Path
) -> None:
    task = pool(benchmark, "heldout")[0]
    made = next(one for one in tasks if one.id == task.id)
    assert made.concept is not None
    state = tmp_path / "state"
    write_skill(state, made.concept, 3)
    prose = state / "skills" / "prose" / "SKILL.md"
    prose.parent.mkdir()
    prose.write_text("Be careful.", encoding="utf-8")
    attempt = run(benchmark, task, context(state), PathType.EXTERNAL)
    assert attempt.reward == 1.0
    assert [ref.name for ref in attempt.skills_given] == sorted(
        ["-then-".join(made.concept).replace("_", "-"), "prose"]
    )
    assert [ref.name for ref in attempt.skills_opened] == ["-then-".join(made.concept).replace("_", "-")]
    assert run(benchmark, task, context(), PathType.EXTERNAL).reward == 0.0


def test_weights_are_read_from_the_state(
    benchmark: SynthBenchmark, context: Context, tasks: tuple[SynthTask, ...], tmp_path: Path
) -> None:
    task = pool(benchmark, "heldout")[0]
    made = next(one for one in tasks if one.id == task.id)
    write_weights(tmp_path, Weights.fitted(dict.fromkeys(made.program, 50), 1.0))
    attempt = run(benchmark, task, context(tmp_path), PathType.PARAMETER)
    assert attempt.reward == 1.0
    assert attempt.skills_given == ()


def test_without_a_state_no_skill_is_given(benchmark: SynthBenchmark, context: Context) -> None:
    attempt = run(benchmark, benchmark.tasks()[0], context())
    assert (attempt.skills_given, attempt.skills_opened) == ((), ())


def test_a_state_that_cannot_be_read_is_the_agents_own_doing(
    benchmark: SynthBenchmark, context: Context, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "weights.json").write_text("{", encoding="utf-8")
    attempt = run(benchmark, benchmark.tasks()[0], context(state), PathType.PARAMETER)
    assert (attempt.status, attempt.reward) == (Status.AGENT_ERROR, None)
    assert attempt.error_type == "AgentState"
    assert "weights.json: not JSON" in attempt.error_message


def test_a_state_that_changed_is_read_again(
    benchmark: SynthBenchmark, context: Context, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    task = benchmark.tasks()[0]
    write_skill(state, ("reverse", "mirror"), 2)
    assert len(run(benchmark, task, context(state)).skills_given) == 1
    write_skill(state, ("mirror", "reverse"), 2)
    assert len(run(benchmark, task, context(state)).skills_given) == 2


def test_the_state_is_not_changed(benchmark: SynthBenchmark, context: Context, tmp_path: Path) -> None:
    state = tmp_path / "state"
    write_skill(state, ("reverse", "mirror"), 2)
    before = context(state).state_digest
    run(benchmark, benchmark.tasks()[0], context(state))
    assert context(state).state_digest == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": "synth-7-heldout-9999"}, "synth-7-heldout-9999 does not exist with these benchmark options"),
        ({"digest": "sha256:" + "0" * 64}, "is another one with these benchmark options"),
    ],
)
def test_a_task_that_was_not_made_here_is_refused(
    benchmark: SynthBenchmark, context: Context, change: dict[str, Any], reason: str
) -> None:
    first = benchmark.tasks()[0]
    foreign = replace(first, **change)
    with pytest.raises(EngineError, match=reason):
        run(benchmark, foreign, context())

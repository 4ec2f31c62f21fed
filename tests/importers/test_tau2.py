"""tau2 results: only what was graded has a score, and only what was counted has a cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import ConfigError, RecordError
from sipbench.protocol.records import RunRecord, Usage
from sipbench.protocol.vocabulary import Status
from tests.importers.made import T1, read, tau2_results, tau2_simulation, write


@pytest.fixture
def one(tmp_path: Path) -> Callable[..., RunRecord]:
    def record(**changes: Any) -> RunRecord:
        path = write(tmp_path / "results.json", tau2_results(tau2_simulation(**changes)))
        (item,) = read("tau2", path)
        return item.record

    return record


def test_what_the_file_says_is_in_the_record(one: Callable[..., RunRecord]) -> None:
    record = one()
    assert (record.benchmark_name, record.benchmark_version) == ("tau2-bench", "abc123")
    assert (record.agent_name, record.model_name) == ("llm_agent", "gpt-x")
    assert (record.task_id, record.family) == ("airline:7", "airline:emma kim")
    assert (record.status, record.score, record.success) == (Status.GRADED, 1.0, True)
    assert record.attempt_seed == 99


def test_tokens_and_money_are_those_of_both_sides_without_the_fixed_greeting(
    one: Callable[..., RunRecord],
) -> None:
    record = one()
    assert (record.token_input, record.token_output, record.token_total) == (20, 4, 24)
    assert record.cost_usd == pytest.approx(0.03)
    assert record.tool_calls_total == 2
    assert record.wall_clock_seconds == 10.0


def test_one_message_of_unknown_cost_makes_the_sum_unknown(one: Callable[..., RunRecord]) -> None:
    messages = tau2_simulation()["messages"]
    messages[1]["usage"] = None
    record = one(messages=messages, user_cost=None)
    assert record.token_total is record.token_input is record.cost_usd is None


def test_a_greeting_that_a_model_wrote_must_be_counted(one: Callable[..., RunRecord]) -> None:
    messages = tau2_simulation()["messages"]
    messages[0]["generation_time_seconds"] = 1.0
    assert one(messages=messages).token_total is None


@pytest.mark.parametrize(
    "end", ["max_steps", "timeout", "too_many_errors", "agent_error", "context_window_exceeded"]
)
def test_what_the_agent_caused_is_an_agent_error(one: Callable[..., RunRecord], end: str) -> None:
    record = one(termination_reason=end, reward_info={"reward": 0.0, "reward_basis": None})
    assert (record.status, record.score, record.error_type) == (Status.AGENT_ERROR, None, end)


@pytest.mark.parametrize(
    "end", ["user_error", "infrastructure_error", "unexpected_error", "something_new", None, 7]
)
def test_all_else_is_an_infrastructure_error(one: Callable[..., RunRecord], end: Any) -> None:
    record = one(termination_reason=end, reward_info=None)
    assert (record.status, record.score) == (Status.INFRASTRUCTURE_ERROR, None)


def test_a_simulation_that_never_ran_cost_nothing_that_is_known(one: Callable[..., RunRecord]) -> None:
    info = {"error": "boom", "error_type": "RateLimitError", "failed_after_attempts": 4}
    record = one(
        termination_reason="infrastructure_error",
        messages=[],
        reward_info=None,
        duration=0.0,
        agent_cost=None,
        user_cost=None,
        info=info,
    )
    assert (record.error_type, record.error_message) == ("RateLimitError", "boom")
    assert all(getattr(record, name) is None for name in Usage.model_fields)
    assert record.usage_source is None


@pytest.mark.parametrize("reward_info", [None, {}, {"reward": None}, {"reward": 2}, {"reward": float("nan")}])
def test_a_stop_without_a_valid_reward_is_a_verifier_error(
    one: Callable[..., RunRecord], reward_info: Any
) -> None:
    record = one(reward_info=reward_info)
    assert (record.status, record.score) == (Status.VERIFIER_ERROR, None)


def test_a_task_without_criteria_was_never_verified(tmp_path: Path) -> None:
    document = tau2_results(tau2_simulation())
    document["tasks"][0]["evaluation_criteria"] = None
    (item,) = read("tau2", write(tmp_path / "results.json", document))
    assert item.record.status is Status.VERIFIER_ERROR
    assert "nothing was verified" in str(item.record.error_message)


def test_a_time_without_a_zone_is_left_out(one: Callable[..., RunRecord]) -> None:
    assert one().started_at is None
    record = one(start_time="2026-05-01T10:00:00+02:00", end_time="2026-05-01T08:00:10Z")
    assert record.started_at == "2026-05-01T08:00:00.000Z"


def test_the_digest_follows_the_policy_too(tmp_path: Path) -> None:
    document = tau2_results(tau2_simulation())
    (before,) = read("tau2", write(tmp_path / "results.json", document))
    document["info"]["environment_info"]["policy"] = "Be strict."
    (after,) = read("tau2", write(tmp_path / "results.json", document))
    assert before.record.task_digest != after.record.task_digest


@pytest.mark.parametrize(
    ("known", "family"),
    [
        ("Your user id is emma_kim_9957.", "airline:emma kim"),
        ("You are Emma Kim in zip code 12345.", "airline:emma kim"),
    ],
)
def test_a_user_is_one_family_by_id_or_by_name(tmp_path: Path, known: str, family: str) -> None:
    document = tau2_results(tau2_simulation())
    document["tasks"][0]["user_scenario"]["instructions"] = {"known_info": known}
    (item,) = read("tau2", write(tmp_path / "results.json", document))
    assert item.record.family == family


def test_tasks_of_one_scenario_are_one_family(tmp_path: Path) -> None:
    document = tau2_results(tau2_simulation(), tau2_simulation(id="sim-2", task_id="8"))
    scenario = {"instructions": {"known_info": "Your phone has no signal."}}
    document["tasks"] = [{"id": "7", "user_scenario": scenario}, {"id": "8", "user_scenario": scenario}]
    first, second = read("tau2", write(tmp_path / "results.json", document))
    assert first.record.family == second.record.family


def folder_of(tmp_path: Path, *simulations: dict[str, Any], index: list[str] | None = None) -> Path:
    (tmp_path / "run" / "simulations").mkdir(parents=True)
    entries = None if index is None else [{"id": name, "task_id": "7", "trial": 0} for name in index]
    write(tmp_path / "run" / "results.json", tau2_results(simulation_index=entries))
    for simulation in simulations:
        write(tmp_path / "run" / "simulations" / f"{simulation['id']}.json", simulation)
    return tmp_path / "run"


def test_a_folder_with_one_file_per_simulation_is_read(tmp_path: Path) -> None:
    path = folder_of(
        tmp_path, tau2_simulation(), tau2_simulation(id="sim-2", trial=1), index=["sim-1", "sim-2"]
    )
    assert [item.record.attempt_index for item in read("tau2", path)] == [0, 1]
    assert len(read("tau2", path / "results.json")) == 2


def test_a_folder_that_lost_a_simulation_is_an_error(tmp_path: Path) -> None:
    path = folder_of(tmp_path, tau2_simulation(), index=["sim-1", "sim-2"])
    with pytest.raises(RecordError, match=r"does not hold what results.json lists: sim-2.json"):
        read("tau2", path)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "not a tau2 result file"),
        ({"simulations": []}, "domain_name: expected the name"),
        (tau2_results(), "holds no simulations"),
        (tau2_results(simulations=7), "simulations: expected a list"),
        (tau2_results(tasks={}), "tasks: expected a list"),
        (tau2_results(tau2_simulation(task_id="9")), "task_id: '9' is not among the tasks"),
        (tau2_results(tau2_simulation(task_id=None)), "task_id: None is not among the tasks"),
        (tau2_results(tau2_simulation(trial="x")), "trial: expected an integer"),
        (tau2_results("x"), "simulation 0: expected an object"),  # type: ignore[arg-type]
        (tau2_results(tau2_simulation(), tau2_simulation()), "task 7 trial 0 was already simulation sim-1"),
    ],
)
def test_what_is_no_result_file_is_one_clear_line(tmp_path: Path, document: Any, reason: str) -> None:
    with pytest.raises(RecordError, match=reason) as caught:
        read("tau2", write(tmp_path / "results.json", document))
    assert "\n" not in str(caught.value)


def test_a_binding_may_not_contradict_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "results.json", tau2_results(tau2_simulation()))
    with pytest.raises(ConfigError, match="model: the file says 'gpt-x', the binding 'gpt-y'"):
        read("tau2", path, T1.model_copy(update={"model": "gpt-y"}))


def test_the_results_of_a_real_run_are_read(shared_data: Callable[..., Path]) -> None:
    items = read("tau2", shared_data("tau", "tau2_results_sample.json"))
    assert [item.record.task_id for item in items] == ["airline:0", "airline:1", "airline:2"]
    assert [item.record.score for item in items] == [1.0, 1.0, 1.0]
    assert [item.record.tool_calls_total for item in items] == [0, 2, 3]
    # Scripted agents: nothing was paid, and nobody said so.
    assert all(item.record.token_total is item.record.cost_usd is None for item in items)
    assert [item.record.family for item in items] == [
        "airline:emma kim",
        "airline:raj sanchez",
        "airline:noah muller",
    ]

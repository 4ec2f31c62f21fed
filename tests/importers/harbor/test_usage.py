"""Tokens, money, tool calls and durations: unknown is null, and a sum with an unknown part is unknown."""

from __future__ import annotations

from pathlib import Path

from sipbench.importers.harbor.usage import phase_seconds, usage_of
from sipbench.protocol.records import Usage
from tests.importers.harbor.made import result, shell, step, trajectory, trial


def test_tokens_and_money_are_what_the_agent_reported(tmp_path: Path) -> None:
    usage = usage_of(trial(tmp_path))
    assert (usage.token_input, usage.token_output, usage.token_total) == (900, 50, 950)
    assert usage.cost_usd == 0.25


def test_what_nobody_reported_is_null(tmp_path: Path) -> None:
    assert usage_of(trial(tmp_path, result(agent_result=None))) == Usage()
    silent = {"n_input_tokens": None, "n_output_tokens": 12, "cost_usd": None}
    usage = usage_of(trial(tmp_path, result(agent_result=silent)))
    assert (usage.token_input, usage.token_output, usage.token_total, usage.cost_usd) == (
        None,
        12,
        None,
        None,
    )


def test_zero_tokens_of_an_agent_without_a_parser_are_unknown(tmp_path: Path) -> None:
    # hezo-ai/hezo#150.
    nothing = {"n_input_tokens": 0, "n_output_tokens": 0, "cost_usd": 0.0}
    usage = usage_of(trial(tmp_path, result(agent_result=nothing), did=trajectory(shell("ls"))))
    assert (usage.token_total, usage.cost_usd) == (None, None)


def test_zero_tokens_are_a_measurement_where_no_model_was_called(tmp_path: Path) -> None:
    nothing = {"n_input_tokens": 0, "n_output_tokens": 0, "cost_usd": 0.0}
    did = trajectory(shell("ls"))
    for taken in did["steps"][1:]:
        taken["llm_call_count"] = 0
    usage = usage_of(trial(tmp_path, result(agent_result=nothing), did=did))
    assert (usage.token_total, usage.cost_usd) == (0, 0.0)


def test_steps_are_summed(tmp_path: Path) -> None:
    document = result(agent_result=None, step_results=[step("one"), step("two")])
    usage = usage_of(trial(tmp_path, document))
    assert (usage.token_input, usage.token_output, usage.cost_usd) == (20, 2, 1.0)


def test_a_step_that_says_nothing_makes_the_sum_unknown(tmp_path: Path) -> None:
    document = result(agent_result=None, step_results=[step("one"), step("two", agent_result=None)])
    assert usage_of(trial(tmp_path, document)).token_total is None


def test_numbers_that_are_none_are_unknown(tmp_path: Path) -> None:
    wrong = {"n_input_tokens": "900", "n_output_tokens": -1, "cost_usd": float("nan")}
    usage = usage_of(trial(tmp_path, result(agent_result=wrong)))
    assert (usage.token_input, usage.token_output, usage.cost_usd) == (None, None, None)


def test_tool_calls_are_counted_with_those_of_subagents_and_without_copied_context(tmp_path: Path) -> None:
    copied = {"step_id": 9, "source": "agent", "is_copied_context": True, "tool_calls": [shell("x")] * 5}
    inner = trajectory(shell("a"), shell("b"))
    did = trajectory(shell("c"), subagent_trajectories=[inner])
    did["steps"].append(copied)
    assert usage_of(trial(tmp_path, did=did)).tool_calls_total == 3


def test_without_a_trajectory_tool_calls_are_unknown(tmp_path: Path) -> None:
    assert usage_of(trial(tmp_path)).tool_calls_total is None
    silent = trajectory()
    silent["steps"].append({"step_id": 2, "source": "agent", "message": "done"})
    assert usage_of(trial(tmp_path, did=silent)).tool_calls_total is None


def test_a_trajectory_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    trial(tmp_path, did=trajectory(shell("x")))
    (tmp_path / "agent" / "trajectory.json").write_text("{torn", encoding="utf-8")
    assert usage_of(trial(tmp_path)).tool_calls_total is None


def test_durations_are_kept_for_each_phase(tmp_path: Path) -> None:
    assert phase_seconds(trial(tmp_path)) == {
        "environment_setup": 1.0,
        "agent_setup": 1.0,
        "agent_execution": 4.0,
        "verifier": 2.0,
    }

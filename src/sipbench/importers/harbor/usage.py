"""What a trial consumed. Unknown is null: a sum with an unknown part is unknown.

Tokens and money are what the agent said of itself; Harbor passes it on. Several agents for which no
parser exists report 0: a model that was called has read more than nothing, so that 0 is believed only
where the trajectory says that no model was called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sipbench.importers.files import integer, number
from sipbench.importers.harbor.trial import TrialFiles, moment, table
from sipbench.protocol.records import Usage

__all__ = ["agent_steps", "phase_seconds", "tool_calls", "usage_of"]

_PHASES = ("environment_setup", "agent_setup", "agent_execution", "verifier")
_DEEPEST = 16


def usage_of(trial: TrialFiles) -> Usage:
    """Tokens, money and tool calls of a trial; the wall-clock time is the caller's to know."""
    contexts = _contexts(trial)
    read, written = _total(contexts, "n_input_tokens"), _total(contexts, "n_output_tokens")
    cost = _cost(contexts)
    if read == written == 0 and not _called_no_model(trial):
        read = written = None
        cost = cost or None
    total = None if read is None or written is None else read + written
    return Usage(
        token_input=read,
        token_output=written,
        token_total=total,
        tool_calls_total=tool_calls(trial),
        cost_usd=cost,
    )


def _contexts(trial: TrialFiles) -> list[Mapping[str, Any]]:
    """What the agent reported, per step where the task has steps; an empty one where it did not."""
    own = trial.result.get("agent_result")
    if isinstance(own, dict):
        return [own]
    ran = [step for step in trial.steps if step.get("agent_execution") is not None]
    return [table(step.get("agent_result")) for step in ran]


def _total(contexts: list[Mapping[str, Any]], name: str) -> int | None:
    counts = [integer(context.get(name)) for context in contexts]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _cost(contexts: list[Mapping[str, Any]]) -> float | None:
    amounts = [number(context.get("cost_usd")) for context in contexts]
    known = [amount for amount in amounts if amount is not None and amount >= 0]
    return sum(known) if known and len(known) == len(amounts) else None


def _called_no_model(trial: TrialFiles) -> bool:
    """Whether the trajectory says of every step of the agent that it is no model's."""
    steps = list(agent_steps(trial))
    return bool(steps) and all(step.get("llm_call_count") == 0 for step in steps)


def agent_steps(trial: TrialFiles) -> Iterator[Mapping[str, Any]]:
    """Every step that the agent or a subagent took, once; context copied from elsewhere is left out."""
    for trajectory in trial.trajectories or ():
        yield from _steps(trajectory, 0)


def _steps(trajectory: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    steps, below = trajectory.get("steps"), trajectory.get("subagent_trajectories")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict) and step.get("source") == "agent" and not step.get("is_copied_context"):
            yield step
    if depth < _DEEPEST:
        for inner in below if isinstance(below, list) else ():
            yield from _steps(table(inner), depth + 1)


def tool_calls(trial: TrialFiles) -> int | None:
    """Calls of tools in the trajectory; None where there is no trajectory, or it records none at all."""
    steps = list(agent_steps(trial))
    if not any("tool_calls" in step for step in steps):
        return None
    calls = (step.get("tool_calls") for step in steps)
    return sum(len(made) for made in calls if isinstance(made, list))


def phase_seconds(trial: TrialFiles) -> dict[str, float]:
    """How long each phase took, seconds; the agent's and the verifier's are summed over steps."""
    found: dict[str, float] = {}
    for level in (trial.result, *trial.steps):
        for phase in _PHASES:
            times = table(level.get(phase))
            begin, end = moment(times.get("started_at")), moment(times.get("finished_at"))
            if begin is not None and end is not None and end >= begin:
                found[phase] = round(found.get(phase, 0.0) + (end - begin).total_seconds(), 3)
    return found

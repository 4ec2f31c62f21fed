"""From what a trial came to, to an attempt as a study records it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sipbench.benchmarks.base import Attempt
from sipbench.benchmarks.harbor.state import AgentState
from sipbench.benchmarks.harbor.trial import NOT_EXPOSED, Ran, Setup
from sipbench.importers.harbor.exposure import opened_skills
from sipbench.importers.harbor.importer import details
from sipbench.importers.harbor.outcome import Grading, Outcome, outcome_of
from sipbench.importers.harbor.trial import table, text
from sipbench.importers.harbor.usage import usage_of
from sipbench.protocol.records import Usage
from sipbench.protocol.vocabulary import Status

__all__ = ["attempt_of"]


def attempt_of(ran: Ran, setup: Setup, state: AgentState, grading: Grading, *, seed: int | None) -> Attempt:
    """Read an attempt off a trial.

    Args:
        ran: The trial.
        setup: How it was set up.
        state: The agent state it ran with.
        grading: How its reward is read.
        seed: What the agent was given as its seed; None if it was given none.
    """
    outcome = _with_exposure(outcome_of(ran.files, grading), ran, state)
    usage = usage_of(ran.files)
    return Attempt(
        status=outcome.status,
        reward=outcome.reward,
        usage=usage,
        usage_source="agent" if usage != Usage() else None,
        error_type=outcome.error_type,
        error_message=outcome.error_message,
        skills_given=ran.given,
        skills_opened=ran.opened if setup.serving else opened_skills(ran.files, ran.given),
        metadata={"harbor": {**details(ran.files, outcome), **_exposure(ran, setup, state)}},
        overrides=_who(ran, setup, seed),
    )


def _with_exposure(outcome: Outcome, ran: Ran, state: AgentState) -> Outcome:
    """An agent that did not have what its arm is to have made no attempt of that arm."""
    broken = ran.refused
    if broken is None and outcome.status.is_graded and ran.given is None and not state.nothing:
        broken = "the attempt was graded, but nobody saw that the agent was given its skills"
    if broken is None:
        return outcome
    return replace(
        outcome,
        status=Status.INFRASTRUCTURE_ERROR,
        reward=None,
        error_type=NOT_EXPOSED,
        error_message=broken,
    )


def _exposure(ran: Ran, setup: Setup, state: AgentState) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if setup.serving:
        found["skills_by"] = "mcp"
    elif setup.skills:
        found["skills_by"] = "harbor" if setup.injected else "image"
    if state.placed:
        found["placed"] = [{"place": str(item.place), "digest": item.digest} for item in state.placed]
    return found


def _who(ran: Ran, setup: Setup, seed: int | None) -> dict[str, Any]:
    """What the trial knows better than the plan: the agent that ran, its version, its model, its seed."""
    info = table(ran.files.result.get("agent_info"))
    found: dict[str, Any] = {"attempt_seed": seed}
    for field, name in (("agent_name", "name"), ("agent_version", "version")):
        value = text(info.get(name))
        if value is not None:
            found[field] = value
    if setup.agent.model_name:
        found["model_name"] = setup.agent.model_name
    return found

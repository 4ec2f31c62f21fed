"""tau2-bench (sierra-research/tau2-bench, `tau2` 1.0): `results.json`, alone or with its simulations.

What the file says, and what becomes of it:

- Only ``user_stop`` and ``agent_stop`` are graded. Other ends carry a reward of 0.0 that no grader gave:
  limits and errors of the agent become ``agent_error``, all else ``infrastructure_error``.
- A task without evaluation criteria is given 1.0 by the benchmark: nothing was verified.
- Tokens and money are those of the agent and the simulated user, who are both paid for; null as soon as
  one message does not say what it cost. The fixed greeting costs nothing: no model writes it.
- Times carry no time zone and are left out; ``duration`` is the wall-clock time.
- The family of a task is its user (airline, retail), else its scenario (telecom, where many tasks share
  one): upstream splits put the same users and scenarios on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sipbench.errors import ConfigError, RecordError
from sipbench.importers.base import Binding, Imported, Importer, Place
from sipbench.importers.files import integer, number, read_json, shortened, unit_reward
from sipbench.importers.records import SOLVED, bound_record
from sipbench.importers.trials import TrialOptions, Trials
from sipbench.protocol.digests import json_digest
from sipbench.protocol.records import RunRecord, Usage, timestamp
from sipbench.protocol.vocabulary import Status

__all__ = ["Tau2Importer"]

_GRADED = {"user_stop", "agent_stop"}
_OF_THE_AGENT = {"max_steps", "timeout", "too_many_errors", "agent_error", "context_window_exceeded"}
_CONTENT = (
    "user_scenario",
    "ticket",
    "initial_state",
    "evaluation_criteria",
    "required_documents",
    "user_tools",
)
_USER_ID = re.compile(r"\b([a-z]+)_([a-z]+)_\d{4}\b")
_USER_NAME = re.compile(r"\b(?:You are|[Yy]our name is) ([A-Z][a-z]+) ([A-Z][a-z]+)\b")


@dataclass(frozen=True, slots=True)
class _Run:
    """What a file says of all of its simulations."""

    domain: str
    version: str | None
    model: str | None
    agent: str | None
    policy: Any
    tasks: Mapping[str, Mapping[str, Any]]


class Tau2Importer(Importer):
    """Reads the results of a tau2 run: the file, or the folder that holds it."""

    Options = TrialOptions
    options: TrialOptions

    def read(self, path: Path, binding: Binding) -> Iterator[Imported]:
        """Yield one attempt per simulation."""
        place = Place.of(binding)
        file = path / "results.json" if path.is_dir() else path
        document = read_json(file)
        if not isinstance(document, dict) or not {"simulations", "tasks"} & document.keys():
            raise RecordError(
                f"{file}: not a tau2 result file: expected an object with tasks and simulations"
            )
        run = _run(file, document)
        _agree(file, "model", run.model, binding.model)
        _agree(file, "agent", run.agent, binding.agent)
        simulations = [_checked(file, run, index, item) for index, item in _simulations(file, document)]
        rows = [(item["task_id"], item["trial"], f"simulation {item['id']}") for item in simulations]
        trials = Trials.of(file, rows, self.options)
        for simulation in simulations:
            slot = trials.place(simulation["trial"], place)
            if slot is not None:
                task = run.tasks[simulation["task_id"]]
                record = _record(file, run, task, simulation, place, slot)
                yield Imported(record, _text(task), {}, simulation.get("messages") or None)


def _agree(file: Path, what: str, stated: str | None, bound: str | None) -> None:
    if stated is not None and bound not in (None, stated):
        raise ConfigError(f"{file}: {what}: the file says {stated!r}, the binding {bound!r}; leave it out")


def _run(file: Path, document: Mapping[str, Any]) -> _Run:
    info = _mapping(document.get("info"))
    environment, agent = _mapping(info.get("environment_info")), _mapping(info.get("agent_info"))
    domain = environment.get("domain_name")
    if not isinstance(domain, str) or not domain:
        raise RecordError(f"{file}: info.environment_info.domain_name: expected the name of the domain")
    commit = info.get("git_commit")
    tasks = document.get("tasks")
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise RecordError(f"{file}: tasks: expected a list of tasks")
    return _Run(
        domain=domain,
        version=commit if isinstance(commit, str) and commit not in ("", "none", "unknown") else None,
        model=_name(agent.get("llm")),
        agent=_name(agent.get("implementation")),
        policy=environment.get("policy"),
        tasks={str(task.get("id")): task for task in tasks},
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _simulations(file: Path, document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The simulations with their place: in the file itself, or one file each in the folder beside it."""
    held = document.get("simulations") or []
    if not isinstance(held, list):
        raise RecordError(f"{file}: simulations: expected a list")
    folder = file.parent / "simulations"
    if held or not folder.is_dir():
        if not held:
            raise RecordError(f"{file}: holds no simulations, and there is no folder of them beside it")
        yield from ((f"simulation {index}", item) for index, item in enumerate(held))
        return
    files = sorted(folder.glob("*.json"))
    index = document.get("simulation_index")
    if isinstance(index, list):
        listed = {str(entry.get("id")) for entry in index if isinstance(entry, dict)}
        odd = listed ^ {each.stem for each in files}
        if odd:
            raise RecordError(f"{folder}: does not hold what {file.name} lists: {sorted(odd)[0]}.json")
    yield from ((each.name, read_json(each)) for each in files)


def _checked(file: Path, run: _Run, place: str, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise RecordError(f"{file}: {place}: expected an object")
    task_id = item.get("task_id")
    known = str(task_id) if isinstance(task_id, str | int) and not isinstance(task_id, bool) else None
    if known not in run.tasks:
        raise RecordError(f"{file}: {place}: task_id: {shortened(repr(task_id))} is not among the tasks")
    trial = 0 if item.get("trial") is None else integer(item["trial"])
    if trial is None:
        found = shortened(repr(item["trial"]))
        raise RecordError(f"{file}: {place}: trial: expected an integer, found {found}")
    return {**item, "task_id": known, "trial": trial, "id": str(item.get("id", place))}


def _record(
    file: Path,
    run: _Run,
    task: Mapping[str, Any],
    simulation: Mapping[str, Any],
    place: Place,
    slot: tuple[int, int],
) -> RunRecord:
    basis = _mapping(simulation.get("reward_info")).get("reward_basis")
    return bound_record(
        "tau2",
        f"{file}: simulation {simulation['id']}",
        place,
        slot,
        task_id=f"{run.domain}:{simulation['task_id']}",
        usage=_usage(simulation),
        outcome=_outcome(task, simulation),
        benchmark_name="tau2-bench",
        benchmark_version=run.version,
        model_name=run.model or place.model,
        agent_name=run.agent or place.agent,
        task_digest=_digest(file, run, simulation["task_id"], task),
        family=f"{run.domain}:{_family(task)}",
        attempt_seed=integer(simulation.get("seed")),
        started_at=_moment(simulation.get("start_time")),
        finished_at=_moment(simulation.get("end_time")),
        metadata={
            "source": {"file": file.name, "simulation": simulation["id"], "trial": simulation["trial"]},
            "termination_reason": shortened(simulation.get("termination_reason")),
            "reward_basis": [shortened(part) for part in basis] if isinstance(basis, list) else None,
            "agent_cost": number(simulation.get("agent_cost")),
            "user_cost": number(simulation.get("user_cost")),
        },
    )


def _outcome(task: Mapping[str, Any], simulation: Mapping[str, Any]) -> dict[str, Any]:
    end = simulation.get("termination_reason")
    if not isinstance(end, str) or end not in _GRADED:
        info = _mapping(simulation.get("info"))
        mine = isinstance(end, str) and end in _OF_THE_AGENT
        return {
            "status": Status.AGENT_ERROR if mine else Status.INFRASTRUCTURE_ERROR,
            "error_type": shortened(info.get("error_type") or end) or "UnknownEnd",
            "error_message": shortened(info.get("error")) or f"the simulation ended with {shortened(end)}",
        }
    reward, wrong = unit_reward(_mapping(simulation.get("reward_info")).get("reward"))
    if task.get("evaluation_criteria") is None:
        wrong = "the task has no evaluation criteria, so nothing was verified"
    if reward is None or wrong is not None:
        return {"status": Status.VERIFIER_ERROR, "error_type": "InvalidReward", "error_message": wrong}
    return {"status": Status.GRADED, "score": reward, "reward": reward, "success": reward >= SOLVED}


def _usage(simulation: Mapping[str, Any]) -> Usage:
    messages = simulation.get("messages")
    held = (
        [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    )
    tokens = _tokens(held)
    costs = [number(simulation.get(side)) for side in ("agent_cost", "user_cost")]
    known = [cost for cost in costs if cost is not None and cost >= 0]
    duration = number(simulation.get("duration"))
    return Usage(
        token_input=tokens[0] if tokens else None,
        token_output=tokens[1] if tokens else None,
        token_total=sum(tokens) if tokens else None,
        tool_calls_total=_tool_calls(held) if held else None,
        # A simulation that never started has the duration 0.0: nobody measured it.
        wall_clock_seconds=duration if duration is not None and duration > 0 else None,
        cost_usd=sum(known) if len(known) == len(costs) else None,
    )


def _tokens(messages: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
    total_in = total_out = 0
    paid = [message for message in messages if message.get("role") in ("assistant", "user")]
    for index, message in enumerate(paid):
        if index == 0 and _is_greeting(message):
            continue
        usage = _mapping(message.get("usage"))
        read, written = integer(usage.get("prompt_tokens")), integer(usage.get("completion_tokens"))
        if read is None or written is None:
            return None
        total_in, total_out = total_in + read, total_out + written
    return (total_in, total_out) if paid else None


def _is_greeting(message: Mapping[str, Any]) -> bool:
    return (
        message.get("role") == "assistant"
        and message.get("cost") == 0.0
        and message.get("usage") is None
        and message.get("generation_time_seconds") is None
        and not message.get("tool_calls")
    )


def _tool_calls(messages: Sequence[Mapping[str, Any]]) -> int:
    made = [message.get("tool_calls") for message in messages if message.get("role") == "assistant"]
    return sum(len(calls) for calls in made if isinstance(calls, list))


def _digest(file: Path, run: _Run, task_id: str, task: Mapping[str, Any]) -> str:
    shown = {field: task[field] for field in _CONTENT if task.get(field) is not None}
    try:
        return json_digest({"domain": run.domain, "policy": run.policy, "task": shown})
    except ValueError as error:
        raise RecordError(f"{file}: task {task_id}: {error}") from None


def _family(task: Mapping[str, Any]) -> str:
    text = _text(task) or ""
    name = _USER_ID.search(text) or _USER_NAME.search(text)
    if name:
        return f"{name.group(1)} {name.group(2)}".lower()
    return json_digest(task.get("user_scenario")).removeprefix("sha256:")[:16]


def _text(task: Mapping[str, Any]) -> str | None:
    instructions = _mapping(task.get("user_scenario")).get("instructions")
    if isinstance(instructions, dict):
        parts = [value for key, value in instructions.items() if key != "domain" and isinstance(value, str)]
        return "\n".join(parts) or None
    return instructions if isinstance(instructions, str) else None


def _moment(value: Any) -> str | None:
    """A time that carries its zone; one without it could be hours off, and is left out."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo is None else timestamp(moment)

"""Result files as tau-bench and tau2 write them, made small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sipbench.importers.base import Binding, Imported
from sipbench.importers.job import make_importer

POLICY = "# Retail agent policy\n\nAs a retail agent, you can help users ..."
UNTOUCHED, CHANGED = "a" * 64, "b" * 64
T1 = Binding.model_validate({"phase": "T1", "split": "heldout", "arm": "learner"})


def tau_task(number: int = 0, **changes: Any) -> dict[str, Any]:
    task = {
        "user_id": f"user_{number // 2}",
        "actions": [{"name": "cancel", "kwargs": {"order": number}}],
        "instruction": f"You want to cancel order {number}.",
        "outputs": [],
    }
    return {**task, **changes}


def tau_item(task_id: int = 0, trial: int = 0, reward: Any = 1.0, **changes: Any) -> dict[str, Any]:
    traj = [
        {"role": "system", "content": POLICY},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "{}"},
        {"role": "assistant", "content": "done", "tool_calls": None},
    ]
    graded = {"reward": reward, "info": {"r_actions": reward, "gt_data_hash": CHANGED}, "actions": []}
    info = {"task": tau_task(task_id), "source": "user", "user_cost": 0.01, "reward_info": graded}
    return {"task_id": task_id, "trial": trial, "reward": reward, "info": info, "traj": traj, **changes}


def tau_crash(task_id: int = 0, trial: int = 0, **info: Any) -> dict[str, Any]:
    """What tau-bench writes after an exception."""
    traceback = (
        "Traceback (most recent call last):\n  File ...\nlitellm.exceptions.RateLimitError: slow\n  down"
    )
    crashed = {"error": "slow\n  down", "traceback": traceback, **info}
    return {"task_id": task_id, "trial": trial, "reward": 0.0, "info": crashed, "traj": []}


def tau2_results(*simulations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    scenario = {"instructions": {"domain": "airline", "known_info": "You are Emma Kim (emma_kim_9957)."}}
    criteria = {"actions": [], "reward_basis": ["DB"]}
    document = {
        "info": {
            "git_commit": "abc123",
            "agent_info": {"implementation": "llm_agent", "llm": "gpt-x"},
            "environment_info": {"domain_name": "airline", "policy": "Be kind."},
        },
        "tasks": [{"id": "7", "user_scenario": scenario, "evaluation_criteria": criteria}],
        "simulations": list(simulations),
    }
    return {**document, **changes}


def tau2_simulation(**changes: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    simulation = {
        "id": "sim-1",
        "task_id": "7",
        "trial": 0,
        "seed": 99,
        "start_time": "2026-05-01T10:00:00.5",
        "end_time": "2026-05-01T10:00:10.5",
        "duration": 10.0,
        "termination_reason": "user_stop",
        "agent_cost": 0.02,
        "user_cost": 0.01,
        "reward_info": {"reward": 1.0, "reward_basis": ["DB"]},
        "messages": [
            {"role": "assistant", "content": "Hi!", "cost": 0.0, "usage": None},
            {"role": "user", "content": "Hello", "cost": 0.01, "usage": usage},
            {"role": "assistant", "tool_calls": [{"name": "a"}, {"name": "b"}], "cost": 0.02, "usage": usage},
            {"role": "tool", "content": "{}"},
        ],
    }
    return {**simulation, **changes}


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def read(kind: str, path: Path, binding: Binding = T1, **options: Any) -> list[Imported]:
    return list(make_importer(kind, options).read(path, binding))

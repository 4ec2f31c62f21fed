"""Trees of results as Harbor 0.26 writes them, made small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sipbench.importers.base import Binding, Imported
from sipbench.importers.harbor.outcome import Grading, Outcome, outcome_of
from sipbench.importers.harbor.trial import TrialFiles, read_trial
from sipbench.importers.job import make_importer

PLACE = Binding.model_validate({"phase": "T1", "split": "heldout", "arm": "learner"})
DIGEST = "sha256:" + "1" * 64
SKILL = {"name": "csv", "source": "/somewhere/csv", "digest": "sha256:" + "2" * 64}
OTHER_SKILL = {"name": "sql", "source": "/somewhere/sql", "digest": "sha256:" + "3" * 64}


def at(second: float) -> str:
    return f"2026-11-02T10:00:{second:06.3f}Z"


def phase(begin: float, end: float) -> dict[str, str]:
    return {"started_at": at(begin), "finished_at": at(end)}


def exception(name: str, second: float = 5.0, message: str = "it broke", **policy: bool) -> dict[str, Any]:
    return {
        "exception_type": name,
        "exception_message": message,
        "exception_traceback": "Traceback ...",
        "occurred_at": at(second),
        "policy": {"should_retry": True, "should_grade": True, "has_valid_reward": True, **policy},
    }


def result(task: str = "fix-csv", rewards: Any = None, **changes: Any) -> dict[str, Any]:
    """A trial's result; ``rewards`` is what the verifier issued, by default {"reward": 1.0}."""
    issued = {"reward": 1.0} if rewards is None else rewards
    document = {
        "schema_version": 1,
        "id": "66db00cd-f062-4286-927b-8309f4f3a18b",
        "task_name": task,
        "trial_name": f"{task}__abc1234",
        "trial_uri": "file:///somewhere",
        "task_id": {"path": f"/tasks/{task}"},
        "source": None,
        "task_checksum": "0" * 64,
        "config": config(task),
        "agent_info": {"name": "worker", "version": "1.2", "model_info": {"name": "m", "provider": "p"}},
        "agent_result": {
            "n_input_tokens": 900,
            "n_cache_tokens": 100,
            "n_output_tokens": 50,
            "cost_usd": 0.25,
        },
        "verifier_result": {"rewards": issued},
        "verifier_environment_mode": "shared",
        "exception_info": None,
        **phase(0, 10),
        "environment_setup": phase(0, 1),
        "agent_setup": phase(1, 2),
        "agent_execution": phase(2, 6),
        "verifier": phase(7, 9),
        "step_results": None,
    }
    return {**document, **changes}


def config(task: str = "fix-csv", **agent: Any) -> dict[str, Any]:
    who = {"name": "worker", "import_path": None, "model_name": "p/m", "kwargs": {}, **agent}
    return {"task": {"path": f"/tasks/{task}", "source": None}, "agent": who}


def step(name: str, rewards: Any = None, **changes: Any) -> dict[str, Any]:
    issued = {"reward": 1.0} if rewards is None else rewards
    document = {
        "step_name": name,
        "agent_result": {"n_input_tokens": 10, "n_output_tokens": 1, "cost_usd": 0.5},
        "verifier_result": {"rewards": issued},
        "exception_info": None,
        "agent_execution": phase(2, 4),
        "verifier": phase(5, 6),
    }
    return {**document, **changes}


def lock(task: str = "fix-csv", *skills: dict[str, str], digest: str = DIGEST) -> dict[str, Any]:
    return {
        "schema_version": 2,
        "task": {"name": task, "type": "local", "digest": digest},
        "agent": {"name": "worker"},
        "skills": list(skills),
    }


def trajectory(*calls: dict[str, Any], **changes: Any) -> dict[str, Any]:
    steps = [{"step_id": 1, "source": "user", "message": "do it"}]
    for number, call in enumerate(calls, start=2):
        made = {"tool_call_id": str(number), **call}
        steps.append({"step_id": number, "source": "agent", "message": "", "tool_calls": [made]})
    return {"schema_version": "ATIF-v1.8", "agent": {"name": "worker"}, "steps": steps, **changes}


def shell(command: str) -> dict[str, Any]:
    return {"function_name": "bash", "arguments": {"command": command}}


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def make_trial(
    folder: Path,
    document: dict[str, Any] | None = None,
    locked: dict[str, Any] | None = None,
    did: dict[str, Any] | None = None,
) -> Path:
    """A trial's folder; without ``document`` one that was ended before it had a result."""
    write(folder / "config.json", document["config"] if document else config())
    if document is not None:
        write(folder / "result.json", document)
    write(folder / "lock.json", locked or lock())
    if did is not None:
        write(folder / "agent" / "trajectory.json", did)
    return folder


def trial(folder: Path, document: dict[str, Any] | None = None, **parts: Any) -> TrialFiles:
    return read_trial(make_trial(folder, document or result(), **parts))


def ended(folder: Path, document: dict[str, Any], **grading: Any) -> Outcome:
    """How the trial of ``document`` ended."""
    return outcome_of(trial(folder, document), Grading(**grading))


def make_job(folder: Path, *trials: dict[str, Any], **job: Any) -> Path:
    """A job's folder with the given results, and what the job says of itself."""
    planned = {"n_total_trials": len(trials), "stats": {"n_retries": 0, "evals": {}}, **job}
    write(folder / "config.json", {"job_name": folder.name})
    write(folder / "result.json", planned)
    for number, document in enumerate(trials):
        name = f"{document['task_name']}__t{number:06d}"
        make_trial(folder / name, {**document, "trial_name": name}, lock(document["task_name"]))
    return folder


def imported(path: Path, binding: Binding = PLACE, **options: Any) -> list[Imported]:
    return list(make_importer("harbor", options).read(path, binding))

"""Records, made for a test: valid by default, with what the test is about said by name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from sipbench.protocol.records import RunRecord
from sipbench.protocol.versions import RUN_RECORD_VERSION

_numbers = count()


def document(**given: Any) -> dict[str, Any]:
    """A current run record as plain JSON. ``run_id`` is new each time."""
    found: dict[str, Any] = {
        "schema_version": RUN_RECORD_VERSION,
        "run_id": f"run-{next(_numbers)}",
        "benchmark_name": "made",
        "benchmark_version": "1",
        "benchmark_split": "heldout",
        "phase": "T0",
        "path_type": "external",
        "arm": "learner",
        "model_name": "m",
        "agent_name": "a",
        "agent_version": "1",
        "task_id": "t1",
        "repeat": 0,
        "attempt_index": 0,
        "seed": 7,
        "status": "graded",
        "score": 0.5,
    }
    found.update(given)
    if found["status"] not in ("graded", "timeout_graded"):
        found["score"] = None
    return found


def record(**given: Any) -> RunRecord:
    """The same, validated."""
    return RunRecord.model_validate_json(json.dumps(document(**given)), strict=True)


def v0_document(**given: Any) -> dict[str, Any]:
    """A v0.1.0 run record with measured usage."""
    return {
        "schema_version": "0.1.0",
        "run_id": f"run-{next(_numbers)}",
        "benchmark_name": "skillsbench",
        "benchmark_version": "v",
        "benchmark_split": "heldout",
        "phase": "T0",
        "path_type": "external",
        "model_name": "m",
        "agent_name": "a",
        "agent_version": "1",
        "task_id": "t1",
        "attempt_index": 0,
        "score": 0.5,
        "success": False,
        "token_input": 10,
        "token_output": 5,
        "token_total": 15,
        "tool_calls_total": 1,
        "memory_reads": 0,
        "memory_writes": 0,
        "wall_clock_seconds": 2.0,
        "cost_usd": 0.5,
        "human_interventions": 0,
        "seed": 0,
        "started_at": "2026-04-14T00:00:00Z",
        "finished_at": "2026-04-14T00:00:02Z",
        "metadata": {},
        **given,
    }


type Outcomes = Mapping[str, Iterable[float | str]]


def cell(phase: str, split: str, scores: Outcomes, **given: Any) -> list[RunRecord]:
    """Attempts of one phase and split: task to the scores of its attempts, or a status instead of one."""
    return [
        record(
            phase=phase,
            benchmark_split=split,
            task_id=task,
            attempt_index=index,
            status=outcome if isinstance(outcome, str) else "graded",
            score=None if isinstance(outcome, str) else outcome,
            **given,
        )
        for task, outcomes in scores.items()
        for index, outcome in enumerate(outcomes)
    ]


def write_lines(path: Path, documents: Iterable[Any]) -> Path:
    """A JSON lines file of plain documents or of records."""
    lines = [d.model_dump_json() if isinstance(d, RunRecord) else json.dumps(d) for d in documents]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return path

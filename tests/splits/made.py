"""Tasks and records that the tests of splits share."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from sipbench.benchmarks.base import Task
from sipbench.protocol.digests import json_digest
from sipbench.protocol.records import RunRecord
from sipbench.protocol.versions import RUN_RECORD_VERSION

WORDS = [
    f"{head}{tail}" for head in "bcdfghjklm" for tail in ("ab", "el", "in", "om", "ur", "at", "eg", "il")
]


def task(
    name: str, text: str | None = None, family: str | None = None, digest_of: str = "", **metadata: Any
) -> Task:
    return Task(name, json_digest(digest_of or name), family, None, text, metadata)


def words(seed: int, count: int = 60) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


def edited(given: Sequence[str], seed: int, changes: int) -> list[str]:
    draw = random.Random(seed)
    made = list(given)
    for place in draw.sample(range(len(made)), changes):
        made[place] = f"new{draw.randrange(10_000)}"
    return made


def record(name: str, index: int = 0, **fields: Any) -> RunRecord:
    """A graded T0 attempt at ``name`` that was solved, unless ``fields`` say otherwise."""
    values: dict[str, Any] = {
        "schema_version": RUN_RECORD_VERSION,
        "run_id": f"{name}-{index}-{fields.get('arm', 'frozen')}",
        "benchmark_name": "made",
        "benchmark_split": "replay",
        "phase": "T0",
        "path_type": "frozen",
        "arm": "frozen",
        "model_name": "none",
        "agent_name": "agent",
        "agent_version": "1",
        "task_id": name,
        "attempt_index": index,
        "status": "graded",
        "score": 1.0,
    }
    return RunRecord.model_validate(values | fields)

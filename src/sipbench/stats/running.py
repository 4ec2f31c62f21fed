"""Mean scores while attempts are still coming in: what a summary would say of what is there by now."""

from __future__ import annotations

import math
from collections import defaultdict

from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Phase, Split, Status

__all__ = ["RunningMeans"]

type Place = tuple[str, Phase, Split]
"""Arm, phase, split."""


class RunningMeans:
    """Per arm, phase and split: attempts of a task first, then tasks, as in :mod:`sipbench.stats.means`."""

    def __init__(self) -> None:
        self._scores: dict[Place, dict[str, tuple[float, int]]] = defaultdict(dict)

    def add(self, record: RunRecord) -> None:
        """Count one attempt: an agent error as 0, what is missing not at all."""
        score = 0.0 if record.status is Status.AGENT_ERROR else record.score
        if score is None:
            return
        tasks = self._scores[record.arm, record.phase, record.benchmark_split]
        total, count = tasks.get(record.task_id, (0.0, 0))
        tasks[record.task_id] = (total + score, count + 1)

    def means(self) -> dict[Place, float]:
        """The mean over tasks of each arm, phase and split that has a counted attempt."""
        return {
            place: math.fsum(total / count for total, count in tasks.values()) / len(tasks)
            for place, tasks in self._scores.items()
        }

"""What trials came to: a task is trusted when its oracle earns 1 and everything else 0, every time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sipbench.cards.files import read_bytes
from sipbench.errors import CardError

__all__ = ["Outcome", "TaskVerdict", "Trial", "read_trial", "verdicts"]


@dataclass(frozen=True)
class Outcome:
    """How a trial ended.

    Attributes:
        reward: What the verifier gave; None if it gave none.
        reason: Why there is none; empty where there is one.
    """

    reward: float | None
    reason: str = ""


@dataclass
class Trial:
    """One trial of one task.

    Attributes:
        kind: ``oracle``, ``nop`` or the name of a trick.
        folder: Where it is kept.
        outcome: None until it was run.
    """

    task: Path
    kind: str
    number: int
    folder: Path
    outcome: Outcome | None = None

    @property
    def wanted(self) -> float:
        """The reward that it must have."""
        return 1.0 if self.kind == "oracle" else 0.0


def read_trial(trial: Trial) -> Trial:
    """Read how a trial ended, from what Harbor left; its outcome stays None where it was not run."""
    results = sorted(trial.folder.glob("*/result.json")) if trial.folder.is_dir() else []
    if results:
        trial.outcome = _outcome(results[0])
    elif (trial.folder / "not-run.txt").is_file():
        # Not kept as an outcome: whatever kept it from running may be repaired by then.
        trial.outcome = None
    return trial


def _outcome(path: Path) -> Outcome | None:
    try:
        document: Any = json.loads(read_bytes(path))
    except (CardError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("finished_at") is None:
        return None
    verified = document.get("verifier_result") or {}
    rewards = verified.get("rewards") or {}
    reward = rewards.get("reward") if isinstance(rewards, dict) else None
    if isinstance(reward, int | float) and not isinstance(reward, bool):
        return Outcome(float(reward))
    raised = document.get("exception_info") or {}
    said = " ".join(f"{raised.get('exception_type')}: {raised.get('exception_message')}".split())
    return Outcome(None, said[:300] if raised else "the verifier gave no reward")


@dataclass
class TaskVerdict:
    """What all trials of one task came to.

    Attributes:
        rewards: For each kind, the rewards of its trials; None where there was none.
        failures: What is wrong, as sentences; empty for a task that can be trusted.
    """

    task: Path
    rewards: dict[str, list[float | None]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the task can be trusted as far as these trials tell."""
        return not self.failures


def verdicts(trials: Sequence[Trial]) -> list[TaskVerdict]:
    """Judge each task by its trials."""
    judged: dict[Path, TaskVerdict] = {}
    for trial in trials:
        verdict = judged.setdefault(trial.task, TaskVerdict(trial.task))
        reward = trial.outcome.reward if trial.outcome else None
        verdict.rewards.setdefault(trial.kind, []).append(reward)
        if reward is None:
            verdict.failures.append(f"{trial.folder.name}: {_why(trial)}")
        elif reward != trial.wanted:
            verdict.failures.append(f"{trial.folder.name}: reward {reward:g}, has to be {trial.wanted:g}")
    for verdict in judged.values():
        for kind, rewards in verdict.rewards.items():
            given = {reward for reward in rewards if reward is not None}
            if len(given) > 1:
                verdict.failures.append(
                    f"{kind} is flaky: {', '.join(f'{r:g}' for r in rewards if r is not None)}"
                )
    return list(judged.values())


def _why(trial: Trial) -> str:
    if trial.outcome is not None:
        return trial.outcome.reason
    note = trial.folder / "not-run.txt"
    return note.read_text(encoding="utf-8").strip() if note.is_file() else "was not run"

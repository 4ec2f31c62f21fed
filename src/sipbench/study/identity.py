"""Who an attempt is: a digest of what decides its outcome, and of nothing else.

Ports, hosts, paths, times, the arm's name, concurrency and the retry policy are not in it: a study
that is made again in another process or on another machine has the same identities, and a finished
identity is never run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sipbench.protocol.digests import json_digest, seed_from
from sipbench.protocol.vocabulary import PathType, Phase
from sipbench.study.plan import Slot

__all__ = ["ArmIdentity", "BenchmarkIdentity", "adaptation_seed", "attempt_seed", "run_id"]

_RULE = "sipbench-attempt-1"
"""Names this very rule. Another rule gets another name, so that no identity can mean two things."""


@dataclass(frozen=True, slots=True)
class BenchmarkIdentity:
    """What of a benchmark decides an outcome, beside the task."""

    name: str
    version: str
    grader_version: str


@dataclass(frozen=True, slots=True)
class ArmIdentity:
    """What of an arm decides an outcome, beside the agent state.

    Attributes:
        agent_digest: Of agent, version, model, arguments and limits.
        path_type: How it may improve.
        adaptation: Kind and options of its adaptation; None without one.
        seed: The seed of its repeat 0.
    """

    agent_digest: str
    path_type: PathType
    adaptation: tuple[str, Mapping[str, Any]] | None
    seed: int

    @property
    def digest(self) -> str:
        """Digest of all but the seed."""
        return json_digest([self.agent_digest, self.path_type, self.adaptation_digest])

    @property
    def adaptation_digest(self) -> str | None:
        """Digest of the adaptation's kind and options; None without one."""
        return json_digest([self.adaptation[0], dict(self.adaptation[1])]) if self.adaptation else None

    def repeat_seed(self, repeat: int) -> int:
        """The seed that a repeat's records carry."""
        return self.seed + repeat


def run_id(
    slot: Slot, *, benchmark: BenchmarkIdentity, arm: ArmIdentity, task_digest: str, state_digest: str
) -> str:
    """The identity of the attempt in ``slot``: 32 hexadecimal digits."""
    parts = {
        "rule": _RULE,
        "benchmark": [benchmark.name, benchmark.version, benchmark.grader_version],
        # Two tasks of one benchmark may be the same but for their ids.
        "task": [slot.task_id, task_digest],
        "place": [slot.phase, slot.split, slot.repeat, arm.repeat_seed(slot.repeat), slot.attempt_index],
        "agent": [arm.agent_digest, arm.path_type, arm.adaptation_digest],
        "state": state_digest,
    }
    return json_digest(parts).removeprefix("sha256:")[:32]


def attempt_seed(slot: Slot, arm: ArmIdentity, task_digest: str) -> int:
    """The seed an engine is given: repeats, phases and arms draw independently."""
    seed = arm.repeat_seed(slot.repeat)
    # The repeat stands beside its seed: arms with shifted seeds must not share draws across repeats.
    return seed_from(
        seed, slot.repeat, arm.digest, slot.phase, slot.split, slot.task_id, task_digest, slot.attempt_index
    )


def adaptation_seed(arm: ArmIdentity, repeat: int, phase: Phase) -> int:
    """The seed of the adaptation that makes the state of ``phase`` in ``repeat``."""
    return seed_from(arm.repeat_seed(repeat), repeat, arm.digest, "adaptation", phase)

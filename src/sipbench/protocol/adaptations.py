"""One adaptation, as it stands on one line of ``adaptations.jsonl``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from sipbench.protocol.records import Count, Digest, Name, Seed, Timestamp, Usage, UsageSource
from sipbench.protocol.vocabulary import PathType, Phase

__all__ = ["AdaptationRecord"]


class AdaptationRecord(Usage):
    """How the agent state of one arm, repeat and phase was made, and what that itself cost.

    The usage is the adaptation's own, without the adapt attempts, whose records carry theirs.
    """

    model_config = ConfigDict(title="SIP-Bench adaptation record")

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")]
    arm: Name
    repeat: Count
    phase: Phase
    path_type: PathType
    adaptation: Name
    seed: Seed | None = None
    agent_state_digest: Digest
    previous_state_digest: Digest
    attempts: tuple[Name, ...] = Field(default=(), description="run_id of each attempt it was shown.")
    usage_source: UsageSource | None = None
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

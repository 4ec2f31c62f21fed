"""One attempt, as it stands on one line of ``runs.jsonl``.

A superset of the SIP-Bench v0.1.0 record: all of its names keep their meaning. What is unknown is
null, never 0; a score exists only where a verifier issued one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from sipbench.protocol.digests import canonical_json
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status

__all__ = [
    "Amount",
    "Count",
    "Digest",
    "Name",
    "RunRecord",
    "Seed",
    "SkillRef",
    "Timestamp",
    "Try",
    "Usage",
    "UsageSource",
    "timestamp",
]

Name = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
"""A non-empty name or identifier."""

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
"""A SHA-256 digest."""


def _rfc3339_utc(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = None
    if moment is None or "T" not in value:
        raise ValueError("expected an RFC 3339 time such as 2026-05-01T09:30:00Z")
    if moment.tzinfo is None or moment.utcoffset() != UTC.utcoffset(None):
        raise ValueError("expected a time in UTC, ending in Z")
    return value


def _finite(value: dict[str, Any]) -> dict[str, Any]:
    if value:
        try:
            canonical_json(value)
        except ValueError:
            raise ValueError("expected plain JSON without NaN or infinities") from None
    return value


Timestamp = Annotated[
    str, AfterValidator(_rfc3339_utc), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""A moment, RFC 3339 in UTC."""

UsageSource = Literal["engine", "agent", "import", "estimate"]
"""Who counted: the engine that ran the attempt, the agent about itself, a file that was imported,
or an estimate. Null when nothing is known."""

_LARGEST = 2**63 - 1  # what the columns of a table hold
Count = Annotated[int, Field(ge=0, le=_LARGEST)]
Seed = Annotated[int, Field(ge=-_LARGEST, le=_LARGEST)]
_MOST = 1e15  # sums and squares of it stay finite
Amount = Annotated[float, Field(ge=0, le=_MOST)]


def timestamp(moment: datetime | None = None) -> str:
    """Write ``moment`` (default: now) as RFC 3339 in UTC with milliseconds."""
    at = (moment or datetime.now(UTC)).astimezone(UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=False, allow_inf_nan=False, ser_json_inf_nan="null"
    )


class Usage(_Model):
    """What an execution consumed. Null is unknown; 0 is a measurement."""

    token_input: Count | None = Field(default=None, description="Tokens read by the model.")
    token_output: Count | None = Field(default=None, description="Tokens written by the model.")
    token_total: Count | None = Field(default=None, description="All tokens that were paid for.")
    tool_calls_total: Count | None = Field(default=None, description="Calls of tools.")
    memory_reads: Count | None = Field(default=None, description="Reads from the agent's memory.")
    memory_writes: Count | None = Field(default=None, description="Writes to the agent's memory.")
    human_interventions: Count | None = Field(default=None, description="Times a person stepped in.")
    wall_clock_seconds: Amount | None = Field(
        default=None, description="Monotonic seconds from start to end."
    )
    cost_usd: Amount | None = Field(default=None, description="Money spent, in US dollars.")


class SkillRef(_Model):
    """A skill, by name and by what it was. Records of 1.0 may have the digest of its files in ``digest``."""

    name: Name
    digest: Digest | None = Field(
        default=None,
        description="SHA-256 of the bytes of its SKILL.md: that of its pin, and the one a server gives.",
    )
    tree_digest: Digest | None = Field(
        default=None,
        description="Of all its files: SHA-256 over path, NUL, hexadecimal SHA-256, NUL of each, by path.",
    )


class Try(Usage):
    """An earlier try of the same attempt that yielded no grade, with what it cost."""

    status: Status
    error_type: str | None = None
    error_message: str | None = None
    usage_source: UsageSource | None = None
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None


class RunRecord(Usage):
    """One execution of one task by one arm in one phase of one repeat."""

    model_config = ConfigDict(title="SIP-Bench run record")

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")]
    run_id: Name = Field(description="The identity of the attempt, unique among all records.")
    benchmark_name: Name
    benchmark_version: str | None = None
    benchmark_split: Split
    phase: Phase
    path_type: PathType
    arm: Name = Field(description="The agent with one path type whose learning is measured.")
    model_name: Name
    agent_name: Name
    agent_version: Name
    task_id: Name
    task_template_id: str | None = Field(default=None, description="As v0.1.0; `family` is what is used.")
    family: Name | None = Field(default=None, description="The task's template: the unit of clustering.")
    concept: Name | None = Field(default=None, description="What can transfer between families.")
    repeat: Count = Field(default=0, description="The whole pass through the phases this belongs to.")
    attempt_index: Count = 0
    seed: Seed | None = Field(default=None, description="The seed of the repeat.")
    attempt_seed: Seed | None = Field(default=None, description="The seed the engine was given.")
    status: Status
    score: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="Normalised score; only where the verifier issued one."
    )
    success: bool | None = None
    reward: float | None = Field(default=None, description="The benchmark's own value before normalisation.")
    normalization: str | None = Field(default=None, description="How `reward` became `score`, if it had to.")
    error_type: str | None = None
    error_message: str | None = None
    usage_source: UsageSource | None = None
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    agent_digest: Digest | None = Field(
        default=None, description="Digest of agent, version, model, arguments and limits."
    )
    agent_state_digest: Digest | None = Field(
        default=None, description="Digest of the agent state it ran with; of the empty one at T0."
    )
    skills_given: tuple[SkillRef, ...] | None = Field(default=None, description="Null if unknown.")
    skills_opened: tuple[SkillRef, ...] | None = Field(default=None, description="Null if unknown.")
    task_digest: Digest | None = None
    grader_version: str | None = None
    engine: str | None = Field(default=None, description="What executed the attempt, with its version.")
    tries: tuple[Try, ...] = Field(default=(), description="Failed tries of this attempt, oldest first.")
    notes: str | None = None
    metadata: Annotated[dict[str, Any], AfterValidator(_finite)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.status.is_graded and self.score is None:
            raise ValueError(f"score: status {self.status} needs a score")
        if not self.status.is_graded and self.score is not None:
            raise ValueError(f"score: status {self.status} has no grade, so it cannot have a score")
        if self.success is not None and self.score is None:
            raise ValueError("success: there is no score to succeed with; use null")
        if self.started_at and self.finished_at:
            start, end = datetime.fromisoformat(self.started_at), datetime.fromisoformat(self.finished_at)
            if end < start:
                raise ValueError("finished_at: earlier than started_at")
        return self

    @property
    def design_key(self) -> tuple[object, ...]:
        """Where the attempt stands in the design; no two records may share it."""
        return (
            self.benchmark_name,
            self.benchmark_version,
            self.benchmark_split,
            self.phase,
            self.arm,
            self.task_id,
            self.repeat,
            self.seed,
            self.attempt_index,
        )

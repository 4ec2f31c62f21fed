"""Which task is in which split, and how that was chosen: ``splits.json``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from sipbench.protocol.digests import json_digest
from sipbench.protocol.records import Digest, Name, Timestamp
from sipbench.protocol.vocabulary import Split

__all__ = [
    "Crossfit",
    "DriftChange",
    "Preregistered",
    "ReplaySelection",
    "SameRun",
    "Screened",
    "SplitManifest",
    "TaskEntry",
    "replay_list_digest",
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class TaskEntry(_Model):
    """A task as the manifest names it."""

    id: Name
    family: Name | None = None
    concept: Name | None = None
    digest: Digest | None = None


class Preregistered(_Model):
    """Replay tasks were listed before the first T0 attempt."""

    method: Literal["preregistered"] = "preregistered"
    list_digest: Digest
    declared_at: Timestamp


class Screened(_Model):
    """Replay tasks were chosen on an independent T0 run whose attempts are never scored."""

    method: Literal["screened"] = "screened"
    screen_run_id: Name
    rule: Name


class Crossfit(_Model):
    """Replay tasks are chosen on one T0 trial and scored on the others, in turn."""

    method: Literal["crossfit"] = "crossfit"
    rule: Name
    folds: Annotated[int, Field(ge=2)]


class SameRun(_Model):
    """Replay tasks were chosen by the T0 attempts they are scored with: BR gets no verdict."""

    method: Literal["same_run"] = "same_run"
    rule: Name


ReplaySelection = Annotated[
    Preregistered | Screened | Crossfit | SameRun, Field(discriminator="method", title="ReplaySelection")
]

DriftChange = Literal["evidence", "user_state", "policy", "environment"]
"""What may differ between a drift task and the held-out format it keeps."""


class SplitManifest(_Model):
    """The splits of one study.

    ``adapt`` holds the tasks of the adaptation that leads to T1, ``adapt_t2`` those of a second
    adaptation that leads to T2 (further task exposure).
    """

    model_config = ConfigDict(title="SIP-Bench split manifest")

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")]
    benchmark_name: Name
    benchmark_version: str | None = None
    seed: int | None = None
    replay: tuple[TaskEntry, ...] = ()
    adapt: tuple[TaskEntry, ...] = ()
    adapt_t2: tuple[TaskEntry, ...] = ()
    heldout: tuple[TaskEntry, ...] = ()
    drift: tuple[TaskEntry, ...] = ()
    replay_selection: ReplaySelection | None = None
    drift_changes: tuple[DriftChange, ...] = ()
    drift_note: str | None = None
    selection: dict[str, Any] = Field(default_factory=dict, description="How the splits were made.")

    def tasks(self, split: Split) -> tuple[TaskEntry, ...]:
        """The tasks of one split; for ``adapt`` those of both adaptations."""
        match split:
            case Split.REPLAY:
                return self.replay
            case Split.ADAPT:
                return self.adapt + self.adapt_t2
            case Split.HELDOUT:
                return self.heldout
            case Split.DRIFT:
                return self.drift
            case _:
                return ()

    def entries(self) -> Iterator[tuple[Split, TaskEntry]]:
        """Every (split, task)."""
        for split in (Split.REPLAY, Split.ADAPT, Split.HELDOUT, Split.DRIFT):
            for task in self.tasks(split):
                yield split, task


def replay_list_digest(tasks: Sequence[TaskEntry]) -> str:
    """Digest of a replay list: [[id, digest], ...] in its order. It is what preregistration fixes."""
    return json_digest([[task.id, task.digest] for task in tasks])

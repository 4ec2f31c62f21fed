"""What the plan says of an attempt's record, and whether a record says the same.

A ``run_id`` is a digest, so it cannot be right by accident; the fields beside it can be edited. They are
held against the plan wherever a study's records are read: by the runner, which has the design, and by
``sip validate``, which has only what stands in the directory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sipbench.benchmarks.base import Agent, Limits
from sipbench.errors import RecordError, StudyError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.digests import EMPTY_TREE
from sipbench.protocol.folder import ADAPTATIONS, LOCK, SPLITS, check_adaptations, locked
from sipbench.protocol.jsonl import parse_object, read_text
from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import PlannedCell
from sipbench.protocol.vocabulary import PathType, Phase, Split
from sipbench.splits.files import read_manifest
from sipbench.study.config import AttemptCounts
from sipbench.study.identity import ArmIdentity, BenchmarkIdentity, run_id
from sipbench.study.plan import Slot

__all__ = ["LockedPlan", "difference", "locked_plan", "planned_fields"]

_BACK = "the line was changed by hand: put it back, or remove the line and `sip run` makes the attempt again"


def planned_fields(
    slot: Slot, *, run_id: str, benchmark: str, arm: ArmIdentity, entry: TaskEntry, state_digest: str
) -> dict[str, Any]:
    """The fields of a record that the plan decides, whatever comes of the attempt.

    Args:
        slot: Where the attempt stands in the design.
        run_id: Its identity.
        benchmark: The benchmark's name.
        arm: What of the arm decides outcomes.
        entry: The task as the splits name it.
        state_digest: Of the agent state it runs with.
    """
    return {
        "run_id": run_id,
        "benchmark_name": benchmark,
        "benchmark_split": slot.split,
        "phase": slot.phase,
        "path_type": arm.path_type,
        "arm": slot.arm,
        "task_id": slot.task_id,
        "repeat": slot.repeat,
        "attempt_index": slot.attempt_index,
        "seed": arm.repeat_seed(slot.repeat),
        "family": entry.family,
        "concept": entry.concept,
        "agent_digest": arm.agent_digest,
        "agent_state_digest": state_digest,
        "task_digest": entry.digest,
    }


def difference(record: RunRecord, planned: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first field in which a record is not what was planned, and what to do; None if there is none."""
    for name, value in planned.items():
        found = getattr(record, name)
        if found != value:
            return name, f"is {_shown(found)}, and the plan has {_shown(value)} for this attempt; {_BACK}"
    return None


def _shown(value: object) -> str:
    return "null" if value is None else f"'{value!s:.80}'"


class _Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Benchmark(_Lenient):
    name: str
    version: str
    grader_version: str


class _Agent(_Lenient):
    name: str
    version: str
    model: str
    arguments: dict[str, Any]


class _Limits(_Lenient):
    timeout_seconds: float | None
    tool_calls: int | None
    tokens: int | None


class _Arm(_Lenient):
    path_type: PathType
    seed: int
    agent: _Agent
    limits: _Limits
    adaptation: dict[str, Any] | None

    def identity(self) -> ArmIdentity:
        agent, limits = self.agent, self.limits
        digest = Agent(
            agent.name,
            agent.version,
            agent.model,
            agent.arguments,
            Limits(limits.timeout_seconds, limits.tool_calls, limits.tokens),
        ).digest
        options = dict(self.adaptation or {})
        kind = options.pop("kind", None)
        return ArmIdentity(digest, self.path_type, (kind, options) if kind is not None else None, self.seed)


class _Plan(_Lenient):
    repeats: int
    attempts: AttemptCounts


class _Identity(_Lenient):
    benchmark: _Benchmark
    plan: _Plan
    arms: dict[str, _Arm]


class _Lock(_Lenient):
    """The part of ``study.lock.json`` that says which attempts there are."""

    identity: _Identity
    planned: tuple[PlannedCell, ...]


@dataclass(frozen=True)
class LockedPlan:
    """The plan as a study directory tells it, without the plug-ins that it was made with.

    Calling it with a record gives the first field that is not as planned, and what to do; None if all is.
    """

    benchmark: BenchmarkIdentity
    arms: Mapping[str, ArmIdentity]
    cells: tuple[PlannedCell, ...]
    repeats: int
    attempts: AttemptCounts
    manifest: SplitManifest
    states: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)

    def __call__(self, record: RunRecord) -> tuple[str, str] | None:
        """Hold one record against the plan."""
        planned = self._fields(_place(record), record.agent_state_digest or "")
        if planned is None or planned["run_id"] != record.run_id:
            # What was edited is known by what the identity was made of.
            place = self._places.get(record.run_id)
            planned = self._fields(*place) if place is not None else None
        if planned is None:
            return "run_id", f"no attempt of the plan in {LOCK} has it; {_BACK}"
        return difference(record, planned)

    @cached_property
    def _entries(self) -> dict[tuple[Split, str], TaskEntry]:
        return {(split, entry.id): entry for split, entry in self.manifest.entries()}

    @cached_property
    def _places(self) -> dict[str, tuple[Slot, str]]:
        found: dict[str, tuple[Slot, str]] = {}
        for slot in self._slots():
            for state in (EMPTY_TREE, *self.states.get((slot.arm, slot.repeat), ())):
                if (fields := self._fields(slot, state)) is not None:
                    found[fields["run_id"]] = (slot, state)
        return found

    def _slots(self) -> Iterator[Slot]:
        for cell in self.cells:
            for entry in self.manifest.tasks(cell.split):
                for repeat in range(self.repeats):
                    for index in range(self.attempts.of(cell.split)):
                        yield Slot(cell.arm, repeat, cell.phase, cell.split, entry.id, index, Phase.T0)

    def _fields(self, slot: Slot, state: str) -> dict[str, Any] | None:
        arm, entry = self.arms.get(slot.arm), self._entries.get((slot.split, slot.task_id))
        if arm is None or entry is None or entry.digest is None:
            return None
        name = run_id(slot, benchmark=self.benchmark, arm=arm, task_digest=entry.digest, state_digest=state)
        return planned_fields(
            slot, run_id=name, benchmark=self.benchmark.name, arm=arm, entry=entry, state_digest=state
        )


def _place(record: RunRecord) -> Slot:
    return Slot(
        record.arm,
        record.repeat,
        record.phase,
        record.benchmark_split,
        record.task_id,
        record.attempt_index,
        Phase.T0,
    )


def locked_plan(folder: Path) -> LockedPlan | None:
    """The plan of a study directory; None where it holds none, as one that was put together by hand.

    Without a ``splits.json`` that can be read there is none either: whoever checks that file says so.

    Raises:
        StudyError: ``study.lock.json`` cannot be read.
    """
    path = folder / LOCK
    if not path.exists():
        return None
    try:
        document = parse_object(read_text(path))
        locked(path)
        if "identity" not in document:
            return None
        lock = _Lock.model_validate(document)
    except ValidationError as error:
        item = error.errors(include_url=False, include_input=False)[0]
        raise _unreadable(path, f"{'.'.join(map(str, item['loc']))}: {item['msg']}") from None
    except RecordError as error:
        raise _unreadable(path, str(error).removeprefix(f"{path}: ")) from None
    try:
        manifest = read_manifest(folder / SPLITS)
    except RecordError:
        return None
    identity = lock.identity
    return LockedPlan(
        BenchmarkIdentity(**identity.benchmark.model_dump()),
        {name: arm.identity() for name, arm in identity.arms.items()},
        lock.planned,
        identity.plan.repeats,
        identity.plan.attempts,
        manifest,
        _states(folder / ADAPTATIONS),
    )


def _unreadable(path: Path, what: str) -> StudyError:
    return StudyError(f"{path}: {what}; put the file back")


def _states(path: Path) -> dict[tuple[str, int], frozenset[str]]:
    """The digests of the agent states that were made, by arm and repeat."""
    found: dict[tuple[str, int], frozenset[str]] = {}
    for item in check_adaptations(path) if path.exists() else ():
        if isinstance(item, AdaptationRecord):
            key = (item.arm, item.repeat)
            found[key] = found.get(key, frozenset()) | {item.agent_state_digest}
    return found

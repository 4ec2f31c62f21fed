"""The adapter: tasks, splits and attempts as the files have them. Nothing is executed or graded here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sipbench.benchmarks.base import Agent, Attempt, AttemptContext, Benchmark, Charge, Task
from sipbench.benchmarks.recorded.options import RecordedFile, RecordedOptions
from sipbench.benchmarks.recorded.store import Place, Store
from sipbench.errors import EngineError, SplitError
from sipbench.importers.base import Imported
from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.records import RunRecord, Usage
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.protocol.vocabulary import METRIC_SPLITS, PathType, Phase, Split, Status

__all__ = ["RecordedBenchmark"]

UNKNOWN = "unknown"


class RecordedBenchmark(Benchmark):
    """A benchmark whose attempts come from files.

    It takes the name and version of the benchmark that the attempts were made on. What the files do
    not hold is `cancelled` in the study: missing, never 0.
    """

    Options = RecordedOptions
    options: RecordedOptions

    engine = "recorded attempts"
    recorded = True
    normalization = "The recorded score, in [0, 1], as it stands."

    def __init__(self, options: RecordedOptions, *, base: Path) -> None:
        """Read the files; the second time in a process costs nothing."""
        super().__init__(options, base=base)
        self._store = Store.of(options.files, base)
        records = [item.record for item in self._store.attempts.values()]
        self.name = _one("benchmark", {record.benchmark_name for record in records})
        self.version = _one("version", {record.benchmark_version or UNKNOWN for record in records})
        # Whoever graded them: what decides an outcome here is which files are read, and how.
        self.grader_version = f"recorded:{self._store.digest.removeprefix('sha256:')[:16]}"

    def tasks(self) -> Sequence[Task]:
        """Every task with an attempt in a split that a study knows."""
        held = {place.task_id for place in self._store.attempts if place.split in METRIC_SPLITS}
        return [task for task in self._store.tasks.values() if task.id in held]

    def splits(self, seed: int, sizes: Mapping[Split, int]) -> SplitManifest:
        """The splits that the files are bound to; no free choice is left to ``seed``."""
        adapt = self._entries(Split.ADAPT, phase=Phase.T1)
        again = {entry.id for entry in adapt}
        second = self._entries(Split.ADAPT, phase=Phase.T2)
        manifest = SplitManifest(
            schema_version=SPLITS_VERSION,
            benchmark_name=self.name,
            benchmark_version=self.version,
            replay=self._entries(Split.REPLAY),
            adapt=adapt,
            adapt_t2=tuple(entry for entry in second if entry.id not in again),
            heldout=self._entries(Split.HELDOUT),
            drift=self._entries(Split.DRIFT),
            replay_selection=self.options.replay_selection,
            drift_changes=self.options.drift_changes,
            drift_note=self.options.drift_note,
            selection={"method": "recorded", "files": [_described(file) for file in self.options.files]},
        )
        for split, size in sizes.items():
            held = len(manifest.tasks(split))
            if held != size:
                raise SplitError(
                    f"splits.sizes.{split}: {size} asked for, but the recorded files hold {held} tasks; "
                    "leave the size out, or choose tasks with `tasks` of a file"
                )
        return manifest

    def _entries(self, split: Split, *, phase: Phase | None = None) -> tuple[TaskEntry, ...]:
        tasks = [self._store.tasks[task_id] for task_id in self._store.split_of(split, phase=phase)]
        return tuple(
            TaskEntry(id=task.id, family=task.family, concept=task.concept, digest=task.digest)
            for task in tasks
        )

    def run(
        self, task: Task, phase: Phase, path_type: PathType, seed: int, *, context: AttemptContext
    ) -> Attempt:
        """Give the recorded attempt, and write what the agent did into the working directory."""
        place = Place(context.arm, phase, context.split, context.repeat, task.id, context.attempt_index)
        item = self._store.attempts.get(place)
        if item is None:
            return self._missing(place, "NotRecorded", f"no file holds {place}")
        if item.record.path_type not in (PathType.FROZEN, path_type):
            message = f"{place} was recorded as {item.record.path_type}, the arm is {path_type}"
            return self._missing(place, "OtherPath", message)
        _write_output(item, context.workdir)
        return _attempt(item.record)

    def _missing(self, place: Place, error_type: str, message: str) -> Attempt:
        """An attempt that was planned and is not there, by the agent that made the others of its arm."""
        beside = self._store.beside(place)
        overrides: dict[str, Any] = dict.fromkeys(_NOT_OURS)
        if beside is not None:
            overrides |= _named(beside.record) | {"benchmark_version": beside.record.benchmark_version}
        return Attempt(Status.CANCELLED, error_type=error_type, error_message=message, overrides=overrides)

    def charge(self, agent: Agent, path_type: PathType) -> Charge:
        """Nothing is paid any more."""
        return "free"

    def private_paths(self) -> Sequence[Path]:
        """The files: they hold held-out attempts beside those that may be learned from."""
        return tuple(self.base / file.path for file in self.options.files)


def _one(what: str, found: set[str]) -> str:
    if len(found) > 1:
        raise EngineError(
            f"files: they hold attempts of more than one {what} ({', '.join(sorted(found))}); "
            "a study is about one"
        )
    return found.pop()


def _described(file: RecordedFile) -> dict[str, Any]:
    fields = file.model_dump(mode="json", exclude_none=True)
    return {**fields, "path": Path(file.path).name}


def _write_output(item: Imported, workdir: Path) -> None:
    outputs = {"record.json": item.record.model_dump(mode="json"), "trajectory.json": item.trajectory}
    for name, document in outputs.items():
        if document is not None:
            text = json.dumps(document, ensure_ascii=False, indent=1)
            (workdir / name).write_text(text + "\n", encoding="utf-8", newline="\n")


def _attempt(record: RunRecord) -> Attempt:
    return Attempt(
        status=record.status,
        reward=record.score,
        success=record.success,
        usage=Usage.model_validate({name: getattr(record, name) for name in Usage.model_fields}),
        usage_source=record.usage_source,
        error_type=record.error_type,
        error_message=record.error_message,
        skills_given=record.skills_given,
        skills_opened=record.skills_opened,
        started_at=record.started_at,
        finished_at=record.finished_at,
        notes=record.notes,
        metadata={**record.metadata, "recorded_run_id": record.run_id},
        overrides=_overrides(record),
    )


_NOT_OURS = ("started_at", "finished_at", "wall_clock_seconds", "attempt_seed", "benchmark_version")
"""Where these are unknown they are null: what the plan or the clock says now would be an invention."""


def _overrides(record: RunRecord) -> dict[str, Any]:
    """What the record knows better than the plan."""
    known = ("engine", "grader_version", "normalization", "task_template_id", "tries")
    overrides = {name: getattr(record, name) for name in _NOT_OURS}
    overrides |= {name: getattr(record, name) for name in known if getattr(record, name)}
    if record.reward is not None:
        overrides["reward"] = record.reward
    return overrides | _named(record)


def _named(record: RunRecord) -> dict[str, str]:
    """Who made the attempt, as far as its file says; the study file names the rest."""
    names = ("agent_name", "model_name", "agent_version")
    return {name: getattr(record, name) for name in names if getattr(record, name) != UNKNOWN}

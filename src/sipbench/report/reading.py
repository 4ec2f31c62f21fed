"""A study as the report shows it: its summary, its arms, and what only single attempts say.

Attempts are read once, each one checked; what is wanted of single ones later is read again from its place
in the file.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from sipbench.errors import RecordError
from sipbench.files import open_file
from sipbench.protocol.folder import LOCK, RUNS, SUMMARY, read_folder
from sipbench.protocol.jsonl import MAX_LINE_BYTES, parse_object, parse_record, problems, read_text
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import COST_FIELDS, AnalysisSettings, StudyContext
from sipbench.protocol.summary import Row, Source, Summary, load_summary
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, PathType, Phase, Split
from sipbench.report.words import clean, row_names
from sipbench.stats.exposure import ArmKey, ExposureCounts, arm_key
from sipbench.stats.means import ArmTable, split_arms
from sipbench.stats.summarize import known_families, summarize
from sipbench.stats.tables import RunTable, table_of
from sipbench.stats.timeline import Timeline

__all__ = ["Identity", "Study", "due_at", "read_study"]


@dataclass(slots=True)
class Identity:
    """What acted in one phase of one arm: every digest and version that its attempts name."""

    agents: set[str] = field(default_factory=set)
    states: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    graders: set[str] = field(default_factory=set)
    engines: set[str] = field(default_factory=set)
    seeds: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Seen:
    """What is noted of each record while it is read."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    exposure: ExposureCounts = field(default_factory=ExposureCounts)
    timeline: Timeline = field(default_factory=Timeline)
    identities: dict[tuple[ArmKey, Phase], Identity] = field(default_factory=dict)
    errors: dict[ArmKey, Counter[tuple[str, str]]] = field(default_factory=lambda: defaultdict(Counter))
    keys: set[ArmKey] = field(default_factory=set)
    tasks: dict[Split, dict[str, set[str | None]]] = field(default_factory=dict)
    digest: str = ""
    torn: bool = False

    def add(self, record: RunRecord, offset: int) -> None:
        """Note one record and where it stands in the file."""
        self.offsets.append(offset)
        self.exposure.add(record)
        self.timeline.add(record)
        key = arm_key(record)
        self.keys.add(key)
        if record.error_type is not None or not record.status.is_graded:
            self.errors[key][record.status.value, record.error_type or ""] += 1
        if record.benchmark_split in EVALUATION_SPLITS:
            tasks = self.tasks.setdefault(record.benchmark_split, {})
            tasks.setdefault(record.task_id, set()).add(record.task_digest)
        self._identify(key, record)

    def _identify(self, key: ArmKey, record: RunRecord) -> None:
        at = self.identities.setdefault((key, record.phase), Identity())
        if record.agent_digest is not None:
            at.agents.add(record.agent_digest)
        if record.agent_state_digest is not None:
            at.states[record.repeat].add(record.agent_state_digest)
        if record.grader_version is not None:
            at.graders.add(record.grader_version)
        if record.engine is not None:
            at.engines.add(record.engine)
        if record.seed is not None:
            at.seeds.add(record.seed)


@dataclass(frozen=True, eq=False)
class Study:
    """What a report is made from.

    Attributes:
        place: The study directory, or the file of records, as it was named.
        runs: The file of records.
        folder: The study directory; None where there is only a file.
        summary: What came out, computed from ``runs`` now.
        arms: The attempts of each row of the summary, in its order.
        names: A name to show for each row.
        context: Plan, adaptations, splits.
        lock: ``study.lock.json`` as it stands; empty without one.
        frame: Every record, one row each, with its number as ``row``.
        seen: What single records said.
        planned: Planned attempts, those of adapt included; None if unknown.
        remarks: What a reader must know of the files.
    """

    place: Path
    runs: Path
    folder: Path | None
    summary: Summary
    arms: tuple[ArmTable, ...]
    names: tuple[str, ...]
    context: StudyContext
    lock: Mapping[str, Any]
    frame: pl.DataFrame
    seen: Seen
    planned: int | None
    remarks: tuple[str, ...]

    @property
    def name(self) -> str:
        """The study's name, else its folder's or file's."""
        return clean(self.summary.study or self.place.resolve().name)

    @property
    def order(self) -> list[int]:
        """The rows of the summary as they are shown: adapted arms, then frozen ones, then oracles."""
        last = {PathType.FROZEN: 1, PathType.ORACLE: 2}
        return sorted(range(len(self.names)), key=lambda at: last.get(self.summary.rows[at].path_type, 0))

    @cached_property
    def task_ids(self) -> tuple[str, ...]:
        """Ids of all tasks that were attempted, sorted; a task is named by its place here."""
        return tuple(sorted(self.frame["task_id"].cast(pl.String).unique().to_list()))

    @cached_property
    def task_numbers(self) -> dict[str, int]:
        """The place of each task id in ``task_ids``."""
        return {task: number for number, task in enumerate(self.task_ids)}

    def keys(self, row: Row) -> list[ArmKey]:
        """Under which names the records of a row stand."""
        arm = (row.benchmark_name, row.benchmark_version, row.arm)
        rows = [r for r in self.summary.rows if (r.benchmark_name, r.benchmark_version, r.arm) == arm]
        return [
            key
            for key in sorted(self.seen.keys, key=repr)
            if key[:3] == arm and (len(rows) == 1 or key[3:] == (row.model_name, row.agent_name))
        ]


def read_study(place: Path) -> Study:
    """Read a study directory or a file of run records.

    Raises:
        RecordError: There are no records, one is invalid, or records contradict each other.
    """
    settings, context, runs, folder = AnalysisSettings(), StudyContext(), place, None
    if place.is_dir():
        found = read_folder(place)
        settings, context, runs, folder = found.settings, found.context, found.runs, place
    elif not place.exists():
        raise RecordError(f"{place}: no such file or folder; name a study directory")
    seen = Seen()
    cost_field = COST_FIELDS[settings.cost_unit] if settings.cost_unit else None
    table = table_of(_records(runs, seen), cost_field)
    if table.frame.is_empty():
        raise RecordError(f"{runs}: holds no record; there is nothing to show yet")
    planned = sum(cell.attempts for cell in context.planned) if context.planned is not None else None
    source = Source(name=runs.name, digest=seen.digest, records=table.frame.height)
    frame = table.frame.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    table = RunTable(frame, (source,))
    summary = summarize(table, settings=settings, context=context)
    return Study(
        place=place,
        runs=runs,
        folder=folder,
        summary=summary,
        arms=tuple(split_arms(frame, known_families(context))),
        names=row_names(summary.rows),
        context=context,
        lock=_lock(folder),
        frame=frame,
        seen=seen,
        planned=planned,
        remarks=(*_waiting(summary), *_unfinished(frame.height, planned), *_remarks(folder, seen)),
    )


def _records(path: Path, seen: Seen) -> Iterator[RunRecord]:
    digest = hashlib.sha256()
    try:
        with open_file(path) as handle:
            number, offset = 0, 0
            while line := handle.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise RecordError(f"{path}:{number}: longer than {MAX_LINE_BYTES} bytes; not a record")
                digest.update(line)
                if text := line.strip():
                    record = _record(path, number, text, seen, whole=line.endswith(b"\n"))
                    if record is None:
                        break
                    seen.add(record, offset)
                    yield record
                offset += len(line)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from None
    seen.digest = f"sha256:{digest.hexdigest()}"


def _record(path: Path, number: int, text: bytes, seen: Seen, *, whole: bool) -> RunRecord | None:
    """One record; None for a last line that is still being written."""
    try:
        return parse_record(text)
    except (ValidationError, RecordError) as error:
        if not whole:
            seen.torn = True
            return None
        first = next(problems(path, number, error, RunRecord))
        raise RecordError(f"{first}; `sip validate {path}` lists every bad line") from None


def _lock(folder: Path | None) -> Mapping[str, Any]:
    if folder is None or not (path := folder / LOCK).is_file():
        return {}
    try:
        return parse_object(read_text(path))
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from None


def _unfinished(made: int, planned: int | None) -> Iterator[str]:
    if planned is not None and made < planned:
        yield (
            f"The study is not finished: {made:,} of {planned:,} planned attempts are recorded. "
            "What is missing counts as lost."
        )


def due_at(summary: Summary) -> str | None:
    """When the T2 may begin that a study waits for; None if it does not wait."""
    return max((row.delay.due_at for row in summary.rows if row.delay and row.delay.due_at), default=None)


def _waiting(summary: Summary) -> Iterator[str]:
    if (due := due_at(summary)) is not None:
        yield f"T2 is due at {due}."


def _remarks(folder: Path | None, seen: Seen) -> Iterator[str]:
    if seen.torn:
        yield f"The last line of {RUNS} is not finished and was left out."
    if folder is None or not (path := folder / SUMMARY).is_file():
        return
    try:
        sources = load_summary(path).provenance.sources
    except RecordError as error:
        yield f"{SUMMARY} cannot be read and was not used: {clean(str(error), 500)}"
        return
    if seen.digest not in {source.digest for source in sources}:
        yield (
            f"{SUMMARY} is of another {RUNS}; everything here is computed from {RUNS} as it stands. "
            "`sip summarize` writes it again."
        )

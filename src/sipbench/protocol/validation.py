"""Checking files of any kind that sipbench writes, problem by problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ValidationError

from sipbench.errors import RecordError
from sipbench.protocol import v0
from sipbench.protocol.folder import (
    ADAPTATIONS,
    LOCK,
    RUNS,
    SPLITS,
    SUMMARY,
    check_adaptations,
    parse_manifest,
)
from sipbench.protocol.jsonl import (
    Judge,
    Problem,
    check_records,
    parse_object,
    problems,
    read_text,
    scan_lines,
)
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.rules import check_manifest
from sipbench.protocol.summary import Summary, parse_summary
from sipbench.protocol.versions import ADAPTATION_RECORD_VERSION, RUN_RECORD_VERSION

__all__ = ["KINDS", "FileCheck", "Kind", "check_file", "kind_of", "study_files"]

Kind = Literal["runs", "adaptations", "splits", "summary", "summary-v0"]
"""What a file holds. ``summary-v0`` is a v0.1.0 ``summary.jsonl``."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_NAMED: dict[str, Kind] = {RUNS: "runs", ADAPTATIONS: "adaptations", SPLITS: "splits", SUMMARY: "summary"}


@dataclass(slots=True)
class FileCheck:
    """What checking one file found.

    Attributes:
        file: The path as it was given.
        kind: What the file holds.
        version: Schema version of its first record; None if there is none.
        records: Good records, or 1 for a good document.
        problems: Everything that is wrong, in the order of the file.
        notes: What a reader should know though nothing is wrong.
    """

    file: str
    kind: Kind
    version: str | None = None
    records: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def bad_lines(self) -> int:
        """Lines with at least one problem; a document counts as one."""
        return len({problem.line for problem in self.problems})


def study_files(folder: Path) -> list[Path]:
    """The files of a study directory that can be checked.

    Raises:
        RecordError: ``folder`` is not a study directory.
    """
    found = [folder / name for name in _NAMED if (folder / name).is_file()]
    if not found or not ((folder / RUNS).exists() or (folder / LOCK).exists()):
        raise RecordError(f"{folder}: a directory without {RUNS}; name files or a study directory")
    return found


def kind_of(path: Path) -> Kind:
    """What a file holds, by the keys of its first object and else by its name.

    Raises:
        RecordError: The file cannot be read.
    """
    for _, line in scan_lines(path):
        if isinstance(line, bytes) and (keys := _keys(line) or _keys_of_document(path)):
            return _kind_by_keys(keys) or _kind_by_name(path)
        break
    return _kind_by_name(path)


def _keys(text: bytes) -> frozenset[str]:
    try:
        return frozenset(parse_object(text))
    except RecordError:
        return frozenset()


def _keys_of_document(path: Path) -> frozenset[str]:
    # A document that is written over several lines; a record never is.
    return frozenset() if path.suffix == ".jsonl" else _keys(read_text(path))


def _kind_by_keys(keys: frozenset[str]) -> Kind | None:
    marks: tuple[tuple[str, Kind], ...] = (
        ("run_id", "runs"),
        ("summary_id", "summary-v0"),
        ("adaptation", "adaptations"),
        ("rows", "summary"),
        ("heldout", "splits"),
    )
    return next((kind for key, kind in marks if key in keys), None)


def _kind_by_name(path: Path) -> Kind:
    if path.name in _NAMED:
        return _NAMED[path.name]
    return next((kind for name, kind in _NAMED.items() if name.partition(".")[0] in path.name), "runs")


def check_file(path: Path, kind: Kind | None = None, *, judge: Judge | None = None) -> FileCheck:
    """Check one file.

    Args:
        path: The file.
        kind: What it holds; None: by its content and name.
        judge: What run records are held against beside their format, such as the plan of their study.

    Raises:
        RecordError: The file cannot be read at all.
    """
    found = FileCheck(str(path), kind or kind_of(path))
    match found.kind:
        case "runs":
            _check_runs(path, found, judge)
        case "adaptations":
            _collect(found, check_adaptations(path))
            found.version = ADAPTATION_RECORD_VERSION if found.records else None
        case "summary-v0":
            _collect(found, _check_v0_summaries(path))
            found.version = v0.V0_VERSION if found.records else None
        case "splits":
            _check_splits(path, found)
        case "summary":
            _check_summary(path, found)
    return found


def _collect(found: FileCheck, items: Iterator[BaseModel | Problem]) -> None:
    for item in items:
        if isinstance(item, Problem):
            found.problems.append(item)
        else:
            found.records += 1


def _check_runs(path: Path, found: FileCheck, judge: Judge | None) -> None:
    _collect(found, check_records(path, judge))
    first = next((line for _, line in scan_lines(path) if isinstance(line, bytes)), None)
    if first is None:
        if not found.problems:
            found.problems.append(Problem(str(path), 1, None, "holds no record"))
        return
    try:
        version = parse_object(first).get("schema_version")
    except RecordError:
        return
    found.version = version if isinstance(version, str) else None
    if version == v0.V0_VERSION:
        found.notes.append(
            f"v0.1.0 records: checked against v0.1.0's own constraints and, read as {RUN_RECORD_VERSION}, "
            "against those it lacks (times, duplicates, NaN)"
        )


def _check_v0_summaries(path: Path) -> Iterator[BaseModel | Problem]:
    for number, line in scan_lines(path):
        if isinstance(line, Problem):
            yield line
            continue
        try:
            parse_object(line)
            yield v0.V0Summary.model_validate_json(line)
        except (ValidationError, RecordError) as error:
            yield from problems(path, number, error, v0.V0Summary)


def _check_summary(path: Path, found: FileCheck) -> None:
    text = read_text(path)
    try:
        summary = parse_summary(text)
    except (ValidationError, RecordError) as error:
        found.problems += problems(path, 1, error, Summary)
        return
    found.records, found.version = 1, summary.schema_version


def _check_splits(path: Path, found: FileCheck) -> None:
    text = read_text(path)
    try:
        manifest = parse_manifest(text)
    except (ValidationError, RecordError) as error:
        found.problems += problems(path, 1, error, SplitManifest)
        return
    found.records, found.version = 1, manifest.schema_version
    # Whether a broken rule is allowed is the study's to say, so it is told and not counted as bad.
    found.notes += [f"breaks {violation.rule}: {violation}" for violation in check_manifest(manifest)]

"""A study directory as a reader sees it: attempts, adaptations, splits, and the declared analysis.

::

    runs.jsonl         one record per attempt
    adaptations.jsonl  one record per adaptation
    splits.json        the split manifest
    study.lock.json    keys read here: name, analysis, planned, allowed, config.t2.delay
    summary.json       what came out
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from sipbench.errors import RecordError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.delay import DelayText
from sipbench.protocol.jsonl import Problem, parse_object, problems, read_text, scan_lines
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.rules import Violation
from sipbench.protocol.settings import AnalysisSettings, PlannedCell, StudyContext
from sipbench.protocol.versions import ADAPTATION_RECORD_VERSION, LOCK_VERSION, SPLITS_VERSION, upgraded

__all__ = [
    "ADAPTATIONS",
    "LOCK",
    "RUNS",
    "SPLITS",
    "SUMMARY",
    "Locked",
    "StudyFolder",
    "check_adaptations",
    "locked",
    "parse_manifest",
    "read_folder",
]

RUNS = "runs.jsonl"
ADAPTATIONS = "adaptations.jsonl"
SPLITS = "splits.json"
LOCK = "study.lock.json"
SUMMARY = "summary.json"


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """What a study directory holds.

    Attributes:
        runs: Its ``runs.jsonl``.
        settings: The declared analysis.
        context: Plan, adaptations, splits and allowed rule violations, as far as they are recorded.
    """

    runs: Path
    settings: AnalysisSettings
    context: StudyContext


class _T2(BaseModel):
    delay: DelayText | None = None


class _Config(BaseModel):
    t2: _T2 = _T2()


class Locked(BaseModel):
    """The part of ``study.lock.json`` that an analysis needs."""

    name: str | None = None
    analysis: AnalysisSettings = AnalysisSettings()
    planned: tuple[PlannedCell, ...] | None = None
    allowed: tuple[Violation, ...] = ()
    config: _Config = _Config()


def read_folder(folder: Path) -> StudyFolder:
    """Read what a study directory says beside its attempts.

    Raises:
        RecordError: There is no ``runs.jsonl``, or a file in it is invalid.
    """
    runs = folder / RUNS
    if not runs.is_file():
        raise RecordError(f"{folder}: no {RUNS} in it; expected a study directory or a file of run records")
    path = folder / LOCK
    lock = locked(path) if path.exists() else Locked()
    adaptations, manifest = folder / ADAPTATIONS, folder / SPLITS
    context = StudyContext(
        study=lock.name,
        planned=lock.planned,
        adaptations=tuple(_adaptations(adaptations)) if adaptations.exists() else None,
        manifest=_manifest(manifest) if manifest.exists() else None,
        allowed=lock.allowed,
        delay=lock.config.t2.delay,
    )
    return StudyFolder(runs, lock.analysis, context)


def locked(path: Path) -> Locked:
    """Read what an analysis needs from ``study.lock.json``.

    Raises:
        RecordError: It cannot be read, or is of a version that this release does not know.
    """
    document = _document(path)
    try:
        if "schema_version" in document:
            document = upgraded(document, current=LOCK_VERSION, upgrades={}, what="study locks")
        return Locked.model_validate(document)
    except ValidationError as error:
        raise _invalid(path, error, "the study directory was changed by hand") from None
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from None


def _document(path: Path) -> Mapping[str, Any]:
    text = read_text(path)
    try:
        return parse_object(text)
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from None


def _invalid(path: Path, error: ValidationError, what: str) -> RecordError:
    item = next(problems(path, 0, error, Locked))
    return RecordError(f"{path}: {item.field}: {item.reason}; {what}")


def parse_manifest(text: bytes) -> SplitManifest:
    """Read a split manifest of any version that can be read.

    Raises:
        ValidationError: A field is wrong.
        RecordError: It is not a JSON object, or of a version that cannot be read.
    """
    upgraded(parse_object(text), current=SPLITS_VERSION, upgrades={}, what="split manifests")
    return SplitManifest.model_validate_json(text, strict=True)


def _manifest(path: Path) -> SplitManifest:
    text = read_text(path)
    try:
        return parse_manifest(text)
    except ValidationError as error:
        raise _invalid(path, error, f"`sip validate {path}` lists all that is wrong") from None
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from None


def check_adaptations(path: Path) -> Iterator[AdaptationRecord | Problem]:
    """Yield each record of ``adaptations.jsonl`` or each thing that is wrong with it."""
    seen: dict[tuple[object, ...], int] = {}
    for number, line in scan_lines(path):
        if isinstance(line, Problem):
            yield line
            continue
        try:
            document = parse_object(line)
            upgraded(document, current=ADAPTATION_RECORD_VERSION, upgrades={}, what="adaptation records")
            record = AdaptationRecord.model_validate_json(line, strict=True)
        except (ValidationError, RecordError) as error:
            yield from problems(path, number, error, AdaptationRecord)
            continue
        first = seen.setdefault((record.arm, record.repeat, record.phase), number)
        if first != number:
            yield Problem(str(path), number, None, f"same arm, repeat and phase as line {first}")
            continue
        yield record


def _adaptations(path: Path) -> Iterator[AdaptationRecord]:
    for item in check_adaptations(path):
        if isinstance(item, Problem):
            raise RecordError(f"{item}; `sip validate {path}` lists every bad line")
        yield item

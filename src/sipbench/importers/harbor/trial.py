"""What a trial of Harbor left on disk, read as plain JSON: ``result.json``, ``lock.json``, trajectories.

The folder may be anybody's: no link in it is followed. What the agent itself wrote (its trajectory)
never makes a trial unreadable, it is then merely not known.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sipbench.errors import RecordError
from sipbench.importers.files import read_json, shortened

__all__ = [
    "LOCK",
    "RESULT",
    "TrialFiles",
    "is_own",
    "moment",
    "read_object",
    "read_result",
    "read_trial",
    "table",
    "text",
]

RESULT = "result.json"
LOCK = "lock.json"

_TRAJECTORY = Path("agent", "trajectory.json")
_RESULT_BYTES = 64 * 1024 * 1024
_TRAJECTORY_BYTES = 128 * 1024 * 1024
_READABLE = (None, 1)  # a document without a version is of version 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TrialFiles:
    """One finished trial.

    Attributes:
        folder: Where it lies.
        result: ``result.json``.
        lock: ``lock.json``; None without one.
        trajectories: What the agent did, in ATIF, one for each step that has one; None without any, or
            where only the result was read.
    """

    folder: Path
    result: Mapping[str, Any]
    lock: Mapping[str, Any] | None
    trajectories: tuple[Mapping[str, Any], ...] | None

    @property
    def config(self) -> Mapping[str, Any]:
        """The trial's configuration."""
        return table(self.result.get("config"))

    @property
    def steps(self) -> list[Mapping[str, Any]]:
        """What came of each step of a task with steps, as far as they were begun."""
        found = self.result.get("step_results")
        return [table(step) for step in found] if isinstance(found, list) else []


def read_trial(folder: Path) -> TrialFiles:
    """Read a trial, trajectories too, which may be large.

    Raises:
        RecordError: As :func:`read_result`.
    """
    found = read_result(folder)
    return replace(found, trajectories=_trajectories(folder, found.result))


def read_result(folder: Path) -> TrialFiles:
    """Read a trial without its trajectories.

    Raises:
        RecordError: There is no ``result.json``, or it is not one of a trial, or of another version.
    """
    result = read_object(folder, RESULT)
    if not isinstance(result.get("trial_name"), str) or not isinstance(result.get("task_name"), str):
        raise RecordError(f"{folder / RESULT}: not the result of a Harbor trial: no task_name and trial_name")
    version = result.get("schema_version")
    if version not in _READABLE:
        raise RecordError(
            f"{folder / RESULT}: schema_version: this release reads version 1, found {version!r}; "
            "use a newer release of sipbench"
        )
    lock = read_object(folder, LOCK) if is_own(folder, LOCK) else None
    return TrialFiles(folder, result, lock, None)


def read_object(folder: Path, name: str) -> Mapping[str, Any]:
    """The JSON object in a file of ``folder``.

    Raises:
        RecordError: It is missing, a link, too large, or no JSON object.
    """
    path = folder / name
    if path.is_symlink():
        raise RecordError(f"{path}: a link; results are read from regular files only")
    found = read_json(path, max_bytes=_RESULT_BYTES)
    if not isinstance(found, dict):
        raise RecordError(f"{path}: expected a JSON object, found {type(found).__name__}")
    return found


def is_own(folder: Path, name: str | Path) -> bool:
    """Whether ``name`` is a regular file below ``folder`` that no link leads to."""
    path = folder
    for part in Path(name).parts:
        path = path / part
        if path.is_symlink():
            return False
    return path.is_file()


def _trajectories(folder: Path, result: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...] | None:
    found = tuple(_trajectory(folder, place) for place in _places(result) if is_own(folder, place))
    kept = tuple(item for item in found if item is not None)
    return kept or None


def _places(result: Mapping[str, Any]) -> Iterator[Path]:
    yield _TRAJECTORY
    steps = result.get("step_results")
    for step in steps if isinstance(steps, list) else ():
        name = table(step).get("step_name")
        if isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\0" not in name:
            yield Path("steps", name) / _TRAJECTORY


def _trajectory(folder: Path, place: Path) -> Mapping[str, Any] | None:
    try:
        found = read_json(folder / place, max_bytes=_TRAJECTORY_BYTES)
    except RecordError as error:
        _log.warning("%s; what the agent did is not known", error)
        return None
    return found if isinstance(found, dict) else None


def table(value: Any) -> Mapping[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """``value`` as a short text without keys; None for what is no text or empty."""
    return (shortened(value) or None) if isinstance(value, str) else None


def moment(value: Any) -> datetime | None:
    """An RFC 3339 time as Harbor writes it; None for anything else, and for a time without a zone."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        return found.astimezone(UTC) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None

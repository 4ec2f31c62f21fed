"""Files that splits are read from and written to: manifests, and plain lists of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sipbench.errors import RecordError
from sipbench.protocol.folder import parse_manifest
from sipbench.protocol.jsonl import parse_object, problems, read_lines, read_text
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.records import Digest, Name

__all__ = ["ListedTask", "manifest_text", "read_manifest", "read_tasks"]


class ListedTask(BaseModel):
    """One line of a task list: a task of a benchmark that has no adapter.

    Attributes:
        id: Stable across machines and releases.
        digest: Changes when the task changes.
        family: Its template or repository.
        concept: What can transfer between families.
        text: What the agent is shown.
        metadata: Anything else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    id: Name
    digest: Digest | None = None
    family: Name | None = None
    concept: Name | None = None
    text: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


def read_tasks(path: Path) -> list[ListedTask]:
    """Read a list of tasks, one JSON object a line.

    Raises:
        RecordError: A line is not a task; the first one is named with its field.
    """
    tasks = []
    for number, line in read_lines(path):
        try:
            parse_object(line)  # stricter than pydantic: no key twice, no NaN
            tasks.append(ListedTask.model_validate_json(line, strict=True))
        except (ValidationError, RecordError) as error:
            raise RecordError(str(next(problems(path, number, error, ListedTask)))) from None
    if not tasks:
        raise RecordError(f"{path}: no tasks in it; expected one JSON object a line, with an id and a text")
    return tasks


def read_manifest(path: Path) -> SplitManifest:
    """Read a split manifest.

    Raises:
        RecordError: It cannot be read or is not valid.
    """
    text = read_text(path)
    try:
        return parse_manifest(text)
    except (ValidationError, RecordError) as error:
        found = next(problems(path, 1, error, SplitManifest))
        where = f"{path}: {found.field}: " if found.field else f"{path}: "
        raise RecordError(f"{where}{found.reason}; `sip validate {path}` lists all that is wrong") from None


def manifest_text(manifest: SplitManifest) -> str:
    """A manifest as it stands in a file: the same bytes for the same manifest."""
    return manifest.model_dump_json(indent=2) + "\n"

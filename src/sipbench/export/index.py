"""``export.json``: what an export made, so that the next one knows what changed and what was edited."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationError

from sipbench.cards.files import read_json
from sipbench.cards.load import model_problems
from sipbench.cards.model import Model, Text
from sipbench.errors import CardError, RecordError
from sipbench.export.base import Part
from sipbench.files import replace_file
from sipbench.protocol.versions import upgraded

__all__ = [
    "INDEX",
    "INDEX_VERSION",
    "Index",
    "Record",
    "Release",
    "next_version",
    "read_index",
    "write_index",
]

INDEX = "export.json"
INDEX_VERSION = "1.0.0"
FIRST = "1.0.0"

type _Version = Annotated[str, StringConstraints(pattern=r"^\d{1,6}\.\d{1,6}\.\d{1,6}$")]

_RANK: dict[Part, int] = {"metadata": 2, "verifier": 1, "environment": 0}
_NAMES: dict[Part, str] = {"metadata": "patch", "verifier": "minor", "environment": "major"}


class Release(Model):
    """A version of a record, and why it is one."""

    version: _Version
    why: Text


class Record(Model):
    """One record as it was written.

    Attributes:
        folder: Where it stands below the export's folder: ``tasks/…`` or ``draft/…``.
        releases: Versions as a task; empty for what has always been a draft.
        content: Digests of its files before the version was written in; of the last task.
        written: Digests of its files as they were written.
    """

    capsule_key: Text
    card_sha256: Text
    folder: Text
    releases: Annotated[tuple[Release, ...], Field(strict=False)] = ()
    content: dict[str, Text] = Field(default_factory=dict)
    written: dict[str, Text]


class Index(Model):
    """``export.json``."""

    schema_version: _Version = INDEX_VERSION
    format: Text
    upstream: Text
    records: dict[str, Record] = Field(default_factory=dict)


def read_index(out: Path, format_: str) -> Index | None:
    """The index of the export in ``out``; None if nothing was exported there.

    Raises:
        CardError: It cannot be read, or is another format's.
    """
    path = out / INDEX
    if not path.exists() and not path.is_symlink():
        return None
    value = read_json(path).value
    try:
        lifted = upgraded(value, current=INDEX_VERSION, upgrades={}, what="export.json")
        index = Index.model_validate(dict(lifted))
    except RecordError as error:
        raise CardError(f"{path}: {error}") from None
    except ValidationError as error:
        raise CardError(str(next(iter(model_problems(str(path), error))))) from None
    if index.format != format_:
        raise CardError(f"{out}: holds an export as {index.format}; choose another folder")
    for record in index.records.values():
        # What is written here is replaced and removed later: an index must not name other places.
        for name in (record.folder, *record.written):
            if name.startswith("/") or ".." in name.split("/") or not name:
                raise CardError(f"{path}: {name!r} is no path below the export")
    return index


def write_index(out: Path, index: Index) -> None:
    """Write the index as a whole or not at all."""
    text = json.dumps(index.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    try:
        replace_file(out / INDEX, text.encode("utf-8"))
    except OSError as error:
        raise CardError(f"{out / INDEX}: cannot be written: {error.strerror or error}") from None


def next_version(
    former: Record | None, content: Mapping[str, str], parts: Mapping[str, Part]
) -> Release | None:
    """The version that a record has to have now; None if it keeps the one it has.

    Metadata raises the patch, the verifier the minor, environment and data the major number, as
    Terminal-Bench counts and as ``harbor run --diff`` reads it: reuse, grade again, run again.

    Args:
        former: The record as it was.
        content: Digests of its files now, before a version is written in.
        parts: For each path, then and now, what it belongs to.
    """
    if former is None or not former.releases:
        return Release(version=FIRST, why="first export")
    paths = sorted(former.content.keys() | content.keys())
    changed = [path for path in paths if former.content.get(path) != content.get(path)]
    if not changed:
        return None
    part: Part = min((parts[path] for path in changed), key=lambda part: _RANK[part])
    numbers = [int(number) for number in former.releases[-1].version.split(".")]
    at = _RANK[part]
    raised = [*numbers[:at], numbers[at] + 1, 0, 0][:3]
    causes = [path for path in changed if parts[path] == part]
    more = f" and {len(causes) - 3} more" if len(causes) > 3 else ""
    why = f"{_NAMES[part]}: {part} changed ({', '.join(causes[:3])}{more})"
    return Release(version=".".join(map(str, raised)), why=why)

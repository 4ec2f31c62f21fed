"""One import: files of a kind, read by its importer, to the lines of a ``runs.jsonl``."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import batched
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sipbench import plugins
from sipbench.errors import ConfigError, RecordError
from sipbench.files import takes_replacement
from sipbench.importers.base import Binding, Imported, Importer
from sipbench.protocol.jsonl import LineWriter, read_records
from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Status

__all__ = ["make_importer", "read_files", "write_records"]

_BATCH = 1000


def make_importer(kind: str, options: Mapping[str, Any]) -> Importer:
    """The importer of ``kind`` with its options.

    Raises:
        ConfigError: No such kind, or an option that it does not take.
    """
    importer: type[Importer] = plugins.load("importers", kind)
    try:
        return importer(importer.Options.model_validate(dict(options)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = sorted(importer.Options.model_fields)
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ConfigError(
                f"kind {kind} has no option '{name}'{plugins.suggestion(name, known)}; {takes}"
            ) from None
        reason = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"option {name} of kind {kind}: {reason}") from None


def read_files(importer: Importer, paths: Sequence[Path], binding: Binding) -> Iterator[Imported]:
    """Yield the attempts of all ``paths``; no two may be the same attempt.

    Raises:
        RecordError: A file cannot be read, or two attempts stand at the same place of a study.
    """
    unique = _Unique()
    for path in paths:
        for item in importer.read(path, binding):
            unique.add(item.record, str(path))
            yield item


class _Unique:
    """Refuses a second attempt with the same identity or at the same place of the design."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._places: dict[tuple[object, ...], str] = {}

    def add(self, record: RunRecord, source: str) -> None:
        earlier = self._ids.get(record.run_id) or self._places.get(record.design_key)
        if earlier is None:
            self._ids[record.run_id] = self._places[record.design_key] = source
            return
        where = f"twice in {source}" if earlier == source else f"in {earlier} and in {source}"
        raise RecordError(
            f"{record.task_id}, {record.phase} {record.benchmark_split}, arm {record.arm}, repeat "
            f"{record.repeat}, attempt {record.attempt_index} stands {where}; bind one of them to another "
            "phase, split, arm, repeat or first_attempt"
        )


def write_records(records: Iterable[RunRecord], out: Path, *, append: bool = False) -> Counter[Status]:
    """Write ``records`` to ``out``: all of them or, after an error, none.

    Args:
        records: At least one.
        out: The file of JSON lines.
        append: Add to what ``out`` holds; otherwise it must not exist.

    Returns:
        How many of the records have which status.

    Raises:
        RecordError: ``out`` exists and is not to be appended to, is no file of records, holds one of
            the attempts already, or cannot be written.
    """
    unique = _Unique()
    exists = os.path.lexists(out)
    if exists and not append:
        raise RecordError(f"{out}: exists; add to it with --append, or choose another name")
    if exists:
        if not takes_replacement(out):
            raise RecordError(f"{out}: not a regular file; name another one with --out")
        for record in read_records(out):
            unique.add(record, str(out))
    target = out.resolve()  # a link stays a link: what it leads to is replaced
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        counts = _written(records, target if exists else None, partial, unique)
        partial.replace(target)
    except OSError as error:
        raise RecordError(f"{out}: cannot be written: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return counts


def _written(
    records: Iterable[RunRecord], before: Path | None, partial: Path, unique: _Unique
) -> Counter[Status]:
    counts: Counter[Status] = Counter()
    if before is not None:
        shutil.copyfile(before, partial)
        _end_last_line(partial)
    with LineWriter(partial) as writer:
        for batch in batched(records, _BATCH):
            for record in batch:
                unique.add(record, "what is imported")
                counts[record.status] += 1
            writer.write(record.model_dump(mode="json") for record in batch)
    if not counts:
        raise RecordError("there is nothing to import")
    return counts


def _end_last_line(path: Path) -> None:
    with path.open("r+b") as handle:
        if handle.seek(0, os.SEEK_END) == 0:
            return
        handle.seek(-1, os.SEEK_END)
        if handle.read(1) != b"\n":
            handle.write(b"\n")

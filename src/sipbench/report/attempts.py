"""Single attempts: their records, and what their engines left behind, as far as it may be shown.

What an engine or an agent wrote is hostile: a folder may hold links to anywhere, files of any size, and
text that wants to be a page. Nothing outside of the attempt's own folder is opened, no link is followed,
every read has a bound, and all of it is text to the page.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from sipbench.errors import RecordError
from sipbench.files import open_file
from sipbench.protocol.jsonl import MAX_LINE_BYTES
from sipbench.protocol.vocabulary import Status
from sipbench.report.reading import Study

__all__ = [
    "ATTEMPTS",
    "Caps",
    "Embedded",
    "LogFile",
    "embed",
    "index_of",
    "list_logs",
    "read_log",
    "read_raw",
]

ATTEMPTS = "attempts"
"""The folder of a study that holds what engines left behind."""

_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,199}")
_MOST_FILES = 60
_DEEPEST = 6
_STATUSES = [status.value for status in Status]


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of single attempts a page may hold.

    Attributes:
        indexed: Attempts that are listed.
        records: Bytes of records.
        logs: Bytes of logs.
        log: Bytes of one log: half from its beginning, half from its end.
    """

    indexed: int = 20_000
    records: int = 2_500_000
    logs: int = 1_000_000
    log: int = 8_192


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file that an engine left behind.

    Attributes:
        name: Its path below the attempt's folder.
        size: Its bytes.
        text: What is shown of it; None if it was not read.
        cut: Bytes that are left out in the middle.
    """

    name: str
    size: int
    text: str | None = None
    cut: int = 0


def read_raw(study: Study, row: int) -> dict[str, Any]:
    """The record in one row of the table, as it stands in the file.

    Whole numbers that a browser cannot hold exactly, such as seeds, are given as text.

    Raises:
        RecordError: The file has changed since it was read.
    """
    try:
        with open_file(study.runs) as handle:
            handle.seek(study.seen.offsets[row])
            document = json.loads(handle.readline(MAX_LINE_BYTES))
    except (OSError, ValueError, IndexError):
        raise RecordError(f"{study.runs}: has changed since it was read; make the report again") from None
    if not isinstance(document, dict):
        raise RecordError(f"{study.runs}: has changed since it was read; make the report again")
    return {name: _exact(value) for name, value in document.items()}


_LARGEST_EXACT = 2**53


def _exact(value: Any) -> Any:
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST_EXACT else str(value)
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, dict):
        return {name: _exact(item) for name, item in value.items()}
    return value


@contextmanager
def _opened(folder: Path, parts: Sequence[str]) -> Iterator[int | None]:
    """A descriptor of a folder below ``folder``, reached without following a link; None if there is none."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    at = -1
    try:
        at = os.open(folder, flags)
        for part in parts:
            below = os.open(part, flags | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
    except OSError:
        if at >= 0:
            os.close(at)
        yield None
        return
    try:
        yield at
    finally:
        os.close(at)


def list_logs(study: Study, run_id: str) -> list[LogFile]:
    """The files of one attempt, by name, without their text; none where there is no such folder."""
    if study.folder is None or not _RUN_ID.fullmatch(run_id):
        return []
    with _opened(study.folder / ATTEMPTS, [run_id]) as at:
        return [] if at is None else sorted(_files(at, "", 0), key=lambda file: file.name)[:_MOST_FILES]


def _files(at: int, prefix: str, depth: int) -> Iterator[LogFile]:
    found = 0
    with os.scandir(at) as entries:
        for entry in entries:
            found += 1
            if found > _MOST_FILES:
                return
            name = f"{prefix}{entry.name}"
            try:
                if entry.is_file(follow_symlinks=False):
                    yield LogFile(name, entry.stat(follow_symlinks=False).st_size)
                elif entry.is_dir(follow_symlinks=False) and depth < _DEEPEST:
                    below = os.open(
                        entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at
                    )
                    try:
                        yield from _files(below, f"{name}/", depth + 1)
                    finally:
                        os.close(below)
            except OSError:
                continue


def read_log(study: Study, run_id: str, name: str, most: int) -> LogFile | None:
    """One file of one attempt, at most ``most`` bytes of it; None if there is no such file.

    Text that is not UTF-8 is decoded with replacement; a file with a zero byte is no text.
    """
    parts = PurePosixPath(name).parts
    plain = bool(parts) and not any(part in ("..", "/") or "\0" in part for part in parts)
    if study.folder is None or not plain or not _RUN_ID.fullmatch(run_id):
        return None
    with _opened(study.folder / ATTEMPTS, [run_id, *parts[:-1]]) as at:
        if at is None:
            return None
        try:
            # A pipe must not hold up the reader, which O_NONBLOCK prevents.
            handle = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        except OSError:
            return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return None
        return _ends(file, name, found.st_size, most)


def _ends(file: Any, name: str, size: int, most: int) -> LogFile:
    try:
        if size <= most:
            data, tail, cut = file.read(most), b"", 0
        else:
            data = file.read(most // 2)
            file.seek(size - most // 2)
            tail, cut = file.read(most // 2), size - 2 * (most // 2)
    except OSError as error:
        return LogFile(name, size, f"[cannot be read: {error.strerror}]")
    if b"\0" in data or b"\0" in tail:
        return LogFile(name, size, f"[no text: {size:,} bytes]")
    text = data.decode("utf-8", "replace")
    if cut:
        text += f"\n[... {cut:,} bytes left out ...]\n" + tail.decode("utf-8", "replace")
    return LogFile(name, size, text, cut)


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a page holds of single attempts, as plain JSON.

    Attributes:
        index: The attempts that are listed, as columns; see :func:`index_of`.
        records: Row number to record.
        logs: Row number to files.
        left: Attempts whose record is not in it.
    """

    index: dict[str, Any]
    records: dict[int, dict[str, Any]]
    logs: dict[int, list[LogFile]]
    left: int


def embed(study: Study, drawn: Sequence[int], caps: Caps | None = None) -> Embedded:
    """Choose what a page holds: what was drawn first, then what was not graded, then the rest in order.

    Args:
        study: The study.
        drawn: Rows that are linked from a chart.
        caps: How much.
    """
    caps = caps or Caps()
    order = _order(study, drawn)
    rows = order[: caps.indexed]
    records: dict[int, dict[str, Any]] = {}
    logs: dict[int, list[LogFile]] = {}
    room, log_room = caps.records, caps.logs
    for row in rows:
        size = _size(study, row)
        if size > room:
            break
        room -= size
        records[row] = read_raw(study, row)
        if log_room > 0:
            logs[row], log_room = _logs(study, str(records[row].get("run_id")), log_room, caps.log)
    return Embedded(index_of(study, sorted(rows)), records, logs, study.frame.height - len(records))


def _order(study: Study, drawn: Sequence[int]) -> list[int]:
    graded = [status.value for status in Status if status.is_graded]
    rest = study.frame.select("row", pl.col("status").cast(pl.String).is_in(graded).alias("graded"))
    order = dict.fromkeys(drawn)
    order |= dict.fromkeys(rest.sort("graded", "row")["row"].to_list())
    return list(order)


# What a record adds to a page once what all records share is written once.
_OVERHEAD = 0.35


def _size(study: Study, row: int) -> int:
    offsets = study.seen.offsets
    end = offsets[row + 1] if row + 1 < len(offsets) else study.runs.stat().st_size
    return int((end - offsets[row]) * _OVERHEAD)


def _logs(study: Study, run_id: str, room: int, most: int) -> tuple[list[LogFile], int]:
    found = []
    for file in list_logs(study, run_id):
        if file.size == 0 or min(file.size, most) > room:
            found.append(file)
            continue
        read = read_log(study, run_id, file.name, most)
        if read is not None:
            found.append(read)
            room -= len(read.text or "")
    return found, room


def index_of(study: Study, rows: Sequence[int]) -> dict[str, Any]:
    """Where attempts stand in the design, as columns of equal length.

    Returns:
        ``row``, ``arm``, ``task``, ``phase``, ``split``, ``repeat``, ``attempt``, ``status``, ``score``;
        ``arm``, ``phase``, ``split`` and ``status`` are numbers into ``arms``, ``phases``, ``splits`` and
        ``statuses``, and ``task`` one into the study's task ids.
    """
    chosen = study.frame.filter(pl.col("row").is_in(list(rows))).sort("row")
    arms = sorted(chosen["arm"].cast(pl.String).unique().to_list())
    phases = sorted(chosen["phase"].cast(pl.String).unique().to_list())
    splits = sorted(chosen["benchmark_split"].cast(pl.String).unique().to_list())

    def numbers(column: str, names: Sequence[str]) -> list[int]:
        position = {name: number for number, name in enumerate(names)}
        return [position[name] for name in chosen[column].cast(pl.String).to_list()]

    return {
        "arms": arms,
        "phases": phases,
        "splits": splits,
        "statuses": _STATUSES,
        "row": chosen["row"].to_list(),
        "arm": numbers("arm", arms),
        "task": numbers("task_id", study.task_ids),
        "phase": numbers("phase", phases),
        "split": numbers("benchmark_split", splits),
        "repeat": chosen["repeat"].to_list(),
        "attempt": chosen["attempt_index"].to_list(),
        "status": numbers("status", _STATUSES),
        "score": chosen["score"].to_list(),
    }

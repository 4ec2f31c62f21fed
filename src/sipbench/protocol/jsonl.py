"""Reading, checking and appending JSON lines: ``runs.jsonl`` and the journal.

A line is in the file or it is not: :class:`LineWriter` writes, flushes and syncs each line, and
:func:`drop_torn_line` removes what a crash left behind after the last line feed.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import BaseModel, ValidationError

from sipbench.errors import RecordError
from sipbench.files import TooLargeError, kind_of_mode, open_file, read_file
from sipbench.protocol import v0
from sipbench.protocol.digests import canonical_json
from sipbench.protocol.records import RunRecord
from sipbench.protocol.versions import RUN_RECORD_VERSION, upgraded

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "MAX_LINE_BYTES",
    "Judge",
    "LineWriter",
    "Problem",
    "check_readable",
    "check_records",
    "drop_torn_line",
    "parse_object",
    "parse_record",
    "problems",
    "read_lines",
    "read_records",
    "read_text",
    "scan_lines",
]

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is refused: no record needs it, and one line must not fill the memory."""

MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
"""A larger JSON document is refused."""

_TOO_LONG = f"longer than {MAX_LINE_BYTES} bytes; not a record"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one line."""

    file: str
    line: int
    field: str | None
    reason: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}"
        return f"{where}: {self.field}: {self.reason}" if self.field else f"{where}: {self.reason}"


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, bytes without the line end) of every line that is not blank.

    Raises:
        RecordError: The file cannot be read, or a line is longer than ``MAX_LINE_BYTES``.
    """
    for number, line in scan_lines(path):
        if isinstance(line, Problem):
            raise RecordError(str(line))
        yield number, line


def scan_lines(path: Path) -> Iterator[tuple[int, bytes | Problem]]:
    """As :func:`read_lines`, but a line that is too long is a problem, and reading goes on after it."""
    try:
        with open_file(path) as handle:
            number = 0
            while line := handle.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    while line and not line.endswith(b"\n"):
                        line = handle.readline(MAX_LINE_BYTES)
                    yield number, Problem(str(path), number, None, _TOO_LONG)
                elif text := line.strip():
                    yield number, text
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from None


def read_text(path: Path) -> bytes:
    """The bytes of a JSON document.

    Raises:
        RecordError: It cannot be read, or is too large to be one.
    """
    try:
        return read_file(path, limit=MAX_DOCUMENT_BYTES)
    except TooLargeError as error:
        raise RecordError(f"{path}: {error.strerror}; not a document of sipbench") from None
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from None


def parse_object(text: bytes) -> dict[str, Any]:
    """Read one JSON object, strictly: UTF-8 without a byte-order mark, no NaN, no key twice.

    Raises:
        RecordError: It is something else; the message says what and, where it can, the column.
    """
    try:
        document = _DECODER.decode(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecordError(f"not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        if text.startswith(codecs.BOM_UTF8):
            raise RecordError("starts with a byte-order mark; save it as UTF-8 without one") from None
        where = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        raise RecordError(f"not JSON: {error.msg} at {where}") from None
    except RecursionError:
        raise RecordError("not a record: nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits, or what the hooks refuse
        said = str(error)
        raise RecordError("a number has too many digits" if "digits" in said else said) from None
    if not isinstance(document, dict):
        raise RecordError(f"not a JSON object but {type(document).__name__}")
    return document


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:80]}: the key stands twice in one object")
    return document


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON; an unknown number is null")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant)


def parse_record(line: bytes) -> RunRecord:
    """Read one record of any version that can be read.

    Raises:
        ValidationError: A field is wrong (pydantic's, with its locations).
        RecordError: The line is not a JSON object, or its version cannot be read.
    """
    document = parse_object(line)
    lifted = upgraded(
        document, current=RUN_RECORD_VERSION, upgrades={0: v0.upgrade_record}, what="run records"
    )
    if lifted is document:
        return RunRecord.model_validate_json(line, strict=True)
    try:
        text = canonical_json(lifted)
    except ValueError as error:
        raise RecordError(f"not a record: {error}") from None
    return RunRecord.model_validate_json(text, strict=True)


def check_readable(record: BaseModel) -> None:
    """Refuse a record whose line could not be read again: written, it would end a study for good.

    Raises:
        RecordError: Its line would be too long, nested too deeply, or otherwise not be what it is.
    """
    try:
        line = canonical_json(record.model_dump(mode="json"))
        if len(line) > MAX_LINE_BYTES:
            raise RecordError(f"its line would be longer than {MAX_LINE_BYTES} bytes")
        parse_object(line)
        type(record).model_validate_json(line, strict=True)
    except ValidationError as error:
        item = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in item["loc"])
        raise RecordError(f"{field}: {item['msg']}" if field else item["msg"]) from None
    except ValueError as error:
        raise RecordError(str(error)) from None


type Judge = Callable[[RunRecord], tuple[str, str] | None]
"""Gives the field of a record that is wrong, and the reason with what to do; None where nothing is."""


def check_records(path: Path, judge: Judge | None = None) -> Iterator[RunRecord | Problem]:
    """Yield, line by line, the record or each thing that is wrong with it; duplicates are problems.

    Args:
        path: The file.
        judge: What else each valid record is held against.
    """
    seen_ids: dict[bytes, int] = {}
    seen_keys: dict[bytes, int] = {}
    for number, line in scan_lines(path):
        if isinstance(line, Problem):
            yield line
            continue
        try:
            record = parse_record(line)
        except (ValidationError, RecordError) as error:
            yield from problems(path, number, error, RunRecord, _said_by(line, error))
            continue
        if judge is not None and (wrong := judge(record)) is not None:
            yield Problem(str(path), number, *wrong)
            continue
        first = seen_ids.setdefault(_short(record.run_id), number)
        if first != number:
            yield Problem(str(path), number, "run_id", f"already on line {first}")
            continue
        first = seen_keys.setdefault(_short(record.design_key), number)
        if first != number:
            place = "benchmark, version, split, phase, arm, task, repeat, seed and attempt"
            yield Problem(str(path), number, None, f"same {place} as line {first}")
            continue
        yield record


def _short(key: object) -> bytes:
    # A million keys themselves would fill half a gigabyte.
    return hashlib.blake2b(repr(key).encode("utf-8", "backslashreplace"), digest_size=16).digest()


def _said_by(line: bytes, error: ValidationError | RecordError) -> str:
    """Whose rule a v0.1.0 record breaks: its own format's, or one that v0.1.0 did not have."""
    if isinstance(error, RecordError):
        return ""
    if error.title == v0.V0RunRecord.__name__:
        return " (v0.1.0's own constraint)"
    old = parse_object(line).get("schema_version") == v0.V0_VERSION
    return " (v0.1.0 lets it pass, a record must not)" if old else ""


def problems(
    path: Path,
    number: int,
    error: ValidationError | RecordError,
    model: type[BaseModel],
    remark: str = "",
) -> Iterator[Problem]:
    """What ``error`` says about one line, field by field, each followed by ``remark``."""
    if isinstance(error, RecordError):
        yield _problem(path, number, None, str(error), model)
        return
    for item in error.errors(include_url=False, include_input=False):
        field = ".".join(str(part) for part in item["loc"]) or None
        yield _problem(path, number, field, item["msg"].removeprefix("Value error, ") + remark, model)


def _problem(path: Path, number: int, field: str | None, reason: str, model: type[BaseModel]) -> Problem:
    named, _, rest = reason.partition(": ")
    if field is None and rest and named in model.model_fields:
        field, reason = named, rest
    return Problem(str(path), number, field, reason)


def read_records(path: Path) -> Iterator[RunRecord]:
    """Yield the records of a file.

    Raises:
        RecordError: At the first line that is not a valid record.
    """
    for item in check_records(path):
        if isinstance(item, Problem):
            raise RecordError(f"{item}; `sip validate {path}` lists every bad line")
        yield item


def drop_torn_line(path: Path) -> int:
    """Remove what follows the last line feed: the trace of a write that a crash cut short.

    Returns:
        The number of bytes that were removed; 0 for a whole or missing file.

    Raises:
        RecordError: It is no regular file.
    """
    if not path.exists():
        return 0
    if (said := kind_of_mode(path.stat().st_mode)) is not None:
        raise RecordError(f"{path}: cannot be written: {said}")
    with path.open("r+b") as handle:
        end = handle.seek(0, os.SEEK_END)
        keep = _end_of_last_line(handle, end)
        if keep != end:
            handle.truncate(keep)
            os.fsync(handle.fileno())
    return end - keep


def _end_of_last_line(handle: Any, end: int) -> int:
    step = 64 * 1024
    while end > 0:
        start = max(0, end - step)
        handle.seek(start)
        found = handle.read(end - start).rfind(b"\n")
        if found >= 0:
            return int(start + found + 1)
        end = start
    return 0


class LineWriter:
    """Appends JSON lines durably: after :meth:`write` returns, the line survives a crash."""

    def __init__(self, path: Path) -> None:
        self._handle = path.open("ab")

    def write(self, documents: Iterable[Any]) -> None:
        """Append each document as one line, then flush and sync once."""
        self.append(documents)
        self.sync()

    def append(self, documents: Iterable[Any]) -> None:
        """Append each document as one line: it outlives this process at once, the machine after a sync."""
        self._handle.write(b"".join(canonical_json(document) + b"\n" for document in documents))
        self._handle.flush()

    def sync(self) -> None:
        """Make what was appended durable; another thread may append meanwhile."""
        os.fsync(self._handle.fileno())

    def close(self) -> None:
        """Close the file."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

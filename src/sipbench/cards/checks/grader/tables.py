"""Tables as rows of texts or values: CSV, TSV, JSON, JSON Lines, Parquet, Excel."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .places import Place, read
from .verdicts import Failed, Impossible, shown

__all__ = ["CONTAINERS", "Table", "container_of", "parse_json", "read_table"]

MAX_CELLS = 50_000_000
MAX_INFLATED = 512 * 1024 * 1024
CONTAINERS = ("csv", "tsv", "json", "jsonl", "parquet", "xlsx")

_SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".txt": "tsv", ".tab": "tsv", ".bed": "tsv", ".json": "json",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".xlsx": "xlsx",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table as read.

    Attributes:
        columns: Names, in order; empty where the first row is data.
        rows: Cells; texts from text formats, values from the others; None is a missing one.
    """

    columns: list[str]
    rows: list[list[Any]]

    def index(self, column: str) -> int:
        """The position of a column.

        Raises:
            Failed: There is none of that name, or several.
        """
        found = [number for number, name in enumerate(self.columns) if name == column]
        if len(found) != 1:
            raise Failed(f"{'no' if not found else 'more than one'} column is called {shown(column)!r}")
        return found[0]


def container_of(path: str, named: str | None) -> str:
    """The format of a table: the one that the check names, else the one that the suffix says.

    Raises:
        Impossible: Neither says it.
    """
    if named:
        return named
    suffix = path[path.rfind(".") :].lower() if "." in path else ""
    if suffix not in _SUFFIXES:
        raise Impossible(f"the check names no container, and {shown(path)} does not tell it")
    return _SUFFIXES[suffix]


def read_table(place: Place, path: str, container: str, *, header: bool = True) -> Table:
    """Read a table.

    Args:
        place: The submission.
        path: The file.
        container: One of ``CONTAINERS``.
        header: Whether the first row of a CSV, TSV or Excel table names the columns.

    Raises:
        Failed: It is no such table, not rectangular, or too large.
        Impossible: A package is missing that reads it.
    """
    data = read(place, path)
    if container in ("csv", "tsv"):
        table = _separated(_decoded(data, path), "," if container == "csv" else "\t", path, header)
    elif container == "json":
        table = _records(parse_json(_decoded(data, path), path), path)
    elif container == "jsonl":
        lines = [line for line in _decoded(data, path).split("\n") if line.strip()]
        table = _records([parse_json(line, path) for line in lines], path)
    elif container == "parquet":
        table = _parquet(data, path)
    elif container == "xlsx":
        table = _excel(data, path, header)
    else:
        raise Impossible(f"unknown container {shown(container)}")
    if len(table.rows) * max(1, len(table.columns)) > MAX_CELLS:
        raise Failed(f"{shown(path)} has more than {MAX_CELLS} cells")
    return table


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failed(f"{shown(path)} is not UTF-8 at byte {error.start + 1}") from None


def _separated(text: str, delimiter: str, path: str, header: bool) -> Table:
    if "\0" in text:
        raise Failed(f"{shown(path)} holds a NUL, so it is no text table")
    csv.field_size_limit(16 * 1024 * 1024)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows: list[list[Any]] = [row for row in lines if row]
    except csv.Error as error:
        raise Failed(f"{shown(path)} is no table: {error}") from None
    return _rectangular(rows, path, header)


def _rectangular(rows: list[list[Any]], path: str, header: bool) -> Table:
    if not rows:
        raise Failed(f"{shown(path)} has no row")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise Failed(f"{shown(path)}: row {number} has {len(row)} cells, the first has {width}")
    if not header:
        return Table([], rows)
    return Table([str(name).strip() if name is not None else "" for name in rows[0]], rows[1:])


def parse_json(text: str, path: str) -> Any:
    """Read a JSON document, strictly.

    Raises:
        Failed: It is none, says a key twice, holds NaN, or is nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise Failed(f"{shown(path)} is nested too deeply") from None
    except ValueError as error:
        said = "a number has too many digits" if "digits" in str(error) else error
        raise Failed(f"{shown(path)} is not JSON: {said}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return document


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON value")


def _records(value: Any, path: str) -> Table:
    """A list of objects, or an object of lists of one length, as a table."""
    if isinstance(value, dict) and value and all(isinstance(item, list) for item in value.values()):
        lengths = {len(item) for item in value.values()}
        if len(lengths) > 1:
            raise Failed(f"{shown(path)}: its columns differ in length")
        return Table(list(value), [list(row) for row in zip(*value.values(), strict=True)])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Failed(f"{shown(path)} is neither a list of objects nor an object of columns")
    columns = list(dict.fromkeys(name for item in value for name in item))
    if len(columns) * len(value) > MAX_CELLS:
        raise Failed(f"{shown(path)} has more than {MAX_CELLS} cells")
    return Table(columns, [[item.get(name) for name in columns] for item in value])


def _parquet(data: bytes, path: str) -> Table:
    try:
        import polars
    except ImportError:
        raise Impossible("reading Parquet needs the package polars") from None
    if data[:4] != b"PAR1" or data[-4:] != b"PAR1":
        raise Failed(f"{shown(path)} has no Parquet signature")
    try:
        frame = polars.read_parquet(io.BytesIO(data), n_rows=MAX_CELLS)
    except Exception as error:
        raise Failed(f"{shown(path)} is not Parquet: {shown(error, 120)}") from None
    return Table(list(frame.columns), [list(row) for row in frame.rows()])


def _excel(data: bytes, path: str, header: bool) -> Table:
    try:
        import openpyxl
    except ImportError:
        raise Impossible("reading Excel needs the package openpyxl") from None
    refuse_bomb(data, path)
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    except Exception as error:
        raise Failed(f"{shown(path)} is not Excel: {shown(error, 120)}") from None
    return _rectangular([row for row in rows if _any(row)], path, header)


def _any(row: Iterable[Any]) -> bool:
    return any(cell is not None for cell in row)


def refuse_bomb(data: bytes, path: str) -> None:
    """Refuse an archive that would inflate beyond ``MAX_INFLATED``.

    Raises:
        Failed: It would, or it is no archive.
    """
    if data[:4] != b"PK\x03\x04":
        raise Failed(f"{shown(path)} has no signature of an archive")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise Failed(f"{shown(path)} is no archive: {shown(error)}") from None
    if size > MAX_INFLATED:
        raise Failed(f"{shown(path)} would inflate to more than {MAX_INFLATED} bytes")

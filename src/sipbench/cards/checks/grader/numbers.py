"""Numbers in texts, tables, JSON documents and images: what a selector takes."""

from __future__ import annotations

import math
import re
import statistics
import struct
from collections.abc import Callable, Mapping
from typing import Any

from .images import image_size
from .places import Place, read
from .tables import Table, container_of, parse_json, read_table
from .verdicts import Failed, Impossible, shown

__all__ = ["TAKES", "number_of", "select", "values_of"]

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INDEX = re.compile(r"0|[1-9]\d{0,9}", re.ASCII)

TAKES: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "mean": math.fsum,  # divided below, so that the sum of many values is exact
    "sum": math.fsum,
    "median": statistics.median,
}


def number_of(value: Any, where: str) -> float:
    """A finite number from a cell or a JSON value.

    Raises:
        Failed: It is no number: a text that is none, true, a missing value, NaN or an infinity.
    """
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            raise Failed(f"{where} is no number: {shown(value)!r}")
        value = float(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Failed(f"{where} is no number: {shown(value)!r}")
    try:
        number = float(value)
    except OverflowError:
        raise Failed(f"{where} is too large") from None
    if not math.isfinite(number):
        raise Failed(f"{where} is not finite")
    return number


def select(place: Place, path: str, selector: Mapping[str, Any]) -> list[float]:
    """The numbers that a selector takes from a file; at least one.

    Args:
        place: The submission.
        path: The file.
        selector: ``{"by": "number" | "after" | "pointer" | "cell" | "column" | "image", ...}``.

    Raises:
        Failed: The file does not hold them.
        Impossible: The selector is not known here.
    """
    by = selector.get("by")
    if by == "number":
        return [number_of(place.text(path), shown(path))]
    if by == "after":
        return [_after(place.text(path), str(selector["label"]), path)]
    if by == "pointer":
        document = parse_json(place.text(path), path)
        pointer = str(selector["pointer"])
        return [number_of(_pointed(document, pointer), f"{shown(path)} at {shown(pointer)}")]
    if by == "image":
        return [float(_image(place, path)[0 if selector["take"] == "width" else 1])]
    if by not in ("cell", "column"):
        raise Impossible(f"unknown selector {shown(by)}")
    table = read_table(place, path, container_of(path, selector.get("container")))
    return [_cell(table, selector, path)] if by == "cell" else _column(table, selector, path)


def _image(place: Place, path: str) -> tuple[int, int]:
    data = read(place, path)
    try:
        return image_size(data)
    except (Failed, struct.error) as error:
        raise Failed(f"{shown(path)} {error}") from None


def _after(text: str, label: str, path: str) -> float:
    at = text.find(label)
    if at < 0:
        raise Failed(f"{shown(path)} does not hold the label {shown(label)!r}")
    rest = text[at + len(label) :].split("\n", 1)[0]
    found = _NUMBER.search(rest)
    if found is None:
        raise Failed(f"{shown(path)}: no number follows the label {shown(label)!r}")
    return number_of(found.group(), f"{shown(path)} after {shown(label)!r}")


def _pointed(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer (RFC 6901)."""
    value = document
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise Failed(f"there is nothing at {shown(pointer)}")
    return value


def values_of(document: Any, pointer: str) -> bool:
    """Whether there is anything at a JSON pointer."""
    try:
        _pointed(document, pointer)
    except Failed:
        return False
    return True


def _cell(table: Table, selector: Mapping[str, Any], path: str) -> float:
    column = table.index(str(selector["column"]))
    rows = table.rows
    where: Mapping[str, Any] = selector.get("where") or {}
    for name, wanted in where.items():
        at = table.index(name)
        rows = [row for row in rows if same_key(row[at], wanted)]
    number = selector.get("row")
    if number is not None:
        rows = rows[number : number + 1]
    if len(rows) != 1:
        raise Failed(f"{shown(path)}: {len(rows)} rows are the one that is looked for")
    return number_of(rows[0][column], f"{shown(path)}, column {shown(selector['column'])}")


def same_key(cell: Any, wanted: Any) -> bool:
    """Whether a cell names the row that is looked for: as a text, or as the same number."""
    if str(cell).strip() == str(wanted).strip():
        return True
    try:
        return number_of(cell, "") == number_of(wanted, "")
    except Failed:
        return False


def _column(table: Table, selector: Mapping[str, Any], path: str) -> list[float]:
    column = table.index(str(selector["column"]))
    if not table.rows:
        raise Failed(f"{shown(path)} has no row")
    name = f"{shown(path)}, column {shown(selector['column'])}"
    values = [number_of(row[column], f"{name}, row {n}") for n, row in enumerate(table.rows, start=1)]
    take = selector.get("take", "all")
    if take == "all":
        return values
    if take not in TAKES:
        raise Impossible(f"unknown take {shown(take)}")
    value = TAKES[take](values)
    return [value / len(values) if take == "mean" else value]

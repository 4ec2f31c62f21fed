"""Equal under a tolerance: numbers, texts, JSON documents, tables."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .numbers import _NUMBER, select
from .places import Place
from .tables import Table, container_of, parse_json, read_table
from .verdicts import Failed, Impossible, shown

__all__ = ["COMPARATORS", "Tolerance", "compare"]

_MISSING = {"", "na", "nan", "none", "null"}


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be from its reference.

    Attributes:
        rtol: Relative to the reference.
        atol: Absolute, in the number's own unit; the two add up, as in numpy's ``isclose``.
        digits: Significant digits that have to agree; instead of the other two.
    """

    rtol: float = 0.0
    atol: float = 0.0
    digits: int | None = None

    def holds(self, value: float, reference: float) -> bool:
        """``|value - reference| <= atol + rtol * |reference|``; or half a unit of the last digit."""
        if not (math.isfinite(value) and math.isfinite(reference)):
            return False
        limit = self.atol + self.rtol * abs(reference)
        if self.digits is not None:
            if reference == 0:
                return value == 0
            limit = 0.5 * 10.0 ** (math.floor(math.log10(abs(reference))) - self.digits + 1)
        # A hair for what binary fractions cannot express: 0.63 is within 0.005 of 0.625.
        hair = 4 * sys.float_info.epsilon * max(abs(value), abs(reference)) if limit else 0.0
        return abs(value - reference) <= limit + hair


def tolerance_of(check: Mapping[str, Any]) -> Tolerance:
    """The tolerance of a check.

    Raises:
        Impossible: It is negative, NaN or an infinity, which would let everything or nothing pass.
    """
    rtol, atol = float(check.get("rtol") or 0.0), float(check.get("atol") or 0.0)
    digits = check.get("digits")
    if not all(math.isfinite(item) and item >= 0 for item in (rtol, atol)):
        raise Impossible("the check has a tolerance that is no finite number >= 0")
    if digits is not None and (isinstance(digits, bool) or not isinstance(digits, int) or digits < 1):
        raise Impossible("the check asks for no whole number of digits >= 1")
    return Tolerance(rtol, atol, digits)


def compare(place: Place, references: Place, check: Mapping[str, Any]) -> str:
    """Compare a file of the submission with its reference.

    Returns:
        What was found equal.

    Raises:
        Failed: They differ; the message says where, and not what the reference holds.
        Impossible: The reference cannot be read, or the comparator is not known.
    """
    name = str(check["comparator"])
    comparator = COMPARATORS.get(name)
    if comparator is None:
        raise Impossible(f"unknown comparator {shown(name)}")
    return comparator(place, references, check)


def _reference(read: Callable[[], Any]) -> Any:
    """What is read from the reference, whose faults are not the submission's."""
    try:
        return read()
    except Failed as error:
        raise Impossible(f"the reference is unusable: {error}") from None


def _bytes(place: Place, references: Place, check: Mapping[str, Any]) -> str:
    path = check["path"]
    wanted = _reference(lambda: references.read(check["reference"]))
    if place.read(path) != wanted:
        raise Failed(f"{shown(path)} is not the reference, byte for byte")
    return "every byte is the reference's"


def _text(place: Place, references: Place, check: Mapping[str, Any]) -> str:
    wanted = _lines(_reference(lambda: references.text(check["reference"])))
    found = _lines(place.text(check["path"]))
    for number, (line, other) in enumerate(zip(found, wanted, strict=False), start=1):
        if line != other:
            raise Failed(f"{shown(check['path'])}: line {number} is not the reference's")
    if len(found) != len(wanted):
        raise Failed(f"{shown(check['path'])} has {len(found)} lines, not as many as the reference")
    return f"all {len(found)} lines are the reference's"


def _lines(text: str) -> list[str]:
    """Lines without the white space at their ends, which editors and systems differ in."""
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _number(place: Place, references: Place, check: Mapping[str, Any]) -> str:
    selector = check.get("selector") or {"by": "number"}
    tolerance = tolerance_of(check)
    wanted = _reference(lambda: select(references, check["reference"], selector))
    found = select(place, check["path"], selector)
    if len(found) != len(wanted):
        raise Failed(f"{shown(check['path'])} has {len(found)} numbers, not as many as the reference")
    for number, (value, other) in enumerate(zip(found, wanted, strict=True), start=1):
        if not tolerance.holds(value, other):
            raise Failed(f"{shown(check['path'])}: number {number}, {value:g}, is outside of the tolerance")
    return f"{len(found)} numbers are within the tolerance"


def _json(place: Place, references: Place, check: Mapping[str, Any]) -> str:
    tolerance = tolerance_of(check)
    wanted = _reference(lambda: parse_json(references.text(check["reference"]), "it"))
    _same_json(parse_json(place.text(check["path"]), check["path"]), wanted, tolerance, "")
    return "the document equals the reference"


def _same_json(found: Any, wanted: Any, tolerance: Tolerance, at: str) -> None:
    where = shown(at or "/")
    if isinstance(wanted, dict) and isinstance(found, dict):
        if found.keys() != wanted.keys():
            raise Failed(f"the object at {where} has other keys than the reference")
        for key in wanted:
            _same_json(found[key], wanted[key], tolerance, f"{at}/{key}")
    elif isinstance(wanted, list) and isinstance(found, list):
        if len(found) != len(wanted):
            raise Failed(f"the list at {where} has another length than the reference's")
        for number, (item, other) in enumerate(zip(found, wanted, strict=True)):
            _same_json(item, other, tolerance, f"{at}/{number}")
    elif _is_number(wanted) and _is_number(found):
        if not tolerance.holds(float(found), float(wanted)):
            raise Failed(f"the number at {where} is outside of the tolerance")
    elif type(found) is not type(wanted) or found != wanted:
        raise Failed(f"the value at {where} is not the reference's")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _table(place: Place, references: Place, check: Mapping[str, Any]) -> str:
    tolerance = tolerance_of(check)
    keys = [str(key) for key in check.get("key_columns") or ()]
    path, reference = check["path"], check["reference"]
    container = check.get("container")
    wanted = _reference(lambda: read_table(references, reference, container_of(reference, container)))
    ordered_reference = _reference(lambda: _by_key(wanted, keys))
    found = read_table(place, path, container_of(path, container))
    missing = [name for name in wanted.columns if name not in found.columns]
    if missing:
        raise Failed(f"{shown(path)} lacks the column {shown(missing[0])!r}")
    if len(found.rows) != len(wanted.rows):
        raise Failed(f"{shown(path)} has {len(found.rows)} rows, not as many as the reference")
    places = [(name, found.index(name), number) for number, name in enumerate(wanted.columns)]
    rows = _by_key(found, keys)
    for key, other in ordered_reference.items():
        row = rows.get(key)
        if row is None:
            raise Failed(f"{shown(path)} lacks the row {shown(key)}")
        for name, at, number in places:
            if name not in keys and not _same_cell(row[at], other[number], tolerance):
                raise Failed(
                    f"{shown(path)}: row {shown(key)}, column {shown(name)!r} is not the reference's"
                )
    return f"{len(found.rows)} rows equal the reference"


def _by_key(table: Table, keys: list[str]) -> dict[Any, list[Any]]:
    """Rows by the values of the key columns; by their number where there are none."""
    if not keys:
        return dict(enumerate(table.rows, start=1))
    at = [table.index(key) for key in keys]
    rows: dict[Any, list[Any]] = {}
    for row in table.rows:
        key = tuple(_key(row[number]) for number in at)
        if key in rows:
            raise Failed(f"two rows have the key {shown(key)}")
        rows[key] = row
    return rows


def _key(cell: Any) -> Any:
    number = _numeric(cell)
    return number if number is not None else str(cell).strip()


def _numeric(cell: Any) -> float | None:
    if isinstance(cell, str):
        text = cell.strip()
        return float(text) if _NUMBER.fullmatch(text) else None
    return float(cell) if _is_number(cell) else None


def _same_cell(found: Any, wanted: Any, tolerance: Tolerance) -> bool:
    if _is_missing(found) or _is_missing(wanted):
        return _is_missing(found) and _is_missing(wanted)
    value, other = _numeric(found), _numeric(wanted)
    if value is not None and other is not None:
        return tolerance.holds(value, other)
    return str(found).strip() == str(wanted).strip()


def _is_missing(cell: Any) -> bool:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and cell.strip().lower() in _MISSING


COMPARATORS: dict[str, Callable[[Place, Place, Mapping[str, Any]], str]] = {
    "bytes": _bytes,
    "text": _text,
    "number": _number,
    "json": _json,
    "table": _table,
}

"""A declared delay before T2: how long after T1, or not before which moment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

__all__ = ["LONGEST", "Delay", "DelayText", "duration_text", "moment_text", "parse_delay"]

LONGEST = timedelta(days=3650)
"""The longest delay that can be declared."""

_UNITS = {"w": 7 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_LENGTH = re.compile(r"(?:(\d{1,9})w)?(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_PATTERN = r"^(\d{1,9}w)?(\d{1,9}d)?(\d{1,9}h)?(\d{1,9}m)?(\d{1,9}s)?$|^\d{4}-\d{2}-\d{2}[Tt ].+$"
_HELP = "a length such as 7d, 36h or 1d12h (w, d, h, m, s), or a moment such as 2026-12-08T13:50:00Z"


@dataclass(frozen=True, slots=True)
class Delay:
    """What was declared; exactly one of ``length`` and ``moment`` is there.

    Attributes:
        text: As it was written.
        length: At least so long after the end of T1.
        moment: Not before then, in UTC.
    """

    text: str
    length: timedelta | None = None
    moment: datetime | None = None

    @property
    def seconds(self) -> float | None:
        """The length in seconds; None if a moment was declared."""
        return None if self.length is None else self.length.total_seconds()

    def due(self, end: datetime | None) -> datetime | None:
        """When T2 may begin, in whole seconds, rounded up; None if that depends on an unknown end.

        Args:
            end: When T1 ended.
        """
        if self.moment is not None:
            return _whole(self.moment)
        if self.length is None or end is None:
            return None
        try:
            return _whole(end.astimezone(UTC) + self.length)
        except OverflowError:
            return _LAST

    def words(self) -> str:
        """What it asks for, in words."""
        if self.moment is not None:
            return f"not before {moment_text(self.moment)}"
        return f"at least {self.text} after the last score at T1"


_LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)


def _whole(moment: datetime) -> datetime:
    if moment.microsecond == 0 or moment.replace(microsecond=0) >= _LAST:
        return moment.replace(microsecond=0)
    return moment.replace(microsecond=0) + timedelta(seconds=1)


def duration_text(seconds: float) -> str:
    """A time span as a person reads it, by its two largest units: ``7 d 2 h``, ``1 min 3 s``, ``0.4 s``."""
    sign = "-" if seconds < 0 else ""
    if abs(seconds) < 10:
        return f"{sign}{abs(seconds):.1f} s"
    left = round(abs(seconds))
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        number, left = divmod(left, size)
        if number or parts:
            parts.append(f"{number} {unit}")
    return sign + " ".join(part for part in parts[:2] if not part.startswith("0 "))


def moment_text(moment: datetime) -> str:
    """A moment as a person reads it: RFC 3339 in UTC, in whole seconds, rounded up."""
    return _whole(moment.astimezone(UTC)).isoformat().replace("+00:00", "Z")


def parse_delay(text: str) -> Delay:
    """Read a delay.

    Raises:
        ValueError: It is neither a length with units nor a moment with a time zone, or too long.
    """
    found = _LENGTH.fullmatch(text)
    if found is not None and text:
        parts = zip(found.groups(), _UNITS.values(), strict=True)
        seconds = sum(int(number) * unit for number, unit in parts if number is not None)
        if seconds == 0:
            raise ValueError("a delay of 0 is none; leave it out")
        if seconds > LONGEST.total_seconds():
            raise ValueError(f"longer than {LONGEST.days} days")
        return Delay(text, length=timedelta(seconds=seconds))
    return Delay(text, moment=_moment(text))


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        if "T" not in text.upper() and " " not in text:
            raise ValueError(text)
    except ValueError:
        raise ValueError(f"expected {_HELP}") from None
    if moment.tzinfo is None:
        raise ValueError("it names no time zone; end it with Z for UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("no moment that can be reckoned with") from None


def _written(value: object) -> object:
    if isinstance(value, int | float):  # `delay: 7`: days or hours?
        raise ValueError(f"expected {_HELP}")
    return value


def _declared(text: str) -> str:
    parse_delay(text)
    return text


DelayText = Annotated[
    str,
    BeforeValidator(_written),
    AfterValidator(_declared),
    WithJsonSchema({"type": "string", "pattern": _PATTERN, "examples": ["7d", "2026-12-08T13:50:00Z"]}),
]
"""A delay as a file says it."""

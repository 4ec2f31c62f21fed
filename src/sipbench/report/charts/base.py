"""A chart: what it shows, every value that is in it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sipbench.report.charts.theme import Drawing

__all__ = ["Chart", "Record", "Value"]

type Value = str | int | float | None
type Record = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of a study.

    Attributes:
        key: A short name for anchors and files.
        title: What it is.
        reading: How to read it, in a sentence or two.
        alternative: What it shows, in words with numbers, for whoever does not see it.
        columns: Name of each field of ``records``, as a heading.
        records: Every value that is plotted, one mark each.
        draw: Makes the drawing; None if there is nothing to draw.
        empty: Why there is nothing to draw.
        notes: What else must be known, such as what was left out.
        linked: Rows of the attempts that can be chosen in it.
    """

    key: str
    title: str
    reading: str
    alternative: str
    columns: Mapping[str, str]
    records: tuple[Record, ...]
    draw: Callable[[], Drawing] | None
    empty: str = ""
    notes: tuple[str, ...] = ()
    linked: tuple[int, ...] = ()

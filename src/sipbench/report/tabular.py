"""A table, whatever it becomes: HTML, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sipbench.report.charts.base import Chart, Value
from sipbench.report.words import NOTHING, clean, score

__all__ = ["Cell", "Table", "cell", "chart_table"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        lines: Its text, line by line; the first one is the one to read.
        value: What it is sorted by; None comes last.
        numeric: Whether it is aligned as a number.
        tone: ``good``, ``bad`` or ``open`` for a verdict.
        task: Number of the task that it names.
    """

    lines: tuple[str, ...]
    value: float | str | None = None
    numeric: bool = False
    tone: str = ""
    task: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: A short name for anchors.
        caption: What it holds.
        head: Column headings.
        rows: Cells, as many in each row as headings; the first is the row's name.
        notes: What else must be known.
    """

    key: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = field(default=())


def cell(value: Value, *more: str, text: str | None = None) -> Cell:
    """A cell of one value: text as it is, numbers aligned, what is unknown as a dash."""
    if value is None:
        return Cell((text if text is not None else NOTHING, *more))
    if isinstance(value, str):
        shown = clean(value)
        return Cell((text if text is not None else shown, *more), shown)
    shown = text if text is not None else f"{value:,}" if isinstance(value, int) else score(value, ".4g")
    return Cell((shown, *more), float(value), numeric=True)


def chart_table(chart: Chart, most: int) -> Table:
    """The values of a chart as a table, at most ``most`` rows of it."""
    rows = tuple(_row(chart.columns, record) for record in chart.records[:most])
    left = len(chart.records) - len(rows)
    notes = (f"{left:,} more rows stand in the CSV file (`sip report --format csv`).",) if left else ()
    return Table(
        f"{chart.key}-values", f"Values of “{chart.title}”", tuple(chart.columns.values()), rows, notes
    )


def _row(columns: Mapping[str, str], record: Mapping[str, Value]) -> tuple[Cell, ...]:
    return tuple(cell(record.get(name)) for name in columns)

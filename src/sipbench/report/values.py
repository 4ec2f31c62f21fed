"""Every plotted value as CSV: one line for each mark of each chart, and the protocol's table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from sipbench.protocol.summary import Estimate, Row
from sipbench.report.charts import all_charts
from sipbench.report.charts.base import Record, Value
from sipbench.report.metrics import PROTOCOL
from sipbench.report.reading import Study
from sipbench.report.words import LABELS, clean, headline, only_bounds

__all__ = ["values_csv"]

_TABLE = (
    *("value", "mean", "sd", "low", "high", "headline", "headline_low", "headline_high", "n", "verdict"),
    *("allows", "bound_low", "bound_high", "outer_low", "outer_high"),
)
# What a spreadsheet would take for a formula; it is text.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def values_csv(studies: Sequence[Study]) -> str:
    """The values of all studies, charts under each other.

    Columns that a chart does not have are empty. Names are cut and made harmless as on the page; a name
    that a spreadsheet would take for a formula has an apostrophe before it. Numbers have all their digits.
    """
    records = [record for study in studies for record in _records(study)]
    columns = list(dict.fromkeys(name for record in records for name in record)) or ["study", "chart"]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({name: _plain(value) for name, value in record.items()})
    return out.getvalue()


def _records(study: Study) -> Iterator[Record]:
    for at in study.order:
        row = study.summary.rows[at]
        for name in PROTOCOL:
            yield {
                "study": study.name,
                "chart": "table",
                "arm": study.names[at],
                "metric": LABELS[name],
                **_estimate(row, name),
            }
    for chart in all_charts(study):
        for record in chart.records:
            yield {"study": study.name, "chart": chart.key, **record}


def _estimate(row: Row, name: str) -> dict[str, Value]:
    """The numbers of one metric; where only bounds may be given, nothing but them."""
    estimate: Estimate = getattr(row.metrics, name)
    word = estimate.verdict.word if estimate.verdict is not None else None
    lost = estimate.lost
    bounds = (
        (lost.gate, lost.low, lost.high, lost.outer_low, lost.outer_high) if lost is not None else (None,) * 5
    )
    numbers: tuple[Value, ...] = (None,) * 8
    if not only_bounds(row, name):
        ends, (value, claimed) = estimate.interval, headline(estimate)
        numbers = (
            estimate.value,
            estimate.repeats_mean,
            estimate.repeats_sd,
            ends.low if ends else None,
            ends.high if ends else None,
            value,
            claimed.low if claimed else None,
            claimed.high if claimed else None,
        )
    return dict(zip(_TABLE, (*numbers, estimate.n_tasks, word, *bounds), strict=True))


def _plain(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    text = clean(value, 1024)
    return f"'{text}" if text.startswith(_FORMULAS) else text

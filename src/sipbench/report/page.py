"""One HTML page that needs nothing else: styles, script, charts and attempts are in it.

Everything from a file is escaped by the template engine, which escapes unless told otherwise; what is not
escaped is made here (charts, styles, script). A content security policy allows the one script and the one
style sheet by their digests, so that text which got through as markup could still run nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from sipbench.errors import MissingExtraError
from sipbench.protocol.inference import TaskChanges
from sipbench.protocol.summary import Estimate
from sipbench.report.attempts import Caps, Embedded, embed
from sipbench.report.charts import Chart, all_charts
from sipbench.report.charts.theme import RAMP, render, style_sheet
from sipbench.report.findings import arm_verdicts, in_words
from sipbench.report.metrics import (
    adjusted_table,
    lost_table,
    passes_table,
    protocol_tables,
    settings_line,
    variance_table,
)
from sipbench.report.panels import (
    error_table,
    overlap_table,
    provenance,
    skill_table,
    split_notes,
    split_table,
    state_table,
)
from sipbench.report.reading import Study
from sipbench.report.tabular import Cell, Table, cell, chart_table
from sipbench.report.timing import delay_table, order_table
from sipbench.report.words import LABELS, clean, count, points, score
from sipbench.stats.per_task import waterfall

__all__ = ["Live", "report_page", "write_page"]

MOST_VALUES = 150
MOST_TASKS = 400
_CHANGES = ("fg", "br")

_SECTIONS = (
    ("Verdict", "verdict"),
    ("Table", "table"),
    ("Phases", "phases-section"),
    ("Gain and retention", "plane-section"),
    ("Tasks", "tasks-section"),
    ("Cost", "frontier-section"),
    ("Skills", "exposure-section"),
    ("Lost attempts", "attrition-section"),
    ("Splits", "splits-section"),
    ("Provenance", "provenance"),
)


@dataclass(frozen=True, slots=True)
class Live:
    """A page that is served and refreshed.

    Attributes:
        stamp: What the page was made from; another one means another page.
    """

    stamp: str


@dataclass(frozen=True, slots=True)
class _View:
    """A chart as the page shows it."""

    chart: Chart
    svg: Any
    table: Table


def report_page(studies: Sequence[Study], *, live: Live | None = None, caps: Caps | None = None) -> str:
    """The report of one study, or of several one after the other.

    Args:
        studies: What to show.
        live: For a page that is served; its attempts are then asked for one by one.
        caps: How much of single attempts the page may hold.

    Raises:
        MissingExtraError: The extra ``report`` is not installed.
    """
    shown = [_study(study, f"s{number + 1}", number, live, caps) for number, study in enumerate(studies)]
    sections = [(label, f"s1-{anchor}") for label, anchor in _SECTIONS]
    if len(studies) > 1:
        sections = [(view["name"], view["prefix"]) for view in shown]
    version = studies[0].summary.provenance.sipbench_version if studies else ""
    return write_page(
        "report.html",
        title=", ".join(view["name"] for view in shown)[:200],
        sections=sections,
        footer=f"Made by sipbench {version}; every number is computed from the attempts named above.",
        live=live,
        studies=shown,
    )


def write_page(
    template: str,
    *,
    title: str,
    sections: Sequence[tuple[str, str]],
    footer: str,
    live: Live | None = None,
    **more: Any,
) -> str:
    """Fill a template that extends ``page.html``.

    Args:
        template: Its name.
        title: Of the page.
        sections: Label and anchor of each.
        footer: The last line.
        live: For a page that is served.
        more: What the template names.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    environment, markup = _environment()
    style, script = _asset("styles/report.css") + style_sheet(), _asset("scripts/report.js")
    policy = {
        "default-src": "'none'",
        "script-src": _source(script),
        "style-src": _source(style),
        "img-src": "data:",
        "connect-src": "'self'" if live else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    page = environment.get_template(template).render(
        title=title,
        sections=sections,
        footer=footer,
        live=live is not None,
        stamp=live.stamp if live else "",
        style=markup(style),
        script=markup(script),
        policy="; ".join(f"{name} {value}" for name, value in policy.items()),
        ramp_steps=list(zip(RAMP, ("0", "to ¼", "to ½", "to ¾", "under 1", "1"), strict=True)),
        **more,
    )
    # What is no character of any text must not stop the page from being written.
    return str(page).encode("utf-8", "replace").decode("utf-8")


@cache
def _environment() -> tuple[Any, Any]:
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError:
        raise MissingExtraError("the HTML report", "report") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sipbench.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment, Markup


@cache
def _asset(name: str) -> str:
    return files("sipbench.report").joinpath(name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _study(study: Study, prefix: str, number: int, live: Live | None, caps: Caps | None) -> dict[str, Any]:
    _, markup = _environment()
    views = {chart.key: _view(chart, f"{prefix}-{chart.key}") for chart in all_charts(study)}
    attempt_charts = [view for key, view in views.items() if key.startswith("attempts-")]
    drawn = list(dict.fromkeys(row for view in attempt_charts for row in view.chart.linked))
    held = embed(study, drawn, caps if live is None else Caps(records=0, logs=0))
    return {
        "prefix": prefix,
        "name": study.name,
        "where": _where(study),
        "words": in_words(study.summary),
        "remarks": [*study.remarks, *_study_warnings(study)],
        "verdicts": arm_verdicts(study.summary),
        "settings": settings_line(study.summary),
        "tables": [*protocol_tables(study), *_known(adjusted_table(study))],
        "charts": views,
        "attempt_charts": attempt_charts,
        "changes": _changes(study),
        "viewer_note": _viewer_note(study, held, live),
        "more": list(_known(passes_table(study), variance_table(study))),
        "skills": skill_table(study),
        "losses": list(_known(lost_table(study), error_table(study))),
        "splits": list(_known(split_table(study), overlap_table(study))),
        "split_notes": split_notes(study),
        "provenance": provenance(study),
        "origins": list(_known(state_table(study), order_table(study), delay_table(study))),
        "data": markup(_script_json(_data(study, number, held))),
    }


def _known(*tables: Table | None) -> Iterator[Table]:
    return (table for table in tables if table is not None)


def _view(chart: Chart, prefix: str) -> _View:
    _, markup = _environment()
    svg = markup(render(chart.draw(), prefix)) if chart.draw is not None else ""
    return _View(chart, svg, chart_table(chart, MOST_VALUES))


def _where(study: Study) -> str:
    benchmarks = dict.fromkeys(
        f"{row.benchmark_name} {row.benchmark_version or ''}" for row in study.summary.rows
    )
    parts = [clean(name.strip()) for name in benchmarks]
    return " · ".join([*parts, count(study.summary.records.total, "attempt"), count(len(study.arms), "arm")])


def _study_warnings(study: Study) -> Iterator[str]:
    return (clean(warning.message, 2000) for warning in study.summary.warnings)


def _viewer_note(study: Study, held: Embedded, live: Live | None) -> str:
    text = "Choose a cell or a task to see its attempts, their records and what their engines left behind."
    if live is None and held.left:
        shown = study.frame.height - held.left
        text += (
            f" To keep the page small it holds the records of {shown:,} of {study.frame.height:,} attempts; "
            "`sip view` shows all of them."
        )
    return text


def _changes(study: Study) -> Table | None:
    """The tasks that changed most, to be sorted and opened."""
    rows: list[tuple[Cell, ...]] = []
    total = 0
    for at in study.order:
        for metric in _CHANGES:
            estimate: Estimate = getattr(study.summary.rows[at].metrics, metric)
            if estimate.tasks is not None:
                total += len(estimate.tasks.ids)
                rows += _changed(study, at, metric, estimate.tasks)
    if not rows:
        return None
    rows.sort(key=lambda row: -abs(float(row[5].value or 0.0)))
    head = ("task", "arm", "metric", "before", "after", "change", "shrunken", "flip")
    kept = tuple(rows[:MOST_TASKS])
    left = total - len(kept)
    notes = (f"The {len(kept)} largest changes; {left:,} more stand in the CSV file.",) if left > 0 else ()
    return Table("changes", "Every task, before and after", head, kept, notes)


def _changed(study: Study, at: int, metric: str, tasks: TaskChanges) -> Iterator[tuple[Cell, ...]]:
    for bar in waterfall(tasks, len(tasks.ids)):
        name = bar.task or ""
        flip = "to always" if bar.gained else "to never" if bar.lost else ""
        yield (
            Cell((clean(name),), clean(name), task=study.task_numbers.get(name)),
            cell(study.names[at]),
            cell(LABELS[metric]),
            cell(bar.before, text=score(bar.before)),
            cell(bar.after, text=score(bar.after)),
            cell(bar.change, text=points(bar.change)),
            cell(bar.shrunken, text=points(bar.shrunken)),
            cell(flip),
        )


def _data(study: Study, number: int, held: Embedded) -> dict[str, Any]:
    listed = set(held.index["task"])
    return {
        "number": number,
        "folder": clean(study.place.name, 200) or ".",
        "tasks": {task: study.task_ids[task] for task in sorted(listed)},
        "index": held.index,
        "unlisted": study.frame.height - len(held.index["row"]),
        "records": _columns(held.records),
        "logs": {row: [asdict(log) for log in logs] for row, logs in held.logs.items() if logs},
    }


def _columns(records: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Records as columns, each value written as seldom as it goes: most are the same in all of them."""
    names = sorted({name for record in records.values() for name in record})
    columns: dict[str, Any] = {}
    for name in names:
        each = [record.get(name) for record in records.values()]
        texts = [json.dumps(value, sort_keys=True) for value in each]
        distinct = dict(zip(texts, each, strict=True))
        if len(distinct) == 1:
            columns[name] = {"same": each[0]}
        elif len(distinct) <= len(each) // 2:
            place = {text: number for number, text in enumerate(distinct)}
            columns[name] = {"values": list(distinct.values()), "codes": [place[text] for text in texts]}
        else:
            columns[name] = {"each": each}
    return {"row": list(records), "columns": columns}


def _script_json(document: Any) -> str:
    """JSON that may stand in a script element: no tag can begin or end in it."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text

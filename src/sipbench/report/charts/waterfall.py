"""The change of each task, from the largest gain to the largest loss, with what is noise taken out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sipbench.protocol.inference import TaskChanges
from sipbench.protocol.summary import Estimate
from sipbench.protocol.vocabulary import PathType, Split
from sipbench.report.charts.arms import arm_looks
from sipbench.report.charts.base import Chart
from sipbench.report.charts.theme import AXIS, INK, Drawing, altair
from sipbench.report.reading import Study
from sipbench.report.words import LABELS, clean, count, points, share
from sipbench.stats.per_task import Bar, waterfall

__all__ = ["waterfall_chart"]

METRICS = {"fg": Split.HELDOUT, "br": Split.REPLAY, "pds": Split.HELDOUT}
MOST_BARS = 120
MOST_ARMS = 10
_HEIGHT = 140
# Room for the triangles beyond the bars, in points.
_TOP, _ABOVE = 116, 9
_WIDTHS = {1: 860, 2: 420, 3: 270}


def waterfall_chart(study: Study) -> Chart:
    """Every task of every adapted arm: raw change, shrunken change, and whether it flipped."""
    records: list[dict[str, Any]] = []
    said: list[str] = []
    notes: list[tuple[str, str]] = []
    adapted = [at for at in study.order if study.summary.rows[at].path_type is not PathType.ORACLE]
    adapted = [at for at in adapted if study.summary.rows[at].path_type is not PathType.FROZEN] or adapted
    for at in adapted[:MOST_ARMS]:
        for metric in METRICS:
            estimate: Estimate = getattr(study.summary.rows[at].metrics, metric)
            if estimate.tasks is None:
                continue
            bars = waterfall(estimate.tasks, MOST_BARS)
            records += _records(bars, study.names[at], metric)
            said.append(_said(bars, study.names[at], metric, estimate.tasks))
            notes += _notes(bars, study.names[at], metric, estimate.tasks)
    if len(adapted) > MOST_ARMS:
        notes.append(("Not drawn", count(len(adapted) - MOST_ARMS, "further arm")))
    return Chart(
        key="tasks",
        title="Task by task",
        reading=(
            "Each bar is the raw change of one task, in points, from the largest gain to the largest loss. "
            "The tick is the same change shrunken towards the mean by as much as it is attempt noise: it "
            "is the better guess of what will be seen again. A triangle marks a task that went from never to "
            "always (up) or from always to never (down)."
        ),
        alternative=" ".join(said) or "No task counts in two phases.",
        columns={
            "arm": "arm",
            "metric": "metric",
            "rank": "rank",
            "task": "task",
            "family": "family",
            "n": "tasks",
            "before": "before",
            "after": "after",
            "change": "change",
            "shrunken": "shrunken",
            "gained": "never to always",
            "lost": "always to never",
        },
        records=tuple(records),
        draw=(lambda: _draw(study, records)) if records else None,
        empty="No task counts in two phases.",
        notes=tuple(_grouped(notes)),
    )


def _records(bars: list[Bar], name: str, metric: str) -> Iterator[dict[str, Any]]:
    for bar in bars:
        yield {
            "arm": name,
            "metric": LABELS[metric],
            "rank": bar.first + 1,
            "task": bar.task,
            "family": bar.family,
            "n": bar.tasks,
            "before": bar.before,
            "after": bar.after,
            "change": bar.change,
            "shrunken": bar.shrunken,
            "gained": bar.gained,
            "lost": bar.lost,
        }


def _said(bars: list[Bar], name: str, metric: str, tasks: TaskChanges) -> str:
    gained, lost = sum(bar.gained for bar in bars), sum(bar.lost for bar in bars)
    best, worst = bars[0], bars[-1]
    return (
        f"{name}, {LABELS[metric]}: {count(len(tasks.ids), 'task')} from {points(best.change)} to "
        f"{points(worst.change)} points; {gained} went from never to always, {lost} from always to never."
    )


def _notes(bars: list[Bar], name: str, metric: str, tasks: TaskChanges) -> Iterator[tuple[str, str]]:
    """What must be known of one panel: what it is, and of which one."""
    label = f"{name} {LABELS[metric]}"
    if tasks.shrunken is None:
        yield "A task has a single attempt in a phase, so noise cannot be told from change", label
    elif tasks.kept == 0.0:
        yield "Tasks differ by no more than attempt noise, so the best guess for each is the mean", label
    elif tasks.kept is not None:
        yield "What is kept of a task's deviation from the mean", f"{label} {share(tasks.kept)}"
    if any(bar.tasks > 1 for bar in bars):
        most = max(bar.tasks for bar in bars)
        yield f"A bar is the mean of up to {count(most, 'task')} of neighbouring ranks", label
    if tasks.omitted:
        yield f"{count(tasks.omitted, 'task')} beyond those that the summary lists", label


def _grouped(notes: list[tuple[str, str]]) -> Iterator[str]:
    for what in dict.fromkeys(what for what, _ in notes):
        yield f"{what}: {', '.join(label for said, label in notes if said == what)}."


def _draw(study: Study, records: list[dict[str, Any]]) -> Drawing:
    alt = altair()
    look = arm_looks(study)
    arms = list(dict.fromkeys(record["arm"] for record in records))
    metrics = [LABELS[name] for name in METRICS if any(r["metric"] == LABELS[name] for r in records)]
    width = _WIDTHS[len(metrics)]
    colour = alt.Color(
        "arm:N", scale=alt.Scale(domain=arms, range=[look[name].colour for name in arms]), legend=None
    )
    tasks = study.task_numbers
    base = alt.Chart().encode(
        x=alt.X("rank:O", title=None, axis=None, scale=alt.Scale(paddingInner=0.15)),
        y=alt.Y(
            "change:Q",
            title=None,
            scale=alt.Scale(domain=[-_TOP, _TOP]),
            axis=alt.Axis(values=[-100, 0, 100]),
        ),
    )
    tip = alt.Description("tip:N")
    flips = base.transform_filter("datum.flip != 0")
    layers = alt.layer(
        base.mark_bar(opacity=0.45, aria=True).encode(color=colour, y2=alt.datum(0), description=tip),
        base.mark_tick(color=INK, thickness=2, orient="horizontal", opacity=1).encode(y="shrunken:Q"),
        flips.mark_point(filled=True, size=34, opacity=1, color=INK).encode(
            shape=alt.Shape(
                "flip:N", scale=alt.Scale(domain=[1, -1], range=["triangle-up", "triangle-down"]), legend=None
            ),
            y="mark:Q",
        ),
        alt.Chart().mark_rule(color=AXIS).encode(y=alt.datum(0)),
        data=alt.NamedData("marks"),
    ).properties(width=width, height=_HEIGHT)
    chart = layers.facet(
        row=alt.Row(
            "arm:N",
            sort=arms,
            title=None,
            header=alt.Header(labelAngle=0, labelAlign="left", labelPadding=16),
        ),
        column=alt.Column("metric:N", sort=metrics, title=None),
        spacing={"row": 16, "column": 22},
    ).resolve_scale(x="independent")
    return Drawing(chart, {"marks": [_mark(record, tasks) for record in records]})


def _mark(record: dict[str, Any], tasks: dict[str, int]) -> dict[str, Any]:
    name = record["task"]
    flip = (record["gained"] > 0) - (record["lost"] > 0)
    what = clean(name) if name is not None else count(record["n"], "task")
    tip = f"{record['arm']}, {what}: {record['before']:.2f} to {record['after']:.2f}"
    if record["shrunken"] is not None:
        tip += f", shrunken {points(record['shrunken'])} points"
    if record["gained"] and name is None:
        tip += f", {record['gained']} from never to always"
    if record["lost"] and name is None:
        tip += f", {record['lost']} from always to never"
    link = f"@task {tasks[name]}@ " if name is not None and name in tasks else ""
    return {
        "arm": record["arm"],
        "metric": record["metric"],
        "rank": record["rank"],
        "change": record["change"] * 100,
        "shrunken": None if record["shrunken"] is None else record["shrunken"] * 100,
        "flip": flip,
        "mark": record["change"] * 100 + _ABOVE * flip,
        "tip": link + tip,
    }

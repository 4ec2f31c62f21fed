"""T0 -> T1 -> T2: how scores went on new, old and shifted tasks, arm by arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sipbench.protocol.vocabulary import EVALUATION_SPLITS, PathType, Split
from sipbench.report.charts.arms import arm_looks
from sipbench.report.charts.base import Chart, Record, Value
from sipbench.report.charts.theme import CONTROL, PALE, Drawing, altair
from sipbench.report.reading import Study
from sipbench.report.words import count, interval, percent, score
from sipbench.stats.means import ArmTable
from sipbench.stats.profiles import Bundle, Profile, bundles, profile

__all__ = ["slope_chart"]

_PANELS = (Split.HELDOUT, Split.REPLAY, Split.DRIFT)

MOST_LINES = 90
MOST_ARMS = 12
_WIDTH, _HEIGHT = 270, 140


def slope_chart(study: Study) -> Chart:
    """Means of each phase with their intervals, and every task as a thin line."""
    records: list[dict[str, Any]] = []
    said = []
    shown = study.order[:MOST_ARMS]
    for at in shown:
        arm, name = study.arms[at], study.names[at]
        for split in EVALUATION_SPLITS:
            found = profile(arm, split, study.summary.settings.alpha)
            if found is None:
                continue
            records += _means(found, name)
            records += _lines(found, name)
            records += _control(study, at, split, name)
            said.append(_said(found, name))
    more = len(study.arms) - len(shown)
    notes = (f"{count(more, 'further arm')} not drawn; the table has all of them.",) if more else ()
    level = percent(1 - study.summary.settings.alpha)
    return Chart(
        key="phases",
        title="From T0 to T1 to T2",
        reading=(
            f"Mean score per phase with its {level} interval over tasks. Thin grey lines are single tasks, "
            "thicker where several went alike; the dashed line is the control arm. Intervals of the same "
            "tasks in two phases may overlap and the change still be clear: changes are paired by task."
        ),
        alternative=" ".join(said) or "No attempt on held-out, replay or drift tasks counts.",
        columns={
            "arm": "arm",
            "split": "split",
            "series": "series",
            "phase": "phase",
            "score": "mean score",
            "low": "low",
            "high": "high",
            "n": "tasks",
            "task": "task",
        },
        records=tuple(records),
        draw=(lambda: _draw(study, shown, records)) if records else None,
        empty="No attempt on held-out, replay or drift tasks counts.",
        notes=notes,
    )


def _means(found: Profile, name: str) -> Iterator[dict[str, Any]]:
    for at in found.means:
        yield {
            "arm": name,
            "split": found.split.noun,
            "series": "mean",
            "phase": at.phase.value,
            "score": at.mean,
            "low": at.interval.low if at.interval else None,
            "high": at.interval.high if at.interval else None,
            "n": at.n_tasks,
            "task": None,
        }


def _lines(found: Profile, name: str) -> Iterator[dict[str, Any]]:
    for number, bundle in enumerate(bundles(found, MOST_LINES)):
        for phase, value in zip(found.phases, bundle.scores, strict=True):
            if value is not None:
                yield {
                    "arm": name,
                    "split": found.split.noun,
                    "series": _series(bundle, number),
                    "phase": phase.value,
                    "score": value,
                    "low": None,
                    "high": None,
                    "n": bundle.n_tasks,
                    "task": bundle.task,
                }


def _series(bundle: Bundle, number: int) -> str:
    return "task" if bundle.task is not None else f"bundle {number + 1}"


def _control(study: Study, at: int, split: Split, name: str) -> Iterator[dict[str, Any]]:
    other = _control_arm(study, at)
    found = profile(other, split, study.summary.settings.alpha) if other is not None else None
    for mean in found.means if found is not None else ():
        yield {
            "arm": name,
            "split": split.noun,
            "series": "control",
            "phase": mean.phase.value,
            "score": mean.mean,
            "low": None,
            "high": None,
            "n": mean.n_tasks,
            "task": None,
        }


def _control_arm(study: Study, at: int) -> ArmTable | None:
    row = study.summary.rows[at]
    if row.control is None or row.path_type is PathType.ORACLE:
        return None
    for other, arm in zip(study.summary.rows, study.arms, strict=True):
        same = (other.benchmark_name, other.benchmark_version) == (row.benchmark_name, row.benchmark_version)
        if same and other.arm == row.control and other.path_type is PathType.FROZEN:
            return arm
    return None


def _said(found: Profile, name: str) -> str:
    parts = (f"{at.phase} {score(at.mean, '.2f')} {interval(at.interval, '.2f')}" for at in found.means)
    return f"{name}, {found.split.noun}: {', '.join(parts)}."


def _draw(study: Study, shown: list[int], records: list[dict[str, Any]]) -> Drawing:
    alt = altair()
    names = [study.names[at] for at in shown]
    drawn = arm_looks(study)
    phases = sorted({record["phase"] for record in records})
    x = alt.X("phase:O", title=None, scale=alt.Scale(domain=phases), axis=alt.Axis(labelAngle=0, grid=False))
    y = alt.Y("score:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(values=[0, 0.5, 1]))
    base = alt.Chart().encode(x=x, y=y)
    tip = alt.Description("tip:N")
    domain, colours = names, [drawn[name].colour for name in names]
    colour = alt.Color("arm:N", scale=alt.Scale(domain=domain, range=colours), legend=None)
    shape = alt.Shape(
        "arm:N", scale=alt.Scale(domain=domain, range=[drawn[name].shape for name in names]), legend=None
    )
    tasks = (
        base.mark_line(color=PALE, opacity=0.75)
        .encode(detail="line:N", strokeWidth=alt.StrokeWidth("width:Q", scale=None))
        .transform_filter("datum.kind == 'task'")
    )
    lone = base.mark_point(color=PALE, size=12).transform_filter("datum.kind == 'task' && datum.alone")
    control = (
        base.mark_line(color=CONTROL, strokeDash=[4, 3], strokeWidth=1.5)
        .encode(detail="line:N")
        .transform_filter("datum.kind == 'control'")
    )
    mean = base.transform_filter("datum.kind == 'mean'")
    layers = alt.layer(
        lone,
        tasks,
        control,
        mean.mark_line(strokeWidth=2.5).encode(color=colour),
        mean.mark_rule(strokeWidth=2, aria=True, clip=True).encode(
            y="low:Q", y2="high:Q", color=colour, description=tip
        ),
        mean.mark_point(size=60, filled=True, opacity=1, aria=True).encode(
            color=colour, shape=shape, description=tip
        ),
        data=alt.NamedData("marks"),
    ).properties(width=_WIDTH, height=_HEIGHT)
    present = {record["split"] for record in records}
    splits = [split.noun for split in _PANELS if split.noun in present]
    chart = layers.facet(
        row=alt.Row(
            "arm:N",
            sort=names,
            title=None,
            header=alt.Header(labelAngle=0, labelAlign="left", labelPadding=16),
        ),
        column=alt.Column("split:N", sort=splits, title=None),
        spacing={"row": 14, "column": 24},
    )
    return Drawing(chart, {"marks": _marks(records)})


def _marks(records: Sequence[Record]) -> list[dict[str, Any]]:
    points = Counter(_line(record) for record in records)
    tasks: Counter[tuple[Value, ...]] = Counter()
    for record in records:
        if _kind(record) == "task":
            tasks[_panel(record)] += _tasks(record)
    return [
        _mark(record, alone=points[_line(record)] == 1, of=max(1, tasks[_panel(record)]))
        for record in records
    ]


def _kind(record: Record) -> str:
    return str(record["series"]) if record["series"] in ("mean", "control") else "task"


def _tasks(record: Record) -> int:
    return record["n"] if isinstance(record["n"], int) else 1


def _panel(record: Record) -> tuple[Value, ...]:
    return record["arm"], record["split"], record["phase"]


def _line(record: Record) -> tuple[Value, ...]:
    return record["arm"], record["split"], record["series"], record["task"]


def _mark(record: Record, *, alone: bool, of: int) -> dict[str, Any]:
    n = _tasks(record)
    tip = f"{record['arm']}, {record['split']}, {record['phase']}: {record['score']:.3f}"
    if record["low"] is not None:
        tip += f" [{record['low']:.3f}, {record['high']:.3f}]"
    return {
        **{name: record[name] for name in ("arm", "split", "phase", "score", "low", "high")},
        "kind": _kind(record),
        "line": str(record["task"] if record["task"] is not None else record["series"]),
        # The area of ink grows with the share of the tasks, whatever their number.
        "width": 0.5 + 5 * (n / of) ** 0.75,
        "tip": f"{tip}, {count(n, 'task')}",
        "alone": alone,
    }

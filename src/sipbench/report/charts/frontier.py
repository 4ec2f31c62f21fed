"""What a gain costs: learning cost to the right, gain upwards, and who is not beaten in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sipbench.protocol.vocabulary import PathType
from sipbench.report.charts.arms import arm_looks
from sipbench.report.charts.base import Chart
from sipbench.report.charts.theme import AXIS, INK, MUTED, Drawing, altair
from sipbench.report.estimates import open_interval, uncovered, uncovered_note
from sipbench.report.reading import Study
from sipbench.report.words import clean, headline, interval, points, spent
from sipbench.stats.frontier import pareto_front

__all__ = ["frontier_chart"]

MOST_ARMS = 30
_WIDTH, _HEIGHT = 620, 340
# From this ratio on equal steps of cost would put the cheap arms on top of each other.
_WIDE = 50


def frontier_chart(study: Study) -> Chart:
    """FG against what learning cost per repeat. An arm whose cost is unknown is named and not drawn."""
    unit = study.summary.settings.cost_unit
    records, unknown = [], []
    for at in study.order:
        row = study.summary.rows[at]
        if row.path_type in (PathType.FROZEN, PathType.ORACLE):
            continue
        cost, (gain, _) = row.learning_cost, headline(row.metrics.fg)
        if cost is not None and cost.value is not None and gain is not None:
            records.append(_record(study, at))
        else:
            reason = row.metrics.fg.reason if gain is None else cost.reason if cost else None
            unknown.append(f"{study.names[at]}: {clean(reason or 'unknown', 500)}")
    front = pareto_front([r["cost"] for r in records], [r["gain"] for r in records])
    for at, record in enumerate(records):
        record["frontier"] = "yes" if at in front else "no"
    empty = "No cost unit was declared." if unit is None else "No arm has a known gain and a known cost."
    said = " ".join(_said(record, study) for record in records)
    return Chart(
        key="frontier",
        title="What the gain costs",
        reading=(
            "Learning cost per repeat (adapt attempts and the adaptation itself, never evaluation) to the "
            "right, FG upwards. The line joins the arms that no cheaper arm gains more than."
        ),
        alternative=said or empty,
        columns={
            "arm": "arm",
            "cost": f"learning cost, {(unit or 'unknown').replace('_', ' ')}",
            "cost_low": "cost low",
            "cost_high": "cost high",
            "gain": "FG",
            "gain_low": "FG low",
            "gain_high": "FG high",
            "frontier": "on the frontier",
        },
        records=tuple(records),
        draw=(lambda: _draw(study, records[:MOST_ARMS], front)) if records else None,
        empty=empty,
        notes=tuple(_notes(study, records, unknown)) if unit else (),
    )


def _notes(study: Study, records: Sequence[Mapping[str, Any]], unknown: Sequence[str]) -> Iterator[str]:
    yield from (f"Not drawn, cost or gain unknown: {text}." for text in unknown)
    drawn = {record["arm"] for record in records}
    rows = zip(study.names, study.summary.rows, strict=True)
    yield from uncovered_note([name for name, row in rows if name in drawn and uncovered(row.metrics.fg)])


def _record(study: Study, at: int) -> dict[str, Any]:
    row = study.summary.rows[at]
    value, _ = headline(row.metrics.fg)
    low, high = open_interval(row.metrics.fg)
    price = row.gain_and_cost.cost_interval if row.gain_and_cost is not None else None
    cost = row.learning_cost.value if row.learning_cost is not None else None
    return {
        "arm": study.names[at],
        "cost": cost,
        "cost_low": price.low if price else None,
        "cost_high": price.high if price else None,
        "gain": value,
        "gain_low": low,
        "gain_high": high,
    }


def _said(record: dict[str, Any], study: Study) -> str:
    unit = study.summary.settings.cost_unit
    assert unit is not None
    on = " On the frontier." if record["frontier"] == "yes" else ""
    return f"{record['arm']}: {points(record['gain'])} points for {spent(record['cost'], unit)}.{on}"


def _draw(study: Study, records: list[dict[str, Any]], front: list[int]) -> Drawing:
    alt = altair()
    look = arm_looks(study)
    names = [record["arm"] for record in records]
    unit = (study.summary.settings.cost_unit or "").replace("_", " ")
    costs = [record["cost"] for record in records]
    kind = "symlog" if min(costs) >= 0 and max(costs) > _WIDE * max(min(costs), 1e-12) else "linear"
    axis = alt.Axis(tickCount=6, format="~s" if max(costs) >= 1000 else "~g")
    ends = [end for record in records for end in (record["cost"], record["cost_high"]) if end is not None]
    scale = alt.Scale(type=kind, domain=[0, max(ends) or 1], nice=True)
    x = alt.X("cost:Q", title=f"learning cost per repeat, {unit}", scale=scale, axis=axis)
    y = alt.Y("gain:Q", title="FG, points", axis=alt.Axis(tickCount=6))
    base = alt.Chart(alt.NamedData("marks")).encode(
        x=x,
        y=y,
        color=alt.Color(
            "arm:N", scale=alt.Scale(domain=names, range=[look[name].colour for name in names]), legend=None
        ),
    )
    line = (
        alt.Chart(alt.NamedData("front"))
        .mark_line(color=MUTED, strokeDash=[4, 3], interpolate="step-after")
        .encode(x=x, y=y)
    )
    chart = alt.layer(
        alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=AXIS).encode(y="zero:Q"),
        line,
        base.mark_rule(strokeWidth=2).encode(y="gain_low:Q", y2="gain_high:Q"),
        base.mark_rule(strokeWidth=2, clip=True).encode(x="cost_low:Q", x2="cost_high:Q"),
        base.mark_point(size=90, filled=True, opacity=1, aria=True).encode(
            shape=alt.Shape(
                "arm:N",
                scale=alt.Scale(domain=names, range=[look[name].shape for name in names]),
                legend=None,
            ),
            description=alt.Description("tip:N"),
        ),
        base.mark_text(align="left", dx=9, dy=-8, fontSize=12, fontWeight="bold").encode(
            text="arm:N", color=alt.value(INK)
        ),
    ).properties(width=_WIDTH, height=_HEIGHT)
    marks = [_mark(record, study) for record in records]
    return Drawing(chart, {"marks": marks, "front": [marks[at] for at in front if at < len(marks)]})


def _mark(record: dict[str, Any], study: Study) -> dict[str, Any]:
    unit = study.summary.settings.cost_unit
    assert unit is not None
    at = study.names.index(record["arm"])
    _, ends = headline(study.summary.rows[at].metrics.fg)
    gains = {
        key: None if record[key] is None else record[key] * 100 for key in ("gain", "gain_low", "gain_high")
    }
    said = f"FG {points(record['gain'])} {interval(ends)} points for {spent(record['cost'], unit)}"
    return {**record, **gains, "tip": f"{record['arm']}: {said}"}

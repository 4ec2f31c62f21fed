"""The plane of gain and retention: where each arm stands, with a box for what it may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sipbench.protocol.vocabulary import PathType
from sipbench.report.charts.arms import arm_looks
from sipbench.report.charts.base import Chart
from sipbench.report.charts.theme import AXIS, CONTROL, INK, MUTED, Drawing, altair
from sipbench.report.estimates import open_interval, uncovered, uncovered_note
from sipbench.report.reading import Study
from sipbench.report.words import clean, count, headline, interval, points

__all__ = ["plane_chart"]

MOST_ARMS = 30
_WIDTH, _HEIGHT = 620, 400


def plane_chart(study: Study) -> Chart:
    """FG to the right, BR upwards, both with their intervals as a box; the control at the origin."""
    shown = [at for at in study.order if _stands(study, at)][:MOST_ARMS]
    records = [_record(study, at) for at in shown]
    controls = sorted({clean(row.control) for at in shown if (row := study.summary.rows[at]).control})
    records += [_origin(name) for name in controls]
    margin = study.summary.settings.margin
    said = " ".join(
        f"{record['arm']}: FG {points(record['fg'])}, BR {points(record['br'])} points."
        for record in records[: len(shown)]
    )
    return Chart(
        key="plane",
        title="Gain and retention",
        reading=(
            "Right is gained on new tasks, up is kept on old ones, in points; the box is what the two "
            "intervals leave open. "
            + (
                "Each arm stands as the difference from its control arm, which is the origin. "
                if controls
                else "The origin is an agent that did not change. "
            )
            + f"Above the dotted line a loss of {points(margin, sign=False)} points is ruled out once the "
            "whole box is."
        ),
        alternative=said or "No arm has both a gain on new tasks and a change on old ones.",
        columns={
            "arm": "arm",
            "against": "against",
            "fg": "FG",
            "fg_low": "FG low",
            "fg_high": "FG high",
            "br": "BR",
            "br_low": "BR low",
            "br_high": "BR high",
        },
        records=tuple(records),
        draw=(lambda: _draw(study, shown, records, margin)) if shown else None,
        empty="No arm has both a gain on new tasks and a change on old ones.",
        notes=tuple(_notes(study, shown)),
    )


def _stands(study: Study, at: int) -> bool:
    row = study.summary.rows[at]
    if row.path_type is PathType.ORACLE or _is_control(study, at):
        return False
    return all(headline(estimate)[0] is not None for estimate in (row.metrics.fg, row.metrics.br))


def _is_control(study: Study, at: int) -> bool:
    row = study.summary.rows[at]
    return row.path_type is PathType.FROZEN and any(
        other.control == row.arm and other.path_type is not PathType.ORACLE for other in study.summary.rows
    )


def _notes(study: Study, shown: Sequence[int]) -> list[str]:
    left = [
        study.names[at]
        for at in study.order
        if at not in shown
        and study.summary.rows[at].path_type is not PathType.ORACLE
        and not _is_control(study, at)
    ]
    found = [f"Not drawn, since FG or BR is unknown or has bounds only: {', '.join(left)}."] if left else []
    rows = [(study.names[at], study.summary.rows[at].metrics) for at in shown]
    return [*found, *uncovered_note([name for name, of in rows if uncovered(of.fg) or uncovered(of.br)])]


def _record(study: Study, at: int) -> dict[str, Any]:
    row = study.summary.rows[at]
    (fg, _), (br, _) = headline(row.metrics.fg), headline(row.metrics.br)
    gain, kept = open_interval(row.metrics.fg), open_interval(row.metrics.br)
    return {
        "arm": study.names[at],
        "against": clean(row.control) if row.control else None,
        "fg": fg,
        "fg_low": gain[0],
        "fg_high": gain[1],
        "br": br,
        "br_low": kept[0],
        "br_high": kept[1],
    }


def _origin(name: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("against", "fg_low", "fg_high", "br_low", "br_high"))
    return {"arm": f"{name} (control)", "fg": 0.0, "br": 0.0, **nothing}


def _draw(study: Study, shown: list[int], records: list[dict[str, Any]], margin: float) -> Drawing:
    alt = altair()
    look = arm_looks(study)
    names = [record["arm"] for record in records]
    colours = [look[name].colour if name in look else CONTROL for name in names]
    shapes = [look[name].shape if name in look else "circle" for name in names]
    marks = [_mark(study, record) for record in records]
    x_domain, y_domain = _domain(records, "fg"), _domain(records, "br", -margin)
    base = alt.Chart(alt.NamedData("marks")).encode(
        x=alt.X(
            "fg:Q",
            title="FG: gained on new tasks, points",
            axis=alt.Axis(tickCount=8),
            scale=alt.Scale(domain=x_domain, nice=False),
        ),
        y=alt.Y(
            "br:Q",
            title="BR: kept on old tasks, points",
            axis=alt.Axis(tickCount=8),
            scale=alt.Scale(domain=y_domain, nice=False),
        ),
        color=alt.Color("arm:N", scale=alt.Scale(domain=names, range=colours), legend=None),
    )
    boxes = base.mark_rect(opacity=0.16, clip=True).encode(
        x="fg_low:Q", x2="fg_high:Q", y="br_low:Q", y2="br_high:Q"
    )
    frames = base.mark_rect(filled=False, strokeWidth=1, opacity=0.7, clip=True).encode(
        x="fg_low:Q", x2="fg_high:Q", y="br_low:Q", y2="br_high:Q"
    )
    dots = base.mark_point(size=90, filled=True, opacity=1, aria=True).encode(
        shape=alt.Shape("arm:N", scale=alt.Scale(domain=names, range=shapes), legend=None),
        description=alt.Description("tip:N"),
    )
    labels = base.mark_text(align="left", dx=9, dy=-8, fontSize=12, fontWeight="bold").encode(
        text="arm:N", color=alt.value(INK)
    )
    chart = alt.layer(
        *_lines(alt, margin), boxes, frames, *_corners(alt, x_domain, y_domain), dots, labels
    ).properties(width=_WIDTH, height=_HEIGHT)
    return Drawing(chart, {"marks": marks})


def _lines(alt: Any, margin: float) -> list[Any]:
    zero = alt.Chart(alt.Data(values=[{"at": 0}]))
    line = alt.Chart(alt.Data(values=[{"at": -margin * 100}]))
    return [
        zero.mark_rule(color=AXIS).encode(x="at:Q"),
        zero.mark_rule(color=AXIS).encode(y="at:Q"),
        line.mark_rule(color=MUTED, strokeDash=[2, 3]).encode(y="at:Q"),
    ]


def _corners(alt: Any, x: list[float], y: list[float]) -> list[Any]:
    places = [
        (x[1], y[1], "right", "top", "gained, kept"),
        (x[1], y[0], "right", "bottom", "gained, lost old ones"),
        (x[0], y[1], "left", "top", "no gain, kept"),
        (x[0], y[0], "left", "bottom", "no gain, lost old ones"),
    ]
    return [
        alt.Chart(alt.Data(values=[{"x": right, "y": up, "text": text}]))
        .mark_text(align=align, baseline=baseline, color=MUTED, fontSize=11, dx=-4 if align == "right" else 4)
        .encode(x="x:Q", y="y:Q", text="text:N")
        for right, up, align, baseline, text in places
    ]


def _domain(records: Sequence[dict[str, Any]], name: str, *more: float) -> list[float]:
    """Room for every box, the origin and what else is drawn, in points."""
    points = [0.0, *more, *(record[name] for record in records)]
    ends = [record[key] for record in records for key in (f"{name}_low", f"{name}_high")]
    # With few families an interval may reach beyond what a difference of scores can be.
    within = [min(1.0, max(-1.0, end)) for end in ends if end is not None]
    low, high = min(points + within), max(points + within)
    room = max(0.02, (high - low) * 0.12)
    return [round((low - room) * 100, 3), round((high + room) * 100, 3)]


def _mark(study: Study, record: dict[str, Any]) -> dict[str, Any]:
    scaled = {
        key: None if record[key] is None else record[key] * 100
        for key in ("fg", "fg_low", "fg_high", "br", "br_low", "br_high")
    }
    if record["arm"] not in study.names:
        return {**scaled, "arm": record["arm"], "tip": f"{record['arm']}: the origin"}
    at = study.names.index(record["arm"])
    metrics = study.summary.rows[at].metrics
    said = [
        f"{label} {points(value)} {interval(ends)}"
        for label, (value, ends) in (("FG", headline(metrics.fg)), ("BR", headline(metrics.br)))
    ]
    return {
        **scaled,
        "arm": record["arm"],
        "tip": f"{record['arm']}: {', '.join(said)}; {count(metrics.fg.n_tasks, 'task')}",
    }

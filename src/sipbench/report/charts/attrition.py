"""Planned, run, graded, scored: how many attempts were lost on the way, and by what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sipbench.protocol.vocabulary import Phase
from sipbench.report.charts.base import Chart
from sipbench.report.charts.theme import CAUSES, Drawing, altair
from sipbench.report.reading import Study
from sipbench.report.words import count
from sipbench.stats.flow import Flow, attrition_flow

__all__ = ["STEPS", "attrition_chart"]

MOST_ARMS = 12
STEPS = ("planned", "run", "graded", "scored")
_WIDTH, _HEIGHT = 190, 90
_KEPT, _AGENT, _VERIFIER, _INFRASTRUCTURE, _CANCELLED, _NOT_RUN = CAUSES


def attrition_chart(study: Study) -> Chart:
    """For each arm and phase, four bars: what is left at each step, and above it what was lost there."""
    flows = [
        (study.names[at], flow)
        for at in study.order[:MOST_ARMS]
        for flow in attrition_flow(study.summary.rows[at].cells)
    ]
    records = [record for name, flow in flows if flow.phase for record in _records(name, flow.phase, flow)]
    whole = [name for name, flow in flows if flow.phase is None and flow.graded == flow.planned]
    drawn = [record for record in records if record["arm"] not in whole]
    return Chart(
        key="attrition",
        title="From planned to scored",
        reading=(
            "Attempts on held-out, replay and drift tasks. Run: recorded at all. Graded: a verifier gave a "
            "score. Scored: counts in the primary analysis, in which an agent's error is a score of 0; "
            "everything else without a grade is missing and stands as a bound."
        ),
        alternative=" ".join(_said(name, flow) for name, flow in flows if flow.phase is None)
        or "No attempt was planned on held-out, replay or drift tasks.",
        columns={"arm": "arm", "phase": "phase", "step": "step", "part": "part", "attempts": "attempts"},
        records=tuple(records),
        draw=(lambda: _draw(study, drawn)) if drawn else None,
        empty="Every planned attempt was run, graded and scored."
        if whole
        else "No attempt was planned on held-out, replay or drift tasks.",
        notes=(f"Not drawn, every planned attempt was graded: {', '.join(whole)}.",)
        if whole and drawn
        else (),
    )


def _records(name: str, phase: Phase, flow: Flow) -> Iterator[dict[str, Any]]:
    lost = {
        _VERIFIER: flow.verifier_errors,
        _INFRASTRUCTURE: flow.infrastructure_errors,
        _CANCELLED: flow.cancelled,
    }
    steps = {
        "planned": {_KEPT: flow.planned},
        "run": {_KEPT: flow.run, _NOT_RUN: flow.not_run},
        "graded": {_KEPT: flow.graded, _AGENT: flow.agent_errors, **lost, _NOT_RUN: flow.not_run},
        "scored": {_KEPT: flow.graded, _AGENT: flow.agent_errors},
    }
    for step, parts in steps.items():
        for part, attempts in parts.items():
            if attempts or part == _KEPT:
                yield {
                    "arm": name,
                    "phase": phase.value,
                    "step": step,
                    "part": "kept" if part == _KEPT else part,
                    "attempts": attempts,
                }


def _said(name: str, flow: Flow) -> str:
    causes = {
        "agent errors": flow.agent_errors,
        "verifier errors": flow.verifier_errors,
        "infrastructure errors": flow.infrastructure_errors,
        "cancelled": flow.cancelled,
        "not run": flow.not_run,
    }
    named = ", ".join(f"{n:,} {cause}" for cause, n in causes.items() if n) or "none lost"
    return (
        f"{name}: {count(flow.planned, 'attempt')} planned, {flow.run:,} run, {flow.graded:,} graded, "
        f"{flow.scored:,} scored; {named}."
    )


def _draw(study: Study, records: list[dict[str, Any]]) -> Drawing:
    alt = altair()
    names = [
        name for name in (study.names[at] for at in study.order) if any(r["arm"] == name for r in records)
    ]
    parts = ["kept", *list(CAUSES)[1:]]
    present = [part for part in parts if any(record["part"] == part for record in records)]
    colours = dict(zip(parts, CAUSES.values(), strict=True))
    marks = [
        {**record, "order": parts.index(record["part"]), "tip": _tip(record)}
        for record in records
        if record["attempts"]
    ]
    chart = (
        alt.Chart(alt.NamedData("marks"))
        .mark_bar(aria=True)
        .encode(
            x=alt.X("step:N", sort=list(STEPS), title=None, axis=alt.Axis(labelAngle=0, ticks=False)),
            y=alt.Y("attempts:Q", title=None, axis=alt.Axis(tickCount=3)),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=present, range=[colours[part] for part in present]),
                legend=alt.Legend(orient="top", columns=6),
            ),
            order=alt.Order("order:O"),
            description=alt.Description("tip:N"),
        )
        .properties(width=_WIDTH, height=_HEIGHT)
        .facet(
            row=alt.Row(
                "arm:N",
                sort=names,
                title=None,
                header=alt.Header(labelAngle=0, labelAlign="left", labelPadding=16),
            ),
            column=alt.Column("phase:O", title=None),
            spacing={"row": 14, "column": 24},
        )
    )
    return Drawing(chart, {"marks": marks})


def _tip(record: dict[str, Any]) -> str:
    return f"{record['arm']}, {record['phase']}, {record['step']}: {record['attempts']:,} {record['part']}"

"""What the agents saw of skills: given, opened, phase by phase."""

from __future__ import annotations

from typing import Any

from sipbench.report.charts.base import Chart
from sipbench.report.charts.theme import GIVEN, OPENED, Drawing, altair
from sipbench.report.reading import Study
from sipbench.report.words import count
from sipbench.stats.exposure import Exposure

__all__ = ["exposure_chart"]

MOST_ARMS = 12
_WIDTH = 250
_GIVEN, _OPENED = "given a skill", "opened a skill"


def exposure_chart(study: Study) -> Chart:
    """The share of attempts that were given a skill, and of those that opened one."""
    found = [
        (study.names[at], exposure)
        for at in study.order[:MOST_ARMS]
        for exposure in study.seen.exposure.exposures(study.keys(study.summary.rows[at]))
    ]
    records = [record for name, exposure in found for record in _records(name, exposure)]
    known = [record for record in records if record["known"]]
    exposed = {record["arm"] for record in records if record["attempts"]}
    empty = (
        "No attempt was given or opened a skill."
        if known
        else "No record says which skills an attempt was given or opened."
    )
    return Chart(
        key="exposure",
        title="Skills given and opened",
        reading=(
            "Of the attempts on held-out, replay and drift tasks, how many were given at least one skill and "
            "how many opened one. A gain of an arm whose skills were never opened is not their doing."
        ),
        alternative=" ".join(_said(name, exposure) for name, exposure in found) or empty,
        columns={
            "arm": "arm",
            "phase": "phase",
            "what": "what",
            "attempts": "attempts",
            "known": "of known",
            "share": "share",
            "unknown": "unknown",
        },
        records=tuple(records),
        draw=(lambda: _draw(study, [r for r in records if r["arm"] in exposed])) if exposed else None,
        empty=empty,
        notes=tuple(_notes(found, exposed)),
    )


def _records(name: str, exposure: Exposure) -> list[dict[str, Any]]:
    return [
        {
            "arm": name,
            "phase": exposure.phase.value,
            "what": what,
            "attempts": yes,
            "known": known,
            "share": share,
            "unknown": exposure.attempts - known,
        }
        for what, yes, known, share in (
            (_GIVEN, exposure.given, exposure.given_known, exposure.given_share),
            (_OPENED, exposure.opened, exposure.opened_known, exposure.opened_share),
        )
    ]


def _said(name: str, exposure: Exposure) -> str:
    given = (
        f"{exposure.given:,} of {exposure.given_known:,} given a skill" if exposure.given_known else "unknown"
    )
    opened = (
        f"{exposure.opened:,} of {exposure.opened_known:,} opened one" if exposure.opened_known else "unknown"
    )
    return f"{name}, {exposure.phase}: {given}, {opened}."


def _notes(found: list[tuple[str, Exposure]], exposed: set[Any]) -> list[str]:
    notes = []
    if exposed:
        none = sorted({name for name, exposure in found if name not in exposed and exposure.given_known})
        if none:
            notes.append(f"Not drawn, given no skill in any phase: {', '.join(none)}.")
    unknown = sum(exposure.attempts - exposure.opened_known for _, exposure in found)
    if unknown:
        notes.append(f"What was opened is unknown of {count(unknown, 'attempt')}.")
    return notes


def _draw(study: Study, records: list[dict[str, Any]]) -> Drawing:
    alt = altair()
    names = [
        name for name in (study.names[at] for at in study.order) if any(r["arm"] == name for r in records)
    ]
    marks = [{**record, "tip": _tip(record)} for record in records if record["known"]]
    chart = (
        alt.Chart(alt.NamedData("marks"))
        .mark_bar(aria=True)
        .encode(
            x=alt.X(
                "share:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=3)
            ),
            y=alt.Y("phase:O", title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=6)),
            yOffset=alt.YOffset("what:N", sort=[_GIVEN, _OPENED]),
            color=alt.Color(
                "what:N",
                title=None,
                sort=[_GIVEN, _OPENED],
                scale=alt.Scale(domain=[_GIVEN, _OPENED], range=[GIVEN, OPENED]),
                legend=alt.Legend(orient="top"),
            ),
            description=alt.Description("tip:N"),
        )
        .properties(width=_WIDTH, height=alt.Step(12))
        .facet(
            facet=alt.Facet("arm:N", sort=names, title=None),
            columns=3,
            spacing={"row": 14, "column": 24},
        )
    )
    return Drawing(chart, {"marks": marks})


def _tip(record: dict[str, Any]) -> str:
    return (
        f"{record['arm']}, {record['phase']}: {record['attempts']:,} of {record['known']:,} {record['what']}"
    )

"""When attempts were made: the order of the arms, and the time between T1 and T2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sipbench.protocol.delay import duration_text, parse_delay
from sipbench.report.reading import Study
from sipbench.report.tabular import Cell, Table, cell
from sipbench.report.words import NOTHING, clean, share

__all__ = ["declared_delay", "delay_table", "order_line", "order_table"]


def order_table(study: Study) -> Table | None:
    """When the attempts of each arm and phase began; None where no record says."""
    rows = tuple(
        (
            cell(span.phase.value),
            cell(study.names[at]),
            cell(span.attempts),
            cell(span.first),
            cell(span.last),
            _later(study, at, span.phase),
        )
        for at in study.order
        for span in study.seen.timeline.spans(study.keys(study.summary.rows[at]))
    )
    if not rows:
        return None
    notes = (
        "Later than the control: how often a counted attempt of the arm began after one of its control's, of "
        "all pairs; 50 % by turns.",
        *(
            f"{turns.phase}: an attempt was another arm's than the one before {turns.changes:,} times; in "
            f"random order that would be {turns.expected:,.0f} times."
            for turns in study.seen.timeline.turns()
            if turns.arms > 1
        ),
    )
    head = ("phase", "arm", "attempts", "first began", "last began", "later than the control")
    return Table("order", "When attempts began", head, rows, notes)


def _later(study: Study, at: int, phase: str) -> Cell:
    found = study.summary.rows[at].interleaving
    later = next((item.later for item in found.phases if item.phase == phase), None) if found else None
    return cell(later, text=NOTHING if later is None else share(later))


def delay_table(study: Study) -> Table | None:
    """The time between T1 and T2 of each arm; None without a T2."""
    rows = []
    for at in study.order:
        found = study.summary.rows[at].delay
        if found is not None:
            rows.append(
                (
                    cell(study.names[at]),
                    cell(found.declared),
                    _span(found.shortest_seconds),
                    _span(found.median_seconds),
                    cell(found.begun_at or (f"due at {found.due_at}" if found.due_at else None)),
                )
            )
    if not rows:
        return None
    notes = (
        "Least: from the end of the last counted attempt at T1 to the beginning of the first one at T2, over "
        "the repeats. Of a task: from its attempts at T1 to those at T2, the median over tasks and repeats.",
    )
    head = ("arm", "declared", "least", "of a task", "T2 began")
    return Table("delay", "Time between T1 and T2", head, tuple(rows), notes)


def _span(seconds: float | None) -> Cell:
    return cell(seconds, text=NOTHING if seconds is None else duration_text(seconds))


def order_line(lock: Mapping[str, Any]) -> str | None:
    """The order that was planned, as ``study.lock.json`` says it; None where it does not."""
    order = lock.get("order")
    if not isinstance(order, Mapping) or not isinstance(order.get("name"), str):
        return None
    parts = [clean(order["name"].replace("_", " "), 80)]
    if order["name"] == "interleaved":
        parts.append(f"seed {clean(str(order.get('seed')), 80)}")
    if isinstance(reason := order.get("reason"), str):
        parts.append(clean(reason, 200))
    return ", ".join(parts)


def declared_delay(study: Study) -> str | None:
    """The declared delay before T2, in words; None without one."""
    declared = study.context.delay
    return None if declared is None else parse_delay(declared).words()

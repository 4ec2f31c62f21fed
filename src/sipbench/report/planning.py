"""What a plan promises, in words. All numbers are those of :mod:`sipbench.stats.planning`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from sipbench.protocol.money import usd_text
from sipbench.protocol.settings import AnalysisSettings
from sipbench.report.words import percent, plain
from sipbench.stats.planning import MORE_TASKS, SPREADS, Assumption, Outlook, Panel, Range

__all__ = ["outlook_document", "outlook_lines", "price_line"]


def outlook_lines(outlook: Outlook, settings: AnalysisSettings) -> Iterator[str]:
    """What the study could show, what more of it would buy, what it costs; the verdict on it last.

    Args:
        outlook: What was computed.
        settings: The declared choices.
    """
    spreads = " or ".join(f"{spread:g}" for spread in SPREADS)
    power = plain(percent(settings.power))
    yield f"With {power} power, if true effects vary between tasks with an SD of {spreads}"
    if outlook.fg is not None:
        yield from _panel("FG detectable", outlook.fg)
        yield from _needed(outlook.fg, settings.sesoi, "SESOI")
    if outlook.br is not None:
        yield from _panel("BR smallest testable margin", outlook.br)
        yield from _needed(outlook.br, settings.margin, "the margin")
    yield from _rests_on(outlook.assumptions)
    yield f"  {price_line(outlook, settings)}"
    yield from _unsaid(outlook)
    yield outlook.sentence


def outlook_document(outlook: Outlook) -> dict[str, Any]:
    """The same as plain JSON values."""
    return asdict(outlook)


def _panel(label: str, panel: Panel) -> Iterator[str]:
    yield f"  {label}: {_range(panel.detectable)}; one repeat more {_range(panel.one_repeat_more)}, " + (
        f"{MORE_TASKS} tasks more {_range(panel.ten_tasks_more)}"
    )
    yield f"    two unchanged runs differ by up to {panel.floor * 100:.1f} points"


_SOURCES = {"default": "a default: nothing of this study says otherwise", "pilot": "measured in the pilot"}
_ASSUMED = {
    "noise": "variance of an attempt on {split} tasks",
    "spread": "SD of true effects between tasks",
    "rho": "correlation of the changes of two tasks of one family",
    "repeat_sd": "SD of the effect between adaptations",
}


def _rests_on(assumptions: Sequence[Assumption]) -> Iterator[str]:
    if assumptions:
        yield "  This rests on"
    for item in assumptions:
        what = _ASSUMED[item.name].format(split=item.split.noun if item.split else "")
        values = " or ".join(f"{value:.3g}" for value in item.values)
        yield f"    {what}: {values} ({_SOURCES[item.source]})"


def _needed(panel: Panel, wanted: float | None, what: str) -> Iterator[str]:
    if wanted is None or panel.tasks_needed.small is None:
        return
    yield (
        f"    for {what} of {wanted * 100:.3g} points: {_count(panel.tasks_needed, 'task')}, "
        f"or {_count(panel.repeats_needed, 'repeat')}"
    )


def price_line(outlook: Outlook, settings: AnalysisSettings) -> str:
    """What attempts are expected to take: all of a study's, or those that are left; unknown is said."""
    parts = [f"{outlook.attempts:,} attempt{'' if outlook.attempts == 1 else 's'}"]
    if outlook.cost is not None and settings.cost_unit != "usd":
        parts.append(f"{outlook.cost:,.0f} {(settings.cost_unit or 'units').replace('_', ' ')}")
    if outlook.hours is not None:
        parts.append(f"{_duration(outlook.hours)} of attempts, without what lies between them")
    if outlook.usd is None:
        parts.append("an unknown amount of US dollars")
    else:
        parts.append(f"about {usd_text(outlook.usd)}" if outlook.usd else "no money")
    return f"Expected: {', '.join(parts)}"


def _unsaid(outlook: Outlook) -> Iterator[str]:
    missing = [*(["money"] if outlook.usd is None else ()), *(["time"] if outlook.hours is None else ())]
    if missing:
        what = " and ".join(missing)
        yield f"    --pilot RUNS, or `estimate` in the study file, says how much {what} they take"


def _duration(hours: float) -> str:
    seconds = hours * 3600
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if hours < 2 else f"{hours:,.1f} hours"


def _range(found: Range) -> str:
    ends = ["-" if end is None else f"{end * 100:.1f}" for end in (found.small, found.large)]
    return f"{ends[0]} or {ends[1]} points"


def _count(found: Range, noun: str) -> str:
    if found.small is None and found.large is None:
        return f"no number of {noun}s alone"
    ends = list(dict.fromkeys(f"{end:,.0f}" for end in (found.small, found.large) if end is not None))
    more = "" if None not in (found.small, found.large) else ", if effects hardly differ between tasks"
    return f"{' or '.join(ends)} {noun}{'' if ends == ['1'] else 's'}{more}"

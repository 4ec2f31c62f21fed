"""Numbers and names as people read them: points, shares, amounts; nothing is computed here.

A score is a number from 0 to 1; a difference of scores is shown in points, of which 1 has 100.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from sipbench.protocol.delay import duration_text
from sipbench.protocol.settings import CostUnit
from sipbench.protocol.summary import Estimate, Interval, Row, T2Delay

__all__ = [
    "LABELS",
    "NOTHING",
    "amount",
    "clean",
    "count",
    "delay_words",
    "headline",
    "interval",
    "only_bounds",
    "percent",
    "plain",
    "points",
    "probability",
    "row_names",
    "score",
    "share",
    "spent",
]

LABELS = {
    "fg": "FG",
    "br": "BR",
    "br_ratio": "BR_ratio",
    "ie": "IE",
    "pds": "PDS",
    "drift_gain": "drift gain",
    "pds_protocol": "PDS (protocol)",
    "br_t2": "BR at T2",
    "nis": "NIS",
}
"""Names of the metrics."""

NOTHING = "–"
MINUS = "−"

LONGEST_NAME = 120
_UNITS: dict[CostUnit, str] = {
    "tokens": "tokens",
    "seconds": "s",
    "tool_calls": "tool calls",
    "usd": "US dollars",
    "human_interventions": "interventions",
}


def clean(text: str, longest: int = LONGEST_NAME) -> str:
    """Text from a file, made harmless to show: one line, no control or direction marks, not too long.

    What turns the reading direction could make one name look like another; it is shown as its code.
    """
    shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(character if _harmless(character) else f"‹{ord(character):04X}›" for character in shown)


def _harmless(character: str) -> bool:
    return character == " " or unicodedata.category(character) not in {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "Zl",
        "Zp",
    }


def _signed(value: float, form: str) -> str:
    # Rounding must leave no "-0.0".
    text = format(value, form)
    if not text.strip("+-0."):
        text = text.replace("-", "+" if "+" in form else "")
    return text.replace("-", MINUS)


def plain(text: str) -> str:
    """Numbers with the signs of a keyboard, for a terminal: what is copied from it can be computed with."""
    return text.replace(MINUS, "-").replace(NOTHING, "-").replace(" %", "%")


def points(value: float | None, *, sign: bool = True) -> str:
    """A difference of scores: ``+57.5``."""
    return NOTHING if value is None else _signed(value * 100, "+.1f" if sign else ".1f")


def score(value: float | None, form: str = ".3f") -> str:
    """A score or a difference of scores as it stands: ``0.592``."""
    return NOTHING if value is None else _signed(value, form)


def interval(found: Interval | None, form: str = "points") -> str:
    """An interval: ``[+47.0, +68.0]``; ``form`` is ``points`` or a format."""
    if found is None:
        return NOTHING
    low, high = (points(end) if form == "points" else _signed(end, form) for end in (found.low, found.high))
    return f"[{low}, {high}]"


def share(value: float | None) -> str:
    """A share: ``98 %``; what is not all of it never reads 100 %, what is not none of it never 0 %."""
    if value is None:
        return NOTHING
    text = f"{value:.0%}"
    if text in ("0%", "100%") and value not in (0.0, 1.0):
        text = f"{value:.1%}"
        if text in ("0.0%", "100.0%"):
            text = "under 0.1%" if value < 0.5 else "over 99.9%"
    return text.replace("%", " %")


def percent(declared: float) -> str:
    """A declared share, such as a level, with the digits that it was declared with: ``95 %``, ``99.9 %``."""
    return f"{declared * 100:.6g} %"


def probability(value: float | None) -> str:
    """A p-value."""
    if value is None:
        return NOTHING
    return "< 0.0001" if value < 0.0001 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"


def amount(value: float | None) -> str:
    """A cost or a mean count."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def spent(value: float | None, unit: CostUnit) -> str:
    """A cost with its unit."""
    return NOTHING if value is None else f"{amount(value)} {_UNITS[unit]}"


def delay_words(delay: T2Delay | None) -> str | None:
    """The time between T1 and T2 of an arm, and what was declared; None without a T2."""
    if delay is None:
        return None
    declared = f"declared {delay.declared}" if delay.declared else ""
    if delay.shortest_seconds is not None:
        return "\n".join(filter(None, (duration_text(delay.shortest_seconds), declared)))
    return f"due {delay.due_at}" if delay.due_at else declared or None


def count(n: int, noun: str, nouns: str | None = None) -> str:
    """``1 task``, ``40 tasks``."""
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


def headline(estimate: Estimate) -> tuple[float | None, Interval | None]:
    """What is claimed of an estimate: what its verdict judges, else less the control's, else its own.

    Nothing is claimed where so few attempts count that only bounds may be given.
    """
    if estimate.lost is not None and estimate.lost.gate == "bounds":
        return None, None
    verdict, adjusted = estimate.verdict, estimate.adjusted
    if verdict is not None and verdict.value is not None:
        return verdict.value, verdict.interval
    if adjusted is not None and adjusted.value is not None:
        return adjusted.value, adjusted.interval
    return estimate.value, estimate.interval


# What a metric is made of.
_PARTS = {"br_ratio": ("br",), "ie": ("fg",), "nis": ("fg", "br")}


def only_bounds(row: Row, name: str) -> bool:
    """Whether so few attempts count that of this metric only bounds may be given."""
    parts: list[Estimate] = [getattr(row.metrics, part) for part in _PARTS.get(name, (name,))]
    return any(part.lost is not None and part.lost.gate == "bounds" for part in parts)


def row_names(rows: Sequence[Row]) -> tuple[str, ...]:
    """A name for each row: the arm, with benchmark, model or agent where the arm alone is not unique."""
    parts = [
        (
            row.arm,
            f"{row.benchmark_name} {row.benchmark_version or ''}".strip(),
            row.model_name,
            row.agent_name,
        )
        for row in rows
    ]
    names = []
    for arm, *more in parts:
        same = [other for other in parts if other[0] == arm]
        extra = [text for i, text in enumerate(more, 1) if len({other[i] for other in same}) > 1]
        names.append(clean(" ".join([arm, *(f"({text})" for text in extra)])))
    return tuple(names)

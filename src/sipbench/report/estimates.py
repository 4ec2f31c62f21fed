"""What is shown of an estimate, for a terminal as for a page: its lines, its bounds, why it is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sipbench.protocol.inference import LostAttempts
from sipbench.protocol.summary import METRICS, Estimate, Interval, Row
from sipbench.report.words import (
    LABELS,
    NOTHING,
    clean,
    count,
    headline,
    interval,
    only_bounds,
    points,
    score,
)

__all__ = [
    "PROTOCOL",
    "RATIOS",
    "adjusted_lines",
    "bounded",
    "bounds",
    "claimed_losses",
    "estimate_lines",
    "in_its_form",
    "losses",
    "missing_reasons",
    "open_interval",
    "shown_mean",
    "task_counts",
    "uncovered",
    "uncovered_note",
]

PROTOCOL = ("fg", "br", "br_ratio", "ie", "pds", "nis")
"""The metrics that the protocol asks for."""

UNBOUNDED = "unbounded"
BOUNDS_ONLY = "bounds only"

RATIOS = ("br_ratio", "ie")
_FORMS = {"ie": ".3g", "br_ratio": ".3f"}


def shown_mean(name: str, estimate: Estimate) -> float | None:
    """The mean over repeats; of a ratio the ratio of means, since a mean of ratios is biased."""
    if name in RATIOS or estimate.repeats_mean is None:
        return estimate.value
    return estimate.repeats_mean


def estimate_lines(row: Row, name: str) -> tuple[str, ...]:
    """Mean ± sd over repeats, then the interval; where only bounds may be given, these."""
    estimate: Estimate = getattr(row.metrics, name)
    if estimate.value is None:
        return (NOTHING,)
    if only_bounds(row, name):
        return (BOUNDS_ONLY, bounds(name, estimate.lost))
    form = _FORMS.get(name, "+.3f")
    sd = "" if estimate.repeats_sd is None else f" ± {score(estimate.repeats_sd, form.replace('+', ''))}"
    ends = _ends(estimate.interval, estimate.interval_reason, form)
    label = () if estimate.label is None else (estimate.label,)
    return (score(shown_mean(name, estimate), form) + sd, ends, *label)


def adjusted_lines(row: Row, name: str, *, in_points: bool = True) -> tuple[str, ...]:
    """The difference from the control and its interval; where only bounds may be given, these.

    Args:
        row: The arm.
        name: The metric.
        in_points: Whether differences of scores are in points, of which 1 has 100.
    """
    estimate: Estimate = getattr(row.metrics, name)
    found = estimate.adjusted
    if found is None or found.value is None:
        return (NOTHING,)
    if only_bounds(row, name):
        return (BOUNDS_ONLY, bounds(name, estimate.lost, in_points=in_points))
    ends = _ends(found.interval, found.reason, _form(name, in_points=in_points))
    return (in_its_form(name, found.value, in_points=in_points), ends)


def _ends(found: Interval | None, reason: str | None, form: str) -> str:
    if found is not None:
        return interval(found, form)
    return f"[{UNBOUNDED}]" if (reason or "").startswith(UNBOUNDED) else "[no interval]"


def _form(name: str, *, in_points: bool) -> str:
    return _FORMS.get(name, "points" if in_points else "+.3f")


def in_its_form(name: str, value: float | None, *, in_points: bool = False) -> str:
    """A value of a metric: a difference as a score or in points, a ratio as it is."""
    form = _form(name, in_points=in_points)
    return points(value) if form == "points" else score(value, form)


def bounds(name: str, lost: LostAttempts | None, *, in_points: bool = False, outer: bool = False) -> str:
    """``+0.100 to +0.500``: what a metric can be, whatever lost attempts would have scored.

    Args:
        name: The metric.
        lost: What they could change.
        in_points: Whether differences of scores are in points.
        outer: The confidence limits of both ends in their place.
    """
    if lost is None:
        return NOTHING
    ends = (lost.outer_low, lost.outer_high) if outer else (lost.low, lost.high)
    open_end = UNBOUNDED if (lost.reason or "").startswith(UNBOUNDED) else NOTHING
    if ends == (None, None):
        return open_end
    low, high = (open_end if end is None else in_its_form(name, end, in_points=in_points) for end in ends)
    return f"{low} to {high}"


def bounded(lost: LostAttempts, against: str = "") -> str:
    """What may be said of a difference where too few attempts count for its value to be claimed.

    Args:
        lost: What lost attempts could change in it.
        against: What it is the difference from, if that is to be said in the same sentence.
    """
    if lost.low is None or lost.high is None:
        return f"no bounds{against and f' {against}'}"
    text = f"between {points(lost.low)} and {points(lost.high)} points"
    if lost.outer_low is not None and lost.outer_high is not None:
        text += f" (confidence limits {points(lost.outer_low)} and {points(lost.outer_high)})"
    return f"{text}{against and f' {against}'}, depending on what the lost attempts would have scored"


def open_interval(estimate: Estimate) -> tuple[float | None, float | None]:
    """Ends of what a finding leaves open: of its interval, or with too few attempts its outer limits."""
    lost = uncovered(estimate)
    if lost is not None:
        return lost.outer_low, lost.outer_high
    _, ends = headline(estimate)
    return (None, None) if ends is None else (ends.low, ends.high)


def uncovered_note(arms: Sequence[str]) -> tuple[str, ...]:
    """What a chart says of arms with too few attempts for a verdict; nothing without one."""
    if not arms:
        return ()
    return (
        f"Too few attempts count for a verdict on {', '.join(arms)}: what is drawn reaches to the limits of "
        "what the lost ones could have scored.",
    )


def task_counts(row: Row, new: str, old: str) -> tuple[str, ...]:
    """``20 new in 10 families``: the tasks of FG, then those of BR; nothing for none."""
    found = []
    for noun, metric in ((new, row.metrics.fg), (old, row.metrics.br)):
        if metric.n_tasks:
            clustered = metric.n_families != metric.n_tasks
            families = f" in {count(metric.n_families, 'family', 'families')}" if clustered else ""
            found.append(f"{metric.n_tasks:,} {noun}{families}")
    return tuple(found)


def claimed_losses(estimate: Estimate) -> LostAttempts | None:
    """What lost attempts could change in what its verdict judges: of the method where that is claimed."""
    verdict, method = estimate.verdict, estimate.method
    if verdict is not None and verdict.scope == "method" and method is not None and method.lost is not None:
        return method.lost
    return estimate.lost


def uncovered(estimate: Estimate) -> LostAttempts | None:
    """The same where too few attempts count for a verdict; None elsewhere."""
    lost = claimed_losses(estimate)
    return lost if lost is not None and lost.gate != "verdict" else None


def losses(rows: Sequence[Row], names: Sequence[str]) -> Iterator[tuple[str, str, str, LostAttempts]]:
    """Name of the arm, metric, its label and what lost attempts could change in it, wherever they could.

    A claim about the method stands below the metric that it is about.
    """
    for row, arm in zip(rows, names, strict=True):
        for name in METRICS:
            estimate: Estimate = getattr(row.metrics, name)
            if estimate.lost is not None and _matters(estimate.lost):
                yield arm, name, LABELS[name], estimate.lost
            claimed = claimed_losses(estimate)
            if claimed is not None and claimed is not estimate.lost and _matters(claimed):
                yield arm, name, f"{LABELS[name]}, of the method", claimed


def _matters(lost: LostAttempts) -> bool:
    return lost.gate != "verdict" or lost.low != lost.high or any(gap.flagged for gap in lost.attrition)


def missing_reasons(rows: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    """Why metrics or their intervals are missing: one line per reason, with metrics and arms."""
    reasons: dict[tuple[str, bool], tuple[dict[str, None], dict[str, None]]] = {}
    for row, arm in zip(rows, names, strict=True):
        for name in PROTOCOL:
            estimate: Estimate = getattr(row.metrics, name)
            missing = estimate.value is None
            reason = estimate.reason if missing else estimate.interval_reason
            if reason is not None:
                metrics, arms = reasons.setdefault((reason, missing), ({}, {}))
                metrics[LABELS[name]] = arms[arm] = None
    for (reason, missing), (metrics, arms) in reasons.items():
        what = ", ".join(metrics) if missing else f"Interval of {', '.join(metrics)}"
        yield f"{what}: {clean(reason, 500)} ({', '.join(arms)})"

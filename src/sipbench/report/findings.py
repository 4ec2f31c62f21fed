"""What is concluded of each arm, and what that rests on, as the parts of a page that a stranger reads first.

``verdict`` says the same in a few lines of text, for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sipbench.protocol.settings import AnalysisSettings
from sipbench.protocol.summary import Estimate, Row, Summary, Verdict
from sipbench.protocol.vocabulary import PathType
from sipbench.report.estimates import bounded, task_counts, uncovered
from sipbench.report.words import (
    LABELS,
    amount,
    clean,
    count,
    headline,
    interval,
    only_bounds,
    points,
    probability,
    row_names,
    share,
    spent,
)

__all__ = ["ArmVerdict", "Fact", "Line", "Tone", "arm_verdicts", "in_words"]

type Tone = Literal["good", "bad", "open"]

_TONES: dict[str | None, Tone] = {
    "improved": "good",
    "retained": "good",
    "persists": "good",
    "worse": "bad",
    "loss": "bad",
    "decays": "bad",
}
_ABOUT = {"fg": "new tasks", "br": "old tasks", "pds": "new tasks, from T1 to T2"}
_UNJUDGED = {PathType.FROZEN: "without learning", PathType.ORACLE: "upper bound"}
_SAID = {
    "improved": "gained {} points on new tasks",
    "worse": "lost {} points on new tasks",
    "no evidence": "no evidence of a change on new tasks",
    "retained": "kept its old tasks",
    "loss": "lost {} points on old tasks",
    "persists": "what it scores on new tasks at T1 persists at T2",
    "decays": "lost {} points on new tasks from T1 to T2",
}
_OPEN = {"fg": "gain on new tasks", "br": "retention of old tasks", "pds": "persistence from T1 to T2"}


@dataclass(frozen=True, slots=True)
class Line:
    """What is concluded of one metric.

    Attributes:
        metric: Its label.
        about: What it is about, in words.
        word: The verdict, or "no verdict".
        tone: How it should look.
        text: The finding with its numbers.
        reasons: Why nothing stronger can be said.
    """

    metric: str
    about: str
    word: str
    tone: Tone
    text: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a verdict rests on."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ArmVerdict:
    """One arm.

    Attributes:
        name: Its name.
        role: ``control``, ``oracle`` or ``adapted``.
        path_type: How it may improve.
        against: Name of its control arm, if it has one.
        lines: What is concluded of FG, BR and PDS.
        facts: Cost, coverage, detectable effect, noise floor and the rest.
        warnings: Every warning of the row; those that keep it out of the main table come first.
        main: Whether it belongs in the main comparison.
    """

    name: str
    role: Literal["control", "oracle", "adapted"]
    path_type: str
    against: str | None
    lines: tuple[Line, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]
    main: bool


def arm_verdicts(summary: Summary) -> tuple[ArmVerdict, ...]:
    """The verdict of each arm: adapted arms first, then frozen ones, then the oracle."""
    names = row_names(summary.rows)
    found = [_arm(row, name, summary.settings) for row, name in zip(summary.rows, names, strict=True)]
    order = ("adapted", "control", "oracle")
    return tuple(sorted(found, key=lambda arm: order.index(arm.role)))


def _arm(row: Row, name: str, settings: AnalysisSettings) -> ArmVerdict:
    role: Literal["control", "oracle", "adapted"] = "adapted"
    if row.path_type is PathType.FROZEN:
        role = "control"
    elif row.path_type is PathType.ORACLE:
        role = "oracle"
    return ArmVerdict(
        name=name,
        role=role,
        path_type=row.path_type.value,
        against=None if row.control is None else clean(row.control),
        lines=tuple(_lines(row)),
        facts=tuple(_facts(row, settings)),
        warnings=tuple(clean(warning.message, 2000) for warning in row.warnings),
        main=row.main_table,
    )


def _lines(row: Row) -> Iterator[Line]:
    for metric, about in _ABOUT.items():
        estimate: Estimate = getattr(row.metrics, metric)
        if estimate.verdict is not None:
            yield _judged(metric, about, estimate, estimate.verdict)
        elif estimate.value is not None:
            value, ends = headline(estimate)
            if value is None and estimate.lost is not None:
                text = bounded(estimate.lost)
            else:
                text = f"{points(value)} points {interval(ends)}" if ends else f"{points(value)} points"
            yield Line(LABELS[metric], about, _UNJUDGED.get(row.path_type, "no verdict"), "open", text, ())


def _judged(metric: str, about: str, estimate: Estimate, verdict: Verdict) -> Line:
    word = verdict.word or "no verdict"
    return Line(
        metric=LABELS[metric],
        about=about,
        word=word,
        tone=_TONES.get(verdict.word, "open"),
        text=_finding(metric, estimate, verdict),
        reasons=tuple(clean(reason, 2000) for reason in verdict.reasons),
    )


def _finding(metric: str, estimate: Estimate, verdict: Verdict) -> str:
    if verdict.value is None:
        return clean(estimate.reason or "nothing can be computed", 2000)
    lost = uncovered(estimate)
    if lost is not None:
        return f"{bounded(lost)}; {share(lost.coverage)} of the planned attempts count"
    ends = interval(verdict.interval) if verdict.interval is not None else "without an interval"
    text = f"{points(verdict.value)} points {ends}"
    if verdict.margin is not None:
        counts = "persisting" if metric == "pds" else "retained"
        text += f"; down to {points(-verdict.margin)} counts as {counts}"
    return text


def _facts(row: Row, settings: AnalysisSettings) -> Iterator[Fact]:
    fg = row.metrics.fg
    yield from _learning(row, settings)
    yield _coverage(row, settings)
    yield Fact(
        "Tasks",
        ", ".join(task_counts(row, "new", "old")) or "none",
        f"{count(row.repeats, 'repeat')}{_attempts(fg)}",
    )
    if row.path_type is PathType.ORACLE or only_bounds(row, "fg"):
        return
    if fg.detectable is not None:
        effect = fg.detectable.effect
        sesoi = settings.sesoi
        against = "none declared" if sesoi is None else f"{points(sesoi, sign=False)} points"
        yield Fact(
            "Detectable effect",
            "unknown" if effect is None else f"{points(effect, sign=False)} points",
            f"of FG, with {share(fg.detectable.power)} power; smallest effect of interest: {against}",
        )
    if fg.noise_floor is not None:
        floor = fg.noise_floor
        source = "between repeats" if floor.source == "repeats" else "between attempts"
        yield Fact(
            "Noise floor",
            f"{points(floor.value, sign=False)} points",
            f"two runs of an unchanged agent stay below it; measured {source} of {clean(floor.arm)}",
        )
    yield from _tests(fg)
    yield from _method(fg)


def _coverage(row: Row, settings: AnalysisSettings) -> Fact:
    least = row.evaluation.least_coverage
    text = f"{row.evaluation.counted:,} of {row.evaluation.planned:,} attempts count"
    if least is None or least == 1.0:
        return Fact("Coverage", text)
    gate = share(settings.coverage_gate)
    return Fact("Coverage", text, f"least {share(least)} of a phase and split; a verdict needs {gate}")


def _learning(row: Row, settings: AnalysisSettings) -> Iterator[Fact]:
    unit = settings.cost_unit
    learns = row.path_type not in (PathType.FROZEN, PathType.ORACLE)
    if unit is None:
        if learns:
            yield Fact("Learning cost", "no cost unit declared")
        return
    cost = row.learning_cost
    if cost is not None and cost.value is not None:
        yield Fact("Learning cost", spent(cost.value, unit), "per repeat, evaluation not in it")
    elif learns:
        yield Fact("Learning cost", "unknown", clean((cost.reason if cost else None) or "", 2000))
    evaluation = row.evaluation_cost
    if evaluation is not None and evaluation.n_attempts > evaluation.n_unknown:
        unknown = (
            f"and {count(evaluation.n_unknown, 'attempt')} unknown" if evaluation.n_unknown else "in all"
        )
        yield Fact("Evaluation cost", spent(evaluation.known, unit), unknown)


def _attempts(fg: Estimate) -> str:
    if fg.verdict is None or fg.verdict.attempts is None:
        return ""
    before, after = (amount(mean) for mean in fg.verdict.attempts)
    noun = "attempt" if fg.verdict.attempts[0] == 1 else "attempts"
    return f", {before} {noun} of a task before and {after} after"


def _tests(fg: Estimate) -> Iterator[Fact]:
    verdict = fg.verdict
    if verdict is None or verdict.p_value is None:
        return
    note = "if nothing changed, sign-flip test by families"
    if verdict.p_holm is not None:
        note += f"; of the interval after Holm over the arms: {probability(verdict.p_holm)}"
    yield Fact("p-value", probability(verdict.p_value), note)


def _method(fg: Estimate) -> Iterator[Fact]:
    method = fg.method
    if method is None or method.value is None:
        return
    yield Fact(
        "As a claim about the method",
        f"{points(method.value)} points {interval(method.interval)}",
        f"FG with its {count(method.n_adaptations, 'adaptation')} drawn as well as the tasks",
    )


def in_words(summary: Summary) -> tuple[tuple[str, str], ...]:
    """What came out, for the top of a page: each arm that was judged, and what is said of it."""
    found = []
    for row, name in zip(summary.rows, row_names(summary.rows), strict=True):
        said = [text for metric in _ABOUT if (text := _said(row, metric))]
        if said:
            against = f"against {clean(row.control)}: " if row.control is not None else ""
            found.append((name, f"{against}{'; '.join(said)}."))
    return tuple(found) or (
        ("", "No arm that adapts was measured before and after, so there is no verdict."),
    )


def _said(row: Row, metric: str) -> str | None:
    estimate: Estimate = getattr(row.metrics, metric)
    verdict = estimate.verdict
    # Of BR and PDS that were not measured nothing needs to be said here; that FG is missing does.
    if verdict is None or (metric != "fg" and verdict.value is None):
        return None
    if verdict.word in _SAID:
        return _SAID[verdict.word].format(points(abs(verdict.value or 0.0), sign=False))
    text = f"{_OPEN[metric]}: {'inconclusive' if verdict.word else 'no verdict'}"
    lost = uncovered(estimate)
    if lost is not None and lost.low is not None:
        text += f", between {points(lost.low)} and {points(lost.high)} points"
    return text

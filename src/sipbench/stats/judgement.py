"""From findings to words: verdicts of FG, BR and PDS, with everything they rest on.

FG is the one primary test of an arm; with several arms, its claims are held to Holm's procedure over
them. BR and PDS are judged against a margin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sipbench.protocol import inference as model
from sipbench.protocol.manifest import ReplaySelection, SameRun
from sipbench.protocol.settings import AnalysisSettings
from sipbench.stats.entries import interval_entry
from sipbench.stats.inference import Finding
from sipbench.stats.intervals import t_p_value
from sipbench.stats.missing import coverage_gate
from sipbench.stats.multiplicity import holm
from sipbench.stats.verdicts import (
    AGREE_FAMILIES,
    Evidence,
    Verdict,
    Word,
    gain_verdict,
    retention_verdict,
    stability_verdict,
)

__all__ = ["JUDGED", "Judged", "adjusted_p", "judge", "void_reason"]

JUDGED = ("fg", "br", "pds")
"""Metrics that get a verdict."""

_UNDECLARED = (
    "how replay was chosen is not declared (`replay_selection`), so a loss may be regression to the mean"
)


@dataclass(frozen=True, slots=True)
class Judged:
    """An arm whose findings are to be judged.

    Attributes:
        name: The arm.
        findings: Its findings by metric.
        p_holm: The p of its FG after Holm over the arms; None with one arm, or without an interval.
    """

    name: str
    findings: Mapping[str, Finding]
    p_holm: float | None = None


def adjusted_p(findings: Sequence[Finding], settings: AnalysisSettings) -> list[float | None]:
    """The p of each arm's FG interval after Holm over the arms; None for all with a single one."""
    plain = [_interval_p(finding, settings) for finding in findings]
    known = [p for p in plain if p is not None]
    if len(known) < 2:
        return [None] * len(plain)
    stepped = iter(holm(known).tolist())
    return [None if p is None else next(stepped) for p in plain]


def _interval_p(finding: Finding, settings: AnalysisSettings) -> float | None:
    claim = finding.claimed(settings)
    interval = claim.interval
    if claim.estimate is None or interval is None or interval.se is None or interval.df is None:
        return None
    return t_p_value(claim.estimate, interval.se, interval.df)


def void_reason(finding: Finding, selection: ReplaySelection | None, bias: float | None) -> str | None:
    """Why BR may get no verdict at all, if so.

    Args:
        finding: BR.
        selection: How replay was chosen; None if that is not declared.
        bias: BR to be expected of an unchanged agent from that choice alone, if it can be told.
    """
    # Attempts that both arms share before cancel, and the choice that was made by them with them.
    if finding.shared_before or not isinstance(selection, SameRun | None):
        return None
    if selection is None:
        return _UNDECLARED
    expected = "" if bias is None else f": an agent that did not change would show {bias:+.3f}"
    return f"replay was chosen by the attempts that it is scored with (same_run){expected}"


def judge(
    arm: Judged,
    metric: str,
    selection: ReplaySelection | None,
    settings: AnalysisSettings,
    void: str | None = None,
) -> model.Verdict:
    """The verdict of one metric of one arm.

    Args:
        arm: The arm.
        metric: One of ``JUDGED``.
        selection: How replay was chosen, for BR.
        settings: The declared choices.
        void: Why no verdict may be given.
    """
    finding = arm.findings[metric]
    margin = None if metric == "fg" else settings.margin
    evidence = _evidence(finding, settings, margin, void)
    effect = finding.detectable(settings)
    if margin is None:
        found = gain_verdict(evidence, effect, settings.sesoi, settings.alpha)
        found = _held_to_holm(found, arm.p_holm, settings.alpha)
    else:
        rule = retention_verdict if metric == "br" else stability_verdict
        found = rule(evidence, margin, settings.alpha)
    claim = finding.claimed(settings)
    return model.Verdict(
        word=found.word.value if found.word else None,
        reasons=found.reasons,
        basis="plain" if finding.control is None else "adjusted",
        value=claim.estimate,
        interval=interval_entry(claim.interval),
        arm=arm.name,
        scope=settings.scope,
        n_tasks=claim.n,
        n_families=claim.n_families,
        attempts=finding.attempts,
        coverage=finding.lost.coverage if finding.lost else None,
        p_value=evidence.p,
        p_margin=evidence.p_margin,
        p_holm=arm.p_holm if metric == "fg" else None,
        margin=margin,
        sesoi=settings.sesoi if metric == "fg" else None,
        selection=(selection.method if selection else "undeclared") if metric == "br" else None,
    )


def _evidence(
    finding: Finding, settings: AnalysisSettings, margin: float | None, void: str | None
) -> Evidence:
    claim, head, lost = finding.claimed(settings), finding.headline, finding.claimed_lost(settings)
    coverage = finding.lost.coverage if finding.lost else None
    few = claim.n_families < AGREE_FAMILIES
    return Evidence(
        interval=claim.interval,
        n_families=claim.n_families,
        gate=coverage_gate(coverage, settings.coverage_gate),
        coverage=coverage,
        needed=settings.coverage_gate,
        reason=claim.reason or finding.change.reason,
        p=head.p.p if head.p else None,
        p_margin=_p_margin(finding, margin) if few and margin is not None else None,
        attrition=any(gap.flagged for gap in finding.gaps),
        worst=lost.low.interval if lost else None,
        best=lost.high.interval if lost else None,
        void=void,
    )


def _p_margin(finding: Finding, margin: float) -> float | None:
    head = finding.headline
    return None if head.p is None else head.flipped(margin).p


def _held_to_holm(found: Verdict, p_holm: float | None, alpha: float) -> Verdict:
    if found.word not in (Word.IMPROVED, Word.WORSE) or p_holm is None or p_holm < alpha:
        return found
    reason = f"the interval excludes 0, but not among several arms: its p after Holm is {p_holm:.3g}"
    return replace(found, word=Word.INCONCLUSIVE, reasons=(*found.reasons, reason))

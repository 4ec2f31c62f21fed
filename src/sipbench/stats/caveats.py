"""What a reader must know of a row before believing it, as typed warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sipbench.protocol.settings import AnalysisSettings, StudyContext
from sipbench.protocol.summary import (
    Cell,
    Estimate,
    LearningCost,
    Metrics,
    PhaseIdentity,
    SummaryWarning,
    WarningCode,
)
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, PathType, Split
from sipbench.stats.control import ControlChoice
from sipbench.stats.inference import Finding
from sipbench.stats.means import ArmTable
from sipbench.stats.undercoverage import too_narrow
from sipbench.stats.verdicts import apart, few_families

__all__ = ["LEAST_REPEATS", "counted_repeats", "row_warnings"]

LEAST_REPEATS = 3
"""Repeats that the main comparison asks for (protocol, "Repeats")."""

_SHOWN = 3
_DIGITS = 4


def counted_repeats(metrics: Metrics) -> int:
    """Repeats in which the main metrics exist: FG, and BR if there is any replay."""
    counts = [
        sum(item.value is not None for item in metric.by_repeat)
        for metric in (metrics.fg, metrics.br)
        if metric.value is not None
    ]
    return min(counts, default=0)


def row_warnings(
    arm: ArmTable,
    metrics: Metrics,
    cells: Sequence[Cell],
    phases: Sequence[PhaseIdentity],
    cost: LearningCost | None,
    path_type: PathType,
    settings: AnalysisSettings,
    context: StudyContext,
    findings: Mapping[str, Finding],
    control: ControlChoice,
    *,
    claims: bool,
) -> tuple[SummaryWarning, ...]:
    """All warnings of one row, those that keep it out of the main table first.

    An oracle and a control make no claim, so nothing is said of what would weaken one.
    """
    allowed = frozenset(item.rule for item in context.allowed)
    found = [
        *_comparability(metrics, path_type, settings),
        *_overlaps(arm, allowed),
        *_coverage(cells, settings),
        *(_attrition(findings) if claims else ()),
        *_pairing(metrics),
        *(_intervals(findings) if claims else ()),
        *_control(findings, path_type, control),
        *_identity(phases, path_type),
        *(_selection(metrics) if claims else ()),
        *_costs(cost),
    ]
    return tuple(sorted(found, key=lambda warning: not warning.keeps_out))


def _warn(code: WarningCode, message: str, *, keeps_out: bool = False) -> SummaryWarning:
    return SummaryWarning(code=code, message=message, keeps_out=keeps_out)


def _comparability(
    metrics: Metrics, path_type: PathType, settings: AnalysisSettings
) -> Iterator[SummaryWarning]:
    if path_type is PathType.ORACLE:
        yield _warn("oracle", "oracle is an upper bound, not a competitor", keeps_out=True)
    if metrics.fg.value is None:
        yield _warn("no_gain", f"no FG: {metrics.fg.reason}", keeps_out=True)
    repeats = counted_repeats(metrics)
    if repeats < LEAST_REPEATS:
        noun = "repeat" if repeats == 1 else "repeats"
        found = f"{repeats} {noun}" if repeats else "no repeat with both T0 and T1"
        yield _warn("few_repeats", f"{found}; the protocol asks for {LEAST_REPEATS}", keeps_out=True)
    for name, metric in (("FG", metrics.fg), ("BR", metrics.br)):
        limit = _highest_sd(metric, settings)
        if metric.repeats_sd is not None and metric.repeats_sd > limit:
            yield _warn(
                "high_variance",
                f"{name} varies between repeats: sd {apart(metric.repeats_sd, limit)}, above {limit:.3g}",
                keeps_out=True,
            )


def _highest_sd(metric: Estimate, settings: AnalysisSettings) -> float:
    if settings.high_variance_sd is not None:
        return settings.high_variance_sd
    return max(0.05, abs(metric.repeats_mean or 0.0) / 2)


def _overlaps(arm: ArmTable, allowed: frozenset[str]) -> Iterator[SummaryWarning]:
    adapt, heldout, replay = (arm.tasks(split) for split in (Split.ADAPT, Split.HELDOUT, Split.REPLAY))
    for names, shared, rule in (
        ("adapt and held-out", adapt & heldout, "disjoint-ids"),
        ("replay and held-out", replay & heldout, "disjoint-ids"),
        ("adapt and replay", adapt & replay, None),
    ):
        if shared:
            verb = "task stands" if len(shared) == 1 else "tasks stand"
            message = f"{len(shared)} {verb} in both {names}: {_some(sorted(shared))}"
            yield _warn("split_overlap", message, keeps_out=rule is not None and rule not in allowed)
    learned = {arm.families[task] for task in adapt if task in arm.families}
    near = sorted(task for task in heldout - adapt if arm.families.get(task) in learned)
    if near:
        verb = "task shares" if len(near) == 1 else "tasks share"
        message = f"{len(near)} held-out {verb} a family with adapt: {_some(near)}"
        yield _warn("split_overlap", message, keeps_out="disjoint-families" not in allowed)


def _some(names: Sequence[str], count: int | None = None) -> str:
    """The first names; ``count`` says how many there are where not all of them are given."""
    left = (len(names) if count is None else count) - len(names[:_SHOWN])
    return ", ".join(names[:_SHOWN]) + (f" and {left} more" if left > 0 else "")


def _coverage(cells: Sequence[Cell], settings: AnalysisSettings) -> Iterator[SummaryWarning]:
    low = [
        cell
        for cell in cells
        if cell.split in EVALUATION_SPLITS
        and cell.coverage is not None
        and cell.coverage < settings.coverage_gate
    ]
    if low:
        where = ", ".join(f"{_where(cell)} {cell.counted} of {cell.planned}" for cell in low)
        gate = f"{settings.coverage_gate * 100:.6g}%"
        yield _warn("low_coverage", f"under {gate} of the planned attempts count: {where}", keeps_out=True)
    over = [cell for cell in cells if cell.recorded > cell.planned]
    if over:
        where = ", ".join(f"{_where(cell)} {cell.recorded} in place of {cell.planned}" for cell in over)
        yield _warn("planned_mismatch", f"more attempts than were planned: {where}")


def _where(cell: Cell) -> str:
    return f"{cell.phase} {cell.split.noun}"


def _pairing(metrics: Metrics) -> Iterator[SummaryWarning]:
    for name, metric in (
        ("FG", metrics.fg),
        ("BR", metrics.br),
        ("PDS", metrics.pds),
        ("drift gain", metrics.drift_gain),
    ):
        if metric.unpaired and metric.n_tasks:
            tasks = "task that counts" if metric.unpaired == 1 else "tasks that count"
            named = _some(metric.unpaired_tasks, metric.unpaired)
            yield _warn(
                "unpaired_tasks", f"{name} leaves out {metric.unpaired} {tasks} in one phase only: {named}"
            )
        mean = metric.repeats_mean
        value, mean = (None if x is None else round(x, _DIGITS) + 0.0 for x in (metric.value, mean))
        # What is the same as it is printed needs no warning.
        if mean is not None and value is not None and mean != value:
            yield _warn(
                "unbalanced_repeats",
                f"{name} is {value:+.{_DIGITS}f} over tasks and {mean:+.{_DIGITS}f} over repeats: "
                "not every repeat counts the same tasks equally often",
            )
    if metrics.pds_protocol.label:
        yield _warn(
            "confounded_pds",
            "PDS (protocol) sets T2 tasks against other tasks at T1: it mixes stability with difficulty",
        )


def _identity(phases: Sequence[PhaseIdentity], path_type: PathType) -> Iterator[SummaryWarning]:
    for phase in phases:
        if len(phase.agent_versions) > 1:
            versions = _some(phase.agent_versions)
            yield _warn("mixed_versions", f"{phase.phase} mixes agent versions: {versions}")
    agents = {(phase.models, phase.agents) for phase in phases}
    if len(agents) > 1 and path_type is not PathType.PARAMETER:
        yield _warn(
            "model_changed",
            "model or agent are not the same in every phase, as only the path type 'parameter' makes them",
        )


def _attrition(findings: Mapping[str, Finding]) -> Iterator[SummaryWarning]:
    for name, finding in _shown(findings):
        pair = finding.change.pair
        # The first gap is the arm's own, before to after; the second sets it against the control.
        others = (f"at {pair.before}", f"by the control '{finding.control}'")
        for other, gap in zip(others, finding.gaps, strict=False):
            if gap.flagged and gap.gap is not None:
                more = "more" if gap.gap > 0 else "fewer"
                points = abs(gap.gap) * 100
                amount = f"{points:.1f}" if points >= 0.1 else f"{points:.2g}"
                yield _warn(
                    "attrition",
                    f"{name}: at {pair.after} {more} of the attempts were lost than {other}, by {amount} "
                    "percentage points of a task's attempts; a verdict stands only if both bounds give it",
                )


def _intervals(findings: Mapping[str, Finding]) -> Iterator[SummaryWarning]:
    for name, finding in _shown(findings):
        head = finding.headline
        few = few_families(head.n_families)
        if few is not None:
            yield _warn("few_families", f"{name} rests on {few}")
        if head.interval is None or head.interval.se is None or finding.change.crossfit is not None:
            continue
        narrow = too_narrow(head.differences, head.families, head.interval.se)
        if narrow is not None:
            yield _warn("narrow_interval", f"the interval of {name} may be too narrow: {narrow}")


def _shown(findings: Mapping[str, Finding]) -> Iterator[tuple[str, Finding]]:
    for name, label in (("fg", "FG"), ("br", "BR"), ("pds", "PDS")):
        if findings[name].headline.estimate is not None:
            yield label, findings[name]


def _control(
    findings: Mapping[str, Finding], path_type: PathType, control: ControlChoice
) -> Iterator[SummaryWarning]:
    if control.reason is not None:
        yield _warn("no_control", control.reason)
    if path_type is not PathType.FROZEN:
        return
    for name, finding in _shown(findings):
        interval = finding.change.contrast.interval
        if interval is not None and not interval.contains(0.0):
            yield _warn(
                "control_changed",
                f"this frozen arm itself changed, {name} {finding.change.contrast.estimate:+.3f} "
                f"[{interval.low:+.3f}, {interval.high:+.3f}]: compare other arms with it, not with T0",
            )


def _selection(metrics: Metrics) -> Iterator[SummaryWarning]:
    chosen = metrics.br.selection
    if metrics.br.value is None or chosen is None:
        return
    if chosen.method == "same_run":
        bias = chosen.expected_bias
        expected = "" if bias is None else f", by about {abs(bias):.3f}"
        yield _warn(
            "selected_replay",
            f"replay was chosen by T0 attempts that BR counts too (same_run): BR comes out too low{expected}",
        )
    if chosen.method == "undeclared":
        yield _warn("selected_replay", "how replay was chosen is not declared, so BR gets no verdict")


def _costs(cost: LearningCost | None) -> Iterator[SummaryWarning]:
    # An arm without an adaptation has no learning cost; nothing about it is unknown.
    if cost is not None and cost.value is None and cost.by_repeat:
        yield _warn("unknown_cost", f"the learning cost is unknown: {cost.reason}")

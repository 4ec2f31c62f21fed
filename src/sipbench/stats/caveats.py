"""What a reader must know of a row before believing it, as typed warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sipbench.protocol.manifest import Crossfit, SameRun, SplitManifest
from sipbench.protocol.settings import AnalysisSettings
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
from sipbench.stats.means import ArmTable

__all__ = ["LEAST_REPEATS", "counted_repeats", "row_warnings"]

LEAST_REPEATS = 3
"""Repeats that the main comparison asks for (protocol, "Repeats")."""

_SAME = 1e-9
_SHOWN = 3


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
    manifest: SplitManifest | None,
    allowed: frozenset[str],
) -> tuple[SummaryWarning, ...]:
    """All warnings of one row, those that keep it out of the main table first."""
    found = [
        *_comparability(metrics, path_type, settings),
        *_overlaps(arm, allowed),
        *_coverage(cells, settings),
        *_pairing(metrics),
        *_identity(phases, path_type),
        *_selection(manifest, metrics),
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
        yield _warn("few_repeats", f"{repeats} {noun}; the protocol asks for {LEAST_REPEATS}", keeps_out=True)
    for name, metric in (("FG", metrics.fg), ("BR", metrics.br)):
        limit = _highest_sd(metric, settings)
        if metric.repeats_sd is not None and metric.repeats_sd > limit:
            yield _warn(
                "high_variance",
                f"{name} varies between repeats: sd {metric.repeats_sd:.3g} above {limit:.3g}",
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


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _coverage(cells: Sequence[Cell], settings: AnalysisSettings) -> Iterator[SummaryWarning]:
    low = [
        cell
        for cell in cells
        if cell.split in EVALUATION_SPLITS
        and cell.coverage is not None
        and cell.coverage < settings.coverage_gate
    ]
    if low:
        where = ", ".join(f"{cell.phase} {cell.split} {cell.counted} of {cell.planned}" for cell in low)
        yield _warn(
            "low_coverage", f"counted attempts below {settings.coverage_gate:.0%} of the plan: {where}"
        )
    over = [cell for cell in cells if cell.recorded > cell.planned]
    if over:
        where = ", ".join(f"{cell.phase} {cell.split} {cell.recorded} of {cell.planned}" for cell in over)
        yield _warn("planned_mismatch", f"more attempts than planned: {where}")


def _pairing(metrics: Metrics) -> Iterator[SummaryWarning]:
    for name, metric in (
        ("FG", metrics.fg),
        ("BR", metrics.br),
        ("PDS", metrics.pds),
        ("drift gain", metrics.drift_gain),
    ):
        if metric.unpaired and metric.n_tasks:
            tasks = "task" if metric.unpaired == 1 else "tasks"
            named = _some(metric.unpaired_tasks)
            yield _warn(
                "unpaired_tasks", f"{name} leaves out {metric.unpaired} {tasks} counted in one phase: {named}"
            )
        mean = metric.repeats_mean
        if mean is not None and metric.value is not None and abs(mean - metric.value) > _SAME:
            yield _warn(
                "unbalanced_repeats",
                f"{name} {metric.value:+.4f} over tasks differs from its mean over repeats {mean:+.4f}: "
                "repeats count other tasks, or tasks have other numbers of attempts",
            )
    if metrics.pds_protocol.label:
        yield _warn(
            "confounded_pds",
            "pds_protocol sets T2 tasks against other tasks at T1: it mixes stability with difficulty",
        )


def _identity(phases: Sequence[PhaseIdentity], path_type: PathType) -> Iterator[SummaryWarning]:
    for phase in phases:
        if len(phase.agent_versions) > 1:
            versions = _some(phase.agent_versions)
            yield _warn("mixed_versions", f"{phase.phase} mixes agent versions: {versions}")
    agents = {(phase.models, phase.agents) for phase in phases}
    if len(agents) > 1 and path_type is not PathType.PARAMETER:
        yield _warn("model_changed", "model or agent differ between phases, which path type parameter does")


def _selection(manifest: SplitManifest | None, metrics: Metrics) -> Iterator[SummaryWarning]:
    chosen = manifest.replay_selection if manifest else None
    if isinstance(chosen, SameRun | Crossfit) and metrics.br.value is not None:
        yield _warn(
            "selected_replay",
            f"replay was chosen on T0 attempts ({chosen.method}) that BR also counts: BR is biased down",
        )


def _costs(cost: LearningCost | None) -> Iterator[SummaryWarning]:
    # An arm without an adaptation has no learning cost; nothing about it is unknown.
    if cost is not None and cost.value is None and cost.by_repeat:
        yield _warn("unknown_cost", f"learning cost unknown: {cost.reason}")

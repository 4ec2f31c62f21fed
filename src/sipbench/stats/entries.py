"""Estimates as the summary holds them: from the dataclasses of the estimators to its models."""

from __future__ import annotations

from sipbench.protocol import inference as model
from sipbench.protocol.settings import CostUnit
from sipbench.stats.contrasts import Contrast, MethodMean
from sipbench.stats.intervals import Interval
from sipbench.stats.missing import Attrition, Sensitivity, coverage_gate
from sipbench.stats.ratio import JointRegion

__all__ = [
    "contrast_entry",
    "gain_and_cost_entry",
    "interval_entry",
    "lost_entry",
    "method_entry",
]


def interval_entry(interval: Interval | None) -> model.Interval | None:
    """An interval."""
    if interval is None:
        return None
    return model.Interval(
        low=interval.low,
        high=interval.high,
        level=interval.level,
        method=interval.method,
        df=interval.df,
        se=interval.se,
    )


def contrast_entry(found: Contrast) -> model.Contrast:
    """A contrast."""
    return model.Contrast(
        value=found.estimate,
        interval=interval_entry(found.interval),
        reason=found.reason,
        n_tasks=found.n,
        n_families=found.n_families,
    )


def method_entry(found: MethodMean | None) -> model.MethodScope | None:
    """A mean over tasks and adaptations."""
    if found is None:
        return None
    return model.MethodScope(
        value=found.estimate,
        interval=interval_entry(found.interval),
        reason=found.reason,
        n_tasks=found.n,
        n_families=found.n_families,
        n_adaptations=found.n_seeds,
        v_task=found.v_task,
        v_adaptation=found.v_seed,
        v_residual=found.v_cell,
    )


def lost_entry(
    lost: Sensitivity | None, gaps: tuple[Attrition, ...], gate: float
) -> model.LostAttempts | None:
    """What lost attempts could change.

    Args:
        lost: The headline under every policy.
        gaps: Attrition of its cells.
        gate: Coverage from which a verdict is allowed.
    """
    if lost is None:
        return None
    bounds = lost.bounds
    return model.LostAttempts(
        complete_case=contrast_entry(lost.complete_case),
        errors_as_0=contrast_entry(lost.errors_as_0),
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        outer_low=bounds.outer_low if bounds else None,
        outer_high=bounds.outer_high if bounds else None,
        coverage=lost.coverage,
        gate=coverage_gate(lost.coverage, gate).value,
        attrition=tuple(
            model.Attrition(gap=gap.gap, p_value=gap.p, n_tasks=gap.n, flagged=gap.flagged) for gap in gaps
        ),
    )


def gain_and_cost_entry(region: JointRegion | None, unit: CostUnit) -> model.GainAndCost | None:
    """A joint region of gain and price."""
    gain = interval_entry(region.gain_interval) if region is not None else None
    if region is None or gain is None:
        return None
    return model.GainAndCost(
        gain=region.gain,
        cost=region.cost,
        unit=unit,
        gain_interval=gain,
        cost_interval=interval_entry(region.cost_interval),
        gain_radius=region.gain_radius,
        cost_radius=region.cost_radius,
        level=region.level,
        n_costs=region.cost_n,
    )

"""Estimates as the summary holds them: from the dataclasses of the estimators to its models."""

from __future__ import annotations

from sipbench.protocol import inference as model
from sipbench.protocol.settings import CostUnit
from sipbench.stats.contrasts import Contrast, MethodMean
from sipbench.stats.intervals import Estimated, Interval
from sipbench.stats.missing import Attrition, Bounds, Sensitivity, coverage_gate
from sipbench.stats.ratio import JointRegion

__all__ = [
    "contrast_entry",
    "estimated_entry",
    "gain_and_cost_entry",
    "interval_entry",
    "lost_entry",
    "method_entry",
    "sensitivity_entry",
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


def contrast_entry(found: Contrast | MethodMean) -> model.Contrast:
    """A contrast."""
    return model.Contrast(
        value=found.estimate,
        interval=interval_entry(found.interval),
        reason=found.reason,
        n_tasks=found.n,
        n_families=found.n_families,
    )


def method_entry(found: MethodMean | None, lost: Sensitivity | None, gate: float) -> model.MethodScope | None:
    """A mean over tasks and adaptations, and what lost attempts could change in it."""
    if found is None:
        return None
    return model.MethodScope(
        **dict(contrast_entry(found)),
        lost=sensitivity_entry(lost, gate),
        n_adaptations=found.n_seeds,
        v_task=found.v_task,
        v_adaptation=found.v_seed,
        v_residual=found.v_cell,
    )


def estimated_entry(found: Estimated) -> model.Contrast:
    """A value that is made of contrasts, such as a ratio; its tasks are theirs."""
    return model.Contrast(value=found.estimate, interval=interval_entry(found.interval), reason=found.reason)


def sensitivity_entry(
    lost: Sensitivity | None, gate: float, gaps: tuple[Attrition, ...] = ()
) -> model.LostAttempts | None:
    """What lost attempts could change in a contrast.

    Args:
        lost: It under every policy; None without it.
        gate: Coverage from which a verdict is allowed.
        gaps: Attrition of its cells.
    """
    if lost is None:
        return None
    complete, errors = contrast_entry(lost.complete_case), contrast_entry(lost.errors_as_0)
    return lost_entry(complete, errors, lost.bounds, lost.coverage, gate, gaps)


def lost_entry(
    complete: model.Contrast,
    errors: model.Contrast,
    bounds: Bounds | None,
    coverage: float | None,
    gate: float,
    gaps: tuple[Attrition, ...] = (),
) -> model.LostAttempts:
    """What lost attempts could change.

    Args:
        complete: The value without them.
        errors: The value with each of them as 0.
        bounds: What it can be whatever they would have scored; None if that cannot be told.
        coverage: The least coverage of its cells.
        gate: Coverage from which a verdict is allowed.
        gaps: Attrition of its cells.
    """
    return model.LostAttempts(
        complete_case=complete,
        errors_as_0=errors,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        outer_low=bounds.outer_low if bounds else None,
        outer_high=bounds.outer_high if bounds else None,
        reason=bounds.reason if bounds else None,
        sharp=bounds.sharp if bounds else None,
        coverage=coverage,
        gate=coverage_gate(coverage, gate).value,
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

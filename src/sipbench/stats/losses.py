"""What lost attempts could change in the metrics that are made of others: BR_ratio, IE and NIS."""

from __future__ import annotations

import numpy as np

from sipbench.protocol import metrics
from sipbench.protocol.inference import Contrast, LostAttempts
from sipbench.protocol.settings import AnalysisSettings
from sipbench.stats.adjusted import Subject
from sipbench.stats.contrasts import TaskMeans
from sipbench.stats.inference import Finding
from sipbench.stats.missing import (
    Policy,
    coverage_gate,
    efficiency_bounds,
    net_bounds,
    ratio_bounds,
)

__all__ = ["lost_efficiency", "lost_net", "lost_ratio"]

_NO_INTERVAL = "the value under this treatment of lost attempts; its interval is not computed"


def lost_ratio(subject: Subject, finding: Finding, settings: AnalysisSettings) -> LostAttempts | None:
    """BR_ratio under each way to treat lost attempts; None without replay, or if replay is cross-fitted."""
    pair = finding.change.pair
    before, after = (subject.tallies.get((phase, pair.split)) for phase in (pair.before, pair.after))
    if before is None or after is None or finding.change.crossfit is not None or not finding.change.plain.n:
        return None
    bounds = ratio_bounds(before, after)

    def under(policy: Policy) -> float | None:
        means = _common(before.means(policy), after.means(policy))
        return None if means is None else metrics.br_ratio(*means, settings.eps)

    return _entry(
        under(Policy.COMPLETE_CASE),
        under(Policy.ERRORS_AS_0),
        (None, None) if bounds is None else bounds,
        _least(before.coverage, after.coverage),
        settings,
    )


def lost_efficiency(
    finding: Finding, mean_cost: float | None, settings: AnalysisSettings
) -> LostAttempts | None:
    """IE of the headline gain; None without it or without a cost."""
    lost = finding.lost
    bounds = lost.bounds if lost is not None else None
    ends = efficiency_bounds(bounds, mean_cost) if bounds is not None else None
    if lost is None or ends is None or not mean_cost:
        return None

    def per_cost(gain: float | None) -> float | None:
        return None if gain is None else gain / mean_cost

    complete, errors = lost.complete_case.estimate, lost.errors_as_0.estimate
    return _entry(per_cost(complete), per_cost(errors), ends, lost.coverage, settings)


def lost_net(fg: Finding, br: Finding, settings: AnalysisSettings) -> LostAttempts | None:
    """NIS of the headlines; None without one of the two, or if replay is cross-fitted."""
    gain, kept = fg.lost, br.lost
    if gain is None or kept is None or br.change.crossfit is not None:
        return None
    bounds = gain.bounds, kept.bounds
    if bounds[0] is None or bounds[1] is None:
        return None

    def net(gained: float | None, retained: float | None) -> float | None:
        if gained is None or retained is None:
            return None
        return metrics.net_improvement(gained, retained, settings.lambda_)

    return _entry(
        net(gain.complete_case.estimate, kept.complete_case.estimate),
        net(gain.errors_as_0.estimate, kept.errors_as_0.estimate),
        net_bounds(bounds[0], bounds[1], settings.lambda_),
        _least(gain.coverage, kept.coverage),
        settings,
    )


def _common(before: TaskMeans, after: TaskMeans) -> tuple[float, float] | None:
    old, new = (dict(zip(side.ids, side.means.tolist(), strict=True)) for side in (before, after))
    ids = sorted(old.keys() & new.keys())
    if not ids:
        return None
    return float(np.mean([old[task] for task in ids])), float(np.mean([new[task] for task in ids]))


def _least(*shares: float | None) -> float | None:
    return None if None in shares else min(share for share in shares if share is not None)


def _entry(
    complete: float | None,
    errors: float | None,
    ends: tuple[float | None, float | None],
    coverage: float | None,
    settings: AnalysisSettings,
) -> LostAttempts:
    return LostAttempts(
        complete_case=Contrast(value=complete, reason=_NO_INTERVAL),
        errors_as_0=Contrast(value=errors, reason=_NO_INTERVAL),
        low=ends[0],
        high=ends[1],
        outer_low=None,
        outer_high=None,
        coverage=coverage,
        gate=coverage_gate(coverage, settings.coverage_gate).value,
    )

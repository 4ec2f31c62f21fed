"""What lost attempts could change in the metrics that are made of others: BR_ratio, IE and NIS.

Each end moves every lost attempt to the end of the score range that moves the metric that way:

- BR_ratio: ``[lo(T1) / hi(T0), hi(T1) / lo(T0)]``. No attempt is in both means, so both ends are
  reached: the bounds are sharp. Where ``lo(T0)`` is below eps there is no upper one.
- IE: the bounds of the gain over the mean cost of learning, which no lost attempt of a metric changes.
- NIS: at the low ends of FG and BR, and at their high ends; it rises with both, and they share no attempt.

The outer limits are confidence limits of these ends, by the interval that the metric itself has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sipbench.protocol.inference import Contrast, LostAttempts
from sipbench.protocol.settings import AnalysisSettings
from sipbench.stats.adjusted import Subject
from sipbench.stats.contrasts import cluster_labels
from sipbench.stats.crossfit_lost import crossfit_ratio
from sipbench.stats.entries import estimated_entry, lost_entry
from sipbench.stats.inference import Finding
from sipbench.stats.intervals import Estimated
from sipbench.stats.missing import Bounds, Policy, Tally, below_eps, least_coverage
from sipbench.stats.ratio import (
    NetScore,
    RatioEstimate,
    improvement_efficiency,
    net_improvement,
    retention_ratio,
)

__all__ = ["lost_efficiency", "lost_net", "lost_ratio", "ratio_bounds"]

_NO_INTERVAL = "a ratio of cross-fitted means has no interval here; BR has one"


def lost_ratio(subject: Subject, finding: Finding, settings: AnalysisSettings) -> LostAttempts | None:
    """BR_ratio under each way to treat lost attempts; None without replay.

    Cross-fitted replay has outer bounds, and values without an interval as BR_ratio itself.
    """
    pair = finding.change.pair
    before, after = (subject.tallies.get((phase, pair.split)) for phase in (pair.before, pair.after))
    if before is None or after is None or not finding.change.plain.n:
        return None
    families, eps, alpha = subject.arm.families, settings.eps, settings.alpha
    if finding.change.rule is not None:
        fitted = crossfit_ratio(subject, "br", finding.change.rule, eps, alpha)
        if fitted is None:
            return None
        complete, errors = (
            Contrast(value=value, reason=_NO_INTERVAL) for value in (fitted.complete_case, fitted.errors_as_0)
        )
        bounds = fitted.bounds
    else:
        complete, errors = (
            estimated_entry(_ratio(before, after, (policy, policy), families, eps, alpha))
            for policy in (Policy.COMPLETE_CASE, Policy.ERRORS_AS_0)
        )
        bounds = ratio_bounds(before, after, families, eps, alpha)
    return lost_entry(complete, errors, bounds, least_coverage((before, after)), settings.coverage_gate)


def ratio_bounds(
    before: Tally,
    after: Tally,
    families: Mapping[str, str] | None = None,
    eps: float = 0.05,
    alpha: float = 0.05,
) -> Bounds | None:
    """Sharp bounds of ``E p(T1) / E p(T0)`` over the tasks planned in both phases.

    Args:
        before: T0 attempts.
        after: T1 attempts.
        families: Family of each task id; a task without an entry is its own family.
        eps: The least mean T0 score at which a ratio says anything.
        alpha: One minus the level of the outer limits.

    Returns:
        The bounds, without an upper one if lost attempts at 0 leave a mean T0 score below ``eps``; None
        without a task, or if even the highest mean T0 score is below it.
    """
    low = _ratio(before, after, (Policy.HIGH, Policy.LOW), families, eps, alpha)
    high = _ratio(before, after, (Policy.LOW, Policy.HIGH), families, eps, alpha)
    if low.estimate is None:
        return None
    if high.estimate is None:
        worst = before.means(Policy.LOW).of(_common(before, after))
        return replace(_bounds(low, high), reason=below_eps(float(worst.mean()), eps))
    return _bounds(low, high)


def lost_efficiency(
    finding: Finding, costs: Sequence[float], settings: AnalysisSettings
) -> LostAttempts | None:
    """IE of the headline gain; None without it or without a cost above 0."""
    lost = finding.lost
    if lost is None or not sum(costs):
        return None

    def per_cost(gain: Estimated) -> RatioEstimate:
        return improvement_efficiency(gain, costs, settings.alpha)

    low, high = per_cost(lost.low), per_cost(lost.high)
    bounds = (
        None
        if low.estimate is None or high.estimate is None
        else replace(_bounds(low, high), sharp=lost.sharp)
    )
    complete, errors = (estimated_entry(per_cost(case)) for case in (lost.complete_case, lost.errors_as_0))
    return lost_entry(complete, errors, bounds, lost.coverage, settings.coverage_gate)


def lost_net(fg: Finding, br: Finding, settings: AnalysisSettings) -> LostAttempts | None:
    """NIS of the headlines; None without one of the two."""
    gain, kept = fg.lost, br.lost
    if gain is None or kept is None:
        return None

    def net(gained: Estimated, retained: Estimated) -> NetScore:
        return net_improvement(gained, retained, settings.lambda_, settings.alpha)

    low, high = net(gain.low, kept.low), net(gain.high, kept.high)
    bounds = None
    if low.estimate is not None and high.estimate is not None:
        bounds = replace(_bounds(low, high), sharp=gain.sharp and kept.sharp)
    known = [share for share in (gain.coverage, kept.coverage) if share is not None]
    return lost_entry(
        estimated_entry(net(gain.complete_case, kept.complete_case)),
        estimated_entry(net(gain.errors_as_0, kept.errors_as_0)),
        bounds,
        min(known) if len(known) == 2 else None,
        settings.coverage_gate,
    )


type _Made = RatioEstimate | NetScore


def _bounds(low: _Made, high: _Made) -> Bounds:
    below, above = low.interval, high.interval
    return Bounds(
        low.estimate,
        high.estimate,
        below.low if below is not None else None,
        above.high if above is not None else None,
        None if below is not None and above is not None else low.reason or high.reason,
    )


def _common(before: Tally, after: Tally) -> tuple[str, ...]:
    """Tasks planned in both phases, sorted."""
    sides = (cell.means(Policy.LOW).ids for cell in (before, after))
    return tuple(sorted(set.intersection(*(set(ids) for ids in sides))))


def _ratio(
    before: Tally,
    after: Tally,
    policies: tuple[Policy, Policy],
    families: Mapping[str, str] | None,
    eps: float,
    alpha: float,
) -> RatioEstimate:
    old, new = (cell.means(policy) for cell, policy in zip((before, after), policies, strict=True))
    ids = tuple(sorted(set(old.ids) & set(new.ids)))
    return retention_ratio(old.of(ids), new.of(ids), cluster_labels(ids, families), eps=eps, alpha=alpha)

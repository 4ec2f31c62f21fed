"""The metrics of one arm, from its task means: values, sd over repeats, intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping

from sipbench.protocol import metrics
from sipbench.protocol.settings import AnalysisSettings
from sipbench.protocol.summary import Estimate, LearningCost, Metrics, RepeatValue
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats import ratio
from sipbench.stats.changes import EMPTY, Change
from sipbench.stats.contrasts import TaskMeans
from sipbench.stats.entries import interval_entry
from sipbench.stats.means import ArmTable

__all__ = ["SHOWN_TASKS", "estimate_metrics"]

SHOWN_TASKS = 20
"""How many unpaired tasks are named."""


class _Arm:
    """What the metrics of one arm share."""

    def __init__(self, arm: ArmTable, settings: AnalysisSettings) -> None:
        self.arm = arm
        self.settings = settings
        self.repeats = arm.repeats

    def means(self, phase: Phase, split: Split) -> TaskMeans:
        return self.arm.task_means.get((phase, split), EMPTY)


def estimate_metrics(
    arm: ArmTable,
    changes: Mapping[str, Change],
    settings: AnalysisSettings,
    cost: LearningCost | None,
    no_cost: str | None,
) -> Metrics:
    """All metrics of one arm.

    Args:
        arm: Its attempts.
        changes: Its changes, by the names of ``PAIRS``.
        settings: The declared choices.
        cost: What learning cost, in the declared unit.
        no_cost: Why ``cost`` is None.
    """
    at = _Arm(arm, settings)
    fg, br = changes["fg"], changes["br"]
    found = {name: _difference(at, change) for name, change in changes.items()}
    found |= {
        "br_ratio": _ratio(at, br),
        "ie": _efficiency(at, fg, cost, no_cost),
        "nis": _net(at, fg, br),
    }
    return Metrics(**found, pds_protocol=_protocol_pds(at, found["pds"]))


def _over_repeats(values: tuple[RepeatValue, ...], *, mean: bool = True) -> dict[str, object]:
    numbers = [item.value for item in values if item.value is not None]
    return {
        "by_repeat": values,
        "repeats_mean": math.fsum(numbers) / len(numbers) if numbers and mean else None,
        "repeats_sd": statistics.stdev(numbers) if len(numbers) > 1 else None,
    }


def _shell(change: Change) -> dict[str, object]:
    contrast = change.contrast
    return {
        "reason": change.reason,
        "n_tasks": contrast.n,
        "n_families": contrast.n_families,
        "unpaired": len(contrast.unpaired),
        "unpaired_tasks": contrast.unpaired[:SHOWN_TASKS],
    }


def _by_repeat(
    at: _Arm, change: Change, formula: Callable[[float, float], float] | None = None
) -> tuple[RepeatValue, ...]:
    values = []
    for repeat in at.repeats:
        pair = change.pairs.get(repeat)
        if pair is None:
            reason = change.reason or "no task was counted in both phases of this repeat"
            values.append(RepeatValue(repeat=repeat, value=None, n_tasks=0, reason=reason))
            continue
        before, after, n = pair
        value = formula(before, after) if formula else after - before
        values.append(RepeatValue(repeat=repeat, value=value, n_tasks=n))
    return tuple(values)


def _difference(at: _Arm, change: Change) -> Estimate:
    contrast = change.contrast
    return Estimate.model_validate(
        _shell(change)
        | _over_repeats(_by_repeat(at, change))
        | {
            "value": contrast.estimate,
            "interval": interval_entry(contrast.interval),
            "interval_reason": None if contrast.interval else change.reason or contrast.reason,
            "p_value": contrast.p.p if contrast.p else None,
        }
    )


def _ratio(at: _Arm, br: Change) -> Estimate:
    eps = at.settings.eps

    def formula(before: float, after: float) -> float:
        return metrics.br_ratio(before, after, eps)

    shell = _shell(br) | _over_repeats(_by_repeat(at, br, formula), mean=False)
    means = br.means
    if means is None:
        return Estimate.model_validate(shell | {"interval_reason": br.reason})
    if br.crossfit is not None:
        reason = "a ratio of cross-fitted means has no interval here; BR has one"
        return Estimate.model_validate(shell | {"value": formula(*means), "interval_reason": reason})
    before, after = br.sides()
    fieller = ratio.retention_ratio(before, after, br.contrast.families, eps=eps, alpha=at.settings.alpha)
    return Estimate.model_validate(
        shell
        | {
            "value": formula(*means),
            "interval": interval_entry(fieller.interval),
            "interval_reason": fieller.reason,
        }
    )


def _efficiency(at: _Arm, fg: Change, cost: LearningCost | None, no_cost: str | None) -> Estimate:
    shell = _shell(fg)
    unknown = no_cost if cost is None else cost.reason
    if cost is None or cost.value is None:
        return Estimate.model_validate(shell | {"reason": unknown, "interval_reason": unknown})
    paid = {item.repeat: item.value for item in cost.by_repeat}
    values = tuple(_per_cost(item, paid.get(item.repeat)) for item in _by_repeat(at, fg))
    spent = [value for value in paid.values() if value is not None]
    found = ratio.improvement_efficiency(fg.contrast, spent, at.settings.alpha)
    return Estimate.model_validate(
        shell
        | _over_repeats(values, mean=False)
        | {
            "value": found.estimate,
            "reason": found.reason if found.estimate is None else None,
            "interval": interval_entry(found.interval),
            "interval_reason": None if found.interval else found.reason,
        }
    )


def _per_cost(gain: RepeatValue, cost: float | None) -> RepeatValue:
    if gain.value is None:
        return gain
    value = metrics.improvement_efficiency(gain.value, cost)
    reason = "the cost of learning is 0" if value is None else None
    return gain.model_copy(update={"value": value, "reason": reason})


def _net(at: _Arm, fg: Change, br: Change) -> Estimate:
    lambda_ = at.settings.lambda_
    score = ratio.net_improvement(fg.contrast, br.contrast, lambda_, at.settings.alpha)
    values = tuple(
        gain.model_copy(update={"value": metrics.net_improvement(gain.value, kept.value, lambda_)})
        if gain.value is not None and kept.value is not None
        else RepeatValue(repeat=gain.repeat, value=None, n_tasks=0, reason=gain.reason or kept.reason)
        for gain, kept in zip(_by_repeat(at, fg), _by_repeat(at, br), strict=True)
    )
    missing = None if score.estimate is not None else fg.reason or br.reason
    return Estimate.model_validate(
        _over_repeats(values)
        | {
            "value": score.estimate,
            "reason": missing,
            "interval": interval_entry(score.interval),
            "interval_reason": None if score.interval else missing or score.reason,
            "n_tasks": fg.contrast.n + br.contrast.n,
            "n_families": fg.contrast.n_families + br.contrast.n_families,
        }
    )


def _protocol_pds(at: _Arm, pds: Estimate) -> Estimate:
    """The protocol's literal value: T2 on drift if there is any, else on held-out, less T1 held-out."""
    drift, heldout = at.means(Phase.T2, Split.DRIFT), at.means(Phase.T2, Split.HELDOUT)
    split, target = (Split.DRIFT, drift) if drift.ids else (Split.HELDOUT, heldout)
    before = at.means(Phase.T1, Split.HELDOUT)
    if not target.ids or not before.ids:
        reason = f"no counted {'T1' if target.ids else 'T2'} attempt on held-out"
        reason += " tasks" if target.ids else " or drift tasks"
        return Estimate(reason=reason, interval_reason=reason)
    if set(target.ids) == set(before.ids):
        return pds
    cells = at.arm.repeat_means
    sides = cells.get((Phase.T1, Split.HELDOUT), {}), cells.get((Phase.T2, split), {})
    values = tuple(_unpaired(repeat, *(side.get(repeat) for side in sides)) for repeat in at.repeats)
    value = metrics.persistence(float(before.means.mean()), float(target.means.mean()))
    return Estimate.model_validate(
        _over_repeats(values)
        | {
            "value": value,
            "label": "confounded",
            "interval_reason": "its two sides hold different tasks, so no task can be paired",
            "n_tasks": len({*target.ids, *before.ids}),
        }
    )


def _unpaired(repeat: int, before: tuple[float, int] | None, after: tuple[float, int] | None) -> RepeatValue:
    if before is None or after is None:
        side = "T1 held-out" if before is None else "T2"
        return RepeatValue(repeat=repeat, value=None, n_tasks=0, reason=f"no counted {side} attempt")
    value = metrics.persistence(before[0], after[0])
    return RepeatValue(repeat=repeat, value=value, n_tasks=before[1] + after[1])

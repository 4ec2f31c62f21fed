"""What learning cost, and what measuring cost: two sums that are never mixed.

Learning cost = the adapt attempts of a repeat, with their failed tries, plus what the adaptation
itself spent. If any part is unknown, so is the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import polars as pl

from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.digests import json_digest
from sipbench.protocol.settings import COST_FIELDS, CostUnit
from sipbench.protocol.summary import EvaluationCost, LearningCost, RepeatCost
from sipbench.protocol.vocabulary import PathType, Phase, Split
from sipbench.stats.means import ArmTable

__all__ = ["NO_ADAPTATION", "Spent", "evaluation_cost", "learning_cost"]

NO_ADAPTATION = "the arm has no adaptation"

_UNDECLARED = "what the adaptation itself spent is unknown; --adaptation-cost ARM=VALUE declares it"

type Spent = Mapping[tuple[int, Phase], AdaptationRecord] | float | None
"""What an arm's adaptations spent: a record per repeat and phase, a declared amount per repeat, or
None if it is unknown."""

_LEARNING = pl.col("benchmark_split") == Split.ADAPT.value
# Adapt attempts before T1 belong to what led to T1, whatever phase they were logged under.
_LATER = pl.col("phase") == Phase.T2.value


def learning_cost(
    arm: ArmTable, unit: CostUnit, spent: Spent, path_type: PathType, phase: Phase = Phase.T1
) -> LearningCost | None:
    """What an arm paid for its agent state at ``phase``.

    Returns:
        The mean over repeats; None for T2 if there was no second adaptation.
    """
    adapting = arm.frame.filter(_LEARNING & (_LATER if phase is Phase.T2 else ~_LATER))
    sums = _sums(adapting)
    known = isinstance(spent, Mapping)
    made = {repeat for repeat, at in spent if at is phase} if isinstance(spent, Mapping) else set()
    if phase is Phase.T2 and not made and not sums:
        return None
    source: Literal["adaptations", "declared", "unknown"] = "adaptations" if known else "declared"
    shell = LearningCost(
        phase=phase,
        unit=unit,
        field=COST_FIELDS[unit],
        value=None,
        adaptation_source="unknown" if spent is None else source,
        records_digest=json_digest(sorted(adapting["run_id"].to_list())) if adapting.height else None,
    )
    if (known and not made) or path_type in (PathType.FROZEN, PathType.ORACLE):
        return shell.model_copy(update={"reason": NO_ADAPTATION})
    # A repeat that has not come to this phase says nothing yet of what getting there costs.
    reached = arm.frame.filter(~_LEARNING & (pl.col("phase") == phase.value))["repeat"]
    costs = tuple(
        _repeat(repeat, sums.get(repeat, (0.0, 0)), spent, phase, unit)
        for repeat in sorted(reached.unique().to_list())
    )
    if not costs:
        return shell.model_copy(update={"reason": f"no attempt at {phase}"})
    values = [cost.value for cost in costs if cost.value is not None]
    if len(values) < len(costs):
        first = next(cost for cost in costs if cost.value is None)
        same = all(cost.reason == first.reason for cost in costs)
        reason = first.reason if same else f"repeat {first.repeat}: {first.reason}"
        return shell.model_copy(update={"by_repeat": costs, "reason": reason})
    return shell.model_copy(update={"by_repeat": costs, "value": math.fsum(values) / len(values)})


def _sums(adapting: pl.DataFrame) -> dict[int, tuple[float | None, int]]:
    cost = pl.col("cost")
    total = pl.when(cost.is_null().any()).then(None).otherwise(cost.sort().sum())
    sums = adapting.group_by("repeat").agg(total.alias("cost"), pl.len().alias("n"))
    return {repeat: (value, n) for repeat, value, n in sums.iter_rows()}


def _repeat(
    repeat: int, attempts: tuple[float | None, int], spent: Spent, phase: Phase, unit: CostUnit
) -> RepeatCost:
    tried, n = attempts
    own, reason = _own(repeat, spent, phase, unit)
    if tried is None:
        reason = f"what an adapt attempt, with its failed tries, spent in {_unit(unit)} is not recorded"
    value = None if tried is None or own is None else tried + own
    return RepeatCost(
        repeat=repeat,
        value=value,
        attempts=tried,
        adaptation=own,
        n_attempts=n,
        reason=None if value is not None else reason,
    )


def _own(repeat: int, spent: Spent, phase: Phase, unit: CostUnit) -> tuple[float | None, str | None]:
    if spent is None:
        return None, _UNDECLARED
    if isinstance(spent, Mapping):
        record = spent.get((repeat, phase))
        if record is None:
            return None, "no adaptation is recorded"
        amount = getattr(record, COST_FIELDS[unit])
        reason = f"what the adaptation '{record.adaptation}' itself spent in {_unit(unit)} is not recorded"
        return (None, reason) if amount is None else (float(amount), None)
    return spent, None


def _unit(unit: CostUnit) -> str:
    return "US dollars" if unit == "usd" else unit.replace("_", " ")


def evaluation_cost(arm: ArmTable, unit: CostUnit) -> EvaluationCost:
    """What the attempts on held-out, replay and drift tasks cost together, with their failed tries."""
    cost = arm.frame.filter(~_LEARNING)["cost"]
    known = cost.drop_nulls().sort()
    total = float(known.sum())
    unknown = cost.null_count()
    return EvaluationCost(
        unit=unit,
        field=COST_FIELDS[unit],
        value=None if unknown else total,
        known=total,
        n_attempts=cost.len(),
        n_unknown=unknown,
    )

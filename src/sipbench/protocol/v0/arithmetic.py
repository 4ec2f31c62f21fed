"""v0.1.0's own aggregation, reproduced: numbers to compare with, not to report.

Attempts of a split are pooled whatever their task; cost comes from adapt attempts at T1 or, without
any, from everything at T1; null and missing cost count as 0; the sd of one repeat is 0.0. The
current estimators are in :mod:`sipbench.stats`.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sipbench.errors import RecordError
from sipbench.protocol import metrics
from sipbench.protocol.records import timestamp
from sipbench.protocol.v0.document import V0_VERSION

__all__ = ["COMPAT_EPS", "GROUP_FIELDS", "aggregate"]

COMPAT_EPS = 1e-6
"""v0.1.0's default for eps."""

GROUP_FIELDS = (
    "benchmark_name",
    "benchmark_version",
    "path_type",
    "model_name",
    "agent_name",
    "agent_version",
)

_SPLITS = ("replay", "adapt", "heldout", "drift")
_COSTS = {
    "token_total_mean": "token_total",
    "tool_calls_mean": "tool_calls_total",
    "wall_clock_seconds_mean": "wall_clock_seconds",
    "cost_usd_mean": "cost_usd",
    "human_interventions_mean": "human_interventions",
}

type _Record = Mapping[str, Any]
type _Repeat = dict[str, float | None]


def aggregate(
    records: Iterable[_Record],
    *,
    cost_field: str = "token_total",
    lambda_: float = 1.0,
    eps: float = COMPAT_EPS,
) -> list[dict[str, Any]]:
    """Summarise v0.1.0 records as v0.1.0 does.

    Args:
        records: Run records that keep v0.1.0's constraints, in file order.
        cost_field: The record field that IE divides by.
        lambda_: Weight of lost retention in NIS.
        eps: Floor of BR_ratio's denominator.

    Returns:
        One v0.1.0 summary per benchmark, version, path type, model, agent and agent version, in
        the order in which they first occur.

    Raises:
        RecordError: A repeat lacks T0 or T1 replay or held-out attempts: v0.1.0 then has no summary at all.
    """
    groups: dict[tuple[Any, ...], list[_Record]] = defaultdict(list)
    for record in records:
        groups[tuple(record.get(field) for field in GROUP_FIELDS)].append(record)
    return [_summarise(group, cost_field, lambda_, eps) for group in groups.values()]


def _summarise(records: Sequence[_Record], cost_field: str, lambda_: float, eps: float) -> dict[str, Any]:
    seeds: dict[int, list[_Record]] = defaultdict(list)
    for record in records:
        seeds[int(record["seed"])].append(record)
    repeats = [_repeat(seeds[seed], cost_field, lambda_, eps) for seed in sorted(seeds)]
    first = records[0]
    named = {field: first[field] for field in GROUP_FIELDS if field != "benchmark_version"}
    if version := first.get("benchmark_version"):
        named["benchmark_version"] = version
    return {
        "schema_version": V0_VERSION,
        "summary_id": "::".join(named[field] for field in GROUP_FIELDS if field in named),
        **named,
        "sample_sizes": {
            split: len({record["task_id"] for record in records if record["benchmark_split"] == split})
            for split in _SPLITS
        },
        "metrics": _metrics(repeats),
        "costs": {name: _mean(repeats, field) for name, field in _COSTS.items()},
        "repeats": len(repeats),
        "generated_at": timestamp(),
        "provenance": {"protocol_version": V0_VERSION},
    }


def _repeat(records: Sequence[_Record], cost_field: str, lambda_: float, eps: float) -> _Repeat:
    t0_replay = _required(records, "T0", "replay")
    t1_replay = _required(records, "T1", "replay")
    t0_heldout = _required(records, "T0", "heldout")
    t1_heldout = _required(records, "T1", "heldout")
    t2_heldout = _score(records, "T2", "heldout")
    t2_drift = _score(records, "T2", "drift")
    t2_target = t2_heldout if t2_drift is None else t2_drift
    fg = metrics.forward_gain(t0_heldout, t1_heldout)
    br = metrics.backward_retention(t0_replay, t1_replay)
    adapting = [r for r in records if r["phase"] == "T1" and r["benchmark_split"] == "adapt"]
    paying = adapting or [r for r in records if r["phase"] == "T1"]
    return {
        "t0_replay": t0_replay,
        "t1_replay": t1_replay,
        "t2_replay": _score(records, "T2", "replay"),
        "t0_heldout": t0_heldout,
        "t1_heldout": t1_heldout,
        "t2_heldout": t2_heldout,
        "fg": fg,
        "br": br,
        "br_ratio": metrics.br_ratio(t0_replay, t1_replay, eps),
        "ie": metrics.improvement_efficiency(fg, _total(paying, cost_field)),
        "pds": None if t2_target is None else metrics.persistence(t1_heldout, t2_target),
        "nis": metrics.net_improvement(fg, br, lambda_),
        **{field: _total(paying, field) for field in _COSTS.values()},
    }


def _metrics(repeats: Sequence[_Repeat]) -> dict[str, float | None]:
    scores = ("t0_replay", "t1_replay", "t2_replay", "t0_heldout", "t1_heldout", "t2_heldout")
    found: dict[str, float | None] = {f"{name}_mean": _mean(repeats, name) for name in scores}
    for name in ("fg", "br", "br_ratio", "ie", "pds", "nis"):
        found[f"{name}_mean"] = _mean(repeats, name)
        if name != "br_ratio":
            found[f"{name}_std"] = _std(repeats, name)
    return found


def _required(records: Sequence[_Record], phase: str, split: str) -> float:
    score = _score(records, phase, split)
    if score is None:
        raise RecordError(
            f"Missing score for seed={records[0]['seed']}, phase={phase}, split={split}: v0.1.0 needs T0 and "
            "T1 attempts on replay and heldout for each seed; without --schema 0.1.0 the rest is summarised"
        )
    return score


def _score(records: Sequence[_Record], phase: str, split: str) -> float | None:
    scores = [float(r["score"]) for r in records if r["phase"] == phase and r["benchmark_split"] == split]
    return statistics.fmean(scores) if scores else None


def _total(records: Sequence[_Record], field: str) -> float:
    # Left to right, as v0.1.0 adds: since Python 3.12 sum() compensates, and differs in the last digit.
    total = 0.0
    for record in records:
        total += float(record.get(field) or 0)
    return total


def _values(repeats: Sequence[_Repeat], name: str) -> list[float]:
    return [value for repeat in repeats if (value := repeat[name]) is not None]


def _mean(repeats: Sequence[_Repeat], name: str) -> float | None:
    values = _values(repeats, name)
    return statistics.fmean(values) if values else None


def _std(repeats: Sequence[_Repeat], name: str) -> float | None:
    values = _values(repeats, name)
    if not values:
        return None
    return statistics.stdev(values) if len(values) > 1 else 0.0

"""When arms were measured: whether they took turns with their control, and the time between T1 and T2.

A difference in differences takes out what happened to both arms. What changed while one of them was
measured and the other was not (a provider's model, a judge, a machine) stays in it, so that the order in
time is a number beside the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
import polars as pl

from sipbench.protocol.delay import duration_text, moment_text, parse_delay
from sipbench.protocol.records import timestamp
from sipbench.protocol.summary import Row, SummaryWarning
from sipbench.protocol.timing import Interleaving, PhaseInterleaving, T2Delay
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, Phase
from sipbench.stats._arrays import Floats
from sipbench.stats.means import ArmTable, CellKey

__all__ = [
    "APART",
    "begun_plans",
    "chance_later",
    "interleaving",
    "last_score",
    "t2_delay",
    "timing_warnings",
]

APART = 0.2
"""From here on, and beyond what a random order gives, arms count as measured apart in time."""

_CELL = ("phase", "benchmark_split")
_Z = 1.959963984540054  # 97.5 % of the standard normal distribution


def chance_later(arm: Floats, control: Floats) -> float:
    """P(X > Y) + P(X = Y) / 2 for X of the arm and Y of the control: the area under the ROC curve.

    Mann & Whitney 1947: their U divided by n m.

    Args:
        arm: Beginnings of its attempts, in seconds, shape (n,), n >= 1.
        control: Those of its control, shape (m,), m >= 1.
    """
    ordered = np.sort(control)
    below = np.searchsorted(ordered, arm, side="left")
    up_to = np.searchsorted(ordered, arm, side="right")
    return float(np.mean((below + up_to) / 2) / ordered.size)


def interleaving(arm: ArmTable, control: ArmTable | None) -> Interleaving | None:
    """How an arm's attempts lie in time against its control's; None if that is unknown.

    Of n and m attempts in random order ``2 A - 1`` of the area A has mean 0 and variance
    ``(n + m + 1) / (3 n m)`` (Mann & Whitney 1947).
    """
    if control is None:
        return None
    phases = []
    for phase in Phase:
        mine, theirs = _beginnings(arm, phase), _beginnings(control, phase)
        n, m = int(mine.size), int(theirs.size)
        if n and m:
            limit = min(1.0, _Z * ((n + m + 1) / (3 * n * m)) ** 0.5)
            later = chance_later(mine, theirs)
            phases.append(PhaseInterleaving(phase=phase, later=later, by_chance=limit, n_arm=n, n_control=m))
    if not phases:
        return None
    return Interleaving(apart=max(_apart(item) for item in phases), phases=tuple(phases))


def _apart(item: PhaseInterleaving) -> float:
    return min(1.0, abs(2 * item.later - 1))


def _scored(arm: ArmTable, phase: Phase) -> pl.DataFrame:
    """The counted attempts of a phase on evaluation tasks."""
    splits = [split.value for split in EVALUATION_SPLITS]
    kept = arm.frame.select(*_CELL, "repeat", "task_id", "value", "began", "ended")
    return kept.filter(
        (pl.col("phase") == phase.value)
        & pl.col("benchmark_split").is_in(splits)
        & pl.col("value").is_not_null()
    )


def _beginnings(arm: ArmTable, phase: Phase) -> Floats:
    return _scored(arm, phase)["began"].drop_nulls().to_numpy()


def last_score(arms: Iterable[ArmTable]) -> datetime | None:
    """When the last counted attempt at T1 ended, of all arms; None if that is unknown."""
    ends = [_scored(arm, Phase.T1)["ended"].max() for arm in arms]
    known = [end for end in ends if isinstance(end, float)]
    return datetime.fromtimestamp(max(known), UTC) if known else None


def t2_delay(
    arm: ArmTable, planned: Mapping[CellKey, int] | None, declared: str | None, end: datetime | None
) -> T2Delay | None:
    """The time between T1 and T2 of an arm; None without a T2.

    Args:
        arm: Its attempts.
        planned: Planned attempts per phase and split; None if unknown.
        declared: The delay that the study declares.
        end: When the last score at T1 was there, of all arms: they come to T2 together.
    """
    has_t2 = any(key[0] is Phase.T2 for key in (*arm.statuses, *(planned or {})))
    if not has_t2:
        return None
    before, after = _scored(arm, Phase.T1), _scored(arm, Phase.T2)
    gaps = before.group_by("repeat").agg(pl.col("ended").max())
    gaps = gaps.join(after.group_by("repeat").agg(pl.col("began").min()), on="repeat").drop_nulls()
    keys = ["repeat", "benchmark_split", "task_id"]
    pairs = before.group_by(keys).agg(pl.col("ended").mean())
    pairs = pairs.join(after.group_by(keys).agg(pl.col("began").mean()), on=keys).drop_nulls()
    begun = after["began"].min()
    return T2Delay(
        declared=declared,
        begun_at=timestamp(datetime.fromtimestamp(begun, UTC)) if isinstance(begun, float) else None,
        due_at=_due(arm, planned, declared, end),
        shortest_seconds=_round((gaps["began"] - gaps["ended"]).min()),
        median_seconds=_round((pairs["began"] - pairs["ended"]).median()),
        n_pairs=pairs.height,
    )


def begun_plans(
    arms: Sequence[ArmTable],
    planned: Sequence[Mapping[CellKey, int] | None],
    declared: str | None,
    end: datetime | None,
) -> list[Mapping[CellKey, int] | None]:
    """The plans without T2 while all arms wait for its declared delay: nothing of it can be missing yet.

    Once an arm has begun T2, what the others have not is missing.

    Args:
        arms: The attempts of each arm.
        planned: Planned attempts of each per phase and split; None if unknown.
        declared: The delay that the study declares.
        end: When the last score at T1 was there, of all arms.
    """
    if any(key[0] is Phase.T2 for arm in arms for key in arm.statuses):
        return list(planned)
    return [
        plan
        if plan is None or _due(arm, plan, declared, end) is None
        else {key: n for key, n in plan.items() if key[0] is not Phase.T2}
        for arm, plan in zip(arms, planned, strict=True)
    ]


def _round(seconds: object) -> float | None:
    # Times are recorded in milliseconds; more digits of a difference are noise of the numbers' format.
    return round(seconds, 3) if isinstance(seconds, float) else None


def _due(
    arm: ArmTable, planned: Mapping[CellKey, int] | None, declared: str | None, end: datetime | None
) -> str | None:
    recorded = {key: sum(ended.values()) for key, ended in arm.statuses.items()}
    begun = any(phase is Phase.T2 for phase, _ in recorded)
    left = any(
        recorded.get(key, 0) < n
        for key, n in (planned or {}).items()
        if key[0] is Phase.T1 and key[1] in EVALUATION_SPLITS
    )
    if declared is None or begun or left:
        return None
    due = parse_delay(declared).due(end)
    return None if due is None else moment_text(due)


def timing_warnings(row: Row) -> Iterator[SummaryWarning]:
    """What a reader must know of when a row was measured."""
    if row.interleaving is not None:
        for item in row.interleaving.phases:
            if _apart(item) > max(APART, item.by_chance):
                yield SummaryWarning(
                    code="not_interleaved",
                    message=f"at {item.phase} it was not measured by turns with its control '{row.control}': "
                    f"{item.later:.0%} of the time an attempt of it began later than one of the control's "
                    "(50% by turns); what changed meanwhile is in its difference",
                )
    if row.delay is not None and row.delay.due_at is not None:
        yield SummaryWarning(
            code="t2_not_begun", message=f"T2 has not begun; it may from {row.delay.due_at} on"
        )
    if row.delay is not None and (short := _short(row.delay)) is not None:
        yield SummaryWarning(code="short_delay", message=f"{short}; the study declares {row.delay.declared}")


def _short(delay: T2Delay) -> str | None:
    """How T2 came too early; None if it did not, as far as is known."""
    if delay.declared is None:
        return None
    declared = parse_delay(delay.declared)
    if declared.moment is not None:
        early = delay.begun_at is not None and datetime.fromisoformat(delay.begun_at) < declared.moment
        return f"T2 began at {delay.begun_at}" if early else None
    if delay.shortest_seconds is None or declared.seconds is None:
        return None
    if delay.shortest_seconds >= declared.seconds:
        return None
    if delay.shortest_seconds < 0:
        return f"T2 began {duration_text(-delay.shortest_seconds)} before the last score at T1"
    return f"T2 began {duration_text(delay.shortest_seconds)} after the last score at T1"

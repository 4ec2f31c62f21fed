"""How replay tasks are chosen without looking at the scores they are judged by.

Source: the four methods and their rules are those of the protocol's manifest; tasks chosen by the
attempts they are scored with get worse by themselves (regression to the mean).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sipbench.protocol.manifest import (
    Crossfit,
    Preregistered,
    ReplaySelection,
    SameRun,
    Screened,
    SplitManifest,
    TaskEntry,
    replay_list_digest,
)
from sipbench.protocol.records import RunRecord
from sipbench.protocol.rules import Violation
from sipbench.protocol.vocabulary import Phase
from sipbench.splits.screening import Screening

__all__ = [
    "ReplayChoice",
    "by_screening",
    "check_declared_before",
    "check_screen_apart",
    "crossfit",
    "preregistered",
    "same_run",
]

_RULE = "replay-eligible"


@dataclass(frozen=True, slots=True)
class ReplayChoice:
    """Where replay tasks come from, and what the manifest says of it.

    Attributes:
        declare: Makes the manifest's declaration from the chosen tasks.
        eligible: Tasks that may be chosen; None: all.
        listed: Tasks that are chosen, all of them; None: they are drawn.
        record: What else the manifest records: plain JSON.
    """

    declare: Callable[[Sequence[TaskEntry]], ReplaySelection]
    eligible: frozenset[str] | None = None
    listed: tuple[str, ...] | None = None
    record: dict[str, Any] | None = None


def preregistered(declared_at: str, listed: Sequence[str] | None = None) -> ReplayChoice:
    """The list is fixed before the first T0 attempt: these tasks, or ones that are drawn now."""

    def declare(tasks: Sequence[TaskEntry]) -> ReplaySelection:
        return Preregistered(list_digest=replay_list_digest(tasks), declared_at=declared_at)

    return ReplayChoice(declare, listed=tuple(listed) if listed is not None else None)


def by_screening(found: Screening) -> ReplayChoice:
    """Tasks that an independent T0 run solved, whose attempts are never scored."""

    def declare(_: Sequence[TaskEntry]) -> ReplaySelection:
        return Screened(screen_run_id=found.run_digest, rule=str(found.rule))

    return ReplayChoice(declare, frozenset(found.eligible), record=_record(found))


def crossfit(rule: str, folds: int) -> ReplayChoice:
    """Candidates, of which T0 trials choose in turn; each is scored on the other trials."""
    return ReplayChoice(lambda _: Crossfit(rule=rule, folds=folds))


def same_run(found: Screening) -> ReplayChoice:
    """Tasks that the scored T0 attempts themselves solved: BR will get no verdict."""
    return ReplayChoice(
        lambda _: SameRun(rule=str(found.rule)), frozenset(found.eligible), record=_record(found)
    )


def _record(found: Screening) -> dict[str, Any]:
    return {
        "attempts": found.attempts,
        "run_digest": found.run_digest,
        "eligible": len(found.eligible),
        "failed": len(found.failed),
        "undecided": len(found.undecided),
        "agent_digests": list(found.agent_digests),
    }


def check_screen_apart(screened: Collection[str], scored: Iterable[RunRecord]) -> list[Violation]:
    """Find attempts that chose replay tasks and are scored as well.

    Args:
        screened: Ids of the attempts of the screening run.
        scored: The study's records.
    """
    ids = set(screened)
    both = sorted({record.task_id for record in scored if record.run_id in ids})
    if not both:
        return []
    return [
        Violation(
            _RULE,
            "attempts of the screening run are scored as well, so replay is chosen by its own scores",
            tuple(both),
        )
    ]


def check_declared_before(manifest: SplitManifest, records: Iterable[RunRecord]) -> list[Violation]:
    """Find what was declared only after the first T0 attempt: the replay list, the exclusions."""
    starts = [
        datetime.fromisoformat(record.started_at)
        for record in records
        if record.started_at is not None and record.phase is Phase.T0
    ]
    if not starts:
        return []
    first = min(starts)
    declared: dict[str, str] = {}
    if isinstance(manifest.replay_selection, Preregistered):
        declared["the replay list"] = manifest.replay_selection.declared_at
    exclusions = manifest.selection.get("exclusions")
    if isinstance(exclusions, dict) and isinstance(exclusions.get("fixed_at"), str):
        declared["the exclusion list"] = exclusions["fixed_at"]
    return [
        Violation(_RULE, f"{what} was fixed at {moment}, after the first T0 attempt at {first.isoformat()}")
        for what, moment in declared.items()
        if _moment(moment, first) > first
    ]


def _moment(text: str, otherwise: datetime) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return otherwise
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=otherwise.tzinfo)

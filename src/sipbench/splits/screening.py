"""What a screening run says of tasks: which are solved at T0, which nothing passes, which nobody can.

A screening run is made before a study and never scored: its attempts choose tasks, other attempts
measure them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from sipbench.errors import ConfigError, RecordError
from sipbench.protocol.digests import json_digest
from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import PathType, Phase

__all__ = ["NOOP_NAMES", "Flags", "ScreenRule", "Screening", "flag_tasks", "screen"]

NOOP_NAMES = ("nop", "noop", "no-op", "do-nothing")
"""Agents and arms that are taken to do nothing, unless others are named."""

_RULE = re.compile(r"(\d{1,4})/(\d{1,4})(?:@([0-9.]{1,8}))?")


@dataclass(frozen=True, slots=True)
class ScreenRule:
    """Solved in at least ``least`` of ``of`` attempts.

    Attributes:
        least: Attempts that must be solved.
        of: Attempts that are looked at, the first of each task.
        score: Score from which an attempt counts as solved; None: as the benchmark says, else 1.
    """

    least: int
    of: int
    score: float | None = None

    def __str__(self) -> str:
        what = "solved" if self.score is None else f"score >= {self.score:g}"
        return f"{what} in at least {self.least} of {self.of}"

    @classmethod
    def parse(cls, text: str) -> ScreenRule:
        """Read ``2/3``, or ``2/3@0.5`` for scores of at least 0.5.

        Raises:
            ConfigError: It is something else, or asks for more than there is.
        """
        match = _RULE.fullmatch(text.strip())
        try:
            least, of = (int(match[1]), int(match[2])) if match else (0, 0)
            score = float(match[3]) if match and match[3] else None
        except ValueError:
            least = of = 0
            score = None
        if not 1 <= least <= of or (score is not None and not 0 < score <= 1):
            raise ConfigError(
                f"rule '{text[:40]}': expected M/K such as 2/3 (solved in at least 2 of 3 attempts), or "
                "M/K@S with a score S between 0 and 1"
            )
        return cls(least, of, score)

    def solved(self, record: RunRecord) -> bool:
        """Whether one attempt counts as solved."""
        if record.score is None:
            return False
        if self.score is not None:
            return record.score >= self.score
        return record.success if record.success is not None else record.score == 1


@dataclass(frozen=True, slots=True)
class Screening:
    """What a rule makes of a screening run.

    Attributes:
        rule: The rule.
        eligible: Tasks that meet it.
        failed: Tasks that do not, whatever the attempts without an outcome would have been.
        undecided: Tasks of which too few attempts have an outcome; they are not eligible.
        attempts: Number of attempts of the run.
        run_digest: Digest of the sorted ids of all of them: what makes the run this one.
        agent_digests: The agents that attempted.
    """

    rule: ScreenRule
    eligible: tuple[str, ...]
    failed: tuple[str, ...]
    undecided: tuple[str, ...]
    attempts: int
    run_digest: str
    agent_digests: tuple[str, ...]


def screen(records: Iterable[RunRecord], rule: ScreenRule, *, arm: str | None = None) -> Screening:
    """Apply a rule to the attempts of one arm at T0.

    A graded attempt and an agent's own error have an outcome; of an attempt that was cancelled or
    that verifier or infrastructure lost, none is known.

    Args:
        records: The attempts of the screening run, oracle and do-nothing ones aside.
        rule: When a task is eligible.
        arm: The arm to look at; needed where there are several.

    Raises:
        RecordError: There is no attempt, or one that was made after adaptation.
        ConfigError: There are several arms and none is named, or it has no attempts.
    """
    kept = [record for record in records if record.path_type is not PathType.ORACLE]
    arms = sorted({record.arm for record in kept if not _idle(record, NOOP_NAMES)})
    if arm is None and len(arms) > 1:
        raise ConfigError(
            f"the screening run has several arms ({', '.join(arms)}); say which with --screen-arm"
        )
    chosen = arm or (arms[0] if arms else None)
    kept = [record for record in kept if record.arm == chosen]
    if not kept:
        what = f"no attempt of arm '{arm}'; its arms are {', '.join(arms)}" if arm and arms else "no attempts"
        raise RecordError(f"the screening run has {what}")
    later = next((record for record in kept if record.phase is not Phase.T0), None)
    if later is not None:
        raise RecordError(
            f"the screening run has an attempt at {later.phase} ({later.run_id}); screening is for T0 alone"
        )
    outcomes: dict[str, list[bool | None]] = defaultdict(list)
    for record in sorted(kept, key=lambda one: (one.repeat, one.seed or 0, one.attempt_index, one.run_id)):
        outcomes[record.task_id].append(None if record.status.is_missing else rule.solved(record))
    judged = {task: _judge(found[: rule.of], rule) for task, found in outcomes.items()}
    return Screening(
        rule,
        eligible=tuple(task for task, verdict in judged.items() if verdict is True),
        failed=tuple(task for task, verdict in judged.items() if verdict is False),
        undecided=tuple(task for task, verdict in judged.items() if verdict is None),
        attempts=len(kept),
        run_digest=json_digest(sorted(record.run_id for record in kept)),
        agent_digests=tuple(sorted({record.agent_digest for record in kept if record.agent_digest})),
    )


def _judge(found: Sequence[bool | None], rule: ScreenRule) -> bool | None:
    solved = sum(outcome is True for outcome in found)
    open_still = rule.of - len(found) + sum(outcome is None for outcome in found)
    if solved >= rule.least:
        return True
    return None if solved + open_still >= rule.least else False


@dataclass(frozen=True, slots=True)
class Flags:
    """Tasks that measure something else than skill.

    Attributes:
        passes_noop: Tasks that an agent passed which does nothing, with how often: ``2 of 3``.
        oracle_fails: Tasks that the known solution did not always pass, with how often it did.
        oracle_unknown: Tasks of which no oracle attempt has an outcome.
        noop_tasks: Number of tasks that a do-nothing agent attempted.
        oracle_tasks: Number of tasks that the oracle attempted.
    """

    passes_noop: dict[str, str] = field(default_factory=dict)
    oracle_fails: dict[str, str] = field(default_factory=dict)
    oracle_unknown: tuple[str, ...] = ()
    noop_tasks: int = 0
    oracle_tasks: int = 0


def flag_tasks(records: Iterable[RunRecord], noop: Collection[str] = NOOP_NAMES) -> Flags:
    """Look at the attempts of a do-nothing agent and of the oracle.

    Args:
        records: Attempts of any arms.
        noop: Names of arms or agents that do nothing.
    """
    solved = ScreenRule(1, 1).solved
    idle: dict[str, list[bool]] = defaultdict(list)
    known: dict[str, list[bool]] = defaultdict(list)
    for record in records:
        if record.path_type is PathType.ORACLE:
            outcomes = known[record.task_id]
        elif _idle(record, noop):
            outcomes = idle[record.task_id]
        else:
            continue
        if not record.status.is_missing:
            outcomes.append(solved(record))  # an oracle that crashes has shown no solution
    return Flags(
        passes_noop={task: _of(found) for task, found in idle.items() if any(found)},
        oracle_fails={task: _of(found) for task, found in known.items() if found and not all(found)},
        oracle_unknown=tuple(task for task, found in known.items() if not found),
        noop_tasks=len(idle),
        oracle_tasks=len(known),
    )


def _idle(record: RunRecord, noop: Collection[str]) -> bool:
    return record.arm in noop or record.agent_name in noop


def _of(outcomes: Sequence[bool]) -> str:
    return f"{sum(outcomes)} of {len(outcomes)}"

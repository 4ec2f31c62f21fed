"""How a trial ended: its status and, only where the verifier issued one, its reward.

- Exceptions are read at every level: in a task with steps the real one stands with its step, while the
  trial's own is null and its reward 0.
- An exception that is the surroundings' doing, or of unknown cause, takes the grade with it: what
  Harbor kept as reward then stands among the diagnostics.
- A timeout of the agent with a grade is a grade.
- Of several rewards one is the reward by name; without a name there is none. A missing reward, or one
  that is no finite number, is the verifier's failure, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sipbench.importers.files import number, shortened
from sipbench.importers.harbor.causes import Cause, cause_of
from sipbench.importers.harbor.trial import TrialFiles, moment, table, text
from sipbench.protocol.vocabulary import Status

__all__ = ["AMBIGUOUS", "Grading", "Outcome", "Raised", "outcome_of"]

AMBIGUOUS = "AmbiguousReward"
"""The error type of a trial with several rewards, none of which is named as the primary one."""

_MISSING = "MissingReward"
_INVALID = "InvalidReward"
_LARGEST_REWARDS = 64


@dataclass(frozen=True, slots=True)
class Grading:
    """How rewards and exceptions are read.

    Attributes:
        reward_key: Name of the primary reward; None where verifiers issue only one.
        agent_errors: Names of further exceptions that are the agent's doing.
    """

    reward_key: str | None = None
    agent_errors: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception that Harbor recorded.

    Attributes:
        step: The step it was recorded with; None for the trial's own.
        during: The phase it fell into: ``verifier`` once that had begun, else ``before``.
    """

    type: str
    message: str | None
    cause: Cause
    step: str | None
    during: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended.

    Attributes:
        reward: The primary reward; None without a valid grade.
        rewards: Everything the verifier issued that is a finite number, for diagnosis.
        exceptions: Every exception, the trial's own first.
    """

    status: Status
    reward: float | None
    error_type: str | None
    error_message: str | None
    rewards: Mapping[str, float]
    exceptions: tuple[Raised, ...]


def outcome_of(trial: TrialFiles, grading: Grading) -> Outcome:
    """Decide how a trial ended."""
    exceptions = tuple(_exceptions(trial, grading.agent_errors))
    issued = table(trial.result.get("verifier_result")).get("rewards")
    rewards = {
        str(key)[:200]: value
        for key, given in list(table(issued).items())[:_LARGEST_REWARDS]
        if (value := number(given)) is not None
    }
    status, fatal = _broken(exceptions)
    if status is not None and fatal is not None:
        return Outcome(status, None, fatal.type, fatal.message, rewards, exceptions)
    reward, error_type, wrong = _primary(issued, grading.reward_key)
    ungraded = [str(step.get("step_name")) for step in trial.steps if _lost(step)]
    if wrong is None and ungraded:
        # Harbor averages over the steps that have a grade, and says nothing of the others.
        error_type, wrong = "UngradedStep", f"step {ungraded[0]} was verified, but has no reward"
    own = next((raised for raised in exceptions if raised.cause in (Cause.TIMEOUT, Cause.AGENT)), None)
    if wrong is not None:
        return _ungraded(trial, own, error_type, wrong, rewards, exceptions)
    timeout = any(raised.cause is Cause.TIMEOUT for raised in exceptions)
    return Outcome(
        Status.TIMEOUT_GRADED if timeout else Status.GRADED,
        reward,
        own.type if own else None,
        own.message if own else None,
        rewards,
        exceptions,
    )


def _exceptions(trial: TrialFiles, of_the_agent: Collection[str]) -> Iterator[Raised]:
    for level, step in ((trial.result, None), *((step, text(step.get("step_name"))) for step in trial.steps)):
        info = level.get("exception_info")
        if not isinstance(info, dict):
            continue
        name = text(info.get("exception_type")) or "UnknownError"
        at = moment(info.get("occurred_at"))
        begun = moment(table(level.get("verifier")).get("started_at"))
        late = begun is not None and (at is None or at >= begun)
        cause = cause_of(name, of_the_agent)
        if cause is Cause.UNKNOWN and late:
            cause = Cause.VERIFIER
        message = text(info.get("exception_message"))
        yield Raised(name, message, cause, step, "verifier" if late else "before")


def _broken(exceptions: tuple[Raised, ...]) -> tuple[Status | None, Raised | None]:
    """The status that an exception leaves no choice about, and that exception."""
    order = (
        (Status.CANCELLED, (Cause.CANCELLED,)),
        (Status.INFRASTRUCTURE_ERROR, (Cause.INFRASTRUCTURE, Cause.UNKNOWN)),
        (Status.VERIFIER_ERROR, (Cause.VERIFIER,)),
    )
    for status, causes in order:
        for raised in exceptions:
            if raised.cause in causes:
                return status, raised
    return None, None


def _primary(issued: Any, key: str | None) -> tuple[float | None, str | None, str | None]:
    """The primary reward, or (error type, what is wrong)."""
    if not isinstance(issued, dict) or not issued:
        return None, _MISSING, "the verifier issued no reward"
    if key is None:
        if len(issued) > 1:
            names = ", ".join(sorted(map(str, issued)))
            return None, AMBIGUOUS, shortened(f"the verifier issued {names}; name one as reward_key")
        (key,) = issued
    if key not in issued:
        names = ", ".join(sorted(map(str, issued)))
        return None, _MISSING, shortened(f"the verifier issued no reward named {key}, but {names}")
    value = number(issued[key])
    if value is None:
        found = shortened(json.dumps(issued[key], default=str))
        return None, _INVALID, f"reward {shortened(key)}: expected a finite number, found {found}"
    return value, None, None


def _lost(step: Mapping[str, Any]) -> bool:
    begun = table(step.get("verifier")).get("started_at") is not None
    return begun and not table(step.get("verifier_result")).get("rewards")


def _ungraded(
    trial: TrialFiles,
    own: Raised | None,
    error_type: str | None,
    wrong: str,
    rewards: Mapping[str, float],
    exceptions: tuple[Raised, ...],
) -> Outcome:
    """Without a grade: the agent's failure if nobody tried to grade it, else the verifier's."""
    levels: list[Mapping[str, Any]] = [trial.result, *trial.steps]
    verified = any(table(level.get("verifier")).get("started_at") is not None for level in levels)
    if own is not None and not verified:
        return Outcome(Status.AGENT_ERROR, None, own.type, own.message, rewards, exceptions)
    message = wrong if own is None else f"{wrong}; before that: {own.type}: {own.message}"
    return Outcome(Status.VERIFIER_ERROR, None, error_type, shortened(message), rewards, exceptions)

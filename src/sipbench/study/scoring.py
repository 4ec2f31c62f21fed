"""From an attempt to its record: the one place where a reward becomes a score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from sipbench.benchmarks.base import Attempt, Benchmark
from sipbench.errors import RecordError
from sipbench.protocol.digests import canonical_json
from sipbench.protocol.jsonl import MAX_LINE_BYTES, check_readable
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.records import RunRecord, Try, Usage
from sipbench.protocol.versions import RUN_RECORD_VERSION
from sipbench.protocol.vocabulary import Status
from sipbench.study.arms import Arm
from sipbench.study.executors.base import AttemptDone
from sipbench.study.guard import describe, said_by
from sipbench.study.plan import Slot
from sipbench.study.planned import planned_fields

__all__ = ["OVERRIDES", "Identified", "Scorer", "as_try"]

OVERRIDES = frozenset(
    {
        "agent_name",
        "agent_version",
        "attempt_seed",
        "benchmark_version",
        "engine",
        "finished_at",
        "grader_version",
        "model_name",
        "normalization",
        "reward",
        "started_at",
        "task_template_id",
        "tries",
        "wall_clock_seconds",
    }
)
"""Record fields that an attempt may know better than the plan. Where it stands in the design, how it
ended and what it scored are not among them."""

_ROUNDING = 1e-9
_LONGEST_TEXT = 4_000


@dataclass(frozen=True, slots=True)
class Identified:
    """A place in the design with all that decides its outcome."""

    slot: Slot
    run_id: str
    attempt_seed: int
    state_digest: str


class Scorer:
    """Makes records for one study."""

    def __init__(self, benchmark: Benchmark, manifest: SplitManifest, arms: Mapping[str, Arm]) -> None:
        self._benchmark = benchmark
        self._entries = {(split, entry.id): entry for split, entry in manifest.entries()}
        self._arms = arms

    def planned(self, who: Identified) -> dict[str, Any]:
        """What the plan says of an attempt; its record says the same, whatever came of it."""
        slot = who.slot
        return planned_fields(
            slot,
            run_id=who.run_id,
            benchmark=self._benchmark.name,
            arm=self._arms[slot.arm].identity,
            entry=self._entries[slot.split, slot.task_id],
            state_digest=who.state_digest,
        )

    def record(self, who: Identified, done: AttemptDone, tries: Sequence[Try] = ()) -> RunRecord:
        """The record of an attempt whose last try is ``done``; earlier ones are ``tries``.

        What does not keep the contract becomes an error of the surroundings with a message that
        names it: one bad attempt must not end a study.
        """
        try:
            attempt, score = self._graded(done.attempt)
            found = self._record(who, replace(done, attempt=attempt), score, tries)
            check_readable(found)
            return found
        except ValidationError as error:
            item = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in item["loc"])
            message = f"{field}: {item['msg']}" if field else item["msg"]
        except (TypeError, ValueError, RecordError) as error:
            message = said_by(error)
        except Exception as error:  # an attempt's values are a plug-in's objects, which may do anything
            message = describe(error)
        broken = Attempt(
            Status.INFRASTRUCTURE_ERROR,
            usage=_sound(done.attempt.usage),
            error_type="ContractError",
            error_message=f"the attempt cannot be recorded: {message}",
        )
        return self._record(who, replace(done, attempt=broken), None, tries)

    def _graded(self, attempt: Attempt) -> tuple[Attempt, float | None]:
        """The attempt with a status that its reward bears out, and the score."""
        status: Any = attempt.status
        if not isinstance(status, Status):
            raise TypeError(f"status: expected a Status, found {type(status).__name__}")
        if not status.is_graded:
            return replace(attempt, reward=None, success=None), None
        low, high = self._benchmark.reward_range
        value = _number(attempt.reward)
        if value is None or not low <= value <= high:
            kept = value if value is not None and math.isfinite(value) else None
            what = f"the reward is {_shown(attempt.reward)}, not a finite number from {low:g} to {high:g}"
            return _ungraded(attempt, "invalid_reward", what, kept), None
        try:
            score = float(self._benchmark.normalize(value))
        except Exception as error:
            what = f"the reward {value!r} cannot be normalised: {type(error).__name__}: {error}"
            return _ungraded(attempt, "invalid_score", what, value), None
        if not -_ROUNDING <= score <= 1 + _ROUNDING:
            what = f"the reward {value!r} was normalised to {score!r}, which is not a score from 0 to 1"
            return _ungraded(attempt, "invalid_score", what, value), None
        return replace(attempt, reward=value), min(1.0, max(0.0, score))

    def _record(
        self, who: Identified, done: AttemptDone, score: float | None, tries: Sequence[Try]
    ) -> RunRecord:
        attempt, benchmark, agent = done.attempt, self._benchmark, self._arms[who.slot.arm].agent
        fields: dict[str, Any] = {
            "schema_version": RUN_RECORD_VERSION,
            **self.planned(who),
            "benchmark_version": benchmark.version,
            "model_name": agent.model,
            "agent_name": agent.name,
            "agent_version": agent.version,
            "attempt_seed": who.attempt_seed,
            "grader_version": benchmark.grader_version,
            "engine": benchmark.engine,
            "normalization": self._normalization(attempt.reward, score),
            "score": score,
            **_outcome(attempt, done),
            **_overrides(attempt.overrides),
        }
        fields["tries"] = (*tries, *(fields.get("tries") or ()))
        return RunRecord.model_validate(fields)

    def _normalization(self, reward: float | None, score: float | None) -> str | None:
        if score is None or (score == reward and self._benchmark.reward_range == (0.0, 1.0)):
            return None
        return self._benchmark.normalization


def as_try(record: RunRecord) -> Try:
    """What stands of a record in ``tries`` once the attempt is tried again."""
    return Try.model_validate({name: getattr(record, name) for name in Try.model_fields})


def _number(reward: Any) -> float | None:
    """The reward as a number; None for what is none, as a text that looks like one."""
    if reward is None or isinstance(reward, str | bytes):
        return None
    try:
        return float(reward)
    except Exception:
        return None


def _shown(reward: Any) -> str:
    try:
        return f"{reward!r:.80}"
    except Exception:  # an integer of thousands of digits, or an object of somebody's
        return f"a {type(reward).__name__}"


def _sound(usage: Any) -> Usage:
    """What was used, as far as that can be recorded."""
    try:
        return Usage.model_validate(usage.model_dump())
    except Exception:
        return Usage()


def _ungraded(attempt: Attempt, error_type: str, message: str, reward: float | None) -> Attempt:
    return replace(
        attempt,
        status=Status.VERIFIER_ERROR,
        reward=reward,
        success=None,
        error_type=error_type,
        error_message=message,
    )


def _outcome(attempt: Attempt, done: AttemptDone) -> dict[str, Any]:
    """What the attempt says of itself, in a form that can be written."""
    if not isinstance(attempt.usage, Usage):
        raise TypeError(f"usage: expected a Usage, found {type(attempt.usage).__name__}")
    usage = {name: getattr(attempt.usage, name) for name in Usage.model_fields}
    source = attempt.usage_source
    if usage["wall_clock_seconds"] is None and "wall_clock_seconds" not in attempt.overrides:
        usage["wall_clock_seconds"] = done.times.seconds
        source = source or "engine"
    metadata = _plain(dict(attempt.metadata))
    if len(canonical_json(metadata)) > MAX_LINE_BYTES // 2:
        raise ValueError("metadata: too large for a record; write it to the attempt's folder instead")
    elsewhere = attempt.started_at is not None or attempt.finished_at is not None
    return {
        **usage,
        "usage_source": source,
        "status": attempt.status,
        "reward": attempt.reward,
        "success": attempt.success,
        "error_type": _text(attempt.error_type),
        "error_message": _text(attempt.error_message),
        "skills_given": attempt.skills_given,
        "skills_opened": attempt.skills_opened,
        "started_at": attempt.started_at if elsewhere else done.times.started_at,
        "finished_at": attempt.finished_at if elsewhere else done.times.finished_at,
        "notes": _text(attempt.notes, 10 * _LONGEST_TEXT),
        "metadata": metadata,
    }


def _overrides(given: Mapping[str, Any]) -> Mapping[str, Any]:
    foreign = sorted(set(given) - OVERRIDES)
    if foreign:
        raise ValueError(f"overrides: '{foreign[0]}' is not an attempt's to say")
    return given


def _text(text: str | None, longest: int = _LONGEST_TEXT) -> str | None:
    """Text that can be encoded, at a length that a record can bear."""
    if text is None:
        return None
    clean = str(text).encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= longest else f"{clean[:longest]}… ({len(clean)} characters)"


def _plain(value: Any) -> Any:
    """A value whose texts can all be encoded; file names and logs may hold what cannot."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value

"""From a v0.1.0 record to a current one.

v0.1.0 has no null, so its importers wrote 0 and 1970 for what they did not know, and 0.0 or 1.0 for
grades that did not exist. Reading undoes that:

- 0 tokens together with 0 seconds or epoch times are unknown, and so are the other counters that
  are 0 in such a record. The same holds for 0 tokens in a record imported from a Harbor job, whose
  importer wrote 0 where Harbor did not count.
- 0 seconds and epoch times are unknown.
- a price of 0 with tokens above 0, or with unknown tokens, is unknown; so is the price of a
  tau-bench record, which holds the simulated user's last turn only.
- a record that names an exception, or tau-bench's ``info.error``, has no score. An agent that ran
  out of time is the agent's doing; any other exception counts as the infrastructure's.
- the score 1.0 that v0.1.0 gave to attempts without verifier result is no grade.

``task_template_id`` is kept but is no family: v0.1.0 wrote the task's version there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sipbench.errors import RecordError
from sipbench.protocol.records import timestamp
from sipbench.protocol.v0.document import V0_VERSION, V0RunRecord
from sipbench.protocol.versions import RUN_RECORD_VERSION
from sipbench.protocol.vocabulary import Status

__all__ = ["CARRIED", "upgrade_record"]

CARRIED = "sipbench"
"""The key of ``metadata`` under which a record written as v0.1.0 carries what v0.1.0 has no field for."""

_CARRIED_FIELDS = ("arm", "concept", "family", "repeat", "seed", "status")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOKENS = ("token_input", "token_output", "token_total")
_COUNTERS = ("tool_calls_total", "memory_reads", "memory_writes", "human_interventions")
_SEEDS = 2**63


def upgrade_record(document: Mapping[str, Any], *, arm: str | None = None) -> dict[str, Any]:
    """Lift a v0.1.0 run record to the current version.

    Args:
        document: The record as read. It is not changed.
        arm: The arm it belongs to; None: what the record itself carries, else its path type.

    Returns:
        A document for :class:`~sipbench.protocol.records.RunRecord`, not yet validated.

    Raises:
        ValidationError: ``document`` breaks v0.1.0's own constraints.
        RecordError: It is of another version.
    """
    version = document.get("schema_version")
    if version != V0_VERSION:
        raise RecordError(
            f"schema_version: of the versions before 1 only {V0_VERSION} is read, found {version!r}"
        )
    old = V0RunRecord.model_validate(dict(document))
    carried = old.metadata.get(CARRIED)
    extra = {k: v for k, v in carried.items() if k in _CARRIED_FIELDS} if isinstance(carried, dict) else {}
    lifted = {**_place(old), **_outcome(old), **_usage(old), **extra}
    if arm is not None:
        lifted["arm"] = arm
    if lifted["status"] not in (Status.GRADED, Status.TIMEOUT_GRADED):
        lifted["score"] = lifted["success"] = None
    return lifted


def _place(old: V0RunRecord) -> dict[str, Any]:
    """Who attempted what, when: the names that kept their meaning."""
    return {
        "schema_version": RUN_RECORD_VERSION,
        "run_id": old.run_id,
        "benchmark_name": old.benchmark_name,
        "benchmark_version": old.benchmark_version or None,
        "benchmark_split": old.benchmark_split,
        "phase": old.phase,
        "path_type": old.path_type,
        "arm": old.path_type,
        "model_name": old.model_name,
        "agent_name": old.agent_name,
        "agent_version": old.agent_version,
        "task_id": old.task_id,
        "task_template_id": old.task_template_id or None,
        # A repeat is not negative, a v0.1.0 seed may be.
        "repeat": old.seed % _SEEDS,
        "seed": old.seed,
        "attempt_index": old.attempt_index,
        "started_at": _moment(old.started_at),
        "finished_at": _moment(old.finished_at),
        "notes": old.notes or None,
        "metadata": old.metadata,
    }


def _outcome(old: V0RunRecord) -> dict[str, Any]:
    known = old.metadata
    graded = known.get("score_source") == "verifier_rewards"
    status, error, message = Status.GRADED, None, None
    if exception := known.get("exception_type"):
        error, message = str(exception), known.get("exception_message")
        status = Status.INFRASTRUCTURE_ERROR
        if error == "AgentTimeoutError":
            status = Status.TIMEOUT_GRADED if graded else Status.AGENT_ERROR
    elif crash := _tau_error(known):
        status, error, message = Status.INFRASTRUCTURE_ERROR, "tau-bench error", crash
    elif known.get("score_source") == "exception_fallback":
        status, error = Status.VERIFIER_ERROR, "ungraded"
        message = "no verifier result; v0.1.0 wrote the score itself"
    return {
        "status": status,
        "score": old.score,
        "success": None if "success" in _unknown(old) else old.success,
        "error_type": error,
        "error_message": None if message is None else str(message),
    }


def _tau_error(known: Mapping[str, Any]) -> Any:
    info = known.get("raw_info")
    return info.get("error") if isinstance(info, dict) else None


def _unknown(old: V0RunRecord) -> frozenset[str]:
    """The fields that the record itself declares unknown."""
    named = old.metadata.get("unknown_fields")
    return frozenset(filter(lambda name: isinstance(name, str), named if isinstance(named, list) else ()))


def _usage(old: V0RunRecord) -> dict[str, Any]:
    usage: dict[str, Any] = {name: getattr(old, name) for name in (*_TOKENS, *_COUNTERS)}
    if _is_placeholder(old):
        usage = {name: value or None for name, value in usage.items()}
    usage["wall_clock_seconds"] = old.wall_clock_seconds or None
    usage["cost_usd"] = old.cost_usd
    tokens = usage["token_total"]
    if (not old.cost_usd and tokens != 0) or "traj_length" in old.metadata:
        usage["cost_usd"] = None
    for name in _unknown(old) & usage.keys():
        usage[name] = None
    usage["usage_source"] = None if all(value is None for value in usage.values()) else "import"
    return usage


def _is_placeholder(old: V0RunRecord) -> bool:
    if any(getattr(old, name) for name in _TOKENS):
        return False
    untimed = not old.wall_clock_seconds or None in (_moment(old.started_at), _moment(old.finished_at))
    return untimed or old.metadata.get("source_format") == "harbor_job"


def _moment(value: str) -> str | None:
    """The time in UTC; None for the epoch; what is no time as it is, for the record to refuse."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    if moment.tzinfo is None:
        return value
    if moment == _EPOCH:
        return None
    return value if value.endswith("Z") else timestamp(moment)

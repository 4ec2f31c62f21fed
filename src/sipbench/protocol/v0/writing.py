"""From current records to v0.1.0 ones, and what that loses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sipbench.errors import RecordError
from sipbench.protocol.records import RunRecord
from sipbench.protocol.v0.arithmetic import GROUP_FIELDS
from sipbench.protocol.v0.document import V0_VERSION
from sipbench.protocol.v0.reading import CARRIED
from sipbench.protocol.vocabulary import Status

__all__ = ["Downgrade", "downgrade_records"]

_COUNTS = (
    "token_input",
    "token_output",
    "token_total",
    "tool_calls_total",
    "memory_reads",
    "memory_writes",
    "human_interventions",
)
_TIMES = ("started_at", "finished_at")
_EPOCH = "1970-01-01T00:00:00Z"
_COPIED = (
    "run_id",
    "benchmark_name",
    "benchmark_split",
    "phase",
    "path_type",
    "model_name",
    "agent_name",
    "agent_version",
    "task_id",
    "attempt_index",
)


@dataclass(frozen=True, slots=True)
class Downgrade:
    """Records as v0.1.0 documents.

    Attributes:
        records: The documents, in the order of the input.
        lost: What v0.1.0 cannot express of the input, one sentence each.
    """

    records: tuple[dict[str, Any], ...]
    lost: tuple[str, ...]


def downgrade_records(records: Iterable[RunRecord], *, unknown_as_zero: bool = False) -> Downgrade:
    """Write current records as v0.1.0 documents.

    Attempts that the primary analysis treats as missing are left out, since v0.1.0 would score
    them; an agent error is written with the 0 it counts as. ``seed`` is the repeat's number, because
    v0.1.0 tells repeats apart by it; the seed itself goes into ``metadata``.

    Args:
        records: Valid records.
        unknown_as_zero: Write 0 (and 1970) for unknown counts and times, and name those fields in
            ``metadata.unknown_fields``.

    Raises:
        RecordError: A count or a time is unknown and ``unknown_as_zero`` is false, or two arms
            would become one v0.1.0 group.
    """
    written: list[dict[str, Any]] = []
    loss: Counter[str] = Counter()
    arms: dict[tuple[Any, ...], str] = {}
    for record in records:
        _count_losses(record, loss)
        if record.status.is_missing:
            continue
        document = _document(record, unknown_as_zero)
        group = tuple(document.get(field) for field in GROUP_FIELDS)
        other = arms.setdefault(group, record.arm)
        if other != record.arm:
            raise RecordError(
                f"v0.1.0 cannot tell the arms '{other}' and '{record.arm}' apart: same benchmark, path type, "
                "model, agent and agent version; write them one at a time (--arm)"
            )
        written.append(document)
    return Downgrade(tuple(written), _sentences(loss))


def _document(record: RunRecord, unknown_as_zero: bool) -> dict[str, Any]:
    unknown = [name for name in (*_COUNTS, "wall_clock_seconds", *_TIMES) if getattr(record, name) is None]
    if unknown and not unknown_as_zero:
        raise RecordError(
            f"run_id {record.run_id}: {', '.join(unknown)} unknown, which v0.1.0 cannot express; "
            "--unknown-as-zero writes 0 and says so in metadata.unknown_fields"
        )
    if record.success is None and record.score is not None:
        unknown.append("success")
    score = record.score or 0.0
    document: dict[str, Any] = {name: _plain(getattr(record, name)) for name in _COPIED}
    document |= {name: getattr(record, name) or 0 for name in _COUNTS}
    document |= {
        "schema_version": V0_VERSION,
        "score": score,
        # v0.1.0's own importers call a full score a success.
        "success": score >= 1.0 - 1e-6 if record.success is None else record.success,
        "seed": record.repeat,
        "wall_clock_seconds": record.wall_clock_seconds or 0.0,
        "started_at": record.started_at or _EPOCH,
        "finished_at": record.finished_at or _EPOCH,
        "metadata": {**record.metadata, CARRIED: _carried(record)},
    }
    for name in ("benchmark_version", "task_template_id", "cost_usd", "notes"):
        if (value := getattr(record, name)) is not None:
            document[name] = value
    if unknown:
        document["metadata"]["unknown_fields"] = unknown
    return document


def _carried(record: RunRecord) -> Mapping[str, Any]:
    names = ("arm", "concept", "family", "repeat", "seed", "status")
    return {name: _plain(value) for name in names if (value := getattr(record, name)) is not None}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _count_losses(record: RunRecord, loss: Counter[str]) -> None:
    if record.status.is_missing:
        loss[f"left out, status {record.status}"] += 1
        return
    loss["agent_error"] += record.status is Status.AGENT_ERROR
    loss["tries"] += bool(record.tries)
    loss["family"] += record.family is not None
    loss["seed"] += record.seed != record.repeat
    loss["cost_usd"] += record.cost_usd is None


def _sentences(loss: Counter[str]) -> tuple[str, ...]:
    what = {
        "agent_error": "agent errors are written as score 0.0",
        "tries": "attempts had failed tries, whose cost is lost",
        "family": "attempts have a family, which v0.1.0's pooling ignores (kept in metadata)",
        "seed": "attempts get the number of their repeat as seed (their own is kept in metadata)",
        "cost_usd": "attempts of unknown price count as 0 in cost_usd_mean",
    }
    sentences = [f"{n} attempts {kind}" for kind, n in loss.items() if n and kind.startswith("left out")]
    sentences += [f"{loss[kind]} {text}" for kind, text in what.items() if loss[kind]]
    return (*sentences, "what an adaptation itself spent, intervals, coverage and exposure have no field")

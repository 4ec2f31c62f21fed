"""Making run records of attempts that say less than a record needs."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from sipbench.errors import RecordError
from sipbench.importers.base import Place
from sipbench.protocol.records import RunRecord, Usage
from sipbench.protocol.versions import RUN_RECORD_VERSION

__all__ = ["SOLVED", "bound_record"]

SOLVED = 1 - 1e-6
"""The reward from which tau-bench and tau2-bench call a task solved."""


def bound_record(
    kind: str,
    source: str,
    place: Place,
    slot: tuple[int, int],
    *,
    task_id: str,
    usage: Usage,
    outcome: dict[str, Any],
    **fields: Any,
) -> RunRecord:
    """One attempt, at its place in a study.

    Args:
        kind: Name of the importer; begins the ``run_id``.
        source: Where the attempt stands, for a message: file and item.
        place: What the file does not say.
        slot: (repeat, attempt index).
        task_id: The task.
        usage: What is known of the cost.
        outcome: Status, score and the fields beside them.
        fields: More fields of the record; they come before those of ``place``.

    Raises:
        RecordError: Together they are no valid record.
    """
    repeat, attempt = slot
    seed = "" if place.seed is None else f"/s{place.seed}"
    known = {
        "schema_version": RUN_RECORD_VERSION,
        "run_id": f"{kind}/{place.arm}/{place.phase}/{place.split}/{task_id}/r{repeat}{seed}/a{attempt}",
        "benchmark_split": place.split,
        "phase": place.phase,
        "path_type": place.path_type,
        "arm": place.arm,
        "model_name": place.model,
        "agent_name": place.agent,
        "agent_version": place.agent_version,
        "seed": place.seed,
        "usage_source": None if usage == Usage() else "import",
    }
    own = {"task_id": task_id, "repeat": repeat, "attempt_index": attempt}
    try:
        return RunRecord(**{**known, **usage.model_dump(), **outcome, **fields, **own})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        reason = first["msg"].removeprefix("Value error, ")
        raise RecordError(f"{source}: {field + ': ' if field else ''}{reason}") from None

"""From files of records to v0.1.0 records and v0.1.0 summaries, labelled *compat*."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sipbench.errors import RecordError
from sipbench.protocol import v0
from sipbench.protocol.jsonl import parse_object, parse_record, problems, read_lines
from sipbench.protocol.records import RunRecord

__all__ = ["CompatRecords", "compat_records", "compat_summaries"]


@dataclass(frozen=True, slots=True)
class CompatRecords:
    """Records as v0.1.0 documents.

    Attributes:
        records: The documents. Those that were v0.1.0 already are untouched: reading them would turn
            placeholders into null, and v0.1.0's arithmetic counts them as the 0 they are.
        remarks: What v0.1.0 cannot express of the input, one sentence each.
        name: The name of the only file they came from; None for several.
    """

    records: tuple[dict[str, Any], ...]
    remarks: tuple[str, ...]
    name: str | None


def compat_records(
    paths: Sequence[Path], *, unknown_as_zero: bool = False, arm: str | None = None
) -> CompatRecords:
    """Read files of run records of any version as v0.1.0 documents.

    Args:
        paths: The files; all of one version.
        unknown_as_zero: Write unknown counts and times as 0 and name them in the record.
        arm: Only the records of this arm; v0.1.0 records have none.

    Raises:
        RecordError: A record is invalid or cannot be expressed, or v0.1.0 and current records are mixed,
            or there is none.
    """
    old: list[dict[str, Any]] = []
    new: list[RunRecord] = []
    for item in _documents(paths):
        if isinstance(item, RunRecord):
            new.append(item)
        else:
            old.append(item)
    name = paths[0].name if len(paths) == 1 else None
    if old and new:
        raise RecordError("v0.1.0 and current records are mixed; summarise them apart")
    if old:
        repeated = len(old) - len({document["run_id"] for document in old})
        remarks = (f"{repeated} records repeat a run_id and are counted again",) if repeated else ()
        return CompatRecords(tuple(old), remarks, name)
    if not new:
        raise RecordError(f"{', '.join(map(str, paths))}: holds no record; there is nothing to summarise")
    chosen = [record for record in new if arm is None or record.arm == arm]
    if arm is not None and not chosen:
        known = ", ".join(sorted({record.arm for record in new}))
        raise RecordError(f"no record of arm '{arm}'; arms are {known}")
    written = v0.downgrade_records(chosen, unknown_as_zero=unknown_as_zero)
    return CompatRecords(written.records, written.lost, name)


def _documents(paths: Sequence[Path]) -> Iterator[RunRecord | dict[str, Any]]:
    for path in paths:
        for number, line in read_lines(path):
            try:
                document = parse_object(line)
                if document.get("schema_version") == v0.V0_VERSION:
                    v0.V0RunRecord.model_validate(document)
                    yield document
                else:
                    yield parse_record(line)
            except (ValidationError, RecordError) as error:
                first = next(problems(path, number, error, RunRecord))
                raise RecordError(f"{first}; `sip validate {path}` lists every bad line") from None


def compat_summaries(
    records: CompatRecords,
    *,
    cost_field: str = "token_total",
    lambda_: float = 1.0,
    eps: float = v0.COMPAT_EPS,
) -> list[dict[str, Any]]:
    """Summarise v0.1.0 documents with v0.1.0's arithmetic; ``provenance.notes`` says so.

    Raises:
        RecordError: v0.1.0 has no summary for them.
    """
    summaries = v0.aggregate(records.records, cost_field=cost_field, lambda_=lambda_, eps=eps)
    chosen = f"cost_field {cost_field}, lambda {lambda_:g}, eps {eps:g}"
    for summary in summaries:
        notes = [f"compat: v0.1.0 arithmetic, attempts pooled; {chosen}"]
        if summary["repeats"] == 1:
            notes.append("std 0.0 stands for the unknown sd of one repeat")
        if records.name:
            summary["provenance"]["runs_file"] = records.name
        summary["provenance"]["notes"] = "; ".join((*notes, *records.remarks))
    return summaries

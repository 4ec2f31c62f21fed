"""Run records as columns: read with every check, or trusted and checked by column.

Both ways end in the same table, so that what is computed from it cannot depend on the way. A file
of a million records is read in pieces; only the columns that a summary needs are kept.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import batched
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
from pydantic import ValidationError

from sipbench.errors import RecordError
from sipbench.files import open_file
from sipbench.protocol.digests import file_digest
from sipbench.protocol.jsonl import MAX_LINE_BYTES, parse_record, problems, read_lines
from sipbench.protocol.records import RunRecord
from sipbench.protocol.summary import Source
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status

__all__ = ["KEYS", "PHASES", "SPLITS", "RunTable", "check_table", "read_table", "table_of"]

PHASES = pl.Enum([phase.value for phase in Phase])
SPLITS = pl.Enum([split.value for split in Split])
STATUSES = pl.Enum([status.value for status in Status])
PATHS = pl.Enum([path.value for path in PathType])

KEYS = (
    "benchmark_name",
    "benchmark_version",
    "benchmark_split",
    "phase",
    "arm",
    "task_id",
    "repeat",
    "seed",
    "attempt_index",
)
"""Where an attempt stands in the design, as in ``RunRecord.design_key``."""

_NAMES = ("benchmark_name", "arm", "model_name", "agent_name", "agent_version", "task_id")
_SCHEMA: dict[str, Any] = {
    "schema_version": pl.String,
    "run_id": pl.String,
    **dict.fromkeys((*_NAMES, "benchmark_version", "family"), pl.String),
    "benchmark_split": SPLITS,
    "phase": PHASES,
    "path_type": PATHS,
    "status": STATUSES,
    "repeat": pl.Int64,
    "seed": pl.Int64,
    "attempt_index": pl.Int64,
    "score": pl.Float64,
    "started_at": pl.String,
    "finished_at": pl.String,
}
_TIMES = {"started_at": "began", "finished_at": "ended"}
_ENUMS = ("benchmark_split", "phase", "path_type", "status")
_PIECE = 16 * 1024 * 1024
_AHEAD = 2
_BATCH = 20_000
_MOST = 1e20


@dataclass(frozen=True, slots=True)
class RunTable:
    """Records as columns, and where they came from.

    Attributes:
        frame: One row per record: the names of :class:`RunRecord`; ``began`` and ``ended``, its times in
            seconds since 1970; and ``cost``, what the attempt consumed of the cost unit with all its
            tries; null if any part is unknown.
        sources: The files, in the order they were given.
        trusted: Whether the records were checked by column only.
    """

    frame: pl.DataFrame
    sources: tuple[Source, ...] = ()
    trusted: bool = False


def read_table(paths: Sequence[Path], cost_field: str | None, *, trusted: bool = False) -> RunTable:
    """Read ``runs.jsonl`` files into one table.

    Args:
        paths: The files.
        cost_field: The record field of the cost unit; None: no costs are read.
        trusted: Read columns without checking each field of each record, for files that sipbench
            itself wrote. Ranges, statuses without scores and duplicates are still checked; a number
            where a name belongs is read as text, and text in a cost column as unknown.

    Raises:
        RecordError: A file cannot be read, a record is invalid, or two are the same attempt.
    """
    pieces, sources = [], []
    for path in paths:
        frames, digest = _trusted(path, cost_field) if trusted else _validated(path, cost_field)
        frame = pl.concat([_empty(cost_field), *frames], rechunk=False)
        pieces.append(frame)
        sources.append(Source(name=path.name, digest=digest, records=frame.height))
    frame = pl.concat(pieces, rechunk=True) if pieces else _empty(cost_field)
    check_table(frame)
    return RunTable(frame, tuple(sources), trusted)


def table_of(records: Iterable[RunRecord], cost_field: str | None) -> RunTable:
    """Put records into a table.

    Raises:
        RecordError: Two records are the same attempt.
    """
    frames = [_frame_of(batch, cost_field) for batch in batched(records, _BATCH)]
    frame = pl.concat([_empty(cost_field), *frames])
    check_table(frame)
    return RunTable(frame)


@cache
def _empty(cost_field: str | None) -> pl.DataFrame:
    return _frame_of((), cost_field)


def _validated(path: Path, cost_field: str | None) -> tuple[list[pl.DataFrame], str]:
    return [_frame_of(batch, cost_field) for batch in batched(_records(path), _BATCH)], file_digest(path)


def _records(path: Path) -> Iterator[RunRecord]:
    # Duplicates are found in the table, at a fraction of the memory.
    for number, line in read_lines(path):
        try:
            yield parse_record(line)
        except (ValidationError, RecordError) as error:
            first = next(problems(path, number, error, RunRecord))
            raise RecordError(f"{first}; `sip validate {path}` lists every bad line") from None


def _frame_of(records: Sequence[RunRecord], cost_field: str | None) -> pl.DataFrame:
    read = attrgetter(*(f"{name}._value_" if name in _ENUMS else name for name in _SCHEMA))
    columns = list(zip(*map(read, records), strict=True)) or [()] * len(_SCHEMA)
    frame = pl.DataFrame(dict(zip(_SCHEMA, columns, strict=True)), schema=_SCHEMA)
    if cost_field is None:
        return _finish(frame, None)
    field = attrgetter(cost_field)
    spent = pl.Series("spent", list(map(field, records)), dtype=pl.Float64)
    # Most records have no failed try, and a null says so at less cost than an empty list.
    failed = [list(map(field, record.tries)) if record.tries else None for record in records]
    tries = pl.Series("tries", failed, dtype=pl.List(pl.Float64))
    return _finish(frame.with_columns(spent, tries), cost_field)


def _trusted(path: Path, cost_field: str | None) -> tuple[list[pl.DataFrame], str]:
    digest = hashlib.sha256()
    frames: list[pl.DataFrame] = []
    begun: deque[Future[pl.DataFrame]] = deque()
    try:
        # Here the file is read and hashed; what else a piece needs goes on beside it.
        with open_file(path) as handle, ThreadPoolExecutor(_AHEAD) as parsing:
            for piece in _pieces(path, handle):
                begun.append(parsing.submit(_frame_of_piece, piece, cost_field))
                digest.update(piece)
                if len(begun) > _AHEAD:
                    frames.append(begun.popleft().result())
            frames += [waiting.result() for waiting in begun]
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from None
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("\n")[0]
        raise RecordError(
            f"{path}: cannot be read as trusted records ({said}); `sip validate {path}` names each bad line"
        ) from None
    return frames, f"sha256:{digest.hexdigest()}"


def _pieces(path: Path, handle: BinaryIO) -> Iterator[bytes]:
    """The file in pieces that end where a line does."""
    start = 0
    while True:
        # Its end is found first: a piece of two parts would be copied once more.
        handle.seek(start + _PIECE)
        if len(handle.readline(MAX_LINE_BYTES + 1)) > MAX_LINE_BYTES:
            raise RecordError(f"{path}: a line is longer than {MAX_LINE_BYTES} bytes; not a record")
        end = handle.tell()
        handle.seek(start)
        piece = handle.read(end - start)
        if not piece:
            return
        yield piece
        start += len(piece)


def _frame_of_piece(piece: bytes, cost_field: str | None) -> pl.DataFrame:
    if cost_field is None:
        return _finish(pl.read_ndjson(piece, schema=_SCHEMA), None)
    # As text: to read objects within lists takes half as long as all the rest, and few records have any.
    schema = {**_SCHEMA, cost_field: pl.Float64, "tries": pl.List(pl.String)}
    frame = pl.read_ndjson(piece, schema=schema).rename({cost_field: "spent"})
    return _finish(_with_amounts(frame, piece, cost_field), cost_field)


def _with_amounts(frame: pl.DataFrame, piece: bytes, cost_field: str) -> pl.DataFrame:
    """The records of a piece with what each of their failed tries consumed in place of its text."""
    rows = (frame["tries"].list.len() > 0).arg_true()
    if rows.is_empty():
        return frame.with_columns(pl.lit(None, dtype=pl.List(pl.Float64)).alias("tries"))
    # Records are the lines that are not blank.
    lines = [line for line in piece.split(b"\n") if line.strip()]
    schema = {"tries": pl.List(pl.Struct({cost_field: pl.Float64}))}
    tried = pl.read_ndjson(b"\n".join(lines[row] for row in rows), schema=schema)
    amounts = pl.col("tries").list.eval(pl.element().struct.field(cost_field))
    tried = tried.select(rows.alias("row"), amounts.alias("tries"))
    return frame.drop("tries").with_row_index("row").join(tried, on="row", how="left", maintain_order="left")


def _finish(frame: pl.DataFrame, cost_field: str | None) -> pl.DataFrame:
    """Derive ``cost``, apply the defaults of absent fields, and keep names in a compact form."""
    cost = pl.lit(None, dtype=pl.Float64)
    if cost_field is not None:
        if frame.select((pl.col("spent") < 0).any() | (pl.col("tries").list.min() < 0).any()).item():
            raise RecordError(f"{cost_field}: a record holds a negative amount; `sip validate` names it")
        failed = pl.col("tries").fill_null([])
        known = failed.list.len() == failed.list.drop_nulls().list.len()
        cost = pl.when(known).then(pl.col("spent") + failed.list.sum())
    return frame.with_columns(
        pl.col("repeat", "attempt_index").fill_null(0),
        pl.when(pl.col("benchmark_version") != "").then(pl.col("benchmark_version")).cast(pl.Categorical),
        pl.col(*_NAMES, "family").cast(pl.Categorical),
        *(_seconds(name).alias(column) for name, column in _TIMES.items()),
        cost.alias("cost"),
    ).select(*(_TIMES.get(name, name) for name in _SCHEMA), "cost")


def _seconds(column: str) -> pl.Expr:
    """A column of RFC 3339 times in UTC as seconds since 1970; null where there is none.

    The minute is read by the calendar and the rest as a number: few minutes are distinct among many
    attempts, and each is looked up once, which is ten times as fast as reading every moment.
    """
    text = pl.col(column)
    minute = text.str.slice(0, 16).str.to_datetime("%Y-%m-%dT%H:%M", time_unit="ms", strict=False)
    rest = text.str.slice(17).str.strip_suffix("Z").str.strip_suffix("+00:00")
    return minute.dt.epoch("s").cast(pl.Float64) + rest.cast(pl.Float64, strict=False)


def check_table(frame: pl.DataFrame) -> None:
    """Check by column what every record must keep.

    Raises:
        RecordError: At the first rule that a record breaks, naming the record.
    """
    graded = pl.col("status").is_in([s.value for s in Status if s.is_graded])
    score = pl.col("score")
    rules = {
        "schema_version: not a current record; read it without --trusted, which upgrades it": pl.col(
            "schema_version"
        ).str.contains(r"^1\.\d{1,6}\.\d{1,6}$"),
        "a name or identifier is missing": pl.all_horizontal(pl.col("run_id", *_NAMES) != ""),
        "phase, split, path type or status is missing": pl.all_horizontal(pl.col(*_ENUMS).is_not_null()),
        "score: a grade needs one, and nothing else may have one": graded == score.is_not_null(),
        "score: not a number from 0 to 1": score.is_null() | (score.is_not_nan() & score.is_between(0, 1)),
        "repeat or attempt_index: negative": (pl.col("repeat") >= 0) & (pl.col("attempt_index") >= 0),
        "cost: not a finite number that can be squared": pl.col("cost").is_null()
        | (pl.col("cost").is_finite() & (pl.col("cost") < _MOST)),
    }
    kept = frame.select(
        rule.fill_null(False).alias(str(number)) for number, rule in enumerate(rules.values())
    )
    for number, message in enumerate(rules):
        if not kept[str(number)].all():
            bad = frame.filter(~kept[str(number)])["run_id"][0]
            raise RecordError(f"run_id {bad}: {message}; `sip validate` lists every bad line")
    _refuse_duplicates(frame, ["run_id"], "two records have the run_id")
    _refuse_duplicates(
        frame,
        list(KEYS),
        "two records have the same benchmark, version, split, phase, arm, task, repeat, seed and attempt; "
        "one of them is",
    )


def _refuse_duplicates(frame: pl.DataFrame, columns: list[str], what: str) -> None:
    keys = frame.select(columns)
    if keys.hash_rows().n_unique() == keys.height:
        return
    twice = frame.filter(keys.is_duplicated())
    if twice.height:
        raise RecordError(f"{what} {twice['run_id'][0]}; `sip validate` lists every bad line")

"""The Python API on results: what ``sip summarize`` does, as functions.

``load_runs``   read attempts
``summarize``   attempts, or a study directory, to a summary
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sipbench.errors import RecordError
from sipbench.files import os_errors_as
from sipbench.protocol.folder import StudyFolder, read_folder
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import COST_FIELDS, AnalysisSettings, StudyContext
from sipbench.protocol.summary import Summary

__all__ = ["load_runs", "summarize"]

type Runs = str | os.PathLike[str]


@os_errors_as(RecordError)
def load_runs(path: Runs) -> list[RunRecord]:
    """Read attempts from a ``runs.jsonl`` of any version, or from a study directory.

    Raises:
        RecordError: The file cannot be read, a line is not a valid record, or two are the same attempt.
    """
    place = Path(path)
    return list(read_records(read_folder(place).runs if place.is_dir() else place))


@os_errors_as(RecordError)
def summarize(
    runs: Runs | Sequence[Runs] | Iterable[RunRecord],
    *,
    settings: AnalysisSettings | None = None,
    context: StudyContext | None = None,
    adaptation_cost: Mapping[str, float] | None = None,
    trusted: bool = False,
) -> Summary:
    """Summarise attempts: FG, BR, BR_ratio, IE, PDS and NIS per arm, with intervals and warnings.

    Args:
        runs: A ``runs.jsonl``, several of them, a study directory, or records.
        settings: The choices of the analysis; None: those the study declared, else the defaults.
        context: What is known of the study; None: what its directory says, else nothing.
        adaptation_cost: For attempts without a study directory: what the adaptation of an arm itself
            spent per repeat, in the cost unit. Without it the learning cost, and so IE, is unknown.
        trusted: Check files by column only: faster, for files that sipbench wrote.

    Raises:
        RecordError: A file cannot be read, a record is invalid, two are the same attempt, records
            contradict each other, or there is none.
        ConfigError: ``adaptation_cost`` names an arm that does not exist.
    """
    from sipbench.stats.summarize import summarize as summarize_table
    from sipbench.stats.tables import read_table, table_of

    paths, records = _paths(runs)
    folder = _only_folder(paths)
    if folder is not None:
        paths = [folder.runs]
        settings = settings or folder.settings
        context = context or folder.context
    settings = settings or AnalysisSettings()
    cost_field = COST_FIELDS[settings.cost_unit] if settings.cost_unit else None
    table = read_table(paths, cost_field, trusted=trusted) if paths else table_of(records, cost_field)
    if table.frame.is_empty():
        # A summary of nothing would look like a result.
        where = ", ".join(map(str, paths)) or "what was given"
        raise RecordError(f"{where}: holds no record; there is nothing to summarise")
    return summarize_table(table, settings=settings, context=context, adaptation_cost=adaptation_cost)


def _paths(runs: Runs | Sequence[Runs] | Iterable[RunRecord]) -> tuple[list[Path], list[RunRecord]]:
    if isinstance(runs, str | os.PathLike):
        return [Path(runs)], []
    paths, records = [], []
    for item in runs:
        if isinstance(item, RunRecord):
            records.append(item)
        else:
            paths.append(Path(item))
    if paths and records:
        raise RecordError("give files or records, not both")
    return paths, records


def _only_folder(paths: Sequence[Path]) -> StudyFolder | None:
    folders = [path for path in paths if path.is_dir()]
    if not folders:
        return None
    if len(paths) > 1:
        raise RecordError(
            f"{folders[0]}: a study directory is summarised alone; name the runs.jsonl files to join them"
        )
    return read_folder(folders[0])

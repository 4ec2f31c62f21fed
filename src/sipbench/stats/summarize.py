"""From attempts to a summary: who, how many, what was gained, kept and paid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sipbench.errors import ConfigError, RecordError
from sipbench.protocol.records import RunRecord, timestamp
from sipbench.protocol.settings import COST_FIELDS, AnalysisSettings, StudyContext
from sipbench.protocol.summary import (
    Provenance,
    RecordCounts,
    RuleMark,
    Summary,
    SummaryWarning,
)
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.means import ArmTable, split_arms
from sipbench.stats.rows import make_rows
from sipbench.stats.spending import Spent
from sipbench.stats.tables import RunTable, read_table, table_of

__all__ = ["known_families", "summarize"]

_NO_UNIT = "no cost unit was declared"


def summarize(
    records: Iterable[RunRecord] | RunTable | Path,
    *,
    settings: AnalysisSettings | None = None,
    context: StudyContext | None = None,
    adaptation_cost: Mapping[str, float] | None = None,
    trusted: bool = False,
) -> Summary:
    """Summarise attempts.

    Attempts of a task are averaged first, then tasks; tasks are paired between phases; intervals
    are paired t intervals clustered by family. An ``agent_error`` counts 0; verifier and
    infrastructure errors and cancelled attempts are missing. Smoke and golden attempts are counted
    and left out.

    Args:
        records: Records, a table of them, or the path of a ``runs.jsonl``.
        settings: The declared choices; None: the defaults.
        context: What is known of the study: plan, adaptations, splits.
        adaptation_cost: Where ``context`` knows no adaptations: what the adaptation of an arm itself
            spent per repeat, in the cost unit.
        trusted: For a path: check by column only.

    Raises:
        RecordError: A record is invalid, two are the same attempt, or records contradict each other.
        ConfigError: ``adaptation_cost`` names an arm that does not exist, or a negative amount.
    """
    settings = settings or AnalysisSettings()
    context = context or StudyContext()
    cost_field = COST_FIELDS[settings.cost_unit] if settings.cost_unit else None
    table = _table(records, cost_field, trusted)
    arms = split_arms(table.frame, known_families(context))
    spent = _spent(arms, context, adaptation_cost or {})
    rows = make_rows(arms, settings, context, spent)
    splits = Counter(dict(table.frame["benchmark_split"].value_counts().iter_rows()))
    return Summary(
        study=context.study,
        settings=settings,
        cost_field=cost_field,
        rows=rows,
        warnings=_warnings(context, {arm.identity[2] for arm in arms}),
        allowed=tuple(
            RuleMark(rule=item.rule, message=item.message, tasks=item.tasks) for item in context.allowed
        ),
        records=RecordCounts(
            total=table.frame.height, smoke=splits[Split.SMOKE.value], golden=splits[Split.GOLDEN.value]
        ),
        provenance=_provenance(table),
    )


def _table(records: Iterable[RunRecord] | RunTable | Path, cost_field: str | None, trusted: bool) -> RunTable:
    if isinstance(records, RunTable):
        return records
    if isinstance(records, Path):
        return read_table([records], cost_field, trusted=trusted)
    return table_of(records, cost_field)


def known_families(context: StudyContext) -> dict[str, str]:
    """Family of each task that the splits give one."""
    entries = context.manifest.entries() if context.manifest else ()
    return {task.id: task.family for _, task in entries if task.family is not None}


@cache
def _version() -> str:
    from importlib.metadata import version

    return version("sipbench")


def _provenance(table: RunTable) -> Provenance:
    return Provenance(
        generated_at=timestamp(),
        sipbench_version=_version(),
        trusted=table.trusted,
        sources=table.sources,
    )


def _spent(
    arms: Iterable[ArmTable], context: StudyContext, declared: Mapping[str, float]
) -> dict[str, Spent]:
    names = {arm.identity[2] for arm in arms}
    for arm, amount in declared.items():
        if arm not in names:
            raise ConfigError(f"adaptation cost: no arm '{arm}'; arms are {', '.join(sorted(names))}")
        if not 0 <= amount < float("inf"):
            raise ConfigError(f"adaptation cost of '{arm}': expected a number of 0 or more, not {amount}")
    if context.adaptations is None:
        return {name: declared.get(name) for name in names}
    if declared:
        raise ConfigError("adaptation cost: the study has recorded what its adaptations spent")
    known: dict[str, dict[tuple[int, Phase], Any]] = {name: {} for name in names}
    for record in context.adaptations:
        if record.adaptation == "none":
            continue
        place = known.setdefault(record.arm, {})
        if place.setdefault((record.repeat, record.phase), record) is not record:
            raise RecordError(
                f"two adaptations of arm '{record.arm}', repeat {record.repeat}, phase {record.phase}"
            )
    return {**known}


def _warnings(context: StudyContext, arms: set[str]) -> tuple[SummaryWarning, ...]:
    found = [
        SummaryWarning(code="broken_rule", message=f"{item.rule} is broken with consent: {item}")
        for item in context.allowed
    ]
    planned = {cell.arm for cell in context.planned or () if cell.attempts}
    found += [
        SummaryWarning(code="missing_arm", message=f"arm '{arm}' was planned and has no attempt")
        for arm in sorted(planned - arms)
    ]
    return tuple(found)

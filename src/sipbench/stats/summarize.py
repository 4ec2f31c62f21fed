"""From attempts to a summary: who, how many, what was gained, kept and paid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sipbench.errors import ConfigError, RecordError
from sipbench.protocol.records import RunRecord, timestamp
from sipbench.protocol.settings import COST_FIELDS, AnalysisSettings, StudyContext
from sipbench.protocol.summary import (
    Cell,
    Evaluation,
    PhaseIdentity,
    Provenance,
    RecordCounts,
    RepeatValue,
    Row,
    RuleMark,
    Summary,
    SummaryWarning,
)
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, PathType, Phase, Split, Status
from sipbench.stats.caveats import counted_repeats, row_warnings
from sipbench.stats.changes import PAIRS, change_of
from sipbench.stats.contrasts import cluster_labels
from sipbench.stats.estimates import estimate_metrics
from sipbench.stats.means import ArmTable, CellKey, split_arms
from sipbench.stats.spending import Spent, evaluation_cost, learning_cost
from sipbench.stats.tables import RunTable, read_table, table_of

__all__ = ["summarize"]

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
    arms = split_arms(table.frame, _families(context))
    spent = _spent(arms, context, adaptation_cost or {})
    shared = Counter(arm.identity[2] for arm in arms)
    rows = tuple(
        _row(arm, settings, context, spent[arm.identity[2]], alone=shared[arm.identity[2]] == 1)
        for arm in arms
    )
    splits = Counter(dict(table.frame["benchmark_split"].value_counts().iter_rows()))
    return Summary(
        study=context.study,
        settings=settings,
        cost_field=cost_field,
        rows=rows,
        warnings=_warnings(context, shared),
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


def _families(context: StudyContext) -> dict[str, str]:
    entries = context.manifest.entries() if context.manifest else ()
    return {task.id: task.family for _, task in entries if task.family is not None}


def _provenance(table: RunTable) -> Provenance:
    from importlib.metadata import version

    return Provenance(
        generated_at=timestamp(),
        sipbench_version=version("sipbench"),
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


def _row(
    arm: ArmTable, settings: AnalysisSettings, context: StudyContext, spent: Spent, *, alone: bool
) -> Row:
    benchmark, version, name, model, agent = arm.identity
    phases = _phases(arm)
    path_type = _path_type(name, phases)
    unit = settings.cost_unit
    cost = learning_cost(arm, unit, spent, path_type) if unit else None
    selection = context.manifest.replay_selection if context.manifest else None
    changes = {name: change_of(arm, pair, settings.alpha, selection) for name, pair in PAIRS.items()}
    metrics = estimate_metrics(arm, changes, settings, cost, None if unit else _NO_UNIT)
    cells = _cells(arm, context, alone)
    allowed = frozenset(item.rule for item in context.allowed)
    warnings = row_warnings(arm, metrics, cells, phases, cost, path_type, settings, context.manifest, allowed)
    return Row(
        arm=name,
        benchmark_name=benchmark,
        benchmark_version=version,
        model_name=model,
        agent_name=agent,
        path_type=path_type,
        phases=phases,
        repeats=counted_repeats(metrics),
        evaluation=_evaluation(cells),
        cells=cells,
        metrics=metrics,
        learning_cost=cost,
        later_learning_cost=learning_cost(arm, unit, spent, path_type, Phase.T2) if unit else None,
        evaluation_cost=evaluation_cost(arm, unit) if unit else None,
        main_table=not any(warning.keeps_out for warning in warnings),
        warnings=warnings,
    )


def _phases(arm: ArmTable) -> tuple[PhaseIdentity, ...]:
    models, agents = arm.values("model_name"), arm.values("agent_name")
    versions, paths = arm.values("agent_version"), arm.values("path_type")
    return tuple(
        PhaseIdentity(
            phase=phase,
            models=models[phase],
            agents=agents[phase],
            agent_versions=versions[phase],
            path_types=paths[phase],
        )
        for phase in sorted(models)
    )


def _path_type(arm: str, phases: Iterable[PhaseIdentity]) -> PathType:
    """The arm's one path type; T0 attempts may be logged as frozen, since nothing was learned yet."""
    found = {path for phase in phases for path in phase.path_types}
    learned = found - {PathType.FROZEN}
    if len(learned) > 1:
        raise RecordError(
            f"arm '{arm}' has the path types {' and '.join(sorted(learned))}; an arm takes one path, "
            "so give its records different arms"
        )
    return learned.pop() if learned else PathType.FROZEN


def _cells(arm: ArmTable, context: StudyContext, alone: bool) -> tuple[Cell, ...]:
    planned: Counter[CellKey] = Counter()
    # Where several rows share an arm's name, the plan does not say which of them it means.
    if context.planned is not None and alone:
        for cell in context.planned:
            if cell.arm == arm.identity[2]:
                planned[cell.phase, cell.split] += cell.attempts
    statuses = arm.statuses()
    keys = [(phase, split) for phase in Phase for split in Split if {(phase, split)} & {*statuses, *planned}]
    return tuple(_cell(arm, key, statuses.get(key, {}), planned[key] if planned else None) for key in keys)


def _cell(arm: ArmTable, key: CellKey, ended: Mapping[Status, int], planned: int | None) -> Cell:
    recorded = sum(ended.values())
    counted = sum(n for status, n in ended.items() if not status.is_missing)
    planned = recorded if planned is None else planned
    means = arm.task_means.get(key)
    tasks = means.ids if means else ()
    return Cell(
        phase=key[0],
        split=key[1],
        mean=float(means.means.mean()) if means else None,
        reason=None if means else "no counted attempt",
        by_repeat=tuple(
            RepeatValue(repeat=repeat, value=value, n_tasks=n)
            for repeat, (value, n) in sorted(arm.repeat_means.get(key, {}).items())
        ),
        n_tasks=len(tasks),
        n_families=len(set(cluster_labels(tasks, arm.families))),
        planned=planned,
        recorded=recorded,
        counted=counted,
        statuses={status: ended[status] for status in Status if status in ended},
        coverage=min(1.0, counted / planned) if planned else None,
    )


def _evaluation(cells: Iterable[Cell]) -> Evaluation:
    scored = [cell for cell in cells if cell.split in EVALUATION_SPLITS]
    return Evaluation(
        planned=sum(cell.planned for cell in scored),
        recorded=sum(cell.recorded for cell in scored),
        counted=sum(cell.counted for cell in scored),
        least_coverage=min((cell.coverage for cell in scored if cell.coverage is not None), default=None),
    )


def _warnings(context: StudyContext, arms: Mapping[str, int]) -> tuple[SummaryWarning, ...]:
    found = [
        SummaryWarning(code="broken_rule", message=f"{item.rule} is broken with consent: {item}")
        for item in context.allowed
    ]
    planned = {cell.arm for cell in context.planned or () if cell.attempts}
    found += [
        SummaryWarning(code="missing_arm", message=f"arm '{arm}' was planned and has no attempt")
        for arm in sorted(planned - set(arms))
    ]
    return tuple(found)

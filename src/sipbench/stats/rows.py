"""The rows of a summary: each arm described, estimated, compared with its control and judged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sipbench.errors import RecordError
from sipbench.protocol.settings import AnalysisSettings, StudyContext
from sipbench.protocol.summary import (
    Adjusted,
    Cell,
    Estimate,
    Evaluation,
    GainAndCost,
    LearningCost,
    Metrics,
    PhaseIdentity,
    RepeatValue,
    Row,
)
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, PathType, Phase, Split, Status
from sipbench.stats import ratio
from sipbench.stats.adjusted import Subject
from sipbench.stats.caveats import counted_repeats, row_warnings
from sipbench.stats.changes import PAIRS, change_of
from sipbench.stats.contrasts import cluster_labels
from sipbench.stats.control import ControlChoice, choose_control
from sipbench.stats.entries import gain_and_cost_entry, interval_entry
from sipbench.stats.estimates import estimate_metrics
from sipbench.stats.inference import Finding, find
from sipbench.stats.judgement import JUDGED, Judged, adjusted_p, judge, void_reason
from sipbench.stats.losses import lost_efficiency, lost_net, lost_ratio
from sipbench.stats.means import ArmTable, CellKey
from sipbench.stats.noise import floor_of, pass_rates, variance_parts
from sipbench.stats.replay import expected_bias, selection_entry
from sipbench.stats.spending import Spent, evaluation_cost, learning_cost
from sipbench.stats.tallies import tallies
from sipbench.stats.timing import begun_plans, interleaving, last_score, t2_delay, timing_warnings

__all__ = ["make_rows"]

_NO_UNIT = "no cost unit was declared"


@dataclass(frozen=True, slots=True)
class _Arm:
    """An arm on its way to a row."""

    subject: Subject
    phases: tuple[PhaseIdentity, ...]
    planned: Mapping[CellKey, int] | None
    begun: Mapping[CellKey, int] | None
    cost: LearningCost | None
    control: ControlChoice
    findings: Mapping[str, Finding]

    @property
    def table(self) -> ArmTable:
        return self.subject.arm


def make_rows(
    arms: Sequence[ArmTable], settings: AnalysisSettings, context: StudyContext, spent: Mapping[str, Spent]
) -> tuple[Row, ...]:
    """One row per arm, in the order given.

    Args:
        arms: The arms' attempts.
        settings: The declared choices.
        context: What is known of the study.
        spent: What the adaptations of each arm spent, by its name.

    Raises:
        RecordError: An arm takes two paths.
    """
    names = Counter(arm.identity[2] for arm in arms)
    planned = [_planned(arm, context, alone=names[arm.identity[2]] == 1) for arm in arms]
    phases, end = [_phases(arm) for arm in arms], last_score(arms)
    begun = begun_plans(arms, planned, context.delay, end)
    subjects = [
        _subject(arm, plan, identity, settings, context)
        for arm, plan, identity in zip(arms, begun, phases, strict=True)
    ]
    made = [
        _made(subject, (plan, so_far), identity, subjects, settings, context, spent)
        for subject, plan, so_far, identity in zip(subjects, planned, begun, phases, strict=True)
    ]
    controls = {id(arm.control.arm) for arm in made if arm.control.arm is not None}
    after_holm = _after_holm(made, settings)
    return tuple(
        _row(arm, settings, context, after_holm.get(id(arm)), spent, end, compared=id(arm.table) in controls)
        for arm in made
    )


def _subject(
    arm: ArmTable,
    planned: Mapping[CellKey, int] | None,
    phases: Sequence[PhaseIdentity],
    settings: AnalysisSettings,
    context: StudyContext,
) -> Subject:
    selection = context.manifest.replay_selection if context.manifest else None
    changes = {name: change_of(arm, pair, settings.alpha, selection) for name, pair in PAIRS.items()}
    path_type = _path_type(arm.identity[2], phases)
    return Subject(arm, path_type, tallies(arm, planned, context.manifest), changes)


def _made(
    subject: Subject,
    plans: tuple[Mapping[CellKey, int] | None, Mapping[CellKey, int] | None],
    phases: tuple[PhaseIdentity, ...],
    subjects: Sequence[Subject],
    settings: AnalysisSettings,
    context: StudyContext,
    spent: Mapping[str, Spent],
) -> _Arm:
    others = [(other.arm, other.path_type) for other in subjects]
    choice = choose_control(subject.arm, subject.path_type, others)
    control = next((other for other in subjects if other.arm is choice.arm), None)
    selection = context.manifest.replay_selection if context.manifest else None
    findings = {name: find(subject, name, control, selection, settings) for name in PAIRS}
    unit = settings.cost_unit
    cost = None
    if unit is not None:
        cost = learning_cost(subject.arm, unit, spent[subject.arm.identity[2]], subject.path_type)
    return _Arm(subject, phases, *plans, cost, choice, findings)


def _after_holm(arms: Sequence[_Arm], settings: AnalysisSettings) -> dict[int, float]:
    """The p of FG after Holm over the adapted arms of each benchmark, by the arm's id."""
    families: dict[object, list[_Arm]] = defaultdict(list)
    for arm in arms:
        if arm.subject.path_type not in (PathType.FROZEN, PathType.ORACLE):
            families[arm.table.identity[:2]].append(arm)
    found: dict[int, float] = {}
    for members in families.values():
        adjusted = adjusted_p([arm.findings["fg"] for arm in members], settings)
        found |= {id(arm): p for arm, p in zip(members, adjusted, strict=True) if p is not None}
    return found


def _row(
    arm: _Arm,
    settings: AnalysisSettings,
    context: StudyContext,
    p_holm: float | None,
    spent: Mapping[str, Spent],
    end: datetime | None,
    *,
    compared: bool,
) -> Row:
    table, path_type, unit = arm.table, arm.subject.path_type, settings.cost_unit
    benchmark, version, name, model, agent = table.identity
    plain = estimate_metrics(table, arm.subject.changes, settings, arm.cost, None if unit else _NO_UNIT)
    claims = not compared and path_type is not PathType.ORACLE
    metrics = _judged(arm, plain, settings, context, p_holm, claims=claims)
    cells = _cells(arm, settings)
    warnings = row_warnings(
        table,
        metrics,
        cells,
        arm.phases,
        arm.cost,
        path_type,
        settings,
        context,
        arm.findings,
        arm.control,
        claims=claims,
    )
    later = learning_cost(table, unit, spent[name], path_type, Phase.T2) if unit else None
    row = Row(
        arm=name,
        benchmark_name=benchmark,
        benchmark_version=version,
        model_name=model,
        agent_name=agent,
        path_type=path_type,
        phases=arm.phases,
        repeats=counted_repeats(metrics),
        control=arm.control.arm.identity[2] if arm.control.arm else None,
        evaluation=_evaluation(cells),
        cells=cells,
        metrics=metrics,
        gain_and_cost=_gain_and_cost(arm, settings),
        learning_cost=arm.cost,
        interleaving=interleaving(table, arm.control.arm),
        delay=t2_delay(table, arm.planned, context.delay, end),
        later_learning_cost=later,
        evaluation_cost=evaluation_cost(table, unit) if unit else None,
        main_table=not any(warning.keeps_out for warning in warnings),
        warnings=warnings,
    )
    return row.model_copy(update={"warnings": (*row.warnings, *timing_warnings(row))})


def _judged(
    arm: _Arm,
    plain: Metrics,
    settings: AnalysisSettings,
    context: StudyContext,
    p_holm: float | None,
    *,
    claims: bool,
) -> Metrics:
    """The metrics with all that is known of each, and the verdicts of an arm that makes claims."""
    selection = context.manifest.replay_selection if context.manifest else None
    bias = expected_bias(arm.table, selection)
    judged = Judged(arm.table.identity[2], arm.findings, p_holm)
    found: dict[str, Estimate] = {}
    for name, finding in arm.findings.items():
        update = finding.entries(settings)
        if name == "br" and update:
            update["selection"] = selection_entry(finding.change, selection, bias)
        if name in JUDGED and update and claims:
            void = void_reason(finding, selection, bias) if name == "br" else None
            update["verdict"] = judge(judged, name, selection, settings, void)
        found[name] = getattr(plain, name).model_copy(update=update)
    fg, br = arm.findings["fg"], arm.findings["br"]
    adjusted = {"ie": _adjusted_efficiency(arm, settings), "nis": _adjusted_net(arm, settings)}
    lost = {
        "br_ratio": lost_ratio(arm.subject, br, settings),
        "ie": lost_efficiency(fg, _costs(arm), settings),
        "nis": lost_net(fg, br, settings),
    }
    for name, losses in lost.items():
        update = {"lost": losses, "adjusted": adjusted.get(name)}
        found[name] = getattr(plain, name).model_copy(update=update)
    return plain.model_copy(update=found)


def _costs(arm: _Arm) -> list[float]:
    if arm.cost is None or arm.cost.value is None:
        return []
    return [item.value for item in arm.cost.by_repeat if item.value is not None]


def _adjusted_efficiency(arm: _Arm, settings: AnalysisSettings) -> Adjusted | None:
    fg, costs = arm.findings["fg"], _costs(arm)
    if fg.control is None or not costs:
        return None
    found = ratio.improvement_efficiency(fg.headline, costs, settings.alpha)
    return Adjusted(
        value=found.estimate,
        interval=interval_entry(found.interval),
        reason=found.reason,
        n_tasks=fg.headline.n,
        n_families=fg.headline.n_families,
        control=fg.control,
        shared_before=fg.shared_before,
    )


def _adjusted_net(arm: _Arm, settings: AnalysisSettings) -> Adjusted | None:
    fg, br = arm.findings["fg"], arm.findings["br"]
    if fg.control is None or br.control is None:
        return None
    found = ratio.net_improvement(fg.headline, br.headline, settings.lambda_, settings.alpha)
    return Adjusted(
        value=found.estimate,
        interval=interval_entry(found.interval),
        reason=found.reason,
        n_tasks=fg.headline.n + br.headline.n,
        n_families=fg.headline.n_families + br.headline.n_families,
        control=fg.control,
        shared_before=fg.shared_before and br.shared_before,
    )


def _gain_and_cost(arm: _Arm, settings: AnalysisSettings) -> GainAndCost | None:
    costs = _costs(arm)
    if settings.cost_unit is None or not costs:
        return None
    region = ratio.joint_region(arm.findings["fg"].headline, costs, settings.alpha)
    return gain_and_cost_entry(region, settings.cost_unit)


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


def _planned(arm: ArmTable, context: StudyContext, *, alone: bool) -> Mapping[CellKey, int] | None:
    """Planned attempts per phase and split; None if unknown."""
    found: Counter[CellKey] = Counter()
    # Where several rows share an arm's name, the plan does not say which of them it means.
    if context.planned is not None and alone:
        for cell in context.planned:
            if cell.arm == arm.identity[2]:
                found[cell.phase, cell.split] += cell.attempts
    return found or None


def _cells(arm: _Arm, settings: AnalysisSettings) -> tuple[Cell, ...]:
    statuses, planned = arm.table.statuses, arm.begun
    known = {*statuses, *(planned or {})}
    keys = [(phase, split) for phase in Phase for split in Split if (phase, split) in known]
    return tuple(
        _cell(arm.table, key, statuses.get(key, {}), planned.get(key, 0) if planned else None, settings)
        for key in keys
    )


def _cell(
    arm: ArmTable,
    key: CellKey,
    ended: Mapping[Status, int],
    planned: int | None,
    settings: AnalysisSettings,
) -> Cell:
    recorded = sum(ended.values())
    counted = sum(n for status, n in ended.items() if not status.is_missing)
    planned = recorded if planned is None else planned
    means = arm.task_means.get(key)
    tasks = means.ids if means else ()
    scored = bool(tasks) and key[1] in EVALUATION_SPLITS
    per_task = counted / len(tasks) if tasks else 0.0
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
        passes=pass_rates(arm, *key) if scored else None,
        variance=variance_parts(arm, *key) if scored else None,
        noise_floor=floor_of(arm, *key, len(tasks), (per_task, per_task), settings.alpha) if scored else None,
    )


def _evaluation(cells: Iterable[Cell]) -> Evaluation:
    scored = [cell for cell in cells if cell.split in EVALUATION_SPLITS]
    return Evaluation(
        planned=sum(cell.planned for cell in scored),
        recorded=sum(cell.recorded for cell in scored),
        counted=sum(cell.counted for cell in scored),
        least_coverage=min((cell.coverage for cell in scored if cell.coverage is not None), default=None),
    )

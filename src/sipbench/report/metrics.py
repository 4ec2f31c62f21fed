"""The tables of estimates: the protocol's, against the control, with lost attempts, and pass rates."""

from __future__ import annotations

from collections.abc import Sequence

from sipbench.protocol.inference import Contrast, LostAttempts
from sipbench.protocol.summary import Estimate, Row, Summary
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, PathType
from sipbench.report.estimates import (
    PROTOCOL,
    RATIOS,
    adjusted_lines,
    bounds,
    estimate_lines,
    in_its_form,
    losses,
    missing_reasons,
    shown_mean,
)
from sipbench.report.reading import Study
from sipbench.report.tabular import Cell, Table, cell
from sipbench.report.words import (
    LABELS,
    NOTHING,
    amount,
    clean,
    count,
    interval,
    only_bounds,
    percent,
    points,
    probability,
    score,
    share,
    spent,
)

__all__ = [
    "PROTOCOL",
    "adjusted_table",
    "lost_table",
    "passes_table",
    "protocol_tables",
    "settings_line",
    "variance_table",
]

_GROUPS = (
    ("protocol", "Main comparison"),
    ("kept-out", "Kept out of the main comparison"),
    ("oracle", "Oracle: an upper bound, not a competitor"),
)


def protocol_tables(study: Study) -> list[Table]:
    """FG, BR, BR_ratio, IE, PDS and NIS of each arm: mean ± sd over repeats, interval, tasks."""
    rows = study.summary.rows
    groups = (
        [at for at in study.order if rows[at].main_table],
        [at for at in study.order if not rows[at].main_table and rows[at].path_type is not PathType.ORACLE],
        [at for at in study.order if rows[at].path_type is PathType.ORACLE and not rows[at].main_table],
    )
    return [
        _protocol(study, key, caption, members)
        for (key, caption), members in zip(_GROUPS, groups, strict=True)
        if members
    ]


def _protocol(study: Study, key: str, caption: str, members: Sequence[int]) -> Table:
    unit = study.summary.settings.cost_unit
    head = ["arm", *(LABELS[name] for name in PROTOCOL), "learning cost", "repeats", "counted"]
    rows, notes = [], []
    for at in members:
        row = study.summary.rows[at]
        paid = row.learning_cost.value if row.learning_cost is not None else None
        cost = NOTHING if unit is None else spent(paid, unit)
        rows.append(
            (
                Cell((study.names[at], row.path_type.value), study.names[at]),
                *(metric_cell(row, name) for name in PROTOCOL),
                cell(paid, text=cost),
                cell(row.repeats),
                cell(
                    row.evaluation.least_coverage,
                    f"of {row.evaluation.planned:,}",
                    text=f"{row.evaluation.counted:,}",
                ),
            )
        )
        if key == "kept-out":
            notes += [f"{study.names[at]}: {clean(w.message, 500)}" for w in row.warnings if w.keeps_out]
    members_rows = [study.summary.rows[at] for at in members]
    missing = (f"{line}." for line in missing_reasons(members_rows, [study.names[at] for at in members]))
    return Table(key, caption, tuple(head), tuple(rows), (*notes, *missing))


def metric_cell(row: Row, name: str) -> Cell:
    """Mean ± sd over repeats; interval; tasks. A ratio shows the ratio of means, since its mean is biased."""
    estimate: Estimate = getattr(row.metrics, name)
    first, *more = estimate_lines(row, name)
    if estimate.value is None or only_bounds(row, name):
        return Cell((first, *more))
    ends, *label = more
    lines = (first, ends, count(estimate.n_tasks, "task"), *label)
    return Cell(lines, shown_mean(name, estimate), numeric=True)


_ADJUSTED = ("fg", "br", "pds", "drift_gain", "br_t2", "nis")


def adjusted_table(study: Study) -> Table | None:
    """The change of each arm less its control's: the headline, with verdicts."""
    shown = [name for name in _ADJUSTED if any(_adjusted(row, name) for row in study.summary.rows)]
    rows = []
    for at in study.order:
        row = study.summary.rows[at]
        if any(_adjusted(row, name) for name in shown):
            rows.append(
                (
                    Cell((study.names[at], f"less {clean(row.control or '')}"), study.names[at]),
                    *(_adjusted_cell(row, name) for name in shown),
                )
            )
    if not rows:
        return None
    notes = (
        "Per task, the arm's change less the control's: what changed for both, such as drift or another "
        "judge, is in neither. The verdicts above rest on this.",
    )
    head = ("arm", *(LABELS[name] for name in shown))
    return Table("adjusted", "Against the control arm, in points", head, tuple(rows), notes)


def _adjusted(row: Row, name: str) -> bool:
    estimate: Estimate = getattr(row.metrics, name)
    return estimate.adjusted is not None and estimate.adjusted.value is not None


def _adjusted_cell(row: Row, name: str) -> Cell:
    estimate: Estimate = getattr(row.metrics, name)
    found, lines = estimate.adjusted, list(adjusted_lines(row, name))
    if found is None or found.value is None or only_bounds(row, name):
        return Cell(tuple(lines))
    if found.p_value is not None:
        lines.append(f"p {probability(found.p_value)}")
    if estimate.verdict is not None and estimate.verdict.word is not None:
        lines.append(estimate.verdict.word)
    return Cell(tuple(lines), found.value, numeric=True)


def lost_table(study: Study) -> Table | None:
    """What lost attempts could change; None where every attempt was graded."""
    members = [study.summary.rows[at] for at in study.order]
    rows = [_lost(*found) for found in losses(members, [study.names[at] for at in study.order])]
    if not rows:
        return None
    head = (
        "arm",
        "metric",
        "coverage",
        "allows",
        "complete case",
        "errors as 0",
        "at worst",
        "at best",
        "outer limits",
        "lost unevenly",
    )
    notes = (
        "Complete case drops every attempt without a grade, errors as 0 counts each as 0; the bounds set "
        "each to its worst and to its best. The outer limits hold the truth with the nominal level whatever "
        "the lost attempts would have scored. Differences are in points; BR_ratio and IE are as they are.",
    )
    return Table("lost", "What lost attempts could change", head, tuple(rows), notes)


def _lost(arm: str, metric: str, label: str, lost: LostAttempts) -> tuple[Cell, ...]:
    uneven = any(gap.flagged for gap in lost.attrition)
    reason = clean(lost.reason or "", 300)
    return (
        cell(arm),
        cell(label),
        cell(lost.coverage, text=share(lost.coverage)),
        cell({"verdict": "a verdict", "numbers": "numbers, no verdict", "bounds": "bounds only"}[lost.gate]),
        _contrast(metric, lost.complete_case),
        _contrast(metric, lost.errors_as_0),
        cell(lost.low, text=in_its_form(metric, lost.low, in_points=True)),
        cell(lost.high, *filter(None, (reason,)), text=_end(metric, lost)),
        cell(lost.outer_low, text=bounds(metric, lost, in_points=True, outer=True)),
        cell(("yes" if uneven else "no") if lost.attrition else None),  # judged for plain contrasts alone
    )


def _end(metric: str, lost: LostAttempts) -> str:
    return bounds(metric, lost, in_points=True).rpartition(" to ")[2]


def _contrast(metric: str, found: Contrast) -> Cell:
    form = "points" if metric not in RATIOS else ".3g"
    more = (interval(found.interval, form),) if found.interval is not None else ()
    return cell(found.value, *more, text=in_its_form(metric, found.value, in_points=True))


def passes_table(study: Study) -> Table | None:
    """pass^k and pass@k of each phase and split; None where no cell has them."""
    cells = [
        (study.names[at], found, found.passes)
        for at in study.order
        for found in study.summary.rows[at].cells
        if found.passes is not None and found.split in EVALUATION_SPLITS
    ]
    if not cells:
        return None
    most = min(5, max(len(passes.pass_hat) for _, _, passes in cells))
    head = (
        "arm",
        "phase",
        "split",
        "tasks",
        *(f"pass^{k}" for k in range(1, most + 1)),
        *(f"pass@{k}" for k in range(2, most + 1)),
    )
    rows = []
    for name, found, passes in cells:
        hat = [*passes.pass_hat, *[None] * most][:most]
        at = [*passes.pass_at, *[None] * most][1:most]
        rows.append(
            (
                cell(name),
                cell(found.phase.value),
                cell(found.split.value),
                cell(passes.n_tasks),
                *(cell(value, text=score(value)) for value in (*hat, *at)),
            )
        )
    notes = (
        "pass^k: all of k attempts succeed. pass@k: one of k does. Unbiased over the attempts there are.",
    )
    return Table("passes", "Reliability: pass^k and pass@k", head, tuple(rows), notes)


def variance_table(study: Study) -> Table | None:
    """Where the variance of scores comes from, and the noise floor, for each phase and split."""
    rows = []
    for at in study.order:
        for found in study.summary.rows[at].cells:
            if found.split in EVALUATION_SPLITS and (
                found.variance is not None or found.noise_floor is not None
            ):
                parts, floor = found.variance, found.noise_floor
                values = (
                    (parts.between_task, parts.between_repeat, parts.task_by_repeat, parts.within)
                    if parts is not None
                    else (None,) * 4
                )
                rows.append(
                    (
                        cell(study.names[at]),
                        cell(found.phase.value),
                        cell(found.split.value),
                        *(cell(value, text=score(value, ".4f")) for value in values),
                        cell(
                            floor.value if floor else None,
                            text=points(floor.value, sign=False) if floor else NOTHING,
                        ),
                        cell(
                            floor.trials if floor else None, text=amount(floor.trials) if floor else NOTHING
                        ),
                    )
                )
    if not rows:
        return None
    head = (
        "arm",
        "phase",
        "split",
        "between tasks",
        "between repeats",
        "task by repeat",
        "within",
        "noise floor, points",
        "attempts of a task",
    )
    notes = ("Variances of scores; a dash where the design cannot tell them apart.",)
    return Table("variance", "Where the variance comes from", head, tuple(rows), notes)


def settings_line(summary: Summary) -> str:
    """The declared choices, in one line."""
    settings = summary.settings
    level = percent(1 - settings.alpha)
    unit = settings.cost_unit.replace("_", " ") if settings.cost_unit else "none declared"
    return (
        f"Mean ± sd over repeats; [{level} interval over tasks, paired, clustered by family]. "
        f"λ {settings.lambda_:g}, eps {settings.eps:g}, cost unit: {unit}. Scores run from 0 to 1."
    )

"""The comparison table of a summary: arms side by side, what was gained, kept and paid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import batched
from typing import TYPE_CHECKING

from sipbench.protocol.summary import Estimate, LostAttempts, Row, Summary
from sipbench.protocol.vocabulary import PathType
from sipbench.report.verdict import verdict_lines

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["print_summary"]

_LABELS = {
    "fg": "FG",
    "br": "BR",
    "br_ratio": "BR_ratio",
    "ie": "IE",
    "pds": "PDS",
    "drift_gain": "drift gain",
    "pds_protocol": "PDS (protocol)",
    "br_t2": "BR at T2",
    "nis": "NIS",
}
_ALWAYS = ("fg", "br", "br_ratio", "ie", "pds", "nis")
_RATIOS = ("br_ratio", "ie")
_NOTHING = "-"
_LABEL_WIDTH = 15
_LEAST_COLUMN = 22
_PLAIN_WIDTH = 120


def print_summary(summary: Summary, console: Console) -> None:
    """Print the verdicts in words, the main table, the rows kept out of it with the reason, the oracle.

    Args:
        summary: What to show.
        console: Where to; its width decides how many arms stand side by side.
    """
    for line in _head(summary):
        _line(console, line)
    names = _names(summary.rows)
    found = list(verdict_lines(summary, names))
    if found:
        _line(console, "")
        _line(console, "Verdict", style="bold")
        for line in found:
            _line(console, line)
    main = [row for row in summary.rows if row.main_table]
    out = [row for row in summary.rows if not row.main_table and row.path_type is not PathType.ORACLE]
    oracle = [row for row in summary.rows if row.path_type is PathType.ORACLE]
    for title, rows in (
        ("Main comparison", main),
        ("Kept out of the main comparison", out),
        ("Oracle: an upper bound, not a competitor", oracle),
    ):
        if rows:
            _line(console, "")
            _line(console, title, style="bold")
            for block in _blocks(summary, rows, names, console):
                console.print(block)
    if not summary.rows:
        _line(console, "no attempt that a metric reads")
    for line in _notes(summary, names):
        _line(console, line)


def _line(console: Console, text: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(_clean(text), style=style), soft_wrap=not console.is_terminal)


def _clean(text: str) -> str:
    """Names come from files: what is no printable character must not reach a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _head(summary: Summary) -> Iterator[str]:
    study = [summary.study] if summary.study else []
    benchmarks = dict.fromkeys(_benchmark(row) for row in summary.rows)
    yield " · ".join([*study, *benchmarks, f"{summary.records.total} attempts"])
    settings = summary.settings
    unit = f"cost in {settings.cost_unit}" if settings.cost_unit else "no cost unit declared"
    level = f"{1 - settings.alpha:.0%}"
    yield (
        f"mean ± sd over repeats, [{level} interval over tasks, paired, clustered by family]; "
        f"lambda {settings.lambda_:g}, eps {settings.eps:g}, {unit}"
    )


def _benchmark(row: Row) -> str:
    return f"{row.benchmark_name} {row.benchmark_version or ''}".strip()


def _names(rows: Sequence[Row]) -> dict[int, str]:
    """A name per row: the arm, with benchmark, model or agent where the arm alone is not unique."""
    parts = [(row.arm, _benchmark(row), row.model_name, row.agent_name) for row in rows]
    names = {}
    for row, (arm, *more) in zip(rows, parts, strict=True):
        same = [other for other in parts if other[0] == arm]
        extra = [text for i, text in enumerate(more, 1) if len({other[i] for other in same}) > 1]
        names[id(row)] = " ".join([arm, *(f"({text})" for text in extra)])
    return names


def _blocks(
    summary: Summary, rows: Sequence[Row], names: dict[int, str], console: Console
) -> Iterator[RenderableType]:
    width = console.width if console.is_terminal else max(console.width, _PLAIN_WIDTH)
    side_by_side = max(1, (width - _LABEL_WIDTH) // _LEAST_COLUMN)
    for group in batched(rows, side_by_side):
        yield _table(summary, group, names)


def _table(summary: Summary, rows: Sequence[Row], names: dict[int, str]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_column(Text(_clean(names[id(row)])), overflow="fold", min_width=_LEAST_COLUMN - 3)
    for label, cells in _lines(summary, rows):
        table.add_row(label, *(Text(_clean(cell)) for cell in cells))
    return table


def _lines(summary: Summary, rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    yield "path", [str(row.path_type) for row in rows]
    for name, label in _LABELS.items():
        estimates = [getattr(row.metrics, name) for row in rows]
        if name in _ALWAYS or any(_is_shown(name, row) for row in summary.rows):
            yield label, [_estimate(name, estimate) for estimate in estimates]
        if any(getattr(row.metrics, name).adjusted is not None for row in rows):
            yield "  vs control", [_adjusted(name, estimate) for estimate in estimates]
    yield from _judged(summary, rows)
    yield "tasks", [_tasks(row) for row in rows]
    yield "repeats", [str(row.repeats) for row in rows]
    yield "counted", [_coverage(row) for row in rows]
    if summary.settings.cost_unit:
        yield "learning cost", [_learning(row) for row in rows]
        yield "evaluation cost", [_evaluation(row) for row in rows]


def _is_shown(name: str, row: Row) -> bool:
    if name == "pds_protocol":
        return row.metrics.pds_protocol.label is not None
    return getattr(row.metrics, name).value is not None


def _estimate(name: str, estimate: Estimate) -> str:
    if estimate.value is None:
        return _NOTHING
    # A mean of ratios over repeats is biased, so ratios show the ratio of means.
    mean = estimate.value if name in _RATIOS or estimate.repeats_mean is None else estimate.repeats_mean
    form = _form(name)
    text = form.format(mean)
    if estimate.repeats_sd is not None:
        text += f" ± {form.replace('+', '').format(estimate.repeats_sd)}"
    if estimate.interval is not None:
        ends = ", ".join(form.format(end) for end in (estimate.interval.low, estimate.interval.high))
        text += f"\n[{ends}]"
    else:
        unbounded = (estimate.interval_reason or "").startswith("unbounded")
        text += "\n[unbounded]" if unbounded else "\n[no interval]"
    return text + (f"\n{estimate.label}" if estimate.label else "")


def _adjusted(name: str, estimate: Estimate) -> str:
    adjusted = estimate.adjusted
    if adjusted is None or adjusted.value is None:
        return _NOTHING
    form = _form(name)
    text = form.format(adjusted.value)
    if adjusted.interval is None:
        return text + ("\n[unbounded]" if (adjusted.reason or "").startswith("unbounded") else "")
    return f"{text}\n[{form.format(adjusted.interval.low)}, {form.format(adjusted.interval.high)}]"


def _judged(summary: Summary, rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """The verdict of each metric in a word, what it rests on, and what doing nothing gives."""
    for name in ("fg", "br", "pds"):
        if any(getattr(row.metrics, name).verdict is not None for row in summary.rows):
            verdicts = [getattr(row.metrics, name).verdict for row in rows]
            yield (
                f"{_LABELS[name]} verdict",
                [_NOTHING if v is None else v.word or "no verdict" for v in verdicts],
            )
    floors = {id(row): row.metrics.fg.noise_floor for row in summary.rows}
    effects = {id(row): row.metrics.fg.detectable for row in summary.rows}
    if any(floors.values()):
        found = [floors[id(row)] for row in rows]
        yield "FG noise floor", [_NOTHING if floor is None else f"{floor.value:.3f}" for floor in found]
    if any(effect is not None and effect.effect is not None for effect in effects.values()):
        sizes = [effect.effect if (effect := effects[id(row)]) else None for row in rows]
        yield "FG detectable", [_NOTHING if size is None else f"{size:.3f}" for size in sizes]


def _form(name: str) -> str:
    return "{:.3g}" if name == "ie" else "{:.3f}" if name == "br_ratio" else "{:+.3f}"


def _tasks(row: Row) -> str:
    parts = []
    for noun, metric in (("held-out", row.metrics.fg), ("replay", row.metrics.br)):
        if metric.n_tasks:
            clustered = metric.n_families != metric.n_tasks
            parts.append(
                f"{metric.n_tasks} {noun}" + (f" ({metric.n_families} families)" if clustered else "")
            )
    return "\n".join(parts) or _NOTHING


def _coverage(row: Row) -> str:
    counts = row.evaluation
    text = f"{counts.counted} of {counts.planned}"
    whole = counts.least_coverage is None or counts.least_coverage == 1
    return text if whole else f"{text}\nleast {counts.least_coverage:.0%} of a cell"


def _learning(row: Row) -> str:
    cost = row.learning_cost
    return _NOTHING if cost is None or cost.value is None else f"{_amount(cost.value)} per repeat"


def _evaluation(row: Row) -> str:
    cost = row.evaluation_cost
    if cost is None or cost.n_attempts == cost.n_unknown:
        return _NOTHING
    unknown = f"\nand {cost.n_unknown} attempts unknown" if cost.n_unknown else ""
    return f"{_amount(cost.known)} in all{unknown}"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"


def _notes(summary: Summary, names: dict[int, str]) -> Iterator[str]:
    warnings = [f"{names[id(row)]}: {warning.message}" for row in summary.rows for warning in row.warnings]
    warnings += [warning.message for warning in summary.warnings]
    if warnings:
        yield ""
        yield "Warnings"
        yield from (f"  {text}" for text in warnings)
    lost = list(_lost(summary.rows, names))
    if lost:
        yield ""
        yield "Attempts without a grade"
        yield from (f"  {text}" for text in lost)
    missing = list(_missing(summary.rows, names))
    if missing:
        yield ""
        yield "Not computed"
        yield from (f"  {text}" for text in missing)
    special = {"smoke": summary.records.smoke, "golden": summary.records.golden}
    left_out = [f"{n} {name}" for name, n in special.items() if n]
    if left_out:
        yield ""
        yield f"Left out of every metric: {' and '.join(left_out)} attempts"


def _lost(rows: Iterable[Row], names: dict[int, str]) -> Iterator[str]:
    """What they could change, for each verdict that they touch."""
    for row in rows:
        for name in ("fg", "br", "pds"):
            lost: LostAttempts | None = getattr(row.metrics, name).lost
            if lost is None or lost.low is None or lost.high is None or lost.low == lost.high:
                continue
            cases = [("dropped", lost.complete_case.value), ("all as 0", lost.errors_as_0.value)]
            known = [f"{what} {value:+.3f}" for what, value in cases if value is not None]
            outer = ""
            if lost.outer_low is not None and lost.outer_high is not None:
                outer = f", with noise {lost.outer_low:+.3f} to {lost.outer_high:+.3f}"
            bounds = f"whatever they would have scored {lost.low:+.3f} to {lost.high:+.3f}{outer}"
            yield f"{names[id(row)]}: {_LABELS[name]} {', '.join([*known, bounds])}"


def _missing(rows: Iterable[Row], names: dict[int, str]) -> Iterator[str]:
    """One line per metric and reason, with the arms that it holds for."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name in _ALWAYS:
            estimate: Estimate = getattr(row.metrics, name)
            reason = estimate.reason if estimate.value is None else estimate.interval_reason
            if reason is not None:
                what = _LABELS[name] if estimate.value is None else f"interval of {_LABELS[name]}"
                reasons.setdefault((what, reason), []).append(names[id(row)])
    for (what, reason), arms in reasons.items():
        yield f"{what}: {reason} ({', '.join(arms)})"

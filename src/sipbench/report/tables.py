"""The comparison table of a summary: arms side by side, what was gained, kept and paid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import batched
from typing import TYPE_CHECKING

from sipbench.protocol.summary import Row, Summary
from sipbench.protocol.vocabulary import PathType
from sipbench.report.estimates import (
    PROTOCOL,
    adjusted_lines,
    bounds,
    estimate_lines,
    in_its_form,
    losses,
    missing_reasons,
    task_counts,
)
from sipbench.report.verdict import verdict_lines
from sipbench.report.words import LABELS, amount, clean, count, delay_words, percent, plain, row_names, share

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["print_summary"]

_DASH = "-"
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
    names = {id(row): name for row, name in zip(summary.rows, row_names(summary.rows), strict=True)}
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
    yield " · ".join([*study, *benchmarks, count(summary.records.total, "attempt")])
    settings = summary.settings
    unit = f"cost in {settings.cost_unit}" if settings.cost_unit else "no cost unit declared"
    level = plain(percent(1 - settings.alpha))
    yield (
        f"mean ± sd over repeats, [{level} interval over tasks, paired, clustered by family]; "
        f"lambda {settings.lambda_:g}, eps {settings.eps:g}, {unit}"
    )


def _benchmark(row: Row) -> str:
    return f"{row.benchmark_name} {row.benchmark_version or ''}".strip()


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
    for name, label in LABELS.items():
        if name in PROTOCOL or any(_is_shown(name, row) for row in summary.rows):
            yield label, [plain("\n".join(estimate_lines(row, name))) for row in rows]
        if any(getattr(row.metrics, name).adjusted is not None for row in rows):
            lines = [adjusted_lines(row, name, in_points=False) for row in rows]
            yield "  vs control", [plain("\n".join(cell)) for cell in lines]
    yield from _judged(summary, rows)
    if any(row.delay is not None for row in summary.rows):
        yield "T1 to T2", [delay_words(row.delay) or _DASH for row in rows]
    yield "tasks", ["\n".join(task_counts(row, "held-out", "replay")) or _DASH for row in rows]
    yield "repeats", [str(row.repeats) for row in rows]
    yield "counted", [_coverage(row) for row in rows]
    if summary.settings.cost_unit:
        yield "learning cost", [_learning(row) for row in rows]
        yield "evaluation cost", [_evaluation(row) for row in rows]


def _is_shown(name: str, row: Row) -> bool:
    if name == "pds_protocol":
        return row.metrics.pds_protocol.label is not None
    return getattr(row.metrics, name).value is not None


def _judged(summary: Summary, rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """The verdict of each metric in a word, what it rests on, and what doing nothing gives."""
    for name in ("fg", "br", "pds"):
        if any(getattr(row.metrics, name).verdict is not None for row in summary.rows):
            verdicts = [getattr(row.metrics, name).verdict for row in rows]
            yield (
                f"{LABELS[name]} verdict",
                [_DASH if v is None else v.word or "no verdict" for v in verdicts],
            )
    floors = {id(row): row.metrics.fg.noise_floor for row in summary.rows}
    effects = {id(row): row.metrics.fg.detectable for row in summary.rows}
    if any(floors.values()):
        found = [floors[id(row)] for row in rows]
        yield "FG noise floor", [_DASH if floor is None else f"{floor.value:.3f}" for floor in found]
    if any(effect is not None and effect.effect is not None for effect in effects.values()):
        sizes = [effect.effect if (effect := effects[id(row)]) else None for row in rows]
        yield "FG detectable", [_DASH if size is None else f"{size:.3f}" for size in sizes]


def _coverage(row: Row) -> str:
    counts = row.evaluation
    text = f"{counts.counted} of {counts.planned}"
    whole = counts.least_coverage is None or counts.least_coverage == 1
    return text if whole else f"{text}\nleast {share(counts.least_coverage)} of a phase and split"


def _learning(row: Row) -> str:
    cost = row.learning_cost
    return _DASH if cost is None or cost.value is None else f"{amount(cost.value)} per repeat"


def _evaluation(row: Row) -> str:
    cost = row.evaluation_cost
    if cost is None or cost.n_attempts == cost.n_unknown:
        return _DASH
    unknown = f"\nand {count(cost.n_unknown, 'attempt')} unknown" if cost.n_unknown else ""
    return f"{amount(cost.known)} in all{unknown}"


def _notes(summary: Summary, names: dict[int, str]) -> Iterator[str]:
    warnings = [f"{names[id(row)]}: {warning.message}" for row in summary.rows for warning in row.warnings]
    warnings += [warning.message for warning in summary.warnings]
    if warnings:
        yield ""
        yield "Warnings"
        yield from (f"  {text}" for text in warnings)
    arms = [names[id(row)] for row in summary.rows]
    lost = list(_lost(summary.rows, arms))
    if lost:
        yield ""
        yield "Attempts without a grade"
        yield from (f"  {text}" for text in lost)
    missing = list(missing_reasons(summary.rows, arms))
    if missing:
        yield ""
        yield "Not computed"
        yield from (f"  {text}" for text in missing)
    special = {"smoke": summary.records.smoke, "golden": summary.records.golden}
    left_out = [f"{n} {name}" for name, n in special.items() if n]
    if left_out:
        yield ""
        yield f"Left out of every metric: {' and '.join(left_out)} attempts"


def _lost(rows: Sequence[Row], arms: Sequence[str]) -> Iterator[str]:
    """What they could change, for each metric that they touch."""
    for arm, name, label, lost in losses(rows, arms):
        cases = [("dropped", lost.complete_case.value), ("all as 0", lost.errors_as_0.value)]
        known = [f"{what} {in_its_form(name, value)}" for what, value in cases if value is not None]
        # A claim that no lost attempt can change is listed for its coverage alone.
        reason = f" ({clean(lost.reason, 300)})" if lost.reason else ""
        limits = f"whatever they would have scored {bounds(name, lost)}{reason}"
        if lost.outer_low is not None or lost.outer_high is not None:
            limits += f", with noise {bounds(name, lost, outer=True)}"
        yield plain(f"{arm}: {label} {', '.join([*known, limits])}; {share(lost.coverage)} of attempts count")

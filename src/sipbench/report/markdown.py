"""The report as Markdown: verdicts, tables, warnings, splits, provenance; no charts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sipbench.report.findings import ArmVerdict, arm_verdicts, in_words
from sipbench.report.metrics import (
    adjusted_table,
    lost_table,
    passes_table,
    protocol_tables,
    settings_line,
    variance_table,
)
from sipbench.report.panels import (
    Entry,
    error_table,
    overlap_table,
    provenance,
    skill_table,
    split_notes,
    split_table,
    state_table,
)
from sipbench.report.reading import Study
from sipbench.report.tabular import Cell, Table
from sipbench.report.timing import delay_table, order_table
from sipbench.report.words import clean

__all__ = ["markdown", "table_lines"]

# What could begin a construct of Markdown or HTML inside a line, in a name as much as in a sentence.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#])")


def escaped(text: str) -> str:
    """Text that Markdown shows as it stands."""
    return _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;"))


def markdown(studies: Sequence[Study]) -> str:
    """The report of one study or of several."""
    return "\n".join(line for study in studies for line in _study(study)) + "\n"


def _study(study: Study) -> Iterator[str]:
    yield from (f"# {escaped(study.name)}", "")
    for name, said in in_words(study.summary):
        yield from (f"**{escaped(name)}** {escaped(said)}" if name else escaped(said), "")
    remarks = [*study.remarks, *(clean(warning.message, 2000) for warning in study.summary.warnings)]
    if remarks:
        yield from (*_list(remarks), "")
    yield from ("## Verdicts", "")
    for arm in arm_verdicts(study.summary):
        yield from _arm(arm)
    yield from ("## Gained, kept, paid", "", escaped(settings_line(study.summary)), "")
    for table in (*protocol_tables(study), adjusted_table(study)):
        yield from table_lines(table)
    yield from _section("Lost attempts", lost_table(study), error_table(study))
    yield from _section("Reliability and variance", passes_table(study), variance_table(study))
    yield from _section("Skills", skill_table(study))
    yield from ("## Splits and leaks", "", *_entries(split_notes(study)), "")
    for table in (split_table(study), overlap_table(study)):
        yield from table_lines(table)
    yield from ("## Provenance", "", *_entries(provenance(study)), "")
    for table in (state_table(study), order_table(study), delay_table(study)):
        yield from table_lines(table)


def _arm(arm: ArmVerdict) -> Iterator[str]:
    against = f", against {arm.against}" if arm.against else ""
    yield from (f"### {escaped(arm.name)} ({escaped(arm.path_type + against)})", "")
    for line in arm.lines:
        yield f"- **{escaped(line.word)}** ({escaped(f'{line.metric}: {line.about}')}): {escaped(line.text)}"
        yield from (f"  - {escaped(reason)}" for reason in line.reasons)
    for fact in arm.facts:
        note = f" ({escaped(fact.note)})" if fact.note else ""
        yield f"- {escaped(fact.label)}: {escaped(fact.value)}{note}"
    yield ""
    if arm.warnings:
        yield from ("Warnings:", "", *_list(arm.warnings), "")


def _section(title: str, *tables: Table | None) -> Iterator[str]:
    if any(table is not None for table in tables):
        yield from (f"## {title}", "")
        for table in tables:
            yield from table_lines(table)


def _list(items: Sequence[str]) -> Iterator[str]:
    return (f"- {escaped(item)}" for item in items)


def _entries(entries: Sequence[Entry]) -> Iterator[str]:
    return (f"- {escaped(entry.label)}: {escaped(entry.value)}" for entry in entries)


def table_lines(table: Table | None) -> Iterator[str]:
    """A table as lines, with an empty one at the end; nothing for None."""
    if table is None:
        return
    yield from (f"**{escaped(table.caption)}**", "")
    yield f"| {' | '.join(escaped(head) for head in table.head)} |"
    numeric = [any(row[i].numeric for row in table.rows) for i in range(len(table.head))]
    yield f"| {' | '.join('---:' if number else '---' for number in numeric)} |"
    for row in table.rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""
    if table.notes:
        yield from (*_list(table.notes), "")


def _cell(cell: Cell) -> str:
    return "<br>".join(escaped(line) for line in cell.lines)

"""``instruction.md``: what the agent is told.

The card's words stand as quotations, so that none of them can pass for a heading, a fence or a rule of
the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sipbench.cards.checks.model import (
    Check,
    EvalFile,
    FieldPresent,
    FileFormatIs,
    OutputMatchesReference,
    ScriptRuns,
    ValueInRange,
)
from sipbench.cards.checks.selectors import ByCell, ByColumn, ByLabel, ByPointer
from sipbench.cards.checks.submission import OUTPUT
from sipbench.cards.leaks.traces import clean
from sipbench.cards.model import Card
from sipbench.export.base import File

__all__ = ["INPUTS", "instruction", "named_outputs"]

INPUTS = "/app/inputs"
"""Where an agent finds inputs."""


def named_outputs(card: Card, checks: EvalFile) -> list[str]:
    """The output files that the agent is told to write: those that are graded, and the card's own."""
    paths = [getattr(check, "path", None) for check in checks.checks if check.status == "ready"]
    named = [card.expected_artifact_name, *paths]
    return list(dict.fromkeys(clean(path) for path in named if path))


def instruction(card: Card, checks: EvalFile, inputs: Mapping[str, File]) -> str:
    """The text of ``instruction.md``.

    Args:
        card: The card.
        checks: Its checks, for the names that outputs must have.
        inputs: The files that the agent finds under ``/app/inputs``.
    """
    parts = ["# Task", _quoted(card.task_description), "## Question", _quoted(card.research_question)]
    parts += ["## Inputs", _listed(card.inputs)]
    if inputs:
        parts.append(f"These files are in `{INPUTS}`; they may be read and must not be changed:")
        parts.append("\n".join(f"- `{INPUTS}/{path}`" for path in sorted(inputs)))
    parts += ["## Outputs", _listed(card.expected_outputs)]
    names = named_outputs(card, checks)
    parts.append(f"Write all outputs below `{OUTPUT}`. Only files in that folder are graded.")
    if names:
        parts.append("These names are expected, exactly as written here:")
        parts.append("\n".join(f"- `{OUTPUT}/{name}`" for name in names))
    told = [line for check in checks.scored() for line in _told(check)]
    if told:
        parts += ["What is looked at in them:", "\n".join(f"- {line}" for line in dict.fromkeys(told))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _quoted(text: str) -> str:
    lines = clean(text).strip().splitlines() or [""]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"> - {' '.join(clean(item).split())}" for item in items)


def _told(check: Check) -> Iterable[str]:
    """What a check needs the agent to know: names, never values."""
    path = f"`{getattr(check, 'path', '')}`"
    match check:
        case FileFormatIs():
            yield f"{path} is {check.format}"
        case FieldPresent():
            yield f"{path} has the fields {_names(check.fields)}"
        case ScriptRuns():
            yield f"{_code(' '.join(check.cmd))} ends with status 0 in the folder of the outputs"
        case ValueInRange() | OutputMatchesReference():
            yield from _selected(check, path)
        case _:
            return


def _selected(check: ValueInRange | OutputMatchesReference, path: str) -> Iterable[str]:
    match check.selector:
        case ByCell() as cell:
            row = f" in the row where {_where(cell.where)}" if cell.where else ""
            row += f" in row {cell.row + 1}" if cell.row is not None else ""
            yield f"{path}: the number in the column {_code(cell.column)}{row}"
        case ByColumn() as column:
            yield f"{path}: the numbers in the column {_code(column.column)}"
        case ByPointer() as pointer:
            yield f"{path}: the number at {_code(pointer.pointer or '/')} (a JSON pointer)"
        case ByLabel() as label:
            yield f"{path}: the number after {_code(label.label)}"
        case _ if isinstance(check, OutputMatchesReference) and check.key_columns:
            yield f"{path} has one row for each value of {_names(check.key_columns)}"
        case _:
            return


def _where(where: Mapping[str, object]) -> str:
    return " and ".join(f"{_code(column)} is {_code(value)}" for column, value in where.items())


def _names(names: Iterable[str]) -> str:
    return ", ".join(_code(name) for name in names)


def _code(text: object) -> str:
    """A name as code: in one line, and with no mark that could end it."""
    return f"`{' '.join(clean(str(text)).split()).replace('`', chr(39))}`"

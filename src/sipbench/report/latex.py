"""The protocol's table as LaTeX, for a paper; it needs the package booktabs."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from sipbench.report.metrics import PROTOCOL, protocol_tables, settings_line
from sipbench.report.reading import Study
from sipbench.report.tabular import Cell, Table
from sipbench.report.words import LABELS

__all__ = ["latex"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "−": r"$-$",
    "±": r"$\pm$",
    "λ": r"$\lambda$",
    "–": "--",
    "…": r"\dots{}",
    "‹": "<",
    "›": ">",
    "·": r"\,",
}
_FIRST = len(PROTOCOL) + 1


def escaped(text: str) -> str:
    """Text that LaTeX shows as it stands; of other scripts what ASCII has of it, else the code point."""
    return "".join(_character(character) for character in text)


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii():
        return character
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(c, c) for c in plain) if plain else rf"\texttt{{U+{ord(character):04X}}}"


def latex(studies: Sequence[Study]) -> str:
    """A table environment for each study: FG, BR, BR_ratio, IE, PDS, NIS per arm."""
    return "\n".join(line for study in studies for line in _study(study))


def _study(study: Study) -> Iterator[str]:
    tables = protocol_tables(study)
    yield "% Made by sipbench; needs \\usepackage{booktabs}."
    yield r"\begin{table}"
    yield r"\centering\small"
    yield rf"\caption{{{escaped(study.name)}. {escaped(settings_line(study.summary))}}}"
    yield rf"\begin{{tabular}}{{l{'r' * len(PROTOCOL)}}}"
    yield r"\toprule"
    yield " & ".join(["Arm", *(escaped(LABELS[name]) for name in PROTOCOL)]) + r" \\"
    for table in tables:
        yield r"\midrule"
        if table.key != "protocol":
            yield rf"\multicolumn{{{_FIRST}}}{{l}}{{\emph{{{escaped(table.caption)}}}}} \\"
        yield from _rows(table)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"
    yield ""


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells = row[:_FIRST]
        yield " & ".join(escaped(cell.lines[0]) for cell in cells) + r" \\"
        second = [escaped(cell.lines[1]) if len(cell.lines) > 1 else "" for cell in cells[1:]]
        yield " & ".join(["", *(rf"{{\scriptsize {text}}}" if text else "" for text in second)]) + r" \\"
        third = [_tasks(cell) for cell in cells[1:]]
        yield " & ".join(["", *(rf"{{\scriptsize {text}}}" if text else "" for text in third)]) + r" \\"


def _tasks(cell: Cell) -> str:
    return escaped(cell.lines[2]) if len(cell.lines) > 2 else ""

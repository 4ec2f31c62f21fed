"""``sip leaderboard``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.report.leaderboard import Leaderboard


class BoardFormat(StrEnum):
    """What a leaderboard may be written as."""

    TEXT = "text"
    HTML = "html"
    MARKDOWN = "md"


def leaderboard(
    places: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Study directories.", show_default=False)
    ],
    form: Annotated[
        BoardFormat, typer.Option("--format", "-f", help="text (a table here), html or md.")
    ] = BoardFormat.TEXT,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write it to this file.", show_default=False),
    ] = None,
) -> None:
    """Rank the arms of several studies of the same tasks, by the lower bound of FG.

    Refuses studies of other tasks, graders or levels. Rows with fewer than 3 repeats, high variance or low
    coverage stand apart; an oracle is left out.
    """
    from sipbench.cli.output import write_text
    from sipbench.report.leaderboard import leaderboard as rank
    from sipbench.report.reading import read_study

    board = rank([read_study(place) for place in places])
    if form is BoardFormat.TEXT and out is None:
        _show(board)
        return
    text = _text(board, form)
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)
        sys.stderr.write(f"{out}\n")


def _text(board: Leaderboard, form: BoardFormat) -> str:
    if form is BoardFormat.HTML:
        from sipbench.report.page import write_page

        return write_page(
            "leaderboard.html",
            title=f"Leaderboard: {board.benchmark}",
            sections=(),
            footer="Made by sipbench.",
            board=board,
        )
    from sipbench.report.markdown import escaped, table_lines

    lines = [
        f"# Leaderboard: {escaped(board.benchmark)}",
        "",
        *(f"- {escaped(note)}" for note in board.notes),
        "",
    ]
    for table in board.tables():
        lines += table_lines(table)
    return "\n".join(lines) + "\n"


# Verdicts and IE are for wider pages.
_SHOWN = ("rank", "", "arm", "study", "FG", "BR", "learning cost", "repeats", "coverage", "why")
_PLAIN_WIDTH = 160


def _show(board: Leaderboard) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from sipbench.cli.output import console

    screen = console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _PLAIN_WIDTH)
    screen.print(Text(board.benchmark, style="bold"))
    for found in board.tables():
        screen.print(Text(f"\n{found.caption}", style="bold"))
        columns = [number for number, head in enumerate(found.head) if head in _SHOWN]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for number in columns:
            table.add_column(Text(found.head[number]), overflow="fold")
        for row in found.rows:
            table.add_row(*(Text(_line(row[number].lines, row[number].numeric)) for number in columns))
        screen.print(table)
    screen.print()
    for note in board.notes:
        screen.print(Text(note))


def _line(lines: tuple[str, ...], numeric: bool) -> str:
    """An estimate and its interval stand side by side; what else there is to say stands below."""
    first = " ".join(lines[:2]) if numeric else lines[0]
    rest = lines[2:] if numeric else lines[1:]
    return "\n".join([first, *rest])

"""``sip report``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.report.reading import Study

_NAME = "report.html"


class ReportFormat(StrEnum):
    """What a report may be written as."""

    HTML = "html"
    MARKDOWN = "md"
    CSV = "csv"
    LATEX = "latex"


def report(
    places: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Study directories.", show_default=False)
    ],
    form: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="html, md, csv (every plotted value) or latex.")
    ] = ReportFormat.HTML,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to; - is stdout. Default: DIR/report.html, other formats to stdout.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the report of a study: one page that needs no network, or Markdown, CSV, LaTeX.

    Everything is computed anew from the study's attempts. With several directories the page holds one study
    after the other.
    """
    from sipbench.cli.output import write_text
    from sipbench.report.reading import read_study

    text = _text([read_study(place) for place in places], form)
    if out is None and form is ReportFormat.HTML:
        out = places[0] / _NAME if len(places) == 1 and places[0].is_dir() else Path(_NAME)
    if out is None or str(out) == "-":
        _print(text)
        return
    write_text(out, text)
    sys.stderr.write(
        f"{out}: {len(text.encode()) / 1e6:.1f} MB\n" if form is ReportFormat.HTML else f"{out}\n"
    )


def _text(studies: list[Study], form: ReportFormat) -> str:
    match form:
        case ReportFormat.HTML:
            from sipbench.report.page import report_page

            return report_page(studies)
        case ReportFormat.MARKDOWN:
            from sipbench.report.markdown import markdown

            return markdown(studies)
        case ReportFormat.CSV:
            from sipbench.report.values import values_csv

            return values_csv(studies)
        case ReportFormat.LATEX:
            from sipbench.report.latex import latex

            return latex(studies)


def _print(text: str) -> None:
    import io

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(text)

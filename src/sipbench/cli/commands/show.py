"""``sip show``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|SUMMARY", help="A study directory, or a summary.json.", show_default=False
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Print the comparison table of a study: gained, kept and paid, per arm, with every warning."""
    from sipbench.cli.output import console, print_json
    from sipbench.errors import RecordError
    from sipbench.protocol.folder import RUNS, SUMMARY
    from sipbench.protocol.summary import load_summary
    from sipbench.report.tables import print_summary

    path = place / SUMMARY if place.is_dir() else place
    if place.is_dir() and not path.is_file():
        rest = (
            f"`sip summarize {place}` computes one" if (place / RUNS).is_file() else "not a study directory"
        )
        raise RecordError(f"{place}: no {SUMMARY} in it; {rest}")
    summary = load_summary(path)
    if as_json:
        print_json(summary.document())
    else:
        print_summary(summary, console())

"""``asb validate``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.cards.validate import FileReport

_STATES = ("valid", "deviating", "invalid")


def validate(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Cards, capsules or collections.",
            show_default=False,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    deviations: Annotated[
        bool,
        typer.Option("--deviations", help="Name the files with known deviations too."),
    ] = False,
) -> None:
    """Check cards, capsules and manifests; known deviations are read and named, others are errors.

    Names file, field and reason of everything that is wrong. Exits with 1 if anything is.
    """
    from sipbench.cards.validate import check_between, check_file, find_files
    from sipbench.cli.asb_commands.progress import watched
    from sipbench.cli.output import print_json
    from sipbench.errors import CardError

    found = find_files(paths)
    if not found:
        raise CardError(f"{', '.join(map(str, paths))}: no file of a collection here")
    reports = [check_file(path, kind) for path, kind in watched(found, "checking")]
    check_between(reports)
    if as_json:
        print_json(_document(reports))
    else:
        _print(reports, deviations)
    if any(report.problems for report in reports):
        raise typer.Exit(1)


def _counts(reports: list[FileReport]) -> dict[str, dict[str, int]]:
    from sipbench.cards.validate import KINDS

    counted = Counter[tuple[str, str]]((report.kind, report.state) for report in reports)
    return {
        kind: {state: counted[kind, state] for state in _STATES}
        for kind in KINDS
        if any(counted[kind, state] for state in _STATES)
    }


def _document(reports: list[FileReport]) -> dict[str, object]:
    return {
        "counts": _counts(reports),
        "files": [
            {
                "file": report.file,
                "kind": report.kind,
                "state": report.state,
                "deviations": [
                    {"rule": item.rule, "field": item.field, "reading": item.reading}
                    for item in report.deviations
                ],
                "problems": [
                    {"line": item.line, "field": item.field, "reason": item.reason}
                    for item in report.problems
                ],
            }
            for report in reports
        ],
    }


def _print(reports: list[FileReport], deviations: bool) -> None:
    from sipbench.cli.output import printable

    for report in reports:
        for problem in report.problems:
            typer.echo(printable(str(problem)))
        if deviations:
            for deviation in report.deviations:
                typer.echo(printable(f"{report.file}: {deviation}"))
    typer.echo(f"{'':12}{'files':>8}" + "".join(f"{state:>11}" for state in _STATES))
    for kind, states in _counts(reports).items():
        row = "".join(f"{states[state]:>11}" for state in _STATES)
        typer.echo(f"{kind:12}{sum(states.values()):>8}{row}")
    met = Counter((deviation.rule, report.kind) for report in reports for deviation in report.deviations)
    if met:
        said = ", ".join(f"{rule} in {count} ({kind})" for (rule, kind), count in sorted(met.items()))
        typer.echo(f"known deviations: {said}")

"""``sip validate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sipbench.protocol.jsonl import Judge
    from sipbench.protocol.validation import FileCheck


def validate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Files, or study directories; - is the standard input.",
            show_default=False,
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            help="What the files hold: runs, adaptations, splits, summary, summary-v0.", metavar="KIND"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check runs.jsonl, adaptations.jsonl, splits.json and summary.json.

    Names file, line, field and reason of everything that is wrong. Exits with 1 if anything is. The records
    of a study directory are also held against the plan in its study.lock.json.
    """
    from sipbench.cli.given import given_files
    from sipbench.cli.output import print_json

    with given_files(files) as given:
        checks = [
            replace(check, file=check.file.replace(str(path), shown, 1))
            for path, shown in given
            for check in _checks(path, kind)
        ]
    bad = sum(check.bad_lines for check in checks)
    if as_json:
        print_json({"bad": bad, "files": [_document(check) for check in checks]})
    else:
        for check in checks:
            _print(check)
        if len(checks) > 1:
            typer.echo(f"{len(checks)} files: {_count(bad)}")
    if bad:
        raise typer.Exit(1)


def _checks(path: Path, kind: str | None) -> Iterator[FileCheck]:
    from sipbench.protocol.validation import study_files

    if not path.is_dir():
        yield _check(path, kind)
        return
    from sipbench.study.planned import locked_plan

    files, plan = study_files(path), locked_plan(path)
    for file in files:
        yield _check(file, kind, plan)


def _check(path: Path, kind: str | None, judge: Judge | None = None) -> FileCheck:
    from sipbench.errors import ConfigError
    from sipbench.plugins import suggestion
    from sipbench.protocol.validation import KINDS, check_file

    known = next((item for item in KINDS if item == kind), None)
    if kind is not None and known is None:
        raise ConfigError(f"--kind {kind}: expected one of {', '.join(KINDS)}{suggestion(kind, list(KINDS))}")
    return check_file(path, known, judge=judge)


def _print(check: FileCheck) -> None:
    from sipbench.cli.output import counted, printable

    for problem in check.problems:
        typer.echo(printable(str(replace(problem, file=check.file))))
    version = f" {check.version}" if check.version else ""
    good = check.kind not in ("splits", "summary")
    what = counted(check.records, "good record") if good else "document"
    typer.echo(printable(f"{check.file}: {check.kind}{version}, {what}: {_count(check.bad_lines)}"))
    for note in check.notes:
        typer.echo(printable(f"{check.file}: {note}"))


def _count(bad: int) -> str:
    return "valid" if bad == 0 else "1 bad line" if bad == 1 else f"{bad} bad lines"


def _document(check: FileCheck) -> dict[str, object]:
    return {
        "file": check.file,
        "kind": check.kind,
        "schema_version": check.version,
        "records": check.records,
        "bad": check.bad_lines,
        "problems": [{"line": p.line, "field": p.field, "reason": p.reason} for p in check.problems],
        "notes": check.notes,
    }

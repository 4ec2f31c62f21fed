"""``asb skills check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sipbench.skills.rules import Finding
    from sipbench.skills.validate import SkillReport


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Skills, or folders of them.", show_default=False),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    sarif: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a SARIF report for a code host too.", show_default=False),
    ] = None,
    lint: Annotated[bool, typer.Option("--lint", help="Give advice too; it makes no skill invalid.")] = False,
) -> None:
    """Check skills against the whole Agent Skills specification, strictly.

    Names file, line and rule of everything that is wrong. Exits with 1 if anything is.
    """
    from sipbench.cli.output import print_json
    from sipbench.skills.tree import find_skills
    from sipbench.skills.validate import check_skills

    reports = list(check_skills(find_skills(paths), lint=lint))
    if sarif is not None:
        _write_sarif(reports, sarif)
    if as_json:
        print_json(document(reports))
    else:
        for line in lines(reports):
            typer.echo(line)
    if not all(report.valid for report in reports):
        raise typer.Exit(1)


def _write_sarif(reports: list[SkillReport], path: Path) -> None:
    import json

    from sipbench.cli.output import write_text
    from sipbench.skills.sarif import sarif

    write_text(path, json.dumps(sarif(reports, Path.cwd()), indent=2) + "\n")


def document(reports: list[SkillReport]) -> dict[str, Any]:
    """The reports as one JSON document."""
    from sipbench.skills.tree import on_line

    rules = Counter(finding.rule for report in reports for finding in report.findings)
    return {
        "counts": {"skills": len(reports), "valid": sum(report.valid for report in reports)},
        "rules": dict(sorted(rules.items())),
        "skills": [
            {
                "folder": on_line(report.folder),
                "name": report.name,
                "valid": report.valid,
                "digest": report.digest,
                "findings": [_finding(finding) for finding in report.findings],
            }
            for report in reports
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "level": finding.level,
        "file": finding.path,
        "line": finding.line,
        "field": finding.field,
        "message": finding.message,
    }


def lines(reports: list[SkillReport]) -> Iterator[str]:
    """One line for each finding, then one that counts."""
    from sipbench.cli.output import counted, printable
    from sipbench.skills.tree import on_line

    for report in reports:
        for finding in report.findings:
            place = on_line(report.folder if finding.path == "." else report.folder / finding.path)
            where = f"{place}:{finding.line}" if finding.line is not None else place
            field = f"{finding.field}: " if finding.field else ""
            level = "" if finding.level == "error" else "advice: "
            yield printable(f"{where}: {level}{field}{finding.message} [{finding.rule}]")
    valid = sum(report.valid for report in reports)
    rules = Counter(finding.rule for report in reports for finding in report.findings)
    by = ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items()))
    all_of_them = counted(len(reports), "skill")
    yield f"{all_of_them}: {valid} valid, {len(reports) - valid} invalid{f' ({by})' if by else ''}"

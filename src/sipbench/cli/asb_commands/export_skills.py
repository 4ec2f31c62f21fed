"""``asb export-skills``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sipbench.skills.export import Plan


def export_skills(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A collection, or a folder of them.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="New folder.", show_default=False)],
    check: Annotated[
        bool, typer.Option("--check", help="Compare DIR with what would be written; write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a copy of skills that every strict loader takes, in leaves/.

    What is not part of the format moves to provenance.json beside each skill; the text of a skill is kept
    byte for byte. The same input gives the same bytes. Exits with 1 if a skill had to be left out, or with
    --check if anything differs.
    """
    from sipbench.cli.output import print_json, printable
    from sipbench.skills.export import compare, plan_export, write_export

    plan = plan_export(path)
    different = compare(plan, out) if check else []
    written = False if check else write_export(plan, out)
    if as_json:
        print_json(_document(plan, different if check else None, written))
    else:
        for line in _lines(plan, different):
            typer.echo(printable(line))
        typer.echo(_summary(plan, out, different if check else None, written))
    if plan.refused or different:
        raise typer.Exit(1)


def _lines(plan: Plan, different: list[str]) -> list[str]:
    from sipbench.skills.tree import on_line

    said = [f"{on_line(item.folder)}: left out: {item.reason}" for item in plan.refused]
    said += [f"{on_line(folder)}: {note}" for folder, note in plan.notes]
    said += [f"{place}: {old} is now {new}" for place, (old, new) in sorted(plan.renamed.items())]
    return said + different


def _summary(plan: Plan, out: Path, different: list[str] | None, written: bool) -> str:
    from sipbench.cli.output import counted
    from sipbench.skills.tree import on_line

    state = "written" if written else "unchanged"
    if different is not None:
        state = f"{len(different)} files differ" if different else "as it would be written"
    counts = f"{counted(plan.skills, 'skill')}, {plan.rewritten} rewritten, {len(plan.renamed)} renamed"
    return f"{counts}, {len(plan.refused)} left out; {on_line(out)}: {state}"


def _document(plan: Plan, different: list[str] | None, written: bool) -> dict[str, Any]:
    from sipbench.skills.tree import on_line

    return {
        "skills": plan.skills,
        "rewritten": plan.rewritten,
        "renamed": {place: {"from": old, "to": new} for place, (old, new) in sorted(plan.renamed.items())},
        "notes": [{"folder": on_line(folder), "note": note} for folder, note in plan.notes],
        "left_out": [{"folder": on_line(item.folder), "reason": item.reason} for item in plan.refused],
        "written": written,
        "different": different,
    }

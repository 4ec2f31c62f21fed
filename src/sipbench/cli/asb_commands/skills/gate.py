"""``asb skills gate``."""

from __future__ import annotations

from typing import Any

import typer

from sipbench.cli.asb_commands.skills.options import AsJson, Directory, Meta

_SHOWN = 20


def gate(directory: Directory, meta: Meta = None, as_json: AsJson = False) -> None:
    """Say whether a collection may be released: our check, both reference validators, manifest, pins.

    Exits with 1 if any of them objects.
    """
    from sipbench.cli.output import print_json, printable
    from sipbench.skills.gate import gate as steps
    from sipbench.skills.layout import locate_one

    done: list[dict[str, Any]] = []
    for step in steps(locate_one(directory), meta=meta or []):
        done.append({"step": step.name, "problems": list(step.problems), "warnings": list(step.warnings)})
        if as_json:
            continue
        for line in (*step.problems[:_SHOWN], *(f"warning: {text}" for text in step.warnings)):
            typer.echo(printable(line))
        if len(step.problems) > _SHOWN:
            typer.echo(f"… and {len(step.problems) - _SHOWN} more; --json lists all")
        verdict = f"{len(step.problems)} problems" if step.problems else "passed"
        typer.echo(f"{step.name:14}{step.looked_at:>7} looked at: {verdict}")
    if as_json:
        print_json({"passed": not any(item["problems"] for item in done), "steps": done})
    if any(item["problems"] for item in done):
        raise typer.Exit(1)

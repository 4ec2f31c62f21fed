"""``asb skills verify``."""

from __future__ import annotations

import typer

from sipbench.cli.asb_commands.skills.options import AsJson, Directory, Meta


def verify(directory: Directory, meta: Meta = None, as_json: AsJson = False) -> None:
    """Compare a collection with its pins; names each file that was changed, is missing or was added.

    Exits with 1 if there is any.
    """
    from sipbench.cli.output import counted, print_json, printable
    from sipbench.skills.collection import verify as compare
    from sipbench.skills.layout import locate_one

    located = locate_one(directory)
    found = compare(located, meta=meta or [])
    if as_json:
        print_json([{"rule": item.rule, "file": item.file, "reason": item.reason} for item in found])
    else:
        for item in found:
            typer.echo(printable(str(item)))
        compared = f"{counted(len(located.skills), 'skill')}, {counted(len(located.tools), 'tool')}"
        typer.echo(f"{compared}: {counted(len(found), 'difference') if found else 'as pinned'}")
    if found:
        raise typer.Exit(1)

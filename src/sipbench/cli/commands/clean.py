"""``sip clean``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def clean(
    store: Annotated[
        Path | None, typer.Option("--store", metavar="DIR", help="The sandbox's store; default: the user's.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Remove the sandbox's cached layers, and boxes that a crash left behind.

    What a running attempt uses stays; layers are made again when a task needs them.
    """
    from sipbench.cli.output import print_json
    from sipbench.sandbox.store import Store
    from sipbench.sandbox.store import clean as clean_store

    root = Store.open(store).root
    done = clean_store(root, dry_run=dry_run)
    if as_json:
        print_json({"store": str(root), "removed": list(done.removed), "in_use": list(done.in_use)})
        return
    for name in done.removed:
        typer.echo(name)
    what = "would be removed" if dry_run else "removed"
    typer.echo(f"{root}: {len(done.removed)} {what}, {len(done.in_use)} in use")

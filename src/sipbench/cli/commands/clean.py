"""``sip clean``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def clean(
    store: Annotated[
        Path | None, typer.Option("--store", metavar="DIR", help="The sandbox's store; default: the user's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Remove the sandbox's cached layers, and boxes that a crash left behind.

    What a running attempt uses stays.
    """
    from sipbench.cli.output import print_json
    from sipbench.sandbox.store import clean as clean_store

    done = clean_store(store)
    if as_json:
        print_json({"removed": list(done.removed), "in_use": list(done.in_use)})
        return
    typer.echo(f"{len(done.removed)} removed, {len(done.in_use)} in use")

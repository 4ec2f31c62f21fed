"""Arguments that several commands of ``asb skills`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "Directory", "Meta"]

Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="A collection: collection.yaml, leaves/.", show_default=False)
]
Meta = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A skill that need not be listed.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

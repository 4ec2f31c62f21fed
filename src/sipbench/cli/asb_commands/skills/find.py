"""``asb skills catalogue`` and ``asb skills find``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sipbench.cli.asb_commands.skills.options import AsJson

_WIDTH = 100


def catalogue(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A collection, or a folder of them.", show_default=False)
    ],
) -> None:
    """Print what collections offer as one JSON document: names, descriptions, tools, digests, tasks."""
    from sipbench.cli.output import print_json
    from sipbench.skills.catalogue import catalogue as entries
    from sipbench.skills.catalogue import catalogue_document
    from sipbench.skills.layout import locate

    print_json(catalogue_document(entries(locate(path))))


def find(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words.", show_default=False)],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A collection, or a folder of them.")] = Path(),
    top: Annotated[int, typer.Option(min=1, help="At most so many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Find skills by words (BM25 over names, descriptions, tools and techniques), best first."""
    from sipbench.cli.output import print_json, printable
    from sipbench.skills.catalogue import catalogue as entries
    from sipbench.skills.catalogue import find as search
    from sipbench.skills.layout import locate

    hits = search(query, entries(locate(path)), top=top)
    if as_json:
        print_json([hit.entry.document() | {"score": hit.score} for hit in hits])
        return
    for hit in hits:
        line = f"{hit.score:6.2f}  {hit.entry.name}: {hit.entry.description}"
        typer.echo(printable(line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"))
    if not hits:
        typer.echo("no skill with these words")

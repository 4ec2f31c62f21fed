"""``asb skills pack``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sipbench.cli.asb_commands.skills.options import Directory


def pack(
    directory: Directory,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="New folder.", show_default=False)],
    slug: Annotated[str, typer.Option(metavar="SLUG", help="Slug of the pack.", show_default=False)],
    title: Annotated[str | None, typer.Option(help="Title of the pack.", show_default=False)] = None,
    tool: Annotated[list[str] | None, typer.Option(help="Any of these tools.", show_default=False)] = None,
    technique: Annotated[
        list[str] | None, typer.Option(help="Any of these techniques.", show_default=False)
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="Any of these EDAM topics, as topic_3169.", show_default=False)
    ] = None,
    keyword: Annotated[list[str] | None, typer.Option(help="All of these words.", show_default=False)] = None,
) -> None:
    """Write a part of a collection as a collection of its own, byte for byte.

    Options of one kind widen what is taken, options of several kinds narrow it.
    """
    from sipbench.errors import ConfigError
    from sipbench.skills.catalogue import Filters, plan_pack
    from sipbench.skills.collection import read_manifest
    from sipbench.skills.export import write_export
    from sipbench.skills.layout import locate_one
    from sipbench.skills.validate import NAME

    if NAME.fullmatch(slug) is None:
        raise ConfigError(f"--slug {slug!r}: only a-z, 0-9 and single hyphens")
    filters = Filters(tuple(tool or ()), tuple(technique or ()), tuple(topic or ()), tuple(keyword or ()))
    if filters == Filters():
        raise ConfigError("name what the pack holds: --tool, --technique, --topic or --keyword")
    located = locate_one(directory)
    manifest = read_manifest(located)
    named = title or f"{manifest.get('title', located.root.name)}: {slug}"
    plan = plan_pack(located, manifest, filters, slug=slug, title=named)
    written = write_export(plan, out)
    typer.echo(
        f"{plan.skills} of {len(located.skills)} skills; {out}: {'written' if written else 'unchanged'}"
    )

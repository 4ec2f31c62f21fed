"""``asb skills pin``."""

from __future__ import annotations

import typer

from sipbench.cli.asb_commands.skills.options import Directory, Meta


def pin(directory: Directory, meta: Meta = None) -> None:
    """Write what is released into the manifest: each skill and tool with the SHA-256 of its bytes.

    Files beside a SKILL.md are listed in pins.json. Pin what you ship: after asb export-skills, last.
    """
    from sipbench.cli.output import counted
    from sipbench.skills.collection import pin_collection
    from sipbench.skills.layout import locate_one

    skills, tools = pin_collection(locate_one(directory), meta=meta or [])
    typer.echo(f"{counted(skills, 'skill')} and {counted(tools, 'tool')} pinned")

"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Sandbox", "SandboxBase", "chosen"]

Sandbox = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where attempts run, in place of the study file's: docker, podman, bwrap, module:Class.",
    ),
]
SandboxBase = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Root file system of the sandbox, in place of this machine's system."),
]


def chosen(sandbox: str | None, base: Path | None) -> dict[str, str | None]:
    """What replaces the benchmark's options; a path is the caller's, not the study file's."""
    return {"sandbox": sandbox, "sandbox_base": None if base is None else str(base.absolute())}

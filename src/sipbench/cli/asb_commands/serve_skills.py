"""``asb serve-skills``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def serve_skills(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A collection, or a folder of skills.", show_default=False)
    ],
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, not stdin and stdout.")] = False,
    host: Annotated[str, typer.Option(help="With --http: address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --http: 0 takes a free one.", min=0, max=65535)] = 8710,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --http: clients have to send what it holds (or ASB_SKILLS_TOKEN) as a bearer token.",
            show_default=False,
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name clients call it by.", show_default=False)
    ] = None,
    allowed_origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A web page that may call it.", show_default=False)
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Append what is served, and when: one JSON line each.", show_default=False
        ),
    ] = None,
) -> None:
    """Serve skills to agents over the Model Context Protocol (extension Skills, SEP-2640), read only.

    Skills that do not conform are named on stderr and left out. Over HTTP it listens on this machine alone;
    for others it asks for a token.
    """
    from sipbench.skills.mcp.log import ServedLog
    from sipbench.skills.mcp.server import Door, read_token, serve_http, serve_stdio

    served = ServedLog(log) if log is not None else None
    if not http:
        serve_stdio(directory, served)
        return
    token = read_token(token_file, os.environ.get("ASB_SKILLS_TOKEN"))
    door = Door(host, port, token, tuple(allowed_host or ()), tuple(allowed_origin or ()))
    serve_http(directory, door, lambda address: typer.echo(f"serving at {address}", err=True), served)

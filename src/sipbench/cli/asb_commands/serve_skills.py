"""``asb serve-skills``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

_HOST, _PORT = "127.0.0.1", 8710


def serve_skills(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A collection, or a folder of skills.", show_default=False)
    ],
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, not stdin and stdout.")] = False,
    host: Annotated[str, typer.Option(help="With --http: address to listen at.")] = _HOST,
    port: Annotated[int, typer.Option(help="With --http: 0 takes a free one.", min=0, max=65535)] = _PORT,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --http: clients have to send what it holds (or ASB_SKILLS_TOKEN) as a bearer token.",
            show_default=False,
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --http: a name clients call it by.", show_default=False),
    ] = None,
    allowed_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="With --http: a web page that may call it.", show_default=False),
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
        _refuse_unheard(host, port, token_file, allowed_host, allowed_origin)
        serve_stdio(directory, served)
        return
    token = read_token(token_file, os.environ.get("ASB_SKILLS_TOKEN"))
    door = Door(host, port, token, tuple(allowed_host or ()), tuple(allowed_origin or ()))
    serve_http(directory, door, lambda address: typer.echo(f"serving at {address}", err=True), served)


def _refuse_unheard(
    host: str, port: int, token: Path | None, hosts: list[str] | None, origins: list[str] | None
) -> None:
    """Over stdin and stdout nobody is let in or kept out: what asks for that was meant for HTTP."""
    from sipbench.errors import ConfigError

    given = {
        "--host": host != _HOST,
        "--port": port != _PORT,
        "--token-file": token is not None,
        "--allowed-host": bool(hosts),
        "--allowed-origin": bool(origins),
    }
    named = ", ".join(name for name, said in given.items() if said)
    if named:
        raise ConfigError(f"{named}: only with --http; add it, or leave this out")

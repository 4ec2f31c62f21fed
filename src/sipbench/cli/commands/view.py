"""``sip view``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def view(
    place: Annotated[Path, typer.Argument(metavar="DIR", help="A study directory.", show_default=False)],
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Where to listen; default: 8765, or any free port."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Serve the report of a study on this machine; the page follows a study that is running.

    Ends with Ctrl-C. Only this machine can reach it; whoever can log in to it can read the study there.
    """
    from sipbench.report.server import serving

    with serving(place, port) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        sys.stderr.write(f"{place}: {url} (Ctrl-C ends)\n")
        sys.stderr.flush()
        if open_browser:
            import webbrowser

            webbrowser.open(url)
        server.serve_forever(poll_interval=0.2)

"""The server beside one attempt: what ``asb serve-skills --http`` serves, on a socket that is open.

``python -m sipbench.skills.mcp.beside`` reads one JSON line from its standard input: ``root``, ``log``,
``token`` (null for none) and ``socket``, the descriptor of a listening socket that it was started with. It
says ``ready``, or why it cannot begin, and serves until its standard input ends, as it does when whoever
started it is gone.

It is a process of its own: whatever is sent to it, it knows of no key of a model, and nobody waits for it.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path

from sipbench.errors import SipbenchError
from sipbench.skills.mcp.log import ServedLog
from sipbench.skills.mcp.server import Door, http_app

__all__ = ["ENVIRONMENT", "MAX_CONNECTIONS", "main"]

ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONHOME", "PYTHONPATH", "TMPDIR", "TZ", "VIRTUAL_ENV")
"""Variables that it is started with, where they are set."""
MAX_CONNECTIONS = 32
"""Of an attempt's agent at a time. Each may hold a whole answer in memory that is not the box's: a file of a
skill, of at most 16 MiB, about five times over."""


def main() -> None:
    """Serve as the first line of standard input says."""
    asked = json.loads(sys.stdin.readline())
    try:
        app = http_app(Path(asked["root"]), Door(token=asked["token"]), ServedLog(Path(asked["log"])))
    except SipbenchError as error:
        print(" ".join(str(error).split()), flush=True)
        raise SystemExit(1) from None
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=MAX_CONNECTIONS,
    )
    server = uvicorn.Server(config)
    threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
    with socket.socket(fileno=int(asked["socket"])) as listening:
        listening.setblocking(False)
        # Whoever comes now waits in the socket's queue until uvicorn accepts.
        print("ready", flush=True)
        server.run(sockets=[listening])
    # Threads that still hash files for nobody are not waited for.
    os._exit(0)


def _end_with_input(server: object) -> None:
    sys.stdin.read()
    server.should_exit = True  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()

"""The process that forks keepers.

Starting an interpreter costs more than starting a box. So one is started for this
process, with the keeper's modules loaded and nothing else, and forks a keeper for
each box. It ends when this process does; the keepers then end their boxes.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading

from sipbench.errors import EngineError
from sipbench.sandbox.bwrap import keeper_python

__all__ = ["new_keeper"]

_MAIN = "from sipbench.sandbox.keeper.server import main; main()"
_lock = threading.Lock()
_current: tuple[int, subprocess.Popen[bytes], socket.socket] | None = None


def _start() -> tuple[int, subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            keeper_python(_MAIN),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
    return os.getpid(), process, ours


def new_keeper() -> socket.socket:
    """Start a keeper.

    Returns:
        A non-blocking socket to it; closing it ends the keeper and its box.

    Raises:
        EngineError: No keeper could be started.
    """
    global _current
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    with _lock, theirs:
        for _ in range(2):
            # A child of a fork has the socket but is not the one it was made for.
            if _current is None or _current[0] != os.getpid() or _current[1].poll() is not None:
                _current = _start()
            try:
                socket.send_fds(_current[2], [b"."], [theirs.fileno()], socket.MSG_NOSIGNAL)
            except OSError:
                _current = None
            else:
                return ours
    ours.close()
    raise EngineError("the sandbox's helper process could not be started")

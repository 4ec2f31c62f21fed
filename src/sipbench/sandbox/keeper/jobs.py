# Descriptors and flags that pathlib does not have, and less to load in a keeper.
# ruff: noqa: PTH103, PTH208
"""What the keeper does in a box on request: commands, transfers, an end to leftovers.

Each is a function that runs in a forked child and returns its exit code; its
descriptors 0, 1 and 2 are the caller's.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from typing import Any

from sipbench.sandbox.keeper import enter, files

__all__ = ["exit_code", "get", "listen", "put", "run", "sweep"]

_PATIENCE = 10.0


def exit_code(status: int) -> int:
    """Turn a wait status into a shell's exit code: 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def run(box: enter.Box, message: dict[str, Any], report: int) -> int:
    """Run a command in all namespaces of the box; its process id goes to `report`."""
    command = enter.Command(**message["command"])
    for fd in (1, 2):
        # A program may open /dev/stdout anew, which asks for the pipe's owner. Pipes alone: what else
        # stands there may be a file or device of the host.
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.fchmod(fd, 0o666)
    enter.enter(box, "user", "mnt", "ipc", "uts", "net", "cgroup", "pid")
    enter.seal_imports()
    child = os.fork()
    if child == 0:
        enter.close_all_but(frozenset())
        enter.execute(box, command)
    os.write(report, b"%d" % child)
    for fd in (0, 1, 2):
        os.close(fd)
    return exit_code(os.waitpid(child, 0)[1])


def put(box: enter.Box, message: dict[str, Any], _: int) -> int:
    """Unpack the archive on descriptor 0 below a directory of the box."""
    enter.enter(box, "user", "mnt")
    enter.seal_imports()
    os.umask(0o022)
    owner = (0, 0)
    if message["owner"] and box.many:
        person = enter.find_user(message["owner"])
        owner = (person.uid, person.gid)
    target = message["target"]
    os.makedirs(target, exist_ok=True)
    root = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    enter.close_all_but({root})
    with os.fdopen(0, "rb", closefd=False) as stream:
        done = files.unpack(stream, root, owner=owner, mode=message["mode"], links_inside_only=False)
    os.write(1, json.dumps([done.files, done.size]).encode())
    return 0


def get(box: enter.Box, message: dict[str, Any], _: int) -> int:
    """Pack a directory of the box, or one file, to descriptor 1."""
    enter.enter(box, "user", "mnt")
    enter.seal_imports()
    root = os.open(message["source"], os.O_RDONLY | os.O_DIRECTORY)
    enter.close_all_but({root})
    with os.fdopen(1, "wb", closefd=False) as stream:
        files.pack(
            stream,
            root,
            only=message["only"],
            exclude=message["exclude"],
            owner=(0, 0),
            max_bytes=message["max_bytes"],
        )
    return 0


def sweep(box: enter.Box, _: dict[str, Any], __: int) -> int:
    """End every process of the box but the first and wait until they are gone."""
    # Outside the control group: a box that is full of processes can still be swept.
    enter.enter(box, "user", "mnt", "pid", limited=False)
    child = os.fork()
    if child == 0:
        enter.signal_all()
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            # This child is in the namespace and so among those that are listed.
            if sum(name.isdigit() for name in os.listdir("/proc")) <= 2:
                os._exit(0)
            time.sleep(0.002)
        os.write(2, b"sandbox: processes are still there after ten seconds\n")
        os._exit(1)
    return exit_code(os.waitpid(child, 0)[1])


def listen(box: enter.Box, port: int) -> int | None:
    """Open a listening socket on the box's own loopback; None if it cannot be had."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            enter.enter(box, "user", "net")
            server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", port))
            server.listen(256)
            socket.send_fds(theirs, [b"."], [server.fileno()])
            code = 0
        finally:
            os._exit(code)
    theirs.close()
    with ours:
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        os.waitpid(pid, 0)
    return fds[0] if fds else None

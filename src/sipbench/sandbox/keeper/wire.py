"""Messages between a box and its keeper: one JSON object and the open files it speaks of.

The object travels in a memory file rather than in the packet, so that a long
command or a large environment meets no packet limit, and neither shows in any
process list.
"""

from __future__ import annotations

import array
import json
import os
import socket
from typing import Any

__all__ = ["MAX_MESSAGE", "receive", "send"]

MAX_MESSAGE = 64 * 1024 * 1024
_MAX_FDS = 24


def send(sock: socket.socket, message: dict[str, Any], fds: list[int] | None = None) -> None:
    """Send one message with descriptors.

    Raises:
        OSError: The other side is gone.
        ValueError: The message is longer than `MAX_MESSAGE`.
    """
    text = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(text) > MAX_MESSAGE:
        raise ValueError(f"a message of {len(text)} bytes is longer than {MAX_MESSAGE}")
    body = os.memfd_create("message", os.MFD_CLOEXEC)
    try:
        view = memoryview(text)
        while view:
            view = view[os.write(body, view) :]
        handles = array.array("i", [body, *(fds or [])])
        sock.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)], socket.MSG_NOSIGNAL)
    finally:
        os.close(body)


def receive(sock: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive one message.

    Returns:
        The object and its descriptors (close-on-exec, owned by the caller), or None at the end.

    Raises:
        OSError: The socket failed or, if non-blocking, has nothing yet.
        ValueError: The message is malformed or longer than `MAX_MESSAGE`.
    """
    space = socket.CMSG_SPACE(_MAX_FDS * 4)
    data, ancillary, _, _ = sock.recvmsg(1, space, socket.MSG_CMSG_CLOEXEC)
    if not data:
        return None
    handles = array.array("i")
    for level, kind, body in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            handles.frombytes(body[: len(body) - len(body) % handles.itemsize])
    if not handles:
        raise ValueError("a message without its body")
    body_fd, fds = handles[0], list(handles[1:])
    try:
        size = os.fstat(body_fd).st_size
        if size > MAX_MESSAGE:
            raise ValueError(f"a message of {size} bytes is longer than {MAX_MESSAGE}")
        message: dict[str, Any] = json.loads(os.pread(body_fd, size, 0).decode("utf-8", "surrogatepass"))
    finally:
        os.close(body_fd)
    return message, fds

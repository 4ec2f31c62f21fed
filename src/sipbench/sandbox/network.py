"""The network of a box: none, a filtering proxy, or the host's.

``none`` is a network namespace with nothing but its own loopback. ``proxy`` is the
same namespace with one listening socket on it, served from outside: it forwards
HTTP and HTTPS (by CONNECT) to hosts that the policy allows, and never to the host
itself, its private networks or the addresses where clouds keep credentials.
Programs find it through the usual variables; one that ignores them has no network.
``host`` shares the host's network: everything that the host can reach, its own
loopback services included.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from enum import StrEnum

from sipbench.sandbox.box import Box
from sipbench.sandbox.egress import Egress, as_address

__all__ = ["PORT", "Mode", "Proxy"]

PORT = 8118
_HEAD_LIMIT = 64 * 1024
_PATIENCE = 30.0
_MAX_REFUSED = 100
_Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Mode(StrEnum):
    """How a box that may use the network is connected."""

    NONE = "none"
    PROXY = "proxy"
    HOST = "host"


class _RefusedError(Exception):
    """The proxy answers with a status instead of forwarding."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Proxy:
    """The only way out of one box; its policy can be changed while it serves.

    Attributes:
        egress: Where connections may go now.
        refused: Hosts that were asked for and refused, for the record.
    """

    def __init__(self, egress: Egress) -> None:
        self.egress = egress
        self.refused: set[str] = set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, box: Box) -> None:
        """Listen on the box's loopback."""
        await self.serve(await box.listen(PORT))

    async def serve(self, listening: socket.socket) -> None:
        """Serve on an open listening socket."""
        listening.setblocking(False)
        self._server = await asyncio.start_server(self._accept, sock=listening, limit=_HEAD_LIMIT)

    def env(self) -> dict[str, str]:
        """Variables by which programs in the box find the proxy; none while nothing is allowed."""
        if self.egress == Egress():
            return {}
        address, own = f"http://127.0.0.1:{PORT}", "localhost,127.0.0.1,::1,task"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
        return {**dict.fromkeys(names, address), "no_proxy": own, "NO_PROXY": own}

    async def change(self, egress: Egress) -> None:
        """Change the policy; connections made under the old one are cut."""
        self.egress = egress
        await self._cut()

    async def stop(self) -> None:
        """Stop serving and cut every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._cut()

    async def _cut(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve_one(reader, writer)
        except _RefusedError as refusal:
            body = f"sandbox network: {refusal}\n".encode("utf-8", "replace")
            head = f"HTTP/1.1 {refusal.status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            with contextlib.suppress(OSError):
                writer.write(head.encode() + body)
                await writer.drain()
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            return  # the client sent no request, or left: nobody is there to tell
        except asyncio.CancelledError:
            return  # cut by a change of policy or by the end
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
        request, *lines = head.decode("latin-1").split("\r\n")
        words = request.split(" ")
        if len(words) != 3:
            raise _RefusedError("400 Bad Request", "malformed request line")
        method, target, version = words
        if method == "CONNECT":
            out_reader, out_writer = await self._connect(*_split_host(target, None))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            if not target.lower().startswith("http://"):
                raise _RefusedError("400 Bad Request", "an absolute http:// address or CONNECT is needed")
            place, slash, path = target[7:].partition("/")
            out_reader, out_writer = await self._connect(*_split_host(place.rpartition("@")[2], 80))
            kept = [line for line in lines if line and not line.lower().startswith(("proxy-", "connection:"))]
            first = f"{method} {slash or '/'}{path} {version}"
            out_writer.write("\r\n".join([first, *kept, "Connection: close", "", ""]).encode("latin-1"))
        try:
            await asyncio.gather(_pump(reader, out_writer), _pump(out_reader, writer))
        finally:
            out_writer.close()

    async def _connect(self, host: str, port: int) -> _Pair:
        if not self.egress.allows_name(host, port):
            raise self._refusal(host, port)
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise _RefusedError("502 Bad Gateway", f"{host} cannot be resolved") from None
        addresses = [as_address(str(place[0])) for *_, place in found]
        allowed = [a for a in addresses if a is not None and self.egress.allows_address(host, a, port)]
        if not allowed:
            raise self._refusal(host, port)
        for address in dict.fromkeys(allowed):
            # Connect to the address that was checked: a second look-up could differ.
            with contextlib.suppress(OSError):
                return await asyncio.wait_for(asyncio.open_connection(str(address), port), _PATIENCE)
        raise _RefusedError("502 Bad Gateway", f"{host}:{port} cannot be reached")

    def _refusal(self, host: str, port: int) -> _RefusedError:
        if len(self.refused) < _MAX_REFUSED:
            self.refused.add(f"{host}:{port}"[:300])
        return _RefusedError("403 Forbidden", f"{host}:{port} is not allowed")


def _split_host(text: str, default: int | None) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default or "")
    if not port.isdigit() or not 0 < int(port) < 65536 or not host:
        raise _RefusedError("400 Bad Request", "malformed host or port")
    return host.strip("[]"), int(port)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while block := await reader.read(1 << 16):
            writer.write(block)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

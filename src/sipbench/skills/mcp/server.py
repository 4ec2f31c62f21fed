"""Serving over stdio or HTTP: on this machine alone unless a token is asked for."""

from __future__ import annotations

import hmac
import ipaddress
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sipbench.errors import ConfigError, MissingExtraError
from sipbench.skills.mcp.log import ServedLog
from sipbench.skills.mcp.served import ServedSkills

__all__ = ["Door", "http_app", "read_token", "serve_http", "serve_stdio"]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MIN_TOKEN = 16

type _Scope = MutableMapping[str, Any]
type _App = Callable[[_Scope, Any, Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in over HTTP.

    Attributes:
        host: The address to listen at.
        port: 0 for any that is free.
        token: What has to stand in ``Authorization: Bearer``; None asks for none.
        hosts: More names that clients may call this server by (the header ``Host``).
        origins: Web pages that may call it (the header ``Origin``); those of this machine always may.
    """

    host: str = "127.0.0.1"
    port: int = 8710
    token: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse a door that is open to others without a lock.

        Raises:
            ConfigError: It listens to other machines without a token or a name, or the token is short.
        """
        if self.token is not None and (len(self.token) < _MIN_TOKEN or not self.token.isascii()):
            raise ConfigError(f"the token has fewer than {_MIN_TOKEN} ASCII characters; make a longer one")
        if self.is_local:
            return
        if self.token is None:
            raise ConfigError(
                f"--host {self.host} lets other machines in: give --token-file, or keep 127.0.0.1"
            )
        if not self.hosts and _is_any(self.host):
            raise ConfigError(f"--host {self.host}: name the server with --allowed-host, as clients call it")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def _server(root: Path, token: str | None, log: ServedLog | None) -> Any:
    served = ServedSkills(root)
    try:
        from sipbench.skills.mcp.extension import make_server
    except ModuleNotFoundError:
        raise MissingExtraError("serving skills", "mcp") from None
    server = make_server(served, "public" if token is None else "private", log)
    # A client may connect while the skills are still being checked; its first listing waits.
    threading.Thread(target=served.warm, name="skills", daemon=True).start()
    return server


def serve_stdio(root: Path, log: ServedLog | None = None) -> None:
    """Serve a folder over stdin and stdout until stdin ends. Everything else is said on stderr.

    Args:
        root: The folder.
        log: Where it is written down what was served.

    Raises:
        SkillError: ``root`` is no folder.
        MissingExtraError: The SDK is not installed.
    """
    _server(root, None, log).run("stdio")


def http_app(root: Path, door: Door, log: ServedLog | None = None) -> _App:
    """The ASGI application of a folder, endpoint ``/mcp``.

    Args:
        root: The folder.
        door: Who may come in.
        log: Where it is written down what was served.

    Raises:
        ConfigError: The door is open.
        SkillError: ``root`` is no folder.
        MissingExtraError: The SDK is not installed.
    """
    door.check()
    server = _server(root, door.token, log)
    from mcp.server.transport_security import TransportSecuritySettings

    names = [*_LOOPBACK, *([] if _is_any(door.host) else [door.host]), *door.hosts]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*names, *(f"{name}:*" for name in names)],
        allowed_origins=[*(f"http://{name}:*" for name in _LOOPBACK), *door.origins],
    )
    app: _App = server.streamable_http_app(host=door.host, transport_security=security)
    if log is not None:
        app = log.over(app)
    return app if door.token is None else _locked(app, door.token)


def _locked(app: _App, token: str) -> _App:
    expected = f"Bearer {token}".encode("ascii")

    async def locked(scope: _Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(given) != 1 or not hmac.compare_digest(given[0], expected):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await app(scope, receive, send)

    return locked


def serve_http(root: Path, door: Door, say: Callable[[str], None], log: ServedLog | None = None) -> None:
    """Serve a folder over HTTP until interrupted.

    Args:
        root: The folder.
        door: Who may come in.
        say: Called with the address once it is listened at.
        log: Where it is written down what was served.

    Raises:
        ConfigError: The door is open, or the address is taken.
        SkillError: ``root`` is no folder.
        MissingExtraError: The SDK is not installed.
    """
    import socket

    app = http_app(root, door, log)
    import uvicorn

    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((door.host.strip("[]"), door.port))
        except (OSError, OverflowError) as error:
            raise ConfigError(f"{door.host}:{door.port} cannot be listened at: {error}") from None
        listener.listen(128)
        shown = f"[{door.host.strip('[]')}]" if ":" in door.host else door.host
        say(f"http://{shown}:{listener.getsockname()[1]}/mcp")
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listener])


def read_token(path: Path | None, environment: str | None) -> str | None:
    """The token from a file, else from the environment; None where neither is given.

    Raises:
        ConfigError: The file cannot be read.
    """
    if path is None:
        return environment or None
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"--token-file {path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"--token-file {path}: cannot be read: it is no UTF-8 text") from None

"""What was served, to whoever asked: one JSON line for the first time that something was.

==============  ========================================================================================
``connected``   somebody was let in (over HTTP)
``listed``      a skill stood in a listing
``described``   ``skills/get`` was answered
``read``        a file of a skill was read; ``file`` is its address, ``file_digest`` that of its bytes
==============  ========================================================================================

All but the first carry the skill: ``uri``, ``name``, ``digest`` (of its ``SKILL.md``) and ``tree_digest`` (of
all its files). That something is asked for again adds nothing, so that nobody can fill a disk by asking.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sipbench.errors import ConfigError
from sipbench.protocol.digests import skill_digest
from sipbench.protocol.records import timestamp

__all__ = ["SERVED_LOG_VERSION", "ServedLog", "read_served_log", "tree_of"]

SERVED_LOG_VERSION = "1.0.0"

type _Scope = MutableMapping[str, Any]


def tree_of(entry: dict[str, Any]) -> str:
    """Digest of all files that an entry of ``skills/list`` names."""
    folder = entry["uri"].rpartition("/")[0] + "/"
    return skill_digest(
        (unquote(item["uri"].removeprefix(folder)), item["digest"].removeprefix("sha256:"))
        for item in entry["resources"]
    )


class ServedLog:
    """Writes it. Safe to use from several threads.

    Args:
        path: Appended to.

    Raises:
        ConfigError: It cannot be written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise ConfigError(f"--log {path}: cannot be written: {error.strerror or error}") from None
        self._seen: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()
        self._write("started", (), schema_version=SERVED_LOG_VERSION)

    def connected(self) -> None:
        """Somebody was let in."""
        self._write("connected", ())

    def skill(self, event: str, entry: dict[str, Any]) -> None:
        """An entry was sent to somebody, in a listing or by itself."""
        about = _about(entry)
        self._write(event, (about["uri"], about["digest"], about["tree_digest"]), **about)

    def read(self, entry: dict[str, Any], uri: str, digest: str) -> None:
        """A file of a skill was sent to somebody."""
        self._write("read", (uri, digest), **_about(entry), file=uri, file_digest=digest)

    def _write(self, event: str, key: tuple[str, ...], **fields: str) -> None:
        with self._lock:
            if (event, *key) in self._seen:
                return
            self._seen.add((event, *key))
            document = {"time": timestamp(), "event": event, **fields}
            self._file.write(json.dumps(document, ensure_ascii=False) + "\n")
            self._file.flush()

    def over(self, app: Callable[[_Scope, Any, Any], Any]) -> Callable[[_Scope, Any, Any], Any]:
        """An ASGI application that also says when it let somebody in."""

        async def seeing(scope: _Scope, receive: Any, send: Any) -> None:
            async def sending(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start" and message["status"] < 400:
                    self.connected()
                await send(message)

            asked = scope["type"] == "http" and scope["method"] == "POST"
            await app(scope, receive, sending if asked else send)

        return seeing


def _about(entry: dict[str, Any]) -> dict[str, str]:
    digest = next(item["digest"] for item in entry["resources"] if item["uri"] == entry["uri"])
    name = str(entry["frontmatter"]["name"])
    return {"uri": entry["uri"], "name": name, "digest": digest, "tree_digest": tree_of(entry)}


def read_served_log(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log, but for one that was not written to its end."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)

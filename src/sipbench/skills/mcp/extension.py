"""The Skills extension on the official SDK: ``skills/list``, ``skills/get``, ``resources/directory/read``.

The SDK (2.3) has extensions but no class for this one. ``resources/read`` and ``resources/list`` are replaced
on its low-level server, since its decorator knows one MIME type for all resources of a template.
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import unquote

import anyio.to_thread
import mcp_types as types
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from sipbench.errors import SkillError
from sipbench.skills.mcp.log import ServedLog
from sipbench.skills.mcp.served import SCHEME, ServedSkills

__all__ = [
    "EXTENSION", "DirectoryParams", "DirectoryResult", "GetParams", "GetResult", "ListParams", "ListResult",
    "SkillsExtension", "make_server",
]  # fmt: skip

EXTENSION = "io.modelcontextprotocol/skills"
PAGE = 500
_TTL_MS = 60_000
_OCTETS = "application/octet-stream"

mimetypes.add_type("text/markdown", ".md")


class ListParams(types.PaginatedRequestParams):
    """Of ``skills/list``."""


class GetParams(types.RequestParams):
    """Of ``skills/get``."""

    uri: str


class DirectoryParams(types.PaginatedRequestParams):
    """Of ``resources/directory/read``."""

    uri: str


class ListResult(types.PaginatedResult, types.CacheableResult):
    """Of ``skills/list``."""

    skills: list[dict[str, Any]]
    result_type: Literal["complete"] = "complete"


class GetResult(types.CacheableResult):
    """Of ``skills/get``."""

    skill: dict[str, Any]
    result_type: Literal["complete"] = "complete"


class DirectoryResult(types.PaginatedResult, types.CacheableResult):
    """Of ``resources/directory/read``; how long it may be kept is asked by clients, not by the text."""

    resources: list[types.Resource]
    result_type: Literal["complete"] = "complete"


def _refused(message: str) -> MCPError:
    return MCPError(code=types.INVALID_PARAMS, message=message)


def _page[Item](items: Sequence[Item], cursor: str | None) -> tuple[Sequence[Item], str | None]:
    start = 0
    if cursor is not None:
        try:
            start = int(base64.urlsafe_b64decode(cursor.encode("ascii")).decode("ascii"))
        except (ValueError, UnicodeError):
            start = -1
        if not 0 < start < len(items):
            raise _refused("the cursor is none that this server gave; begin again without one")
    end = start + PAGE
    following = (
        base64.urlsafe_b64encode(str(end).encode("ascii")).decode("ascii") if end < len(items) else None
    )
    return items[start:end], following


class SkillsExtension(Extension):
    """SEP-2640 over :class:`ServedSkills`.

    Args:
        served: The skills.
        scope: Who may keep a result: ``private`` where a token is asked for.
        log: Where it is written down what was served; None for nowhere.
    """

    identifier = EXTENSION

    def __init__(
        self,
        served: ServedSkills,
        scope: Literal["public", "private"] = "public",
        log: ServedLog | None = None,
    ) -> None:
        self.served = served
        self.log = log
        self.caching: dict[str, Any] = {"ttl_ms": _TTL_MS, "cache_scope": scope}
        # Bytes and digests have to be of one moment: a client that keeps one of them would see a forgery.
        self.now: dict[str, Any] = {"ttl_ms": 0, "cache_scope": scope}

    def settings(self) -> dict[str, Any]:
        """What is advertised: folders can be read."""
        return {"directoryRead": True}

    def methods(self) -> Sequence[MethodBinding]:
        """The methods of the extension."""
        return (
            MethodBinding("skills/list", ListParams, self._list),
            MethodBinding("skills/get", GetParams, self._get),
            MethodBinding("resources/directory/read", DirectoryParams, self._directory),
        )

    def listing(self, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """One page of entries; a skill that stopped to conform meanwhile is not in it."""
        uris, following = _page(list(self.served.uris()), cursor)
        entries = [entry for uri in uris if (entry := self.served.entry(uri)) is not None]
        for entry in entries:
            self._note("listed", entry)
        return entries, following

    def reading(self, uri: str) -> bytes | None:
        """The bytes of a served file; None where there is none, or no longer."""
        try:
            data = self.served.read(uri)
        except SkillError:
            return None
        owner = self.served.owner(uri) if self.log is not None and data is not None else None
        entry = self.served.entry(owner) if owner is not None else None
        if self.log is not None and entry is not None and data is not None:
            self.log.read(entry, uri, "sha256:" + hashlib.sha256(data).hexdigest())
        return data

    def _note(self, event: str, entry: dict[str, Any]) -> None:
        if self.log is not None:
            self.log.skill(event, entry)

    def getting(self, uri: str) -> dict[str, Any] | None:
        """The entry of one skill as it is now."""
        entry = self.served.entry(uri, fresh=True)
        if entry is not None:
            self._note("described", entry)
        return entry

    async def _list(self, context: Any, params: ListParams | None) -> ListResult:
        cursor = params.cursor if params else None
        skills, following = await anyio.to_thread.run_sync(self.listing, cursor)
        return ListResult(skills=skills, next_cursor=following, **self.caching)

    async def _get(self, context: Any, params: GetParams) -> GetResult:
        skill = await anyio.to_thread.run_sync(self.getting, params.uri)
        if skill is None:
            raise _refused(f"no skill is served at {params.uri[:200]}")
        return GetResult(skill=skill, **self.now)

    async def _directory(self, context: Any, params: DirectoryParams) -> DirectoryResult:
        children = await anyio.to_thread.run_sync(self.served.children, params.uri)
        if children is None:
            raise _refused(f"no folder is served at {params.uri[:200]}")
        page, following = _page(children, params.cursor)
        resources = [
            types.Resource(
                uri=uri,
                name=unquote(uri.rsplit("/", 1)[1]),
                mime_type="inode/directory" if folder else _mime(uri),
            )
            for uri, folder in page
        ]
        return DirectoryResult(resources=resources, next_cursor=following, **self.caching)


def _mime(uri: str) -> str:
    # Not of the whole address: a `?` or `#` in a name is no query.
    return mimetypes.guess_type(unquote(uri.rsplit("/", 1)[1]), strict=False)[0] or _OCTETS


def make_server(
    served: ServedSkills, scope: Literal["public", "private"] = "public", log: ServedLog | None = None
) -> MCPServer:
    """The server: the extension, and the same files as plain resources for hosts that do not know it."""
    from importlib.metadata import version

    extension = SkillsExtension(served, scope, log)
    server = MCPServer(
        "asb-skills",
        version=version("sipbench"),
        extensions=[extension],
        log_level="WARNING",
        instructions=f"Agent Skills, read only: skills/list names them; each is {SCHEME}…/SKILL.md.",
    )

    async def read(context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        data = await anyio.to_thread.run_sync(extension.reading, uri)
        if data is None:
            raise _refused(f"no file is served at {uri[:200]}")
        return types.ReadResourceResult(contents=[_contents(uri, data)], **extension.now)

    async def listed(context: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        skills, following = await anyio.to_thread.run_sync(extension.listing, cursor)
        resources = [
            types.Resource(
                uri=entry["uri"],
                name=entry["frontmatter"]["name"],
                description=entry["frontmatter"]["description"],
                mime_type="text/markdown",
            )
            for entry in skills
        ]
        return types.ListResourcesResult(resources=resources, next_cursor=following, **extension.caching)

    low = server._lowlevel_server
    low.add_request_handler("resources/read", types.ReadResourceRequestParams, read)
    low.add_request_handler("resources/list", types.PaginatedRequestParams, listed)
    return server


def _contents(uri: str, data: bytes) -> types.TextResourceContents | types.BlobResourceContents:
    try:
        # Bytes, not text mode: line ends are part of what the digest says.
        return types.TextResourceContents(uri=uri, mime_type=_mime(uri), text=data.decode("utf-8"))
    except UnicodeDecodeError:
        blob = base64.b64encode(data).decode("ascii")
        return types.BlobResourceContents(uri=uri, mime_type=_mime(uri), blob=blob)

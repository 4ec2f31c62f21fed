"""A host on the SDK's own client that verifies what it is given."""

from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
from mcp import Client
from mcp.client.extension import advertise
from mcp.client.stdio import StdioServerParameters

from sipbench.skills.mcp.extension import (
    EXTENSION,
    DirectoryParams,
    DirectoryResult,
    GetParams,
    GetResult,
    ListParams,
    ListResult,
)

COMMAND = ["-c", "from sipbench.cli.asb import main; main()", "serve-skills"]


class ListRequest(types.Request[ListParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: ListParams


class GetRequest(types.Request[GetParams, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"
    params: GetParams


class DirectoryRequest(types.Request[DirectoryParams, Literal["resources/directory/read"]]):
    method: Literal["resources/directory/read"] = "resources/directory/read"
    params: DirectoryParams


def stdio(folder: Path, *arguments: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[*COMMAND, str(folder), *arguments])


def connect(target: Any) -> Client:
    return Client(target, extensions=[advertise(EXTENSION)], read_timeout_seconds=120)


async def list_skills(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await client.session.send_request(ListRequest(params=ListParams(cursor=cursor)), ListResult)
        found += page.skills
        cursor = page.next_cursor
        if cursor is None:
            return found


async def get_skill(client: Client, uri: str) -> dict[str, Any]:
    return (await client.session.send_request(GetRequest(params=GetParams(uri=uri)), GetResult)).skill


async def directory(client: Client, uri: str, cursor: str | None = None) -> list[tuple[str, str | None]]:
    request = DirectoryRequest(params=DirectoryParams(uri=uri, cursor=cursor))
    result = await client.session.send_request(request, DirectoryResult)
    return [(item.name, item.mime_type) for item in result.resources]


async def read(client: Client, uri: str) -> bytes:
    (content,) = (await client.read_resource(uri)).contents
    return content.text.encode() if hasattr(content, "text") else base64.b64decode(content.blob)


async def verified(client: Client, entry: dict[str, Any]) -> bool:
    """Whether every file of an entry has the size and digest that it says."""
    for item in entry["resources"]:
        data = await read(client, item["uri"])
        if (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") != (item["size"], item["digest"]):
            return False
    return True

"""The program of an agent, inside of a box: lists the skills of a server, reads them, and uses them.

It knows the SDK's client and nothing of sipbench. Its argument says how far it goes: ``connects``, ``lists``,
or ``reads``.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path
from typing import Any, Literal

import httpx
import mcp_types as types
from mcp import Client
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client


class ListResult(types.PaginatedResult, types.CacheableResult):
    skills: list[dict[str, Any]]


class ListRequest(types.Request[types.PaginatedRequestParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: types.PaginatedRequestParams


async def main(does: str) -> None:
    header, _, variable = os.environ.get("HEADER", "").partition("=")
    headers = {header: os.environ[variable]} if header else {}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(os.environ["SERVER"], http_client=http)
        async with Client(transport, extensions=[advertise("io.modelcontextprotocol/skills")]) as client:
            if does == "connects":
                return
            request = ListRequest(params=types.PaginatedRequestParams())
            listed = await client.session.send_request(request, ListResult)
            for entry in listed.skills:
                print(entry["frontmatter"]["name"])
                if does == "reads":
                    await use(client, entry)


async def use(client: Client, entry: dict[str, Any]) -> None:
    for file in entry["resources"]:
        (content,) = (await client.read_resource(file["uri"])).contents
        data = content.text.encode("utf-8")
        assert "sha256:" + hashlib.sha256(data).hexdigest() == file["digest"]
        if file["uri"].endswith("/answer"):
            Path("/app/answer").write_bytes(data)


asyncio.run(main(sys.argv[1]))

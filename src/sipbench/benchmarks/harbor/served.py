"""Skills that an agent is given through MCP: a server of ours beside the attempt, reached from its box.

The box's own loopback has one listening socket, which a process outside of it serves: the agent's program
speaks to ``http://127.0.0.1:8711/mcp``, and nobody else can. The server writes down what it served, and that
is what the agent was given (listed) and opened (read).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sipbench.benchmarks.base import Agent
from sipbench.benchmarks.harbor import agents, sandboxes
from sipbench.benchmarks.harbor.exposure import NotExposedError
from sipbench.benchmarks.harbor.state import AgentState
from sipbench.errors import ConfigError, EngineError, MissingExtraError
from sipbench.protocol.records import SkillRef

__all__ = ["LOG", "Serving", "check_served", "exposure", "plan_serving", "start_server"]

LOG = "served.jsonl"
"""The server's log in the attempt's folder."""
PORT = 8711
_NAME = "skills"
_TOKEN = "SIPBENCH_SKILLS_TOKEN"
_PATIENCE_SECONDS = 120.0
_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Serving:
    """How the skills of one attempt are served.

    Attributes:
        root: Their folder.
        log: Where the server writes down what it served.
        token: What a client has to send; None where the agent cannot be told to send anything.
    """

    root: Path
    log: Path
    token: str | None

    def server(self) -> Any:
        """Harbor's configuration of the server."""
        from harbor.models.task.config import MCPServerConfig

        headers = {"Authorization": f"Bearer ${{{_TOKEN}}}"} if self.token is not None else {}
        url = f"http://127.0.0.1:{PORT}/mcp"
        return MCPServerConfig(name=_NAME, transport="streamable-http", url=url, headers=headers)

    def variables(self) -> dict[str, str]:
        """What the agent needs in its environment to send the token."""
        return {_TOKEN: self.token} if self.token is not None else {}


def check_served(agent: Agent, sandbox: str, options: Mapping[str, Any]) -> None:
    """Refuse an agent or a sandbox that skills cannot be served to.

    Args:
        agent: Who is to have them.
        sandbox: Its name; one of somebody else (``module:Class``) is only known when it runs.
        options: Its options.

    Raises:
        ConfigError: It cannot be, and why.
        MissingExtraError: The SDK is not installed.
    """
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise MissingExtraError("skills through MCP", "mcp")
    if sandbox != sandboxes.BWRAP and ":" not in sandbox:
        raise ConfigError(
            f"skills are served into the sandbox `bwrap` alone, and this study runs in {sandbox}; set "
            "`sandbox: bwrap`, or drop `through`"
        )
    if options.get("network") == "host":
        raise ConfigError(
            "a sandbox on the host's network has no loopback of its own that skills could be served on; "
            "set `sandbox_options.network: proxy`, or drop `through`"
        )
    if not agents.agent_class(agent.name).capabilities.mcp_servers:
        raise ConfigError(
            f"agent '{agent.name}' takes no MCP servers; drop `through`, or choose another agent"
        )


def plan_serving(state: AgentState, agent: Agent, workdir: Path) -> Serving | None:
    """How the skills of ``state`` are served; None where they are given as files, or there are none.

    Raises:
        EngineError: They lie in more than one folder.
    """
    if not state.through_mcp or not state.skills:
        return None
    roots = {folder.parent for folder in state.skills.values()}
    if len(roots) > 1:
        raise EngineError(
            "the agent state holds skills for all tasks and for this one, which cannot be served together"
        )
    tells = agents.agent_class(agent.name).capabilities.mcp_http_headers
    token = secrets.token_urlsafe(24) if tells else None
    return Serving(roots.pop(), workdir.absolute() / LOG, token)


class Server:
    """A server that runs, beside an attempt."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def stop(self) -> str | None:
        """End it; says why if it had ended by itself."""
        process = self._process
        early = process.returncode
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
        return None if early is None else f"the server of the skills ended by itself (exit status {early})"


async def start_server(environment: Any, serving: Serving) -> Server:
    """Serve the skills into ``environment``, from now on.

    Raises:
        NotExposedError: It cannot be done, and why.
    """
    listen = getattr(environment, "listen", None)
    if listen is None:
        raise NotExposedError("skills cannot be served into this sandbox; use `bwrap`")
    try:
        listening = await listen(PORT)
    except EngineError as error:
        raise NotExposedError(f"skills cannot be served into the sandbox: {error}") from None
    with listening:
        server, said = await _spawn(listening.fileno(), serving)
    if said != "ready":
        await server.stop()
        reason = said or "it ended at once; does `asb serve-skills` start?"
        raise NotExposedError(f"the server of the skills could not be started: {reason}")
    return server


async def _spawn(listening: int, serving: Serving) -> tuple[Server, str]:
    """The server, and the first line that it says."""
    from sipbench.skills.mcp.beside import ENVIRONMENT

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sipbench.skills.mcp.beside"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # whoever is in the box could write there without end
        pass_fds=[listening],
        env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
        cwd="/",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    server = Server(process)
    places = {"root": str(serving.root), "log": str(serving.log)}
    asked = json.dumps(places | {"token": serving.token, "socket": listening})
    try:
        with contextlib.suppress(OSError):  # it has ended: no line will come
            process.stdin.write(asked.encode("utf-8") + b"\n")
            await process.stdin.drain()
        line = await asyncio.wait_for(process.stdout.readline(), _PATIENCE_SECONDS)
    except TimeoutError:
        await server.stop()
        raise NotExposedError("the server of the skills did not start in time") from None
    except BaseException:
        await server.stop()
        raise
    return server, line.decode("utf-8", "replace").strip()


def exposure(
    log: Path, wanted: Mapping[str, SkillRef]
) -> tuple[tuple[SkillRef, ...] | None, tuple[SkillRef, ...] | None]:
    """The skills that an agent was given (a listing or its reading named them) and those that it read of.

    Args:
        log: The server's.
        wanted: Those that it is to have.

    Returns:
        By name; None and None if nobody ever spoke to the server.

    Raises:
        NotExposedError: Something else was served than what it is to have.
    """
    from sipbench.skills.mcp.log import read_served_log

    given: dict[str, SkillRef] = {}
    opened: set[str] = set()
    seen = False
    for line in read_served_log(log) if log.is_file() else ():
        seen = seen or line["event"] == "connected"
        if "uri" not in line:
            continue
        ref = SkillRef(name=line["name"], digest=line["digest"], tree_digest=line["tree_digest"])
        if given.setdefault(line["uri"], ref) != ref or wanted.get(ref.name, ref) != ref:
            raise NotExposedError(f"the skill {ref.name} that was served is not the one of the agent state")
        if line["event"] == "read":
            opened.add(line["uri"])
    if not seen:
        return None, None
    ordered = sorted(given.items(), key=lambda item: (item[1].name, item[0]))
    return tuple(ref for _, ref in ordered), tuple(ref for uri, ref in ordered if uri in opened)

"""Agents for the tests of the engine, loaded by Harbor by import path. None of them calls a model."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import NonZeroAgentExitCodeError

from sipbench.sandbox.harbor_env import BwrapEnvironment

CLIENT = Path(__file__).parent / "mcp_program.py"


class Plain(BaseAgent):
    """Takes no skills from Harbor; uses those that its image brings."""

    @staticmethod
    def name() -> str:
        return "plain"

    def version(self) -> str:
        return "7"

    async def setup(self, environment: Any) -> None:
        return

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        await environment.exec("cp /root/.claude/skills/*/answer /app/answer; true")


class Skillful(Plain):
    """Uses whatever skill it is given, and says so in a trajectory."""

    capabilities = AgentCapabilities(skills=True, atif=True)

    @staticmethod
    def name() -> str:
        return "skillful"

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        command = f"cat {self.skills_dir}/*/SKILL.md; cat {self.skills_dir}/*/answer | head -1 > /app/answer"
        await environment.exec(command)
        call = {"tool_call_id": "1", "function_name": "bash", "arguments": {"command": command}}
        did = {"step_id": 1, "source": "agent", "message": "", "llm_call_count": 0, "tool_calls": [call]}
        document = {"schema_version": "ATIF-v1.8", "agent": {"name": "skillful"}, "steps": [did]}
        (Path(self.logs_dir) / "trajectory.json").write_text(json.dumps(document), encoding="utf-8")
        context.n_input_tokens = context.n_output_tokens = 0


class Looks(Plain):
    """Writes down what it was told and what it finds."""

    capabilities = AgentCapabilities(skills=True)

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        listing = await environment.exec(
            "find /runtime /root/.claude -type f -exec sha256sum {} + 2>/dev/null; cat /runtime/memory/*; env"
        )
        told = {
            "instruction": instruction,
            "found": listing.stdout,
            "model": self.model_name,
            "skills_dir": self.skills_dir,
        }
        (Path(self.logs_dir) / "told.json").write_text(json.dumps(told), encoding="utf-8")


class Sleeps(Plain):
    """Writes the answer and never ends, unless the host says that it is time to."""

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        await environment.exec("echo 42 > /app/answer; (sleep 987654 &) ; touch /logs/agent/begun")
        context.n_input_tokens, context.n_output_tokens, context.cost_usd = 90, 10, 0.5
        (Path(self.logs_dir) / "begun").touch()
        if "TEST_AWAKE" not in os.environ:
            await asyncio.sleep(3600)


class Fails(Plain):
    """Spends something, then fails as its argument says."""

    def __init__(self, *args: Any, how: str = "RuntimeError", seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.how = how

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        context.n_input_tokens, context.n_output_tokens, context.cost_usd = 90, 10, 0.5
        if self.how == "exit":
            raise NonZeroAgentExitCodeError("exit code 1")
        raise RuntimeError("a provider that nobody knows" if self.how == "RuntimeError" else self.how)


class LosesSkills(BwrapEnvironment):
    """An environment in which skills are uploaded and never arrive."""

    async def upload_dir(self, source_dir: Any, target_dir: str) -> None:
        if not str(target_dir).startswith("/runtime/skills"):
            await super().upload_dir(source_dir, target_dir)
        else:
            await self.exec(f"mkdir -p {target_dir}")


class Unmakeable(Plain):
    """Cannot be made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no such model")


class OverMcp(Plain):
    """Runs a program in the environment that speaks MCP to the server it was given, with the SDK's client."""

    capabilities = AgentCapabilities(mcp_servers=True, mcp_http_headers=True)

    def __init__(self, *args: Any, does: str = "reads", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.does = does

    @staticmethod
    def name() -> str:
        return "over-mcp"

    async def setup(self, environment: Any) -> None:
        await environment.upload_file(CLIENT, "/opt/mcp_program.py")

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        server = next((server for server in self.mcp_servers if server.name == "skills"), None)
        if server is None or self.does == "nothing":
            return
        variables = {"SERVER": server.url}
        for name, variable in self.mcp_header_env.refs.get(server.name, {}).items():
            variables["HEADER"] = f"{name}={variable}"
        done = await environment.exec(
            f"{sys.executable} /opt/mcp_program.py {self.does}", env=variables | self.mcp_header_env.env
        )
        (Path(self.logs_dir) / "client.txt").write_text(f"{done.stdout}\n{done.stderr}", encoding="utf-8")
        if done.return_code != 0:
            raise NonZeroAgentExitCodeError(done.stderr or "")


class OverMcpWithoutHeaders(OverMcp):
    """The same, without a way to send headers."""

    capabilities = AgentCapabilities(mcp_servers=True)


class Lists(Plain):
    """Says which skills it finds where Harbor says that they are."""

    capabilities = AgentCapabilities(skills=True)

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        found = await environment.exec(f"cd {self.skills_dir} && sha256sum */SKILL.md")
        (Path(self.logs_dir) / "found.txt").write_text(found.stdout or "", encoding="utf-8")

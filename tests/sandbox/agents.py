"""Agents for the tests of the Harbor environment; loaded by Harbor by import path."""

from __future__ import annotations

from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities

PROBE = """
ls -la /tests /solution > /logs/agent/seen 2>&1
find / -xdev \\( -name test.sh -o -name solve.sh \\) >> /logs/agent/seen 2>/dev/null
true
"""
LEAVE = """
mkdir -p /tests && echo 'planted' > /tests/conftest.py
wait='until [ -e /tests/test.sh ]; do sleep 0.01; done; echo x > /tests/attacked'
nohup setsid bash -c "$wait" >/dev/null 2>&1 &
"""


class _Shell(BaseAgent):
    """Runs one script in the environment."""

    capabilities = AgentCapabilities(skills=True)
    script = "true"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: Any) -> None:
        return

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        done = await environment.exec(self.script)
        assert done.return_code == 0, done


class Probe(_Shell):
    """Looks for the tests and the solution."""

    script = PROBE

    @staticmethod
    def name() -> str:
        return "probe"


class Leave(_Shell):
    """Leaves a process that rewrites the verifier's files."""

    script = LEAVE

    @staticmethod
    def name() -> str:
        return "leave"


class Links(_Shell):
    """Leaves links to a file of the host wherever Harbor collects what an agent left."""

    def __init__(self, *args: Any, secret: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        places, folder = "/logs/agent /logs/artifacts /logs/verifier /app", secret.rpartition("/")[0]
        self.script = (
            f"for p in {places}; do mkdir -p $p/in; cd $p; ln -s {secret} link; ln -s {folder} dir; "
            f"ln -s /etc/shadow shadow; ln {secret} hard; ln -s ../../../../../../../..{secret} in/climb; "
            f"mkfifo pipe; echo mine > in/own; done; ln -s {secret} /app/answer; true"
        )

    @staticmethod
    def name() -> str:
        return "links"


class UsesSkill(_Shell):
    """Does what its skill says, if it has one."""

    script = "cat /runtime/skills/*/SKILL.md 2>/dev/null && cp /runtime/skills/*/answer /app/answer; true"

    @staticmethod
    def name() -> str:
        return "uses-skill"


class ShowNetwork(_Shell):
    """Writes down how it may reach the network."""

    script = 'echo "${https_proxy:-none}" > /logs/agent/proxy; cat /proc/net/dev > /logs/agent/devices'

    @staticmethod
    def name() -> str:
        return "show-network"

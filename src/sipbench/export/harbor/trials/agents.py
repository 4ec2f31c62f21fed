"""The agent that plays one trick inside of a task's environment."""

from __future__ import annotations

from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from sipbench.export.harbor.trials.tricks import TRICKS, seen

__all__ = ["TrickAgent"]

_SECONDS = 120


class TrickAgent(BaseAgent):  # type: ignore[misc]
    """Plays the trick that its argument ``trick`` names; no model is called."""

    capabilities = AgentCapabilities(skills=True)

    def __init__(self, *args: Any, trick: str, **kwargs: Any) -> None:
        """Make it."""
        super().__init__(*args, **kwargs)
        self._trick = trick

    @staticmethod
    @override
    def name() -> str:
        return "asb-cheat"

    @override
    def version(self) -> str:
        return "1.0.0"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """There is nothing to install."""

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Play the trick; that its commands fail is no matter."""
        script = TRICKS[self._trick](seen(instruction))
        done = await environment.exec(f"cd /app 2>/dev/null\n{script}", timeout_sec=_SECONDS)
        context.n_input_tokens = context.n_output_tokens = context.n_cache_tokens = 0
        context.cost_usd = 0.0
        context.metadata = {"trick": self._trick, "exit": done.return_code}

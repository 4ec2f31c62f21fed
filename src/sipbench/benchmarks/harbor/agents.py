"""Agents as Harbor knows them: by its own names, or by the import path of a class."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sipbench.benchmarks.base import Agent, Charge
from sipbench.benchmarks.harbor.engine import load_harbor
from sipbench.errors import ConfigError, EngineError
from sipbench.plugins import suggestion
from sipbench.protocol.vocabulary import PathType

__all__ = [
    "ORACLE",
    "agent_class",
    "agent_config",
    "charge",
    "check_agent",
    "check_keys",
    "extend_path",
    "takes_skills",
]

ORACLE = "oracle"
_OWN = frozenset({ORACLE, "nop"})  # utilities of Harbor, which take no skills and use no model
_NONE = "none"


def extend_path(folders: Iterable[Path]) -> None:
    """Let modules of agents be found in ``folders``, after everything else."""
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"python_path: {folder} is not a folder")
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


def agent_class(name: str) -> type[Any]:
    """The class of an agent.

    Raises:
        ConfigError: Harbor has no such agent, or the class cannot be imported.
    """
    load_harbor()
    from harbor import TrialAgentConfig
    from harbor.agents.base import BaseAgent
    from harbor.agents.factory import AgentFactory

    try:
        found = AgentFactory.get_agent_class_from_config(TrialAgentConfig(**_named(name)))
    except (ValueError, TypeError, ImportError) as error:
        if ":" in name:
            raise ConfigError(f"agent '{name}': {error}; is its folder in `python_path`?") from None
        known = AgentFactory.registered_names()
        raise ConfigError(
            f"agent '{name}' is no agent of Harbor{suggestion(name, known)}; known are {', '.join(known)}, "
            "or give `module:Class`"
        ) from None
    if not isinstance(found, type) or not issubclass(found, BaseAgent):
        raise ConfigError(f"agent '{name}': not a subclass of harbor.BaseAgent")
    return found


def _named(name: str) -> dict[str, str]:
    path = ":" in name and not name.startswith("acp:")
    return {"import_path": name} if path else {"name": name}


def takes_skills(name: str) -> bool:
    """Whether the agent can be given skills by Harbor."""
    return name not in _OWN and bool(agent_class(name).capabilities.skills)


def agent_config(
    agent: Agent,
    path_type: PathType,
    *,
    model: str | None = None,
    skills: Sequence[Path] = (),
    variables: dict[str, str] | None = None,
    seed: tuple[str, int] | None = None,
    servers: Sequence[Any] = (),
) -> Any:
    """Harbor's configuration of the agent of one attempt.

    Args:
        agent: The arm's agent.
        path_type: Of the arm; ``oracle`` is Harbor's oracle, whoever the agent is.
        model: A model instead of the agent's own.
        skills: Folders of skills that Harbor is to give to it.
        variables: The agent's environment variables; ``${NAME}`` is the host's value.
        seed: Name of an argument and its value.
        servers: Harbor's configurations of MCP servers that it is to have.
    """
    from harbor import TrialAgentConfig

    timeout = agent.limits.timeout_seconds
    if path_type is PathType.ORACLE:
        return TrialAgentConfig(name=ORACLE, override_timeout_sec=timeout)
    arguments = dict(agent.arguments)
    if seed is not None:
        arguments[seed[0]] = seed[1]
    if agent.version != "0" and "version" not in arguments and _is_installed(agent.name):
        arguments["version"] = agent.version
    own = agent.model if agent.model != _NONE else None
    return TrialAgentConfig(
        **_named(agent.name),
        model_name=model or own,
        kwargs=arguments,
        env=dict(variables or {}),
        skills=[str(path) for path in skills],
        mcp_servers=list(servers),
        override_timeout_sec=timeout,
    )


def _is_installed(name: str) -> bool:
    """Whether the agent is a program that Harbor installs, of a version that can be named."""
    from harbor.agents.installed.base import BaseInstalledAgent

    return issubclass(agent_class(name), BaseInstalledAgent)


def check_agent(agent: Agent, path_type: PathType) -> None:
    """Refuse an agent that Harbor cannot run.

    Raises:
        ConfigError: Unknown agent or argument, or a limit that nobody would keep.
    """
    for limit in ("tool_calls", "tokens"):
        if getattr(agent.limits, limit) is not None:
            raise ConfigError(
                f"limits.{limit}: Harbor cannot hold an agent to it; use an argument of the agent, or "
                "timeout_seconds"
            )
    if path_type is PathType.ORACLE:
        return
    found = agent_class(agent.name)
    config = agent_config(agent, path_type)
    try:
        found.preflight(kwargs=dict(config.kwargs), env={})
    except (ValueError, TypeError) as error:
        raise ConfigError(f"agent '{agent.name}': {' '.join(str(error).split())}") from None


def charge(agent: Agent, path_type: PathType) -> Charge:
    """What is known beforehand of the money that an attempt takes.

    Harbor's installed agents call a model, their own where none is named; a class of somebody's may call one.
    """
    if path_type is PathType.ORACLE or agent.name in _OWN:
        return "free"
    return "paid" if agent.model != _NONE or "name" in _named(agent.name) else "unknown"


def check_keys(agent: Agent, variables: dict[str, str]) -> None:
    """Refuse to start with an agent whose model cannot be reached for want of a key.

    It is asked when attempts are about to start, not when a study is planned.

    Raises:
        EngineError: A key is missing, and which.
    """
    from harbor.agents.factory import AgentFactory

    config = agent_config(agent, PathType.FROZEN, variables=variables)
    if agent.name in _OWN or config.model_name is None:
        return
    try:
        AgentFactory.run_preflight(config)
    except (ValueError, TypeError, SystemExit) as error:
        raise EngineError(f"agent '{agent.name}': {' '.join(str(error).split())}") from None

"""Which environment attempts run in: Docker where it answers, else bubblewrap, or what the study names."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sipbench.benchmarks.harbor.engine import load_harbor
from sipbench.errors import ConfigError, EngineError, MissingExtraError

__all__ = [
    "AUTO",
    "BWRAP",
    "BWRAP_CLASS",
    "begin",
    "check_choice",
    "check_tasks",
    "environment_config",
    "preflight",
    "resolved",
]

AUTO = "auto"
BWRAP = "bwrap"
BWRAP_CLASS = "sipbench.sandbox.harbor_env:BwrapEnvironment"

_PATIENCE_SECONDS = 10
_SHOWN = 5
_COMMON = ("docker", "podman")  # known without a look into Harbor, which takes a second to load
_PATHS = ("base", "store")  # options of the bubblewrap sandbox that are relative to the study file

_log = logging.getLogger(__name__)


@cache
def _answers(program: str) -> bool:
    if shutil.which(program) is None:
        return False
    try:
        done = subprocess.run([program, "info"], capture_output=True, timeout=_PATIENCE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def resolved(sandbox: str) -> str:
    """What ``auto`` stands for on this machine; anything else is what it is."""
    if sandbox != AUTO:
        return sandbox
    return "docker" if _answers("docker") else BWRAP


def check_choice(sandbox: str, options: Mapping[str, Any], base: Path) -> None:
    """Refuse a name that no environment has, and a root file system that is not there.

    Args:
        sandbox: As :func:`resolved`.
        options: The environment's own.
        base: What paths in ``options`` are relative to.

    Raises:
        ConfigError: There is no such environment, or no such folder.
    """
    if sandbox == BWRAP:
        root = options.get("base")
        if isinstance(root, str) and not (base / root).is_dir():
            raise ConfigError(f"sandbox base {base / root} is no folder; name a root file system")
    elif ":" not in sandbox and sandbox not in _COMMON:
        load_harbor()
        from harbor import EnvironmentType

        known = sorted(item.value for item in EnvironmentType)
        if sandbox not in known:
            raise ConfigError(
                f"sandbox: '{sandbox}' is none of {AUTO}, {BWRAP}, module:Class, {', '.join(known)}"
            )


def environment_config(
    sandbox: str, options: Mapping[str, Any], variables: Mapping[str, str], base: Path
) -> Any:
    """Harbor's configuration of the environment.

    Args:
        sandbox: As :func:`resolved`, and passed by :func:`check_choice`.
        options: The environment's own.
        variables: Set inside of it; ``${NAME}`` is the host's value.
        base: What paths in ``options`` are relative to.

    Raises:
        ConfigError: A variable of the host is not set.
    """
    load_harbor()
    from harbor import TrialEnvironmentConfig
    from harbor.utils.env import resolve_env_vars

    given = dict(options)
    where: dict[str, Any] = {}
    if sandbox == BWRAP:
        where["import_path"] = BWRAP_CLASS
        given |= {name: str(base / given[name]) for name in _PATHS if isinstance(given.get(name), str)}
    elif ":" in sandbox:
        where["import_path"] = sandbox
    else:
        where["type"] = sandbox
    try:
        values = resolve_env_vars(dict(variables))
    except ValueError as error:
        raise ConfigError(f"environment: {error}") from None
    return TrialEnvironmentConfig(**where, kwargs=given, env=values)


def begin(sandbox: str, options: Mapping[str, Any]) -> None:
    """Begin in the background what the first attempt would wait for; nothing is left to be ended."""
    if sandbox == BWRAP and not options.get("base") and sys.platform.startswith("linux"):
        from sipbench.sandbox.base import look_around

        look_around()


def preflight(config: Any) -> None:
    """Ask the environment whether anything can run in it.

    Raises:
        EngineError: It cannot, and why.
    """
    from harbor.environments.factory import EnvironmentFactory

    try:
        EnvironmentFactory.run_preflight(config.type, config.import_path, kwargs=dict(config.kwargs))
    except SystemExit as error:
        raise EngineError(f"sandbox: {error}") from None
    except (ValueError, TypeError, ImportError) as error:
        raise EngineError(f"sandbox: {' '.join(str(error).split())}") from None


def check_tasks(config: Any, tasks: Sequence[Path]) -> None:
    """Say which tasks the bubblewrap sandbox cannot run, before any attempt; other environments know later.

    A study may leave such tasks out of its splits, so that they are an error only where nothing is left.

    Raises:
        EngineError: None of the tasks can be run.
    """
    if config.import_path != BWRAP_CLASS:
        return
    from sipbench.sandbox.harbor_env import BwrapOptions
    from sipbench.sandbox.task import check_task

    options = BwrapOptions.model_validate(dict(config.kwargs)).sandbox()
    refused = []
    for task in tasks:
        try:
            check_task(task, options)
        except MissingExtraError:
            raise
        except (EngineError, ValueError) as error:
            refused.append(f"{task.name}: {' '.join(str(error).split())}")
    if not refused:
        return
    more = f"; and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
    listed = "; ".join(refused[:_SHOWN]) + more
    said = f"{len(refused)} of {len(tasks)} tasks cannot be run in the sandbox: {listed}"
    if len(refused) == len(tasks):
        raise EngineError(f"{said}; choose another `sandbox`")
    _log.warning("%s; name them in `exclude`, or choose another `sandbox`", said)

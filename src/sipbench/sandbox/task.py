"""What a Harbor task asks of a box, and what it cannot be given.

Reads the files themselves; the Harbor package is not needed here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sipbench.errors import EngineError
from sipbench.sandbox.base import Base
from sipbench.sandbox.bwrap import Machine
from sipbench.sandbox.context import Context
from sipbench.sandbox.dockerfile import Dockerfile, parse
from sipbench.sandbox.options import SandboxOptions
from sipbench.sandbox.ready import Ready
from sipbench.sandbox.steps import check_steps

__all__ = ["Asked", "check", "check_task"]

_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")


@dataclass(frozen=True)
class Asked:
    """An environment section of a task, as far as a box must know it.

    Attributes:
        directory: The build context.
        gpus: Graphics processors.
        tpu: Whether a tensor processor is asked for.
        windows: Whether Windows is asked for.
        compose: Whether further compose files are given.
    """

    directory: Path
    gpus: int = 0
    tpu: bool = False
    windows: bool = False
    compose: bool = False


def check(asked: Asked, base: Base, machine: Machine) -> tuple[Dockerfile | None, Context | None]:
    """Read a task's environment and refuse what cannot work, before anything is started.

    Returns:
        The Dockerfile and its context, or None where the task has none.

    Raises:
        EngineError: Accelerators, Windows or compose services are asked for, or the Dockerfile
            cannot be carried out.
    """
    where = asked.directory
    found = next((name for name in _COMPOSE if (where / name).exists()), None)
    for wanted, what in (
        (asked.gpus, f"{asked.gpus} GPU"),
        (asked.tpu, "a TPU"),
        (asked.windows, "Windows"),
        (found or asked.compose, f"compose services ({found or 'an extra file'})"),
    ):
        if wanted:
            raise EngineError(f"{where}: the task asks for {what}, which the sandbox cannot give; use Docker")
    path = where / "Dockerfile"
    if not path.is_file():
        return None, None
    dockerfile = parse(path)
    check_steps(dockerfile, base, machine)
    return dockerfile, Context.open(where)


def check_task(task_dir: Path, options: SandboxOptions | None = None) -> None:
    """Refuse a Harbor task that this sandbox cannot run, before any attempt starts.

    Args:
        task_dir: The task's folder.
        options: Options of the sandbox.

    Raises:
        EngineError: With what the task asks for and where.
    """
    ready = Ready.make(options or SandboxOptions())
    for asked in _sections(task_dir):
        check(asked, ready.base, ready.machine)


def _sections(task_dir: Path) -> Iterator[Asked]:
    """Yield what the agent's environment, the verifier's and those of steps ask for."""
    manifest = task_dir / "task.toml"
    try:
        config = tomllib.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EngineError(f"{manifest}: {error}") from error
    yield _asked(config.get("environment"), task_dir / "environment")
    places = [(config.get("verifier"), task_dir / "tests")]
    steps = config.get("steps")
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, Mapping):
            places.append((step.get("verifier"), task_dir / "steps" / str(step.get("name")) / "tests"))
    for verifier, tests in places:
        section = verifier.get("environment") if isinstance(verifier, Mapping) else None
        if section is not None or (tests / "Dockerfile").is_file():
            own = tests if (tests / "Dockerfile").is_file() else task_dir / "environment"
            yield _asked(section, own)


def _asked(section: Any, directory: Path) -> Asked:
    values = section if isinstance(section, Mapping) else {}
    gpus = values.get("gpus")
    return Asked(
        directory,
        gpus if isinstance(gpus, int) else 0,
        values.get("tpu") is not None,
        values.get("os") == "windows",
    )

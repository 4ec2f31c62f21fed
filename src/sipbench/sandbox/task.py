"""What a Harbor task asks of a box, and what it cannot be given.

Reads plain values; the Harbor package is not needed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sipbench.errors import EngineError
from sipbench.sandbox.base import Base
from sipbench.sandbox.bwrap import Machine
from sipbench.sandbox.context import Context
from sipbench.sandbox.dockerfile import Dockerfile, parse
from sipbench.sandbox.steps import check_steps

__all__ = ["Asked", "check"]

_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")


@dataclass(frozen=True)
class Asked:
    """A task's environment section, as far as a box must know it.

    Attributes:
        directory: The build context.
        docker_image: A ready image's name; noted, since nothing is pulled.
        gpus: Graphics processors.
        tpu: Whether a tensor processor is asked for.
        windows: Whether Windows is asked for.
        compose: Further compose files.
    """

    directory: Path
    docker_image: str | None = None
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
    if asked.gpus:
        raise EngineError(
            f"{where}: the task asks for {asked.gpus} GPU, which the sandbox cannot give; use Docker"
        )
    if asked.tpu:
        raise EngineError(f"{where}: the task asks for a TPU, which the sandbox cannot give")
    if asked.windows:
        raise EngineError(f"{where}: the task asks for Windows, which the sandbox cannot give; use Docker")
    found = next((name for name in _COMPOSE if (where / name).exists()), None)
    if found or asked.compose:
        raise EngineError(
            f"{where}: compose services ({found or 'extra file'}) are not supported; use Docker"
        )
    path = where / "Dockerfile"
    if not path.is_file():
        return None, None
    dockerfile = parse(path)
    check_steps(dockerfile, base, machine)
    return dockerfile, Context.open(where)

"""What splits are made from: tasks, as much of them as is needed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["TaskLike"]


class TaskLike(Protocol):
    """A task of any benchmark; :class:`sipbench.benchmarks.base.Task` is one."""

    @property
    def id(self) -> str:
        """Stable across machines and releases."""

    @property
    def digest(self) -> str | None:
        """Changes when the task changes."""

    @property
    def family(self) -> str | None:
        """Its template or repository; None: a family of its own."""

    @property
    def concept(self) -> str | None:
        """What can transfer between families."""

    @property
    def text(self) -> str | None:
        """What the agent is shown."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Anything else; plain JSON."""

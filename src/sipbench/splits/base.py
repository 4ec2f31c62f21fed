"""What splits are made from: tasks, as much of them as is needed here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["TaskLike", "metadata_text"]


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


def metadata_text(task: TaskLike, key: str) -> str | None:
    """What ``task`` has under a metadata key, as text that equal values share; None if it has nothing.

    Text is itself; anything else is its JSON: ``true``, ``3``, ``{"a": 1}``.
    """
    value = task.metadata.get(key)
    if value is None or value == "":
        return None
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    )

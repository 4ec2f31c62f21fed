"""What must not be torn apart: tasks of one family, of one user, of nearly one text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sipbench.errors import ConfigError
from sipbench.splits.base import TaskLike, metadata_text
from sipbench.splits.duplicates import Duplicates
from sipbench.splits.lsh import components

__all__ = ["Unit", "units"]


@dataclass(frozen=True, slots=True)
class Unit:
    """Tasks that stay on one side of adapt and held-out.

    Attributes:
        tasks: Their positions in the list of tasks.
        name: A person's name for it: its commonest family, else its first task.
    """

    tasks: tuple[int, ...]
    name: str


def units(
    tasks: Sequence[TaskLike], keep_together: Sequence[str] = (), duplicates: Duplicates | None = None
) -> list[Unit]:
    """The connected components of tasks under family, the given metadata keys, and near-duplicates.

    Raises:
        ConfigError: No task has anything under one of the keys.
    """
    at = {task.id: position for position, task in enumerate(tasks)}
    first: list[int] = []
    second: list[int] = []

    def link(names: list[str | None]) -> None:
        heads: dict[str, int] = {}
        for position, name in enumerate(names):
            if name is not None:
                first.append(heads.setdefault(name, position))
                second.append(position)

    link([task.family for task in tasks])
    for key in keep_together:
        names = [metadata_text(task, key) for task in tasks]
        if not any(names):
            raise ConfigError(f"keep together by '{key}': no task has that in its metadata{_known(tasks)}")
        link(names)
    for group in duplicates.groups if duplicates else ():
        members = [at[name] for name in group if name in at]
        first += members[:1] * len(members)
        second += members
    label = components(len(tasks), np.array(first, np.int64), np.array(second, np.int64)).tolist()
    groups: dict[int, list[int]] = {}
    for position, group in enumerate(label):
        groups.setdefault(group, []).append(position)
    return [Unit(tuple(members), _name(tasks, members)) for members in groups.values()]


def _known(tasks: Sequence[TaskLike]) -> str:
    keys = sorted({key for task in tasks for key in task.metadata})
    return f"; tasks have {', '.join(keys[:10])}" if keys else ""


def _name(tasks: Sequence[TaskLike], members: Sequence[int]) -> str:
    families = Counter(family for at in members if (family := tasks[at].family) is not None)
    if not families:
        return f"the group of {tasks[members[0]].id}"
    name = families.most_common(1)[0][0]
    return f"family {name}" if len(families) == 1 else f"the group of family {name}"

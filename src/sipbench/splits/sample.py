"""Drawing tasks so that every stratum has its share."""

from __future__ import annotations

from collections.abc import Sequence

from sipbench.errors import ConfigError
from sipbench.protocol.digests import seed_from
from sipbench.splits.base import TaskLike, metadata_text

__all__ = ["draw", "strata"]

_LEVELS = 8


def strata(tasks: Sequence[TaskLike], key: str | None) -> list[str]:
    """A stratum for each task, by a metadata key; numbers of more than eight values become quarters.

    Raises:
        ConfigError: No task has anything under ``key``.
    """
    if key is None:
        return [""] * len(tasks)
    values = [task.metadata.get(key) for task in tasks]
    given = [value for value in values if value is not None]
    if not given:
        raise ConfigError(f"stratify by '{key}': no task has that in its metadata")
    numbers = [value for value in given if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(given) and len(set(numbers)) > _LEVELS:
        ranked = sorted(numbers)
        limits = [ranked[len(ranked) * part // 4] for part in (1, 2, 3)]
        return [
            "unknown" if value is None else f"quarter {1 + sum(value >= limit for limit in limits)}"
            for value in values
        ]
    return [(metadata_text(task, key) or "unknown")[:200] for task in tasks]


def draw(
    pool: Sequence[int], count: int, tasks: Sequence[TaskLike], strata: Sequence[str], seed: int
) -> list[int]:
    """Draw ``count`` positions of ``pool`` by systematic sampling, in the order of the tasks.

    The pool is sorted by stratum, then family, then chance, and every (size / count)-th task is
    taken from a random start: each stratum gets its share to within one task, and each family within
    it nearly so. What is drawn depends on ids, not on the order of the tasks.

    Source: Madow and Madow (1944), "On the theory of systematic sampling, I".
    """
    if count >= len(pool):
        return sorted(pool)
    if count <= 0:
        return []
    ordered = sorted(
        pool, key=lambda at: (strata[at], tasks[at].family or "", seed_from(seed, tasks[at].id), tasks[at].id)
    )
    start = seed_from(seed, "start") / 2**63
    places = (min(int((number + start) * len(pool) / count), len(pool) - 1) for number in range(count))
    return sorted(ordered[place] for place in places)

"""What a manifest holds, counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.splits.base import TaskLike
from sipbench.splits.sample import strata
from sipbench.splits.sizes import POOLS

__all__ = ["FEWEST_FAMILIES", "PoolTally", "families", "notes", "pools", "tally"]

FEWEST_FAMILIES = 6
"""With fewer families no verdict can be given, however many tasks there are."""


@dataclass(frozen=True, slots=True)
class PoolTally:
    """One list of a manifest, counted.

    Attributes:
        pool: Its name.
        tasks: Number of tasks.
        families: Number of families; a task without one is its own.
        largest: Tasks of the largest family.
        strata: Tasks by stratum, where strata are known.
    """

    pool: str
    tasks: int
    families: int
    largest: int
    strata: Mapping[str, int]


def pools(manifest: SplitManifest) -> Iterator[tuple[str, tuple[TaskEntry, ...]]]:
    """Every list of the manifest that holds a task, by name."""
    for name in POOLS:
        if entries := getattr(manifest, name):
            yield name, entries


def tally(manifest: SplitManifest, tasks: Sequence[TaskLike] = (), key: str | None = None) -> list[PoolTally]:
    """Count each list.

    Args:
        manifest: The splits.
        tasks: The benchmark's tasks, for their metadata.
        key: A metadata key to count by.

    Raises:
        ConfigError: No task has anything under ``key``.
    """
    labels = dict(zip((task.id for task in tasks), strata(tasks, key), strict=True)) if key else {}
    found = []
    for name, entries in pools(manifest):
        sizes = Counter(_family(entry) for entry in entries)
        levels = Counter(labels.get(entry.id, "unknown") for entry in entries) if key else Counter()
        largest = max(sizes.values())
        found.append(PoolTally(name, len(entries), len(sizes), largest, dict(sorted(levels.items()))))
    return found


def _family(entry: TaskEntry) -> tuple[str, str]:
    return ("family", entry.family) if entry.family is not None else ("task", entry.id)


def families(manifest: SplitManifest) -> list[tuple[str, Counter[str]]]:
    """Tasks of each family by list, the largest family first; tasks without a family are left out."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, entries in pools(manifest):
        for entry in entries:
            if entry.family is not None:
                counts[entry.family][name] += 1
    return sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))


def notes(manifest: SplitManifest) -> list[str]:
    """What a reader should know though no rule is broken."""
    found = []
    for row in tally(manifest):
        if row.pool in ("heldout", "replay") and row.families < FEWEST_FAMILIES:
            kind = "family" if row.families == 1 else "families"
            found.append(
                f"{row.pool} has {row.families} {kind}: with fewer than {FEWEST_FAMILIES} no verdict is given"
            )
    shared = manifest.selection.get("drift_tasks_of_adapt_families")
    if isinstance(shared, int) and shared:
        found.append(f"{shared} drift tasks are of a family that is learned from")
    if manifest.replay_selection is not None and manifest.replay_selection.method == "same_run":
        found.append("replay is chosen by the attempts that it is scored with: BR gets no verdict")
    return found

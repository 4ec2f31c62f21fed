"""What splits have in common: tasks, families, concepts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.vocabulary import METRIC_SPLITS, Split

__all__ = ["Overlap", "SplitSize", "overlaps", "split_sizes"]


@dataclass(frozen=True, slots=True)
class SplitSize:
    """One split.

    Attributes:
        split: The split.
        tasks: Tasks in it.
        families: Families among them; a task without one is its own.
        concepts: Concepts among them; tasks without one have none.
        digests: Tasks whose digest is known.
    """

    split: Split
    tasks: int
    families: int
    concepts: int
    digests: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two splits share.

    Attributes:
        first: A split.
        second: Another one.
        tasks: Task ids that stand in both.
        families: Families with a task in both.
        concepts: Concepts with a task in both: what can transfer, and no leak by itself.
    """

    first: Split
    second: Split
    tasks: int
    families: int
    concepts: int


def split_sizes(manifest: SplitManifest) -> list[SplitSize]:
    """Every split that holds a task."""
    return [_size(split, entries) for split in METRIC_SPLITS if (entries := manifest.tasks(split))]


def _size(split: Split, entries: tuple[TaskEntry, ...]) -> SplitSize:
    return SplitSize(
        split=split,
        tasks=len(entries),
        families=len({entry.family if entry.family is not None else (entry.id,) for entry in entries}),
        concepts=len(_named(entries, "concept")),
        digests=sum(entry.digest is not None for entry in entries),
    )


def overlaps(manifest: SplitManifest) -> list[Overlap]:
    """What each two splits that hold tasks share."""
    there = [(split, entries) for split in METRIC_SPLITS if (entries := manifest.tasks(split))]
    return [
        Overlap(
            first,
            second,
            tasks=len(_named(ours, "id") & _named(theirs, "id")),
            families=len(_named(ours, "family") & _named(theirs, "family")),
            concepts=len(_named(ours, "concept") & _named(theirs, "concept")),
        )
        for (first, ours), (second, theirs) in combinations(there, 2)
    ]


def _named(entries: tuple[TaskEntry, ...], field: str) -> set[str]:
    return {value for entry in entries if (value := getattr(entry, field)) is not None}

"""What tasks show of a manifest beyond its own entries: near-duplicates, shared users, changed tasks.

Each function returns violations of the protocol's rules, to be added to what
:func:`sipbench.protocol.rules.check_manifest` finds and handed to ``enforce``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.rules import Violation
from sipbench.protocol.vocabulary import Split
from sipbench.splits.base import TaskLike, metadata_text
from sipbench.splits.duplicates import Duplicates, DuplicateSettings, Pair, near_duplicates

__all__ = ["crossing_pairs", "duplicate_violations", "kept_together_violations", "near_duplicate_violations"]

_RULE = "disjoint-families"


def near_duplicate_violations(
    manifest: SplitManifest, tasks: Sequence[TaskLike], settings: DuplicateSettings | None = None
) -> list[Violation]:
    """Held-out tasks that are the same as an adapt task or nearly so: ``disjoint-families``.

    Args:
        manifest: The splits.
        tasks: The benchmark's tasks, with their texts; those of no adapt or held-out entry are ignored.
        settings: How alike two tasks must be.

    Raises:
        MissingExtraError: There are too many texts for the index, and datasketch is not installed.
    """
    wanted = {task.id for split in (Split.ADAPT, Split.HELDOUT) for task in manifest.tasks(split)}
    found = near_duplicates([task for task in tasks if task.id in wanted], settings)
    return duplicate_violations(manifest, found)


def duplicate_violations(manifest: SplitManifest, found: Duplicates) -> list[Violation]:
    """The same for a search that was made already, of these tasks or of more."""
    learned = {task.id for task in manifest.tasks(Split.ADAPT)}
    tested = {task.id for task in manifest.heldout}
    pairs = crossing_pairs(manifest, found)
    tasks = {name for pair in pairs for name in (pair.first, pair.second) if name in tested}
    if not found.complete:
        # Not every pair is listed. What a chain of pairs connects is all that can be said of the rest.
        for group in found.groups:
            if learned.intersection(group):
                tasks |= tested.intersection(group)
    if not tasks:
        return []
    return [Violation(_RULE, _message(pairs, tested, found), tuple(sorted(tasks)))]


def crossing_pairs(manifest: SplitManifest, found: Duplicates) -> list[Pair]:
    """The pairs of which one task is in adapt and the other one held out."""
    learned = {task.id for task in manifest.tasks(Split.ADAPT)}
    tested = {task.id for task in manifest.heldout}
    return [
        pair
        for pair in found.pairs
        if (pair.first in learned and pair.second in tested)
        or (pair.first in tested and pair.second in learned)
    ]


def _message(pairs: Sequence[Pair], tested: set[str], found: Duplicates) -> str:
    text = f"held-out tasks are near-duplicates of adapt tasks ({found.settings}"
    if not pairs:
        return f"{text}; connected through others)"
    pair = pairs[0]
    heldout, adapt = (pair.first, pair.second) if pair.first in tested else (pair.second, pair.first)
    how = {"digest": "same digest", "text": "same text", "near": f"{pair.similarity:.2f}"}[pair.kind]
    return f"{text}; {heldout} is like {adapt}: {how})"


def kept_together_violations(
    manifest: SplitManifest, tasks: Sequence[TaskLike], keys: Sequence[str]
) -> list[Violation]:
    """Held-out tasks that share a user, repository or template with an adapt task: ``disjoint-families``.

    Args:
        manifest: The splits.
        tasks: The benchmark's tasks, with their metadata.
        keys: Metadata keys whose values must not stand on both sides.
    """
    return list(_shared(manifest, {task.id: task for task in tasks}, keys))


def _shared(manifest: SplitManifest, tasks: dict[str, TaskLike], keys: Sequence[str]) -> Iterator[Violation]:
    for key in keys:
        learned = {
            metadata_text(tasks[entry.id], key) for entry in manifest.tasks(Split.ADAPT) if entry.id in tasks
        } - {None}
        shared = [
            entry.id
            for entry in manifest.heldout
            if entry.id in tasks and metadata_text(tasks[entry.id], key) in learned
        ]
        if shared:
            yield Violation(_RULE, f"held-out tasks share their '{key}' with adapt", tuple(sorted(shared)))

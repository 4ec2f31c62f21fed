"""Everything that can be held against a manifest, in one place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.records import RunRecord
from sipbench.protocol.rules import Violation, check_manifest
from sipbench.splits.base import TaskLike
from sipbench.splits.duplicates import Duplicates, DuplicateSettings, Pair, near_duplicates
from sipbench.splits.replay import check_declared_before, check_screen_apart
from sipbench.splits.tally import notes
from sipbench.splits.violations import crossing_pairs, duplicate_violations, kept_together_violations

__all__ = ["Checked", "check_splits"]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    Attributes:
        violations: Rules of the protocol that are broken.
        problems: What is wrong beside the rules: tasks that do not exist or have changed.
        notes: What a reader should know though nothing is wrong.
        pairs: Near-duplicates across adapt and held-out, as far as they are listed.
        duplicates: The search they come from; None without tasks.
    """

    violations: tuple[Violation, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    pairs: tuple[Pair, ...]
    duplicates: Duplicates | None

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.violations and not self.problems


def check_splits(
    manifest: SplitManifest,
    *,
    tasks: Sequence[TaskLike] | None = None,
    settings: DuplicateSettings | None = None,
    keep_together: Sequence[str] | None = None,
    scored: Sequence[RunRecord] = (),
    screened: Sequence[RunRecord] = (),
) -> Checked:
    """Check a manifest by itself, and against what else is known.

    Args:
        manifest: The splits.
        tasks: The benchmark's tasks; None: texts and metadata are not looked at.
        settings: How alike near-duplicates are.
        keep_together: Metadata keys that must not cross; None: those that the manifest was built with.
        scored: The attempts that are scored.
        screened: The attempts of the screening run.
    """
    violations = check_manifest(manifest)
    problems: list[str] = []
    said = notes(manifest)
    pairs: list[Pair] = []
    found = None
    if tasks is None:
        said.append("without the tasks, near-duplicates were not looked for")
    else:
        problems += _strangers(manifest, tasks)
        wanted = {entry.id for _, entry in manifest.entries()}
        found = near_duplicates([task for task in tasks if task.id in wanted], settings)
        pairs = crossing_pairs(manifest, found)
        violations += duplicate_violations(manifest, found)
        keys = keep_together if keep_together is not None else _keys(manifest)
        violations += kept_together_violations(manifest, tasks, keys)
        said += [*_limits(found), *_alike(manifest, found)]
    violations += check_declared_before(manifest, scored)
    violations += check_screen_apart({record.run_id for record in screened}, scored)
    return Checked(tuple(violations), tuple(problems), tuple(said), tuple(pairs), found)


def _keys(manifest: SplitManifest) -> list[str]:
    keys = manifest.selection.get("keep_together")
    return [key for key in keys if isinstance(key, str)] if isinstance(keys, list) else []


def _strangers(manifest: SplitManifest, tasks: Sequence[TaskLike]) -> Iterator[str]:
    known = {task.id: task for task in tasks}
    entries = [entry for _, entry in manifest.entries()]
    missing = sorted({entry.id for entry in entries if entry.id not in known})
    if missing:
        yield f"{len(missing)} tasks of the splits do not exist, such as {missing[0]}"
    changed = sorted(
        {
            entry.id
            for entry in entries
            if entry.id in known and entry.digest is not None and entry.digest != known[entry.id].digest
        }
    )
    if changed:
        yield f"{len(changed)} tasks have changed since the splits were made, such as {changed[0]}"


def _limits(found: Duplicates) -> Iterator[str]:
    if found.method == "minhash":
        chance = f"{found.recall:.4f}"
        yield f"near-duplicates by MinHash: a pair just at the threshold is found with probability {chance}"
    if not found.complete:
        yield "so many tasks are alike that not every pair of them is listed"
    if found.without_text:
        yield f"{len(found.without_text)} tasks have no text and were compared by digest only"
    if found.shortened:
        yield f"of {len(found.shortened)} tasks only the beginning of the text was compared"


def _alike(manifest: SplitManifest, found: Duplicates) -> Iterator[str]:
    """Near-duplicates within a split, which the analysis takes for independent unless they are a family."""
    for name in ("heldout", "replay"):
        family = {entry.id: entry.family or entry.id for entry in getattr(manifest, name)}
        within = [[task for task in group if task in family] for group in found.groups]
        apart = [group for group in within if len({family[task] for task in group}) > 1]
        if apart:
            tasks = sum(map(len, apart))
            yield (
                f"{name}: {tasks} tasks in {len(apart)} groups of near-duplicates are of different families, "
                "and so count as independent"
            )

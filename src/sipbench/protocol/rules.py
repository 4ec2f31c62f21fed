"""The protocol's split rules ("Split Rules" of SIP-Bench Protocol Spec v0).

======================  ==========================================================================
``disjoint-ids``        no task id stands in two of replay, adapt, heldout, drift, or twice in one
``disjoint-families``   adapt and heldout share no family; a *concept* may span families
``replay-eligible``     replay tasks were solvable or attempted before adaptation, and the manifest
                        declares by which method they were chosen
``drift-declared``      drift keeps the task format; the manifest declares what changes
======================  ==========================================================================

A near-duplicate search over task texts is a further source of ``disjoint-families`` violations:
it adds to what :func:`check_manifest` finds, and is enforced by the same :func:`enforce`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sipbench.errors import ConfigError, SplitError
from sipbench.protocol.manifest import Preregistered, SplitManifest, replay_list_digest
from sipbench.protocol.vocabulary import Split

__all__ = ["RULES", "Violation", "check_manifest", "check_replay_attempted", "enforce"]

RULES = ("disjoint-ids", "disjoint-families", "replay-eligible", "drift-declared")

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken split rule and the tasks that break it."""

    rule: str
    message: str
    tasks: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.tasks:
            return self.message
        more = f" and {len(self.tasks) - _SHOWN} more" if len(self.tasks) > _SHOWN else ""
        return f"{self.message}: {', '.join(self.tasks[:_SHOWN])}{more}"


def check_manifest(manifest: SplitManifest) -> list[Violation]:
    """Find every violation that the manifest alone shows."""
    return [
        *_shared_ids(manifest),
        *_shared_families(manifest),
        *_undeclared(manifest),
    ]


def _shared_ids(manifest: SplitManifest) -> Iterable[Violation]:
    places: dict[str, list[Split]] = defaultdict(list)
    for split, task in manifest.entries():
        places[task.id].append(split)
    shared: dict[str, list[str]] = defaultdict(list)
    for task_id, splits in places.items():
        if len(splits) > 1:
            shared[" and ".join(dict.fromkeys(splits))].append(task_id)
    for where, ids in shared.items():
        what = f"tasks stand in both {where}" if " and " in where else f"tasks stand twice in {where}"
        yield Violation("disjoint-ids", what, tuple(sorted(ids)))


def _shared_families(manifest: SplitManifest) -> Iterable[Violation]:
    learned = {task.family for task in manifest.tasks(Split.ADAPT)} - {None}
    tasks = [task for task in manifest.heldout if task.family in learned]
    if tasks:
        families = ", ".join(sorted({str(task.family) for task in tasks})[:_SHOWN])
        yield Violation(
            "disjoint-families",
            f"held-out tasks share a family with adapt ({families})",
            tuple(sorted(task.id for task in tasks)),
        )


def _undeclared(manifest: SplitManifest) -> Iterable[Violation]:
    if manifest.replay and manifest.replay_selection is None:
        yield Violation(
            "replay-eligible",
            "replay_selection does not say how replay tasks were chosen (preregistered, screened, "
            "crossfit or same_run)",
        )
    declared = manifest.replay_selection
    if isinstance(declared, Preregistered) and declared.list_digest != replay_list_digest(manifest.replay):
        yield Violation(
            "replay-eligible", "the replay list is not the one that was preregistered: its digest differs"
        )
    if manifest.drift and not manifest.drift_changes:
        yield Violation(
            "drift-declared",
            "drift_changes does not say what changes (evidence, user_state, policy, environment)",
        )


def check_replay_attempted(manifest: SplitManifest, attempted: Collection[str]) -> list[Violation]:
    """Find replay tasks that are not among those attempted (or planned) before adaptation."""
    never = sorted(task.id for task in manifest.replay if task.id not in attempted)
    if not never:
        return []
    return [
        Violation("replay-eligible", "replay tasks were neither solvable nor attempted at T0", tuple(never))
    ]


def enforce(violations: Sequence[Violation], allow: Collection[str] = ()) -> tuple[Violation, ...]:
    """Refuse violations, except of the rules that the user allows.

    Returns:
        The violations that were allowed; they stay as marks in summary and report.

    Raises:
        SplitError: A rule is broken that is not allowed.
        ConfigError: ``allow`` names a rule that does not exist.
    """
    unknown = sorted(set(allow) - set(RULES))
    if unknown:
        raise ConfigError(f"--allow {unknown[0]}: no such rule; rules are {', '.join(RULES)}")
    refused = [violation for violation in violations if violation.rule not in allow]
    if refused:
        counts = Counter(violation.rule for violation in refused)
        rules = " ".join(f"--allow {rule}" for rule in sorted(counts))
        raise SplitError(
            f"splits: {'; '.join(map(str, refused))}. Change the splits, or accept it with {rules}"
        )
    return tuple(violations)

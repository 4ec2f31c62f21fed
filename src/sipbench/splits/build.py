"""From the tasks of a benchmark to a split manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from sipbench.errors import ConfigError, SplitError
from sipbench.protocol.digests import seed_from
from sipbench.protocol.manifest import DriftChange, SplitManifest, TaskEntry
from sipbench.protocol.records import timestamp
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.splits.base import TaskLike
from sipbench.splits.duplicates import Duplicates
from sipbench.splits.exclusions import ExclusionList
from sipbench.splits.replay import ReplayChoice, preregistered
from sipbench.splits.sample import draw, strata
from sipbench.splits.screening import Flags
from sipbench.splits.sides import Wanted, divide
from sipbench.splits.sizes import DEFAULT_SIZES, Size, shared_out
from sipbench.splits.units import Unit, units

__all__ = ["DriftTasks", "SplitOptions", "build_splits"]

_LEARNED = ("adapt", "adapt_t2")
_TESTED = ("heldout", "replay")


@dataclass(frozen=True, slots=True)
class DriftTasks:
    """Which tasks are the drift split: those whose metadata say so.

    Attributes:
        key: A metadata key.
        values: The values, as text, that make a task a drift task.
        changes: What differs in them from the held-out tasks, whose format they keep.
        note: In words.
    """

    key: str
    values: frozenset[str]
    changes: tuple[DriftChange, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """How to divide.

    Attributes:
        sizes: Count or share of each split; shares are of the tasks that are neither excluded nor drift.
        keep_together: Metadata keys (a user, a repository) whose tasks stay on one side, as families do.
        stratify: Metadata key of which each split gets its share; None: none.
        duplicates: A near-duplicate search of the same tasks; its groups stay on one side.
        replay: How replay is chosen; None: drawn now, and so fixed before any attempt.
        drift: Which tasks are the drift split.
        exclusions: Tasks to leave out.
        flags: What screening showed; flagged tasks are named in the manifest, and those that a
            do-nothing agent passes are no replay tasks: to solve them shows nothing.
    """

    sizes: Mapping[str, Size] = field(default_factory=lambda: DEFAULT_SIZES)
    keep_together: tuple[str, ...] = ()
    stratify: str | None = None
    duplicates: Duplicates | None = None
    replay: ReplayChoice | None = None
    drift: DriftTasks | None = None
    exclusions: ExclusionList | None = None
    flags: Flags | None = None


def build_splits(
    tasks: Sequence[TaskLike],
    seed: int,
    options: SplitOptions | None = None,
    *,
    benchmark_name: str,
    benchmark_version: str | None = None,
) -> SplitManifest:
    """Divide tasks into adapt, held-out, replay and drift.

    Families, tasks that ``keep_together`` ties, and near-duplicates are on one side only: learned from
    (adapt, adapt_t2) or tested on (held-out, replay). Within a side each split is a systematic sample
    over strata and families. The same tasks, seed and options give the same manifest, in whatever order
    the tasks come. Drift tasks are variants of others by their nature and tie nothing.

    Raises:
        SplitError: Ids repeat, or the sizes cannot be met; the message names the group that is too large.
        ConfigError: A metadata key or value stands on no task.
    """
    options = options or SplitOptions()
    builder = _Builder(tasks, seed, options, benchmark_name)
    pools = builder.pools()
    entries = {name: tuple(_entry(tasks[at]) for at in pool) for name, pool in pools.items()}
    replay = options.replay or preregistered(timestamp())
    try:
        return SplitManifest(
            schema_version=SPLITS_VERSION,
            benchmark_name=benchmark_name,
            benchmark_version=benchmark_version,
            seed=seed,
            adapt=entries.get("adapt", ()),
            adapt_t2=entries.get("adapt_t2", ()),
            heldout=entries.get("heldout", ()),
            replay=entries.get("replay", ()),
            drift=entries.get("drift", ()),
            replay_selection=replay.declare(entries["replay"]) if entries.get("replay") else None,
            drift_changes=options.drift.changes if options.drift and entries.get("drift") else (),
            drift_note=options.drift.note if options.drift and entries.get("drift") else None,
            selection=builder.record(pools),
        )
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        raise SplitError(f"splits: {'.'.join(map(str, item['loc']))}: {item['msg']}") from None


def _entry(task: TaskLike) -> TaskEntry:
    return TaskEntry(id=task.id, family=task.family, concept=task.concept, digest=task.digest)


class _Builder:
    """The steps of one division; positions stand for tasks."""

    def __init__(self, tasks: Sequence[TaskLike], seed: int, options: SplitOptions, benchmark: str) -> None:
        self.tasks, self.seed, self.options = tasks, seed, options
        self.at = {task.id: position for position, task in enumerate(tasks)}
        if len(self.at) < len(tasks):
            twice = next(task.id for position, task in enumerate(tasks) if self.at[task.id] != position)
            raise SplitError(f"splits: the task id '{twice}' occurs twice; make ids unique")
        exclusions = options.exclusions
        self.excluded = exclusions.excluded(tasks, benchmark) if exclusions else set()
        self.labels = strata(tasks, options.stratify)
        self.drift = self._drift_tasks()
        self.usable = self._ordered(
            at for at, task in enumerate(tasks) if task.id not in self.excluded and at not in self.drift
        )
        self.units = self._units()

    def _ordered(self, positions: Any) -> list[int]:
        """By id, so that the order in which a benchmark lists its tasks decides nothing."""
        return sorted(positions, key=lambda at: self.tasks[at].id)

    def _drift_tasks(self) -> set[int]:
        drift = self.options.drift
        if drift is None:
            return set()
        found = {
            at for at, task in enumerate(self.tasks) if str(task.metadata.get(drift.key)) in drift.values
        }
        if not found:
            raise ConfigError(
                f"drift: no task has {drift.key}={' or '.join(sorted(drift.values))} in its metadata"
            )
        return {at for at in found if self.tasks[at].id not in self.excluded}

    def _units(self) -> list[Unit]:
        """Groups of positions in ``tasks`` that stay together."""
        kept = [self.tasks[at] for at in self.usable]
        found = units(kept, self.options.keep_together, self.options.duplicates)
        return [Unit(tuple(self.usable[at] for at in unit.tasks), unit.name) for unit in found]

    def pools(self) -> dict[str, list[int]]:
        """The tasks of each split that was asked for, in the order of the tasks."""
        sizes = self.options.sizes
        listed = self._listed()
        wanted = {name: size.wanted(len(self.usable)) for name, size in sizes.items() if name != "drift"}
        if listed is not None:
            wanted["replay"] = len(listed)
        learned, tested = self._divided(wanted, listed)
        pools = self._filled(_LEARNED, wanted, learned)
        pools |= self._tested(wanted, tested, listed)
        drift = sizes.get("drift", Size(share=1.0))
        if self.drift:
            count = drift.wanted(len(self.drift))
            self._enough("drift", count, len(self.drift))
            pools["drift"] = self._draw("drift", sorted(self.drift), count)
        elif drift.wanted(1) and "drift" in sizes:
            raise SplitError(
                "splits: drift: nothing says which tasks are drift tasks; name a metadata key and value"
            )
        return pools

    def _listed(self) -> list[int] | None:
        listed = self.options.replay.listed if self.options.replay else None
        if listed is None:
            return None
        usable = set(self.usable)
        for name in listed:
            if self.at.get(name) not in usable:
                why = "is excluded, or a drift task" if name in self.at else "is no task of this benchmark"
                raise SplitError(f"splits: replay: '{name}' {why}; remove it from the list")
        if len(set(listed)) < len(listed):
            raise SplitError("splits: replay: the list names a task twice")
        return [self.at[name] for name in listed]

    def _divided(self, wanted: Mapping[str, int], listed: list[int] | None) -> tuple[list[int], list[int]]:
        adapt = sum(wanted.get(name, 0) for name in _LEARNED)
        evaluation = sum(wanted.get(name, 0) for name in _TESTED)
        self._enough("all splits", adapt + evaluation, len(self.usable))
        tested_only = {
            index
            for index, unit in enumerate(self.units)
            if listed and not set(unit.tasks).isdisjoint(listed)
        }
        eligible = self._eligible()
        labels = [f"{label}|{at in eligible}" for at, label in enumerate(self.labels)]
        sides = Wanted(adapt, evaluation)
        chosen = divide(self.units, labels, sides, seed_from(self.seed, "sides"), tested_only)
        learned = [at for index in chosen for at in self.units[index].tasks]
        tested = [at for index, unit in enumerate(self.units) if index not in chosen for at in unit.tasks]
        self._check_sides(len(learned), len(tested))
        return learned, tested

    def _check_sides(self, learned: int, tested: int) -> None:
        """Counts must be met; a share gets what the groups leave, but not nothing."""
        sizes = self.options.sizes
        for names, side, has in ((_LEARNED, "adapt", learned), (_TESTED, "held-out and replay", tested)):
            asked = [sizes[name] for name in names if name in sizes]
            least = sum(size.count if size.count is not None else int(bool(size.share)) for size in asked)
            if has < least:
                largest = max(self.units, key=lambda unit: len(unit.tasks))
                raise SplitError(
                    f"splits: {side} should have {least} tasks and can have {has}: {len(self.units)} groups must "
                    f"stay whole, and {largest.name} alone has {len(largest.tasks)} of {len(self.usable)} tasks; "
                    "ask for other sizes, or tie fewer tasks together"
                )

    def _eligible(self) -> set[int]:
        replay = self.options.replay
        usable = set(self.usable)
        chosen = (
            usable
            if replay is None or replay.eligible is None
            else {self.at[name] for name in replay.eligible if name in self.at} & usable
        )
        passed = self.options.flags.passes_noop if self.options.flags else {}
        return {at for at in chosen if self.tasks[at].id not in passed}

    def _tested(
        self, wanted: Mapping[str, int], tested: list[int], listed: list[int] | None
    ) -> dict[str, list[int]]:
        if "replay" not in wanted or not wanted["replay"]:
            return self._filled(("heldout",), wanted, tested)
        eligible = self._eligible()
        pool = [at for at in tested if at in eligible] if listed is None else listed
        shared = shared_out(len(tested), {name: wanted[name] for name in _TESTED if name in wanted})
        count = shared["replay"]
        asked = self.options.sizes.get("replay")
        if asked is not None and asked.count is not None and listed is None:
            self._enough("replay", asked.count, len(pool), " eligible", " on the side that is tested on")
        replay = sorted(pool) if listed is not None else self._draw("replay", pool, min(count, len(pool)))
        if not replay:
            raise SplitError("splits: replay: no task is eligible; relax the rule, or screen more tasks")
        rest = [at for at in tested if at not in set(replay)]
        return {"replay": replay} | self._filled(("heldout",), wanted, rest)

    def _filled(
        self, names: Sequence[str], wanted: Mapping[str, int], pool: list[int]
    ) -> dict[str, list[int]]:
        """Draw splits from one side: counts whole, and shares from what they leave."""
        sizes = self.options.sizes
        fixed = {name: wanted[name] for name in names if name in sizes and sizes[name].count is not None}
        shares = {name: wanted[name] for name in names if name in sizes and name not in fixed}
        counts = fixed | shared_out(max(len(pool) - sum(fixed.values()), 0), shares)
        pools: dict[str, list[int]] = {}
        for name in (name for name in names if name in counts):
            self._enough(name, counts[name], len(pool))
            pools[name] = self._draw(name, pool, counts[name])
            taken = set(pools[name])
            pool = [at for at in pool if at not in taken]
        return pools

    def _draw(self, name: str, pool: Sequence[int], count: int) -> list[int]:
        return draw(pool, count, self.tasks, self.labels, seed_from(self.seed, "draw", name))

    def _enough(self, what: str, wanted: int, there: int, kind: str = "", where: str = "") -> None:
        if wanted > there:
            raise SplitError(
                f"splits: {what}: {wanted} tasks wanted, {there}{kind} tasks there{where}; ask for fewer"
            )

    def record(self, pools: Mapping[str, Sequence[int]]) -> dict[str, Any]:
        """What the manifest says of how it was made: plain JSON."""
        options, flags = self.options, self.options.flags
        used = {at for pool in pools.values() for at in pool}
        learned = {self.tasks[at].family for name in _LEARNED for at in pools.get(name, ())} - {None}
        replay = options.replay.record if options.replay else None
        exclusions = options.exclusions
        return {
            "method": "stratified-groups",
            "sizes": {name: size.plain for name, size in options.sizes.items()},
            "keep_together": list(options.keep_together),
            "stratify": options.stratify,
            "near_duplicates": options.duplicates.summary() if options.duplicates else None,
            "tasks": len(self.tasks),
            "groups": len(self.units),
            "largest_group": max((len(unit.tasks) for unit in self.units), default=0),
            "unused": len(self.tasks) - len(used) - len(self.excluded),
            "drift_tasks_of_adapt_families": sum(
                self.tasks[at].family in learned for at in pools.get("drift", ())
            ),
            **({"screening": replay} if replay else {}),
            **({"exclusions": _excluded(exclusions)} if exclusions else {}),
            **(
                {"passes_noop": sorted(flags.passes_noop), "oracle_fails": sorted(flags.oracle_fails)}
                if flags
                else {}
            ),
        }


def _excluded(exclusions: ExclusionList) -> dict[str, Any]:
    return {"digest": exclusions.digest, "fixed_at": exclusions.fixed_at, "tasks": len(exclusions.tasks)}

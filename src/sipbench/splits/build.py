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
from sipbench.splits.base import TaskLike, metadata_text
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
    over strata and families. The same tasks, seed and options give the same manifest; the order of the
    tasks decides the order of its entries and nothing else. Drift tasks are variants of others by their
    nature and tie nothing.

    Raises:
        SplitError: Ids repeat, or the sizes cannot be met; the message names the group that is too large.
        ConfigError: A metadata key or value stands on no task.
    """
    options = options or SplitOptions()
    builder = _Builder(tasks, seed, options, benchmark_name)
    pools = builder.pools()
    entries = {name: tuple(_entry(tasks[at]) for at in pool) for name, pool in pools.items()}
    replay = options.replay or preregistered(timestamp())
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


def _entry(task: TaskLike) -> TaskEntry:
    try:
        return TaskEntry(id=task.id, family=task.family, concept=task.concept, digest=task.digest)
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        field = ".".join(map(str, item["loc"]))
        raise SplitError(f"splits: task {task.id!r}: {field}: {item['msg']}") from None


def _counts(sizes: Mapping[str, Size], tasks: int, there: int) -> dict[str, int]:
    """How many of ``there`` tasks each split gets: counts as asked, shares of ``tasks`` as they fit."""
    fixed = {name: size.count for name, size in sizes.items() if size.count is not None}
    shares = {name: size.wanted(tasks) for name, size in sizes.items() if name not in fixed}
    return fixed | shared_out(max(there - sum(fixed.values()), 0), shares)


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
        found = {at for at, task in enumerate(self.tasks) if metadata_text(task, drift.key) in drift.values}
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
        listed = self._listed()
        sizes = {name: size for name, size in self.options.sizes.items() if name != "drift"}
        if listed is not None:
            sizes["replay"] = Size(count=len(listed))
        wanted = _counts(sizes, len(self.usable), len(self.usable))
        self._enough("all splits", sum(wanted.values()), len(self.usable))
        learned, tested = self._divided(sizes, wanted, listed)
        return (
            self._side({name: sizes[name] for name in _LEARNED if name in sizes}, learned)
            | self._side({name: sizes[name] for name in _TESTED if name in sizes}, tested, listed)
            | self._drift_pool()
        )

    def _drift_pool(self) -> dict[str, list[int]]:
        size = self.options.sizes.get("drift")
        if self.options.drift is None:
            if size is not None and size.wanted(1):
                raise SplitError(
                    "splits: drift: nothing says which tasks are drift tasks; name a metadata key and value"
                )
            return {}
        count = (size or Size(share=1.0)).wanted(len(self.drift))
        self._enough("drift", count, len(self.drift))
        return {"drift": self._draw("drift", sorted(self.drift), count)}

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

    def _divided(
        self, sizes: Mapping[str, Size], wanted: Mapping[str, int], listed: Sequence[int] | None
    ) -> tuple[list[int], list[int]]:
        """The tasks to learn from, and those to test on."""
        named = set(listed or ())
        tested_only = {index for index, unit in enumerate(self.units) if not named.isdisjoint(unit.tasks)}
        eligible = self._eligible()
        labels = [f"{label}|{at in eligible}" for at, label in enumerate(self.labels)]
        sides = Wanted(*(sum(wanted.get(name, 0) for name in names) for names in (_LEARNED, _TESTED)))
        chosen = divide(self.units, labels, sides, seed_from(self.seed, "sides"), tested_only)
        learned = [at for index in chosen for at in self.units[index].tasks]
        tested = [at for index, unit in enumerate(self.units) if index not in chosen for at in unit.tasks]
        self._check_side("adapt", _LEARNED, sizes, len(learned))
        self._check_side("held-out and replay", _TESTED, sizes, len(tested))
        return learned, tested

    def _check_side(self, side: str, names: Sequence[str], sizes: Mapping[str, Size], has: int) -> None:
        """Counts must be met; a share gets what the groups leave, but not nothing."""
        asked = [sizes[name] for name in names if name in sizes]
        least = sum(size.count if size.count is not None else size.wanted(0) for size in asked)
        if has >= least:
            return
        largest = max(self.units, key=lambda unit: len(unit.tasks))
        raise SplitError(
            f"splits: {side} should have {least} tasks and can have {has}: {len(self.units)} groups must "
            f"stay whole, and {largest.name} alone has {len(largest.tasks)} of {len(self.usable)} tasks; "
            "ask for other sizes, or tie fewer tasks together"
        )

    def _eligible(self) -> set[int]:
        """The tasks that may be replay tasks."""
        replay, flags = self.options.replay, self.options.flags
        passed = flags.passes_noop if flags else {}
        names = None if replay is None else replay.eligible
        return {
            at
            for at in self.usable
            if self.tasks[at].id not in passed and (names is None or self.tasks[at].id in names)
        }

    def _side(
        self, sizes: Mapping[str, Size], pool: list[int], listed: list[int] | None = None
    ) -> dict[str, list[int]]:
        """Draw the splits of one side; replay first, since not every task may be one."""
        counts = _counts(sizes, len(self.usable), len(pool))
        pools: dict[str, list[int]] = {}
        for name in sorted(counts, key=lambda name: (name != "replay", name)):
            if name == "replay" and listed is not None:
                pools[name] = sorted(listed)
            else:
                pools[name] = self._draw(name, *self._candidates(name, sizes[name], counts[name], pool))
            taken = set(pools[name])
            pool = [at for at in pool if at not in taken]
        return pools

    def _candidates(self, name: str, size: Size, count: int, pool: list[int]) -> tuple[list[int], int]:
        if name != "replay":
            return pool, count
        eligible = self._eligible()
        kept = [at for at in pool if at in eligible]
        if size.count is not None:
            self._enough("replay", count, len(kept), " eligible", " on the side that is tested on")
        elif count and not kept:
            raise SplitError("splits: replay: no task is eligible; relax the rule, or screen more tasks")
        return kept, min(count, len(kept))

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

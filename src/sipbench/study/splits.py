"""A study's splits: made by the adapter or read from a file, and held against its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sipbench.benchmarks.base import Benchmark, Task
from sipbench.errors import EngineError, SplitError
from sipbench.protocol.manifest import Preregistered, SplitManifest, TaskEntry, replay_list_digest
from sipbench.protocol.records import timestamp
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.splits.files import read_manifest
from sipbench.study.config import Exposure
from sipbench.study.guard import guarded
from sipbench.study.load import LoadedStudy
from sipbench.study.plan import ArmShape

__all__ = ["exposure", "resolve_manifest"]


def resolve_manifest(
    loaded: LoadedStudy, benchmark: Benchmark, tasks: Mapping[str, Task], *, declared_at: str | None = None
) -> SplitManifest:
    """The splits of a study, with what the study file says about the replay list.

    Raises:
        SplitError: A split that the study needs is empty, or a task is not the benchmark's.
        EngineError: The benchmark makes no splits.
    """
    config = loaded.config
    if config.splits.file is not None:
        manifest = read_manifest(loaded.base / config.splits.file)
        if manifest.benchmark_name != benchmark.name:
            raise SplitError(
                f"{loaded.where(('splits', 'file'))}: splits.file: these are splits of "
                f"'{manifest.benchmark_name}', the study's benchmark is '{benchmark.name}'"
            )
    else:
        sizes = dict(config.splits.sizes)
        manifest = guarded(f"benchmark '{benchmark.name}'", lambda: benchmark.splits(config.seed, sizes))
        if not isinstance(manifest, SplitManifest):
            raise EngineError(
                f"benchmark '{benchmark.name}': splits() returned {type(manifest).__name__}, "
                "expected a SplitManifest"
            )
    manifest = _completed(manifest, tasks)
    given = config.replay_selection
    if given == "preregistered":
        given = Preregistered(
            list_digest=replay_list_digest(manifest.replay), declared_at=declared_at or timestamp()
        )
    if given is not None:
        manifest = manifest.model_copy(update={"replay_selection": given})
    _check_filled(loaded, manifest)
    return manifest


def _completed(manifest: SplitManifest, tasks: Mapping[str, Task]) -> SplitManifest:
    """Fill in what the benchmark knows of each task, and refuse what contradicts it."""
    pools = {}
    for pool in ("replay", "adapt", "adapt_t2", "heldout", "drift"):
        entries: Sequence[TaskEntry] = getattr(manifest, pool)
        unknown = [entry.id for entry in entries if entry.id not in tasks]
        if unknown:
            raise SplitError(
                f"splits: {pool}: {len(unknown)} task(s) are not in benchmark '{manifest.benchmark_name}', "
                f"such as '{unknown[0]}'; make the splits again with `sip splits build`"
            )
        twice = [name for name, count in Counter(entry.id for entry in entries).items() if count > 1]
        if twice:
            # No rule that a study may allow to be broken: two attempts would be one and the same.
            raise SplitError(f"splits: {pool}: tasks stand twice: {', '.join(twice[:3])}; name each once")
        changed = [entry.id for entry in entries if entry.digest not in (None, tasks[entry.id].digest)]
        if changed:
            raise SplitError(
                f"splits: {pool}: {len(changed)} task(s) changed since the splits were made, such as "
                f"'{changed[0]}'; make the splits again, or bring the tasks back"
            )
        pools[pool] = tuple(_filled(entry, tasks[entry.id]) for entry in entries)
    return manifest.model_copy(update=pools)


def _filled(entry: TaskEntry, task: Task) -> TaskEntry:
    return TaskEntry(
        id=entry.id,
        family=entry.family or task.family,
        concept=entry.concept or task.concept,
        digest=task.digest,
    )


def _check_filled(loaded: LoadedStudy, manifest: SplitManifest) -> None:
    sizes = loaded.config.splits.sizes
    for split, without in ((Split.HELDOUT, "FG"), (Split.REPLAY, "BR")):
        # Doing without a split is a decision, which the study file states.
        if not manifest.tasks(split) and sizes.get(split) != 0:
            raise SplitError(
                f"{loaded.where(('splits',))}: splits: {split} is empty, so {without} cannot be measured; "
                f"add tasks, or say `splits: {{sizes: {{{split}: 0}}}}` to do without"
            )
    if not manifest.heldout and not manifest.replay:
        raise SplitError("splits: neither held-out nor replay tasks: there is nothing to measure")


def exposure(loaded: LoadedStudy, manifest: SplitManifest, arms: Sequence[ArmShape]) -> tuple[Exposure, ...]:
    """What lies between T1 and T2, and whether the splits have the tasks for it.

    Raises:
        SplitError: A split is empty that an adaptation or T2 needs.
    """
    config = loaded.config
    learning = [arm.name for arm in arms if arm.needs_attempts]
    if Phase.T1 in config.phases and learning and not manifest.adapt:
        raise SplitError(
            f"{loaded.where(('splits',))}: splits: adapt is empty, but arm '{learning[0]}' learns from adapt "
            "attempts; add tasks, or drop the arm"
        )
    if Phase.T2 not in config.phases:
        return ()
    possible: tuple[Exposure, ...] = (
        *(("adaptation",) if manifest.adapt_t2 else ()),
        *(("drift",) if manifest.drift else ()),
    )
    delay: tuple[Exposure, ...] = ("delay",) if config.t2.delay is not None else ()
    by = config.t2.by if config.t2.by is not None else delay or possible
    if not by:
        raise SplitError(
            f"{loaded.where(('phases',))}: phases: T2 follows a second adaptation or comes on drift tasks, "
            "and the splits have neither adapt_t2 nor drift tasks; add some, declare a `t2.delay`, or drop T2"
        )
    if "drift" in by and not manifest.drift:
        raise SplitError(f"{loaded.where(('t2', 'by'))}: t2.by: drift is empty; add drift tasks, or drop it")
    if "adaptation" in by and learning and not manifest.adapt_t2:
        raise SplitError(
            f"{loaded.where(('t2', 'by'))}: t2.by: adapt_t2 is empty, so arm '{learning[0]}' has nothing to "
            "learn from a second time; add tasks, or drop it"
        )
    return tuple(dict.fromkeys((*delay, *by)))

"""Screening: T0 attempts that choose replay tasks and are never scored.

A screening run is a study of its own, with its own directory and its own seed, so that no attempt of it
can be one of the study's: identities hold the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sipbench.benchmarks.base import Task
from sipbench.errors import SplitError
from sipbench.protocol.digests import seed_from
from sipbench.protocol.manifest import Preregistered, SplitManifest, TaskEntry, replay_list_digest
from sipbench.protocol.records import timestamp
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.protocol.vocabulary import PathType, Phase
from sipbench.study.arms import resolve_arms
from sipbench.study.config import ArmConfig, AttemptCounts, SplitsConfig, T2Config
from sipbench.study.design import Design, make_benchmark, tasks_by_id
from sipbench.study.load import LoadedStudy
from sipbench.study.plan import make_plan

__all__ = ["screening_design", "screening_name"]

_LONGEST_NAME = 55


def screening_name(study: str) -> str:
    """What the screening run of a study is called."""
    return f"{study[:_LONGEST_NAME]}-screen"


def screening_design(
    loaded: LoadedStudy,
    *,
    attempts: int,
    arm: str | None = None,
    candidates: Sequence[str] | None = None,
    excluded: Sequence[str] = (),
    declared_at: str | None = None,
) -> Design:
    """The screening run of a study: its frozen arms and its oracle, at T0, on candidate replay tasks.

    Args:
        loaded: The study.
        attempts: Attempts per task.
        arm: The arm whose agent screens; default: every frozen one.
        candidates: Ids of the tasks; default: all of the benchmark's.
        excluded: Ids to leave out.
        declared_at: When the list of candidates was declared; default: now.

    Raises:
        ConfigError: There is no such arm, or the study's attempts exist already.
        SplitError: A candidate is no task of the benchmark.
    """
    if loaded.config.benchmark.name == "recorded":
        raise loaded.error(
            "attempts that exist already are not made again; choose by those that will not be scored with "
            "`sip splits build --screen RUNS.jsonl`",
            "benchmark",
        )
    screening = _screening(loaded, attempts, arm)
    benchmark, options, asked = make_benchmark(screening)
    tasks = tasks_by_id(benchmark)
    entries = _entries(tasks, candidates, excluded)
    manifest = SplitManifest(
        schema_version=SPLITS_VERSION,
        benchmark_name=benchmark.name,
        benchmark_version=benchmark.version,
        seed=screening.config.seed,
        replay=entries,
        replay_selection=Preregistered(
            list_digest=replay_list_digest(entries), declared_at=declared_at or timestamp()
        ),
        selection={"method": "screening", "of_study": loaded.config.name},
    )
    arms = resolve_arms(screening, benchmark)
    plan = make_plan(
        [one.shape for one in arms.values()],
        manifest,
        phases=screening.config.phases,
        repeats=1,
        attempts=screening.config.attempts,
    )
    return Design(screening, benchmark, options, asked, tasks, manifest, arms, plan, ())


def _screening(loaded: LoadedStudy, attempts: int, arm: str | None) -> LoadedStudy:
    config = loaded.config
    changes = {
        "name": screening_name(config.name),
        "arms": _arms(loaded, arm),
        "seed": seed_from(config.seed, "screen") % 2**53,
        "phases": (Phase.T0,),
        "repeats": 1,
        "attempts": AttemptCounts(replay=attempts),
        "splits": SplitsConfig(),
        "t2": T2Config(),
        "replay_selection": None,
    }
    return replace(loaded, config=config.model_copy(update=changes))


def _arms(loaded: LoadedStudy, wanted: str | None) -> Mapping[str, ArmConfig]:
    arms = loaded.config.arms
    if wanted is not None and wanted not in arms:
        raise loaded.error(f"there is no arm '{wanted}'; arms are {', '.join(arms)}", "arms")
    chosen = {
        name: arm
        for name, arm in arms.items()
        if arm.path_type is PathType.ORACLE
        or (name == wanted if wanted is not None else arm.path_type is PathType.FROZEN)
    }
    if all(arm.path_type is PathType.ORACLE for arm in chosen.values()):
        raise loaded.error("there is no frozen arm to screen with; name another one with --arm", "arms")
    return chosen


def _entries(
    tasks: Mapping[str, Task], candidates: Sequence[str] | None, excluded: Sequence[str]
) -> tuple[TaskEntry, ...]:
    unknown = [name for name in candidates or () if name not in tasks]
    if unknown:
        raise SplitError(f"screening: there is no task '{unknown[0]}'; remove it from the candidates")
    left_out = set(excluded)
    chosen = [
        name
        for name in dict.fromkeys(candidates if candidates is not None else tasks)
        if name not in left_out
    ]
    if not chosen:
        raise SplitError("screening: no candidates are left")
    return tuple(
        TaskEntry(id=name, family=tasks[name].family, concept=tasks[name].concept, digest=tasks[name].digest)
        for name in chosen
    )

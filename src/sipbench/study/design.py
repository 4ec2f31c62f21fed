"""From a configuration to a design: the benchmark, its tasks, the splits, the arms and the plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from pydantic import ValidationError

from sipbench import plugins
from sipbench.benchmarks.base import Benchmark, Task, options_document
from sipbench.errors import ConfigError, EngineError
from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.rules import Violation, check_manifest, check_replay_attempted, enforce
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.splits.violations import near_duplicate_violations
from sipbench.study.arms import Arm, resolve_arms
from sipbench.study.config import StudyConfig
from sipbench.study.guard import guarded
from sipbench.study.identity import BenchmarkIdentity
from sipbench.study.load import LoadedStudy
from sipbench.study.order import Order, order_of
from sipbench.study.plan import Plan, make_plan
from sipbench.study.splits import exposure, resolve_manifest

__all__ = ["Design", "make_benchmark", "resolve", "tasks_by_id"]


@dataclass(frozen=True, slots=True)
class Design:
    """Everything that a study will do, before anything is done.

    Attributes:
        benchmark_options: The benchmark's options, resolved, as plain JSON.
        benchmark_asked: The same before the benchmark settled what they leave open.
        tasks: The benchmark's tasks by id.
        violations: Split rules that the manifest breaks; :meth:`accepted` refuses what is not allowed.
    """

    loaded: LoadedStudy
    benchmark: Benchmark
    benchmark_options: Mapping[str, Any]
    benchmark_asked: Mapping[str, Any]
    tasks: Mapping[str, Task]
    manifest: SplitManifest
    arms: Mapping[str, Arm]
    plan: Plan
    violations: tuple[Violation, ...]

    @property
    def config(self) -> StudyConfig:
        """The resolved configuration."""
        return self.loaded.config

    @property
    def order(self) -> Order:
        """How the attempts follow each other."""
        return order_of(self.config, self.benchmark)

    @property
    def benchmark_identity(self) -> BenchmarkIdentity:
        """What of the benchmark enters an attempt's identity."""
        return BenchmarkIdentity(self.benchmark.name, self.benchmark.version, self.benchmark.grader_version)

    def accepted(self) -> tuple[Violation, ...]:
        """The violations that the study allows.

        Raises:
            SplitError: There is one that it does not allow.
        """
        return enforce(self.violations, self.config.allow)


def resolve(loaded: LoadedStudy, *, declared_at: str | None = None) -> Design:
    """Load the plug-ins, read the tasks, make the splits and lay out the plan. Nothing is run.

    Args:
        loaded: The resolved configuration.
        declared_at: When the replay list was declared, if the study leaves that open; default: now.

    Raises:
        ConfigError: A plug-in, option or arm is wrong.
        SplitError: A split is empty, or names tasks that the benchmark does not have.
        EngineError: The benchmark cannot offer its tasks.
        MissingExtraError: A plug-in needs a package that is not installed.
    """
    benchmark, options, asked = make_benchmark(loaded)
    tasks = tasks_by_id(benchmark)
    arms = resolve_arms(loaded, benchmark)
    shapes = [arm.shape for arm in arms.values()]
    manifest = resolve_manifest(loaded, benchmark, tasks, declared_at=declared_at)
    by = exposure(loaded, manifest, shapes)
    config = loaded.config
    plan = make_plan(
        shapes, manifest, phases=config.phases, repeats=config.repeats, attempts=config.attempts, by=by
    )
    before = {slot.task_id for slot in plan.slots if (slot.phase, slot.split) == (Phase.T0, Split.REPLAY)}
    violations = (
        *check_manifest(manifest),
        *near_duplicate_violations(manifest, list(tasks.values())),
        *check_replay_attempted(manifest, before),
    )
    return Design(loaded, benchmark, options, asked, tasks, manifest, arms, plan, violations)


def make_benchmark(loaded: LoadedStudy) -> tuple[Benchmark, dict[str, Any], dict[str, Any]]:
    """Make the study's benchmark, and give its options as plain JSON: resolved, and as they were asked for.

    Raises:
        ConfigError: It is unknown, or its options are wrong.
        EngineError: It breaks the contract.
    """
    choice = loaded.config.benchmark
    try:
        found = plugins.load("benchmarks", choice.name)
    except ConfigError as error:
        raise loaded.error(str(error), "benchmark", "name") from None
    options = loaded.options(found.Options, choice.options, "benchmark")
    benchmark: Benchmark = guarded(f"benchmark '{choice.name}'", lambda: found(options, base=loaded.base))
    _check_declared(benchmark, choice.name)
    settled = getattr(benchmark, "options", None)
    resolved = settled if isinstance(settled, found.Options) else options
    return benchmark, options_document(resolved), options_document(options)


def _check_declared(benchmark: Benchmark, name: str) -> None:
    for attribute in ("name", "version", "grader_version", "engine", "normalization"):
        value = getattr(benchmark, attribute, None)
        if not isinstance(value, str) or not value.strip():
            raise EngineError(f"benchmark '{name}': declares no `{attribute}`, which the contract asks for")
        if value != value.encode("utf-8", "replace").decode("utf-8"):
            raise EngineError(f"benchmark '{name}': its `{attribute}` cannot be encoded: {value!r:.80}")
    found: Any = benchmark.reward_range
    try:
        low, high = (float(end) for end in found)
        finite = math.isfinite(low) and math.isfinite(high) and all(isinstance(end, Real) for end in found)
    except (TypeError, ValueError):
        finite = False
    if not finite:
        raise EngineError(f"benchmark '{name}': its reward_range {found!r:.80} is not two finite numbers")
    if not low < high:
        raise EngineError(f"benchmark '{name}': its reward_range ({low:g}, {high:g}) is empty")


def tasks_by_id(benchmark: Benchmark) -> dict[str, Task]:
    """The tasks of a benchmark, held against the contract.

    Raises:
        EngineError: It has none, an id occurs twice, or a field is invalid.
    """
    tasks: dict[str, Task] = {}
    for task in guarded(f"benchmark '{benchmark.name}'", lambda: list(benchmark.tasks())):
        if not isinstance(task, Task):
            raise EngineError(
                f"benchmark '{benchmark.name}': tasks() yields {type(task).__name__}, expected Task"
            )
        try:
            TaskEntry(id=task.id, family=task.family, concept=task.concept, digest=task.digest)
        except ValidationError as error:
            item = error.errors(include_url=False)[0]
            field = ".".join(map(str, item["loc"]))
            raise EngineError(
                f"benchmark '{benchmark.name}': task {task.id!r}: {field}: {item['msg']}"
            ) from None
        if task.id in tasks:
            raise EngineError(
                f"benchmark '{benchmark.name}': the task id '{task.id}' occurs twice; make ids unique"
            )
        tasks[task.id] = task
    if not tasks:
        raise EngineError(f"benchmark '{benchmark.name}': it has no tasks")
    return tasks

"""Where a command gets tasks from: a benchmark by name, a study file, or a list of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sipbench.errors import ConfigError

if TYPE_CHECKING:
    from sipbench.benchmarks.base import Benchmark
    from sipbench.splits.base import TaskLike
    from sipbench.study.load import LoadedStudy

__all__ = ["TaskSource", "ids_in", "task_source"]


@dataclass(frozen=True, slots=True)
class TaskSource:
    """Tasks, and whose they are.

    Attributes:
        name: The benchmark's name.
        version: Its version, if it has one.
        tasks: All of its tasks.
        benchmark: The adapter; None for a list of tasks.
        study: The study file; None without one.
    """

    name: str
    version: str | None
    tasks: Sequence[TaskLike]
    benchmark: Benchmark | None = None
    study: LoadedStudy | None = None


def task_source(given: str, options: Sequence[str] = (), name: str | None = None) -> TaskSource:
    """Read the tasks that ``given`` stands for.

    Args:
        given: The name of an installed benchmark, a study file (``.yaml``), or a list of tasks
            (``.jsonl``).
        options: Options of a benchmark, ``KEY=VALUE`` with VALUE in YAML.
        name: The benchmark's name for a list of tasks; default: the file's.

    Raises:
        SipbenchError: It is none of them, or cannot be read.
    """
    path = Path(given)
    if path.suffix == ".jsonl":
        from sipbench.splits.files import read_tasks

        if options:
            raise ConfigError("--option: a list of tasks has no options; they are for a benchmark")
        return TaskSource(name or path.stem, None, read_tasks(path))
    if path.suffix in (".yaml", ".yml"):
        from sipbench.study.design import make_benchmark
        from sipbench.study.load import load_study

        if options:
            raise ConfigError(f"--option: {given} has the benchmark's options already; change them there")
        study = load_study(path)
        benchmark = make_benchmark(study)[0]
        return _of(benchmark, study)
    if path.exists():
        raise ConfigError(
            f"{given}: expected a study file (.yaml), a list of tasks (.jsonl) or a benchmark's name"
        )
    return _of(_benchmark(given, options))


def _of(benchmark: Benchmark, study: LoadedStudy | None = None) -> TaskSource:
    from sipbench.study.design import tasks_by_id

    tasks = list(tasks_by_id(benchmark).values())
    return TaskSource(benchmark.name, benchmark.version, tasks, benchmark, study)


def _benchmark(name: str, options: Sequence[str]) -> Benchmark:
    from pydantic import ValidationError

    from sipbench import plugins
    from sipbench.study.guard import guarded

    found = plugins.load("benchmarks", name)
    try:
        values = found.Options.model_validate(_options(options))
    except ValidationError as error:
        item = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, item["loc"]))
        raise ConfigError(
            f"benchmark '{name}': option '{field}': {item['msg']}; give it with --option"
        ) from None
    made: Benchmark = guarded(f"benchmark '{name}'", lambda: found(values, base=Path.cwd()))
    return made


def _options(given: Sequence[str]) -> dict[str, Any]:
    import yaml

    options: dict[str, Any] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise ConfigError(f"--option {item[:80]}: expected KEY=VALUE")
        try:
            options[key] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError):
            raise ConfigError(f"--option {key}: the value is not YAML; put it in quotes") from None
    return options


def ids_in(path: Path) -> list[str]:
    """The ids in a text file, one a line.

    Raises:
        SipbenchError: It cannot be read.
    """
    from sipbench.protocol.jsonl import read_text

    try:
        lines = read_text(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start + 1}") from None
    return [line.strip() for line in lines if line.strip()]

"""Harbor tasks from a folder: their ids, families and digests.

A task is a folder with ``task.toml``; SkillsBench v1 is the same layout with skills under
``environment/skills``. What cannot be used is named with its reason, never skipped in silence.

The digest of a task leaves its shipped skills out, so that it is the same task with and without
them; the digest that Harbor itself gives to the whole folder is kept beside it.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from sipbench.benchmarks.base import Task
from sipbench.benchmarks.harbor.tree import Entry, digest_of, read_text, walk
from sipbench.errors import EngineError

__all__ = ["SKILLS", "FamilyRule", "Problem", "TaskFolder", "find_tasks", "read_task", "refuse"]

SKILLS = PurePosixPath("environment/skills")
"""Where a task ships skills."""

_PARTS = frozenset({"task.toml", "instruction.md", "trajectory.json"})
_FOLDERS = frozenset({"environment", "tests", "solution", "steps"})
_KEPT = ("difficulty", "category", "tags", "keywords", "template", "concept")
_TESTS = ("test.sh", "test.bat")
_CANARY = re.compile(r"(<!--.*canary.*-->|#.*canary.*)", re.IGNORECASE)
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class FamilyRule:
    """Where a task's family comes from.

    Attributes:
        metadata: A key of ``[metadata]`` in ``task.toml``.
        pattern: Else a pattern that is searched in the folder's name; its first group is the family.
    """

    metadata: str | None = "family"
    pattern: re.Pattern[str] | None = None

    def family(self, folder: str, metadata: Mapping[str, Any]) -> str | None:
        """The family of one task; None where the rule says nothing about it."""
        value = metadata.get(self.metadata) if self.metadata else None
        if isinstance(value, str) and value.strip():
            return value.strip()
        found = self.pattern.search(folder) if self.pattern else None
        return (found.group(1) or None) if found else None


@dataclass(frozen=True, slots=True)
class Problem:
    """A folder that cannot be used as a task, and why."""

    folder: str
    reason: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.reason}"


@dataclass(frozen=True)
class TaskFolder:
    """One task as it lies on disk.

    Attributes:
        path: The folder.
        id: ``[task].name``, else the folder's name: what Harbor calls ``task_name``.
        config: ``task.toml``.
        text: The instruction, of all steps, without canary lines.
        entries: Every file.
    """

    path: Path
    id: str
    config: Mapping[str, Any]
    text: str
    entries: tuple[Entry, ...] = field(repr=False)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """``[metadata]`` of ``task.toml``."""
        value = self.config.get("metadata")
        return value if isinstance(value, Mapping) else {}

    @cached_property
    def digest(self) -> str:
        """Digest of what the agent sees and the grader checks, without shipped skills."""
        return digest_of(self.path, [entry for entry in self.entries if _counts(entry.path)])

    @property
    def skills(self) -> tuple[str, ...]:
        """Names of the skills that the task ships, sorted."""
        depth = len(SKILLS.parts)
        manifests = (
            entry.path
            for entry in self.entries
            if entry.path.name == "SKILL.md" and len(entry.path.parts) == depth + 2
        )
        return tuple(sorted(path.parts[depth] for path in manifests if path.is_relative_to(SKILLS)))

    @property
    def ships_skills(self) -> bool:
        """Whether anything lies where shipped skills lie."""
        return any(entry.path.is_relative_to(SKILLS) for entry in self.entries)

    def task(self, rule: FamilyRule, *, upstream_digest: str | None = None) -> Task:
        """The task as a study sees it.

        Args:
            rule: Where its family comes from.
            upstream_digest: Harbor's digest of the whole folder.
        """
        concept = self.metadata.get("concept")
        kept = {key: _plain(self.metadata[key]) for key in _KEPT if key in self.metadata}
        return Task(
            id=self.id,
            digest=self.digest,
            family=rule.family(self.path.name, self.metadata),
            concept=concept if isinstance(concept, str) and concept else None,
            text=self.text,
            metadata={
                "folder": self.path.name,
                "shipped_skills": list(self.skills),
                "upstream_digest": upstream_digest,
                **kept,
            },
        )


def _counts(path: PurePosixPath) -> bool:
    if path.is_relative_to(SKILLS):
        return False
    return path.parts[0] in (_PARTS if len(path.parts) == 1 else _FOLDERS)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value


def find_tasks(
    root: Path, *, include: Sequence[str] = (), exclude: Iterable[str] = ()
) -> tuple[list[TaskFolder], list[Problem]]:
    """Read the tasks of ``root``, itself a task or a folder of tasks.

    Args:
        root: The folder.
        include: Patterns of folder names to take; all by default.
        exclude: Folder names to leave out, unread.

    Returns:
        The tasks in the order of their folders' names, and what lies there that is no usable task.

    Raises:
        EngineError: There is no such folder, an excluded name is not in it, or two tasks share an id.
    """
    if not root.is_dir():
        hint = (
            f"; `harbor download {root.name} -o DIR` brings a dataset of a registry"
            if "@" in root.name
            else ""
        )
        raise EngineError(f"{root}: no such folder of tasks{hint}")
    folders = _folders(root.resolve())
    left_out = set(exclude)
    unknown = sorted(left_out - {folder.name for folder in folders})
    if unknown:
        raise EngineError(f"{root}: exclude names '{unknown[0]}', which is not there")
    found: list[TaskFolder] = []
    problems: list[Problem] = []
    for folder in folders:
        if folder.name in left_out:
            continue
        if include and not any(PurePosixPath(folder.name).match(pattern) for pattern in include):
            continue
        try:
            found.append(read_task(folder, root=root.resolve()))
        except EngineError as error:
            problems.append(Problem(folder.name, _reason(error, folder)))
    _refuse_twins(root, found)
    return found, problems


def _folders(root: Path) -> list[Path]:
    if any((root / name).is_file() for name in ("task.toml", "task.md")):
        return [root]
    children = sorted(root.iterdir(), key=lambda path: path.name)
    return [path for path in children if path.is_dir() and not path.name.startswith(".")]


def _reason(error: EngineError, folder: Path) -> str:
    text = str(error)
    for prefix in (f"{folder}: ", f"{folder}/"):
        text = text.removeprefix(prefix)
    return text


def _refuse_twins(root: Path, tasks: Sequence[TaskFolder]) -> None:
    first: dict[str, TaskFolder] = {}
    for task in tasks:
        twin = first.setdefault(task.id, task)
        if twin is not task:
            raise EngineError(
                f"{root}: {twin.path.name} and {task.path.name} are both task '{task.id}'; "
                "change [task].name in one, or exclude it"
            )


def read_task(folder: Path, *, root: Path | None = None) -> TaskFolder:
    """Read one task folder.

    Args:
        folder: The folder.
        root: The folder of tasks it was found in, which a link must not leave.

    Raises:
        EngineError: It is no task, or a task that cannot be run, or it is hostile.
    """
    if root is not None and not folder.resolve().is_relative_to(root):
        raise EngineError(f"{folder}: a link that leads out of the folder of tasks")
    manifest = folder / "task.toml"
    if not manifest.is_file():
        raise EngineError(f"{folder}: {_not_a_task(folder)}")
    entries = tuple(walk(folder))
    config = _config(manifest)
    table = config.get("task")
    name = table.get("name") if isinstance(table, Mapping) else None
    steps = _steps(config)
    _check_tests(folder, config, steps)
    _check_environment(folder, config)
    places = [folder / "steps" / step for step in steps] or [folder]
    text = "\n\n".join(_instruction(place / "instruction.md") for place in places)
    return TaskFolder(
        path=folder.resolve(),
        id=name if isinstance(name, str) and name else folder.name,
        config=config,
        text=text,
        entries=entries,
    )


def _not_a_task(folder: Path) -> str:
    if (folder / "task.md").is_file():
        return (
            "is a task of BenchFlow's layout (task.md, SkillsBench v1.1), which Harbor cannot run; "
            "convert it with `bench tasks export`, or use the v1 folder"
        )
    inner = next((path.name for path in sorted(folder.iterdir()) if (path / "task.toml").is_file()), None)
    hint = f"; its subfolder {inner} is one: give this folder itself as the folder of tasks" if inner else ""
    return f"has no task.toml{hint}"


def _config(manifest: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(manifest))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise EngineError(f"{manifest}: not TOML: {error}") from None


def _steps(config: Mapping[str, Any]) -> list[str]:
    steps = config.get("steps")
    if steps is None:
        return []
    names = (
        [step.get("name") for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
    )
    good = [name for name in names if isinstance(name, str) and re.fullmatch(r"[\w.-]+", name)]
    if not isinstance(steps, list) or len(good) != len(steps) or {".", ".."} & set(good):
        raise EngineError("task.toml: each of [[steps]] needs a name of letters, digits, '.', '_' or '-'")
    return good


def _check_tests(folder: Path, config: Mapping[str, Any], steps: Sequence[str]) -> None:
    verifier = config.get("verifier")
    separate = isinstance(verifier, Mapping) and isinstance(verifier.get("environment"), Mapping)
    # A verifier with an image of its own brings its test script inside that image.
    if separate or any((folder / "tests" / name).is_file() for name in ("Dockerfile", *_TESTS)):
        return
    places = [folder / "steps" / step / "tests" for step in steps]
    if not places or not all(any((place / name).is_file() for name in _TESTS) for place in places):
        raise EngineError(f"{folder}: has no tests/test.sh, so nothing can grade it")


def _check_environment(folder: Path, config: Mapping[str, Any]) -> None:
    environment = config.get("environment")
    image = environment.get("docker_image") if isinstance(environment, Mapping) else None
    if not image and not (folder / "environment").is_dir():
        raise EngineError(f"{folder}: has neither environment/ nor [environment].docker_image in task.toml")


def _instruction(path: Path) -> str:
    lines = read_text(path).splitlines()
    while lines and (not lines[0].strip() or _CANARY.fullmatch(lines[0].strip())):
        lines.pop(0)
    return "\n".join(lines)


def refuse(root: Path, problems: Sequence[Problem]) -> None:
    """Name the folders that cannot be used.

    Raises:
        EngineError: There are any.
    """
    if not problems:
        return
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    listed = "; ".join(str(problem) for problem in problems[:_SHOWN])
    raise EngineError(
        f"{root}: {len(problems)} of its folders cannot be run as Harbor tasks: {listed}{more}. "
        "Repair them, or list them under `exclude`"
    )

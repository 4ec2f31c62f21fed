"""A task as an arm is to see it: without the skills that it ships, or with others in their place.

SkillsBench's ``noskills`` condition is a copy of the task with an empty skills folder and every other
byte unchanged, so that its Dockerfile still finds what it copies. An image with other skills is the
same copy with those in that folder.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from sipbench.benchmarks.harbor.tasks import SKILLS, TaskFolder
from sipbench.benchmarks.harbor.tree import read_text
from sipbench.errors import EngineError

__all__ = ["copied_places", "needs_skills", "variant"]

_COPY = re.compile(r"^\s*(?:COPY|ADD)\s+(.*)$", re.IGNORECASE | re.DOTALL)
_FOLDER = SKILLS.name


def copied_places(task: TaskFolder) -> tuple[str, ...]:
    """Where the task's Dockerfile puts its whole skills folder, as written there."""
    places = []
    for _, sources, target in _copies(task):
        plain = {source.removeprefix("./").rstrip("/") for source in sources}
        if plain & {_FOLDER, f"{_FOLDER}/."}:
            places.append(target)
        elif plain & {"", "."}:
            places.append(f"{target.rstrip('/')}/{_FOLDER}")
    return tuple(dict.fromkeys(places))


def needs_skills(task: TaskFolder) -> str | None:
    """Why the task cannot do without what lies in its skills folder; None if it can."""
    for line, sources, _ in _copies(task):
        for source in sources:
            inside = source.removeprefix("./")
            if inside.startswith(f"{_FOLDER}/") and inside.rstrip("/.") != _FOLDER:
                return f"environment/Dockerfile:{line} copies {inside}, so the image needs the shipped skills"
    for entry in task.entries:
        if entry.target is None or entry.path.is_relative_to(SKILLS):
            continue
        leads = PurePosixPath(os.path.normpath(entry.path.parent / entry.target))
        if leads.is_relative_to(SKILLS) and leads != SKILLS:
            return f"{entry.path} is a link into the shipped skills"
    return None


def _copies(task: TaskFolder) -> Iterator[tuple[int, list[str], str]]:
    """Yield (line, sources, target) of each COPY and ADD in the task's Dockerfile."""
    dockerfile = task.path / "environment" / "Dockerfile"
    if not dockerfile.is_file():
        return
    number, joined = 1, ""
    for count, line in enumerate(read_text(dockerfile).splitlines(), start=1):
        if not joined:
            number = count
        if joined and line.lstrip().startswith("#"):
            continue
        joined += line.rstrip()
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        found, joined = _COPY.match(joined), ""
        words = _words(found.group(1)) if found else []
        if len(words) > 1:
            yield number, words[:-1], words[-1]


def _words(arguments: str) -> list[str]:
    words = re.findall(r'"([^"]*)"|([^\s"\[\],]+)', arguments)
    flat = [quoted or bare for quoted, bare in words]
    if any(word.startswith("--from") for word in flat):
        return []  # from another stage, not from the task
    return [word for word in flat if not word.startswith("--")]


def variant(task: TaskFolder, making: Path, skills: Mapping[str, Path]) -> Path:
    """The folder to run ``task`` from with ``skills`` where it ships its own.

    Args:
        task: The task.
        making: An empty folder that a copy may be made in.
        skills: Folders by name; empty for none.

    Returns:
        The task's own folder where that has no skills and gets none, else a copy of the same name.

    Raises:
        EngineError: The task cannot do without its own skills, or the copy cannot be written.
    """
    if not task.ships_skills and not skills:
        return task.path
    reason = needs_skills(task)
    if reason is not None:
        raise EngineError(f"{task.id}: {reason}; leave the task out with `exclude`")
    target = making / task.path.name
    try:
        shutil.copytree(task.path, target, symlinks=True, ignore=_without_skills(task.path))
        (target / SKILLS).mkdir(parents=True)
        for name, folder in skills.items():
            shutil.copytree(folder, target / SKILLS / name, symlinks=True)
    except (OSError, shutil.Error) as error:
        raise EngineError(f"{target}: the task's copy cannot be written: {error}") from None
    return target


def _without_skills(root: Path):  # type: ignore[no-untyped-def]
    def choose(folder: str, names: list[str]) -> set[str]:
        return {_FOLDER} & set(names) if Path(folder) == root / SKILLS.parent else set()

    return choose

"""Which skills each task is given: those that its card is linked with, or those whose words fit it best.

Both go by the name of the task's folder, which is how a benchmark finds them. Of a task nothing is read but
what its agent is shown.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from sipbench.errors import CardError, ConfigError, SkillError
from sipbench.files import read_file

__all__ = ["Ranked", "best_skills", "linked_skills_of_tasks"]

_INSTRUCTION = "instruction.md"
_LARGEST_BYTES = 1024 * 1024
_SHOWN = 5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A skill that was chosen for a task.

    Attributes:
        name: Its folder's name.
        score: Its BM25 score for the task's text.
    """

    name: str
    score: float


def linked_skills_of_tasks(folder: Path, cards: Path, known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Names of the linked skills by the name of the task that a card is exported as.

    Args:
        folder: The collection, with its ``links.json``.
        cards: The cards.
        known: Names of the skills that are there.

    Raises:
        ConfigError: A card or the links cannot be read, or no card is linked with a skill that is there.
    """
    from sipbench.cards.keys import safe_name
    from sipbench.cards.load import load_card
    from sipbench.cards.validate import find_cards
    from sipbench.skills.layout import linked_skills

    found: dict[str, tuple[str, ...]] = {}
    try:
        links = linked_skills(folder)
        for path in find_cards([cards]):
            card = load_card(path)
            names = links.get(f"{card.paper}/{card.card.task_id}", ())
            if names:
                found[safe_name(card.key)] = tuple(names)
    except (CardError, SkillError) as error:
        raise ConfigError(f"cards: {error}") from None
    absent = sorted({name for names in found.values() for name in names} - set(known))
    if absent:
        _log.warning("%d linked skills are not there: %s", len(absent), ", ".join(absent[:_SHOWN]))
        found = {task: tuple(n for n in names if n in known) for task, names in found.items()}
    return {task: names for task, names in sorted(found.items()) if names}


def best_skills(skills: Mapping[str, Path], tasks: Path, k: int) -> dict[str, tuple[Ranked, ...]]:
    """The ``k`` skills that fit the instruction of each task best, by BM25 over what a catalogue holds.

    Of equal scores the name decides. A skill that shares no word with a task is not chosen for it, so that a
    task may get fewer, or none.

    Args:
        skills: Their folders by name.
        tasks: A Harbor task, or a folder of them.
        k: At most so many for a task.

    Raises:
        ConfigError: There are no tasks, or an instruction cannot be read.
        MissingExtraError: What searches is not installed.
    """
    from sipbench.skills.catalogue import Index, catalogue
    from sipbench.skills.layout import Located

    root = next(iter(skills.values())).parent
    entries = catalogue([Located(root, list(skills.values()))])
    names = {folder: name for name, folder in skills.items()}
    index = Index(entries)
    return {
        folder.name: tuple(
            Ranked(names[hit.entry.folder], hit.score) for hit in index.find(_shown(folder), top=k)
        )
        for folder in _task_folders(tasks)
    }


def _task_folders(tasks: Path) -> list[Path]:
    if (tasks / "task.toml").is_file():
        return [tasks.resolve()]
    found = sorted(path.parent.resolve() for path in tasks.glob("*/task.toml")) if tasks.is_dir() else []
    if not found:
        raise ConfigError(f"tasks: {tasks} holds no Harbor task: no folder with a task.toml")
    return found


def _shown(task: Path) -> str:
    """What the agent of a task is shown: its instruction, or those of its steps. Never more of it."""
    files = [task / _INSTRUCTION, *sorted(task.glob(f"steps/*/{_INSTRUCTION}"))]
    texts = [_text(file) for file in files if os.path.lexists(file)]
    if not texts:
        raise ConfigError(f"tasks: {task} has no {_INSTRUCTION}")
    return "\n".join(texts)


def _text(file: Path) -> str:
    try:
        # Not through a link, which may lead to what the agent is not shown.
        return read_file(file, limit=_LARGEST_BYTES, follow=False).decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"tasks: {file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"tasks: {file}: not UTF-8 at byte {error.start}; convert it") from None

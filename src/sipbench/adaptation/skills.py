"""Skills as an adaptation: what the agent is given from T1 on.

The skills are those of a folder with one directory per skill, each with its ``SKILL.md``, or of a
collection (``collection.yaml`` beside ``leaves/`` or ``skills/``). A folder that is itself one skill is
given alone. They are copied into the agent state byte for byte: to ``skills/<name>/`` for every task, or,
with ``select: for-task``, to ``task-skills/<task>/<name>/`` for the tasks whose cards the collection links
with them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.adaptation.trees import Bounds, copy_tree
from sipbench.benchmarks.base import Options
from sipbench.errors import AdaptationError, CardError, ConfigError, SkillError
from sipbench.protocol.agent_state import SKILL_FILE, SKILLS, TASK_SKILLS
from sipbench.protocol.digests import file_digest, json_digest, tree_digest
from sipbench.protocol.records import Digest, Name
from sipbench.protocol.vocabulary import PathType

__all__ = ["SkillsFolder", "SkillsOptions"]

_BOUNDS = Bounds(bytes=256 * 1024 * 1024, files=20_000)
_MANIFEST = "collection.yaml"
_LAYOUTS = ("leaves", "skills")
_SHOWN = 5

_log = logging.getLogger(__name__)


class SkillsOptions(Options):
    """Options of the adaptation ``skills``."""

    path: Name = Field(description="Folder of skills or collection, relative to the study file.")
    pin: Digest | None = Field(
        default=None,
        description="SHA-256 of the collection's collection.yaml, whose pins then have to hold.",
    )
    select: Literal["all", "for-task"] = Field(
        default="all",
        description="Every skill for every task, or for each task those of its card.",
    )
    cards: Name | None = Field(
        default=None, description="For `for-task`: the collection's cards, relative to the study file."
    )

    @model_validator(mode="after")
    def _cards_for_tasks(self) -> Self:
        if (self.select == "for-task") != (self.cards is not None):
            raise ValueError("`cards` goes with `select: for-task`, and is needed there")
        return self


class SkillsFolder(Adaptation):
    """Gives the agent skills that exist. It learns nothing from attempts, and its cost is unknown."""

    Options = SkillsOptions
    options: SkillsOptions

    path_type: ClassVar[PathType | None] = PathType.EXTERNAL
    needs_attempts: ClassVar[bool] = False

    def __init__(self, options: Any, *, base: Path) -> None:
        """Find the skills, and compare them with their pins where one is given.

        Raises:
            ConfigError: There is no such folder, no skill in it, or it is not what is pinned.
        """
        super().__init__(options, base=base)
        self.folder = base / self.options.path
        try:
            self._skills()
            self._check_pin()
        except AdaptationError as error:
            raise ConfigError(f"path: {error}") from None
        if self.options.select == "for-task":
            self._by_task()

    def inputs_digest(self) -> str | None:
        """Digest of all skills, and of which task gets which."""
        skills = {name: tree_digest(folder) for name, folder in self._skills().items()}
        if self.options.select == "all":
            return json_digest(skills)
        return json_digest({"skills": skills, "tasks": {k: list(v) for k, v in self._by_task().items()}})

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Copy the skills into the state."""
        self._check_pin()
        skills = self._skills()
        if self.options.select == "all":
            for name, folder in skills.items():
                self._copy(folder, request.state / SKILLS / name)
            return AdaptationOutcome(metadata={"skills": _given(skills)}, worked_here=False)
        by_task = self._by_task()
        for task, names in by_task.items():
            for name in names:
                self._copy(skills[name], request.state / TASK_SKILLS / task / name)
        used = {name: skills[name] for name in sorted({name for names in by_task.values() for name in names})}
        metadata = {"skills": _given(used), "tasks": len(by_task)}
        return AdaptationOutcome(metadata=metadata, worked_here=False)

    def _copy(self, folder: Path, target: Path) -> None:
        target.mkdir(parents=True)
        copy_tree(folder, target, _BOUNDS)

    def _skills(self) -> dict[str, Path]:
        if not self.folder.is_dir():
            raise AdaptationError(f"{self.folder} is not a folder")
        if (self.folder / SKILL_FILE).is_file():
            return {self.folder.resolve().name: self.folder}
        root = self.folder
        if (root / _MANIFEST).is_file():
            root = next((root / name for name in _LAYOUTS if (root / name).is_dir()), root)
        found = {}
        for folder in sorted(root.iterdir()):
            if not (folder / SKILL_FILE).is_file():
                continue
            if folder.is_symlink():
                raise AdaptationError(f"{folder}: a symbolic link; put the skill itself there")
            found[folder.name] = folder
        if not found:
            raise AdaptationError(f"{root} holds no skill: no folder with a {SKILL_FILE}")
        return found

    def _check_pin(self) -> None:
        if self.options.pin is None:
            return
        from sipbench.skills.collection import verify
        from sipbench.skills.layout import locate_one

        manifest = self.folder / _MANIFEST
        if not manifest.is_file():
            raise AdaptationError(f"{self.folder}: no {_MANIFEST}, so that no pin can hold")
        found = file_digest(manifest)
        if found != self.options.pin:
            raise AdaptationError(f"{manifest} is {found}, pinned is {self.options.pin}")
        try:
            different = verify(locate_one(self.folder))
        except SkillError as error:
            raise AdaptationError(str(error)) from None
        if different:
            more = f" and {len(different) - 1} more" if len(different) > 1 else ""
            raise AdaptationError(f"{self.folder} is not as pinned: {different[0]}{more}")

    def _by_task(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the linked skills by the name of the task that the card is exported as."""
        from sipbench.cards.keys import safe_name
        from sipbench.cards.load import load_card
        from sipbench.cards.validate import find_cards
        from sipbench.skills.layout import linked_skills

        skills = self._skills()
        found: dict[str, tuple[str, ...]] = {}
        try:
            links = linked_skills(self.folder)
            for path in find_cards([self.base / (self.options.cards or "")]):
                card = load_card(path)
                names = links.get(f"{card.paper}/{card.card.task_id}", ())
                if names:
                    found[safe_name(card.key)] = tuple(names)
        except (CardError, SkillError) as error:
            raise ConfigError(f"cards: {error}") from None
        absent = sorted({name for names in found.values() for name in names} - skills.keys())
        if absent:
            _log.warning("%d linked skills are not there: %s", len(absent), ", ".join(absent[:_SHOWN]))
            found = {task: tuple(n for n in names if n in skills) for task, names in found.items()}
        found = {task: names for task, names in sorted(found.items()) if names}
        if not found:
            raise ConfigError(f"cards: no card of {self.options.cards} is linked with a skill there")
        return found


def _given(skills: Mapping[str, Path]) -> list[dict[str, str]]:
    return [{"name": name, "digest": file_digest(folder / SKILL_FILE)} for name, folder in skills.items()]

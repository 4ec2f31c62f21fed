"""Skills as an adaptation: what the agent is given from T1 on.

The skills are those of a folder with one directory per skill, each with its ``SKILL.md``, or of a
collection (``collection.yaml`` beside ``leaves/`` or ``skills/``). A folder that is itself one skill is
given alone. They are copied into the agent state byte for byte: to ``skills/<name>/`` for every task, or
to ``task-skills/<task>/<name>/`` for each task those that are selected for it: with ``select: for-task`` the
ones that its card is linked with, with ``select: top-k`` the ones whose words fit its instruction best.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.adaptation.selection import Ranked, best_skills, linked_skills_of_tasks
from sipbench.adaptation.trees import Bounds, copy_tree
from sipbench.benchmarks.base import Charge, Options
from sipbench.errors import AdaptationError, ConfigError, SkillError
from sipbench.protocol.agent_state import DELIVERY, SKILL_FILE, SKILLS, TASK_SKILLS, SkillDelivery, Through
from sipbench.protocol.digests import file_digest, json_digest, tree_digest
from sipbench.protocol.records import Digest, Name
from sipbench.protocol.vocabulary import PathType

__all__ = ["SkillsFolder", "SkillsOptions"]

_BOUNDS = Bounds(bytes=256 * 1024 * 1024, files=20_000)
_MANIFEST = "collection.yaml"
_LAYOUTS = ("leaves", "skills")
_SELECTION = "selection.json"
_RANKING = "BM25 (Lucene's variant, k1 1.5, b 0.75) over name, description, tools and techniques"


class SkillsOptions(Options):
    """Options of the adaptation ``skills``."""

    added: ClassVar[frozenset[str]] = frozenset({"tasks", "k", "through"})

    path: Name = Field(description="Folder of skills or collection, relative to the study file.")
    pin: Digest | None = Field(
        default=None,
        description="SHA-256 of the collection's collection.yaml, whose pins then have to hold.",
    )
    select: Literal["all", "for-task", "top-k"] = Field(
        default="all",
        description="Every skill for every task, or for each task those of its card, or the `k` best.",
    )
    cards: Name | None = Field(
        default=None, description="For `for-task`: the collection's cards, relative to the study file."
    )
    tasks: Name | None = Field(
        default=None, description="For `top-k`: the benchmark's folder of tasks, relative to the study file."
    )
    k: int | None = Field(default=None, ge=1, le=1000, description="For `top-k`: skills for each task.")
    through: Through = Field(
        default="files",
        description="How they reach the agent: as `files`, or served by the Skills extension of `mcp`.",
    )

    @model_validator(mode="after")
    def _what_a_selection_needs(self) -> Self:
        if (self.select == "for-task") != (self.cards is not None):
            raise ValueError("`cards` goes with `select: for-task`, and is needed there")
        for name in ("tasks", "k"):
            if (self.select == "top-k") != (getattr(self, name) is not None):
                raise ValueError(f"`{name}` goes with `select: top-k`, and is needed there")
        return self


class SkillsFolder(Adaptation):
    """Gives the agent skills that exist. It learns nothing from attempts, and its cost is unknown."""

    Options = SkillsOptions
    options: SkillsOptions

    path_type: ClassVar[PathType | None] = PathType.EXTERNAL
    needs_attempts: ClassVar[bool] = False
    charge: ClassVar[Charge] = "free"

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
        if self.options.through == "mcp":
            self._check_served()
        if self.options.select != "all":
            _ = self._by_task

    @property
    def through(self) -> Through:
        """How they reach the agent, as the study says."""
        return self.options.through

    def inputs_digest(self) -> str | None:
        """Digest of all skills, and of which task gets which."""
        skills = {name: tree_digest(folder) for name, folder in self._skills().items()}
        if self.options.select == "all":
            return json_digest(skills)
        return json_digest({"skills": skills, "tasks": {k: list(v) for k, v in self._by_task.items()}})

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Copy the skills into the state."""
        self._check_pin()
        skills = self._skills()
        if self.options.through != "files":
            delivery = SkillDelivery(skills=self.options.through).model_dump_json()
            (request.state / DELIVERY).write_text(delivery + "\n", encoding="utf-8", newline="\n")
        if self.options.select == "all":
            for name, folder in skills.items():
                self._copy(folder, request.state / SKILLS / name)
            return AdaptationOutcome(metadata={"skills": _given(skills)}, worked_here=False)
        for task, names in self._by_task.items():
            place = request.state / TASK_SKILLS / task
            for name in names:
                self._copy(skills[name], place / name)
            if self.options.select == "top-k":
                self._note(place, names)
        used = {name: skills[name] for name in sorted({n for names in self._by_task.values() for n in names})}
        metadata: dict[str, Any] = {"skills": _given(used), "tasks": len(self._by_task)}
        if self.options.select == "top-k":
            metadata |= {"k": self.options.k, "ranking": _RANKING, "chosen": self._chosen()}
        return AdaptationOutcome(metadata=metadata, worked_here=False)

    def _note(self, place: Path, names: tuple[str, ...]) -> None:
        """Say in the state what was chosen for a task, since that may be nothing."""
        place.mkdir(parents=True, exist_ok=True)
        document = {"select": self.options.select, "k": self.options.k, "skills": list(names)}
        (place / _SELECTION).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8", newline="\n")

    def _chosen(self) -> dict[str, list[dict[str, Any]]]:
        return {
            task: [{"name": item.name, "score": round(item.score, 4)} for item in ranked]
            for task, ranked in self._ranked.items()
        }

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

    def _check_served(self) -> None:
        """Refuse skills that a server would leave out."""
        from sipbench.skills.tree import on_line
        from sipbench.skills.validate import check_skills

        bad = [report for report in check_skills(list(self._skills().values())) if not report.valid]
        if bad:
            first = next(item for item in bad[0].findings if item.level == "error")
            name = on_line(bad[0].folder.name)
            raise ConfigError(
                f"path: {len(bad)} of its skills do not conform and would not be served, {name} first: "
                f"{first.message} [{first.rule}]; `asb export-skills` rewrites them"
            )

    @cached_property
    def _by_task(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the skills that each task gets, by the name of its folder."""
        if self.options.select == "top-k":
            return {task: tuple(item.name for item in ranked) for task, ranked in self._ranked.items()}
        cards = self.options.cards or ""
        found = linked_skills_of_tasks(self.folder, self.base / cards, self._skills())
        if not found:
            raise ConfigError(f"cards: no card of {cards} is linked with a skill there")
        return found

    @cached_property
    def _ranked(self) -> Mapping[str, tuple[Ranked, ...]]:
        return best_skills(self._skills(), self.base / (self.options.tasks or ""), self.options.k or 0)


def _given(skills: Mapping[str, Path]) -> list[dict[str, str]]:
    return [{"name": name, "digest": file_digest(folder / SKILL_FILE)} for name, folder in skills.items()]

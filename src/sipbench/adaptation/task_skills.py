"""The skills that tasks ship, as an adaptation: from T1 on each task is attempted with its own.

This is SkillsBench's condition "with skills". The skills are copied into the agent state, so that the
state says what was given; what a task does not ship it does not get. The folder of tasks is the one
that the benchmark reads; a task's skills lie in ``environment/skills``, one folder each.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.adaptation.trees import Bounds, copy_tree
from sipbench.benchmarks.base import Charge, Options
from sipbench.errors import AdaptationError, ConfigError
from sipbench.protocol.agent_state import SKILL_FILE, TASK_SKILLS
from sipbench.protocol.digests import json_digest, tree_digest
from sipbench.protocol.records import Name
from sipbench.protocol.vocabulary import PathType

__all__ = ["TaskSkills", "TaskSkillsOptions"]

_SHIPPED = Path("environment", "skills")
_BOUNDS = Bounds(bytes=1024 * 1024 * 1024, files=100_000)
_SHOWN = 5

_log = logging.getLogger(__name__)


class TaskSkillsOptions(Options):
    """Options of the adaptation ``task-skills``."""

    tasks: Name = Field(description="The benchmark's folder of tasks, relative to the study file.")


class TaskSkills(Adaptation):
    """Gives the agent, for each task, the skills that the task ships. Its cost is unknown."""

    Options = TaskSkillsOptions
    options: TaskSkillsOptions

    path_type: ClassVar[PathType | None] = PathType.EXTERNAL
    needs_attempts: ClassVar[bool] = False
    charge: ClassVar[Charge] = "free"

    def __init__(self, options: Any, *, base: Path) -> None:
        """Find the skills.

        Raises:
            ConfigError: There is no such folder, or no task in it ships a skill.
        """
        super().__init__(options, base=base)
        self.folder = base / self.options.tasks
        if not self.folder.is_dir():
            raise ConfigError(f"tasks: {self.folder} is not a folder")
        if not self._shipped():
            raise ConfigError(
                f"tasks: no task of {self.folder} ships a skill (environment/skills/NAME/{SKILL_FILE})"
            )

    def inputs_digest(self) -> str | None:
        """Digest of all shipped skills."""
        try:
            return json_digest(
                {
                    f"{task}/{folder.name}": tree_digest(folder)
                    for task, folders in self._shipped().items()
                    for folder in folders
                }
            )
        except OSError as error:
            raise AdaptationError(f"{self.folder}: cannot be read: {error.strerror or error}") from None

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Copy the skills of each task into the state."""
        shipped = self._shipped()
        for task, folders in shipped.items():
            for folder in folders:
                target = request.state / TASK_SKILLS / task / folder.name
                target.mkdir(parents=True)
                copy_tree(folder, target, _BOUNDS)
        without = sorted(task.name for task in self._tasks() if task.name not in shipped)
        if without:
            named = ", ".join(without[:_SHOWN]) + (", …" if len(without) > _SHOWN else "")
            _log.warning("%d tasks ship no skills and cannot be attempted with them: %s", len(without), named)
        count = sum(len(folders) for folders in shipped.values())
        return AdaptationOutcome(metadata={"tasks": len(shipped), "skills": count, "without": without})

    def _tasks(self) -> list[Path]:
        if (self.folder / "task.toml").is_file():
            return [self.folder.resolve()]
        return sorted(folder for folder in self.folder.iterdir() if (folder / "task.toml").is_file())

    def _shipped(self) -> Mapping[str, list[Path]]:
        """The skills of each task that ships any, by the name of its folder."""
        found = {}
        for task in self._tasks():
            place = task / _SHIPPED
            folders = sorted(place.iterdir()) if place.is_dir() else []
            skills = [folder for folder in folders if (folder / SKILL_FILE).is_file()]
            for folder in skills:
                if folder.is_symlink():
                    raise ConfigError(f"{folder}: a symbolic link; put the skill itself there")
            if skills:
                found[task.name] = skills
        return found

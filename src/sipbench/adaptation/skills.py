"""A folder of skills as an adaptation: what the agent is given from T1 on.

The folder holds one directory per skill, each with its ``SKILL.md``, or is one such directory itself.
They are copied to ``skills/<name>/`` in the agent state, byte for byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.adaptation.trees import Bounds, copy_tree
from sipbench.benchmarks.base import Options
from sipbench.errors import AdaptationError, ConfigError
from sipbench.protocol.digests import file_digest, json_digest, tree_digest
from sipbench.protocol.records import Name
from sipbench.protocol.vocabulary import PathType

__all__ = ["SkillsFolder", "SkillsOptions"]

SKILL_FILE = "SKILL.md"
_BOUNDS = Bounds(bytes=256 * 1024 * 1024, files=20_000)


class SkillsOptions(Options):
    """Options of the adaptation ``skills``."""

    path: Name = Field(description="Folder of skills, relative to the study file.")


class SkillsFolder(Adaptation):
    """Gives the agent a folder of skills. It learns nothing from attempts, and its cost is unknown."""

    Options = SkillsOptions
    options: SkillsOptions

    path_type: ClassVar[PathType | None] = PathType.EXTERNAL
    needs_attempts: ClassVar[bool] = False

    def __init__(self, options: Any, *, base: Path) -> None:
        """Find the skills.

        Raises:
            ConfigError: There is no such folder, or no skill in it.
        """
        super().__init__(options, base=base)
        self.folder = base / self.options.path
        try:
            self._skills()
        except AdaptationError as error:
            raise ConfigError(f"path: {error}") from None

    def inputs_digest(self) -> str | None:
        """Digest of all skills."""
        return json_digest({name: tree_digest(folder) for name, folder in self._skills().items()})

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Copy the skills into the state."""
        skills = self._skills()
        for name, folder in skills.items():
            target = request.state / "skills" / name
            target.mkdir(parents=True)
            copy_tree(folder, target, _BOUNDS)
        given = [
            {"name": name, "digest": file_digest(folder / SKILL_FILE)} for name, folder in skills.items()
        ]
        return AdaptationOutcome(metadata={"skills": given}, worked_here=False)

    def _skills(self) -> dict[str, Path]:
        if not self.folder.is_dir():
            raise AdaptationError(f"{self.folder} is not a folder")
        if (self.folder / SKILL_FILE).is_file():
            return {self.folder.resolve().name: self.folder}
        found = {}
        for folder in sorted(self.folder.iterdir()):
            if not (folder / SKILL_FILE).is_file():
                continue
            if folder.is_symlink():
                raise AdaptationError(f"{folder}: a symbolic link; put the skill itself there")
            found[folder.name] = folder
        if not found:
            raise AdaptationError(f"{self.folder} holds no skill: no folder with a {SKILL_FILE}")
        return found

"""Files that an agent is pointed to, as adaptations: a memory (a folder) and a prompt (one text).

From T1 on the benchmark puts them at a fixed place in the agent's environment and names them in the
instruction. Their digest is part of the agent state's.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.adaptation.trees import Bounds, copy_tree
from sipbench.benchmarks.base import Charge, Options
from sipbench.errors import AdaptationError, ConfigError
from sipbench.protocol.agent_state import MEMORY, PROMPT
from sipbench.protocol.digests import file_digest, tree_digest
from sipbench.protocol.records import Name
from sipbench.protocol.vocabulary import PathType

__all__ = ["FileOptions", "MemoryFolder", "PromptFile"]

_BOUNDS = Bounds(bytes=256 * 1024 * 1024, files=20_000)
_LONGEST_PROMPT = 1024 * 1024


class FileOptions(Options):
    """Options of the adaptations ``memory`` and ``prompt``."""

    path: Name = Field(description="The folder or file, relative to the study file.")


class MemoryFolder(Adaptation):
    """Gives the agent a folder of files: notes, facts, traces of earlier work. Its cost is unknown."""

    Options = FileOptions
    options: FileOptions

    path_type: ClassVar[PathType | None] = PathType.EXTERNAL
    needs_attempts: ClassVar[bool] = False
    charge: ClassVar[Charge] = "free"

    def __init__(self, options: Any, *, base: Path) -> None:
        """Find the folder.

        Raises:
            ConfigError: There is none, or nothing in it.
        """
        super().__init__(options, base=base)
        self.folder = base / self.options.path
        if not self.folder.is_dir():
            raise ConfigError(f"path: {self.folder} is not a folder")
        if not any(path.is_file() for path in self.folder.rglob("*")):
            raise ConfigError(f"path: {self.folder} holds no files")

    def inputs_digest(self) -> str | None:
        """Digest of the folder."""
        return tree_digest(self.folder)

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Copy the folder into the state."""
        target = request.state / MEMORY
        target.mkdir()
        files = copy_tree(self.folder, target, _BOUNDS)
        return AdaptationOutcome(metadata={"files": files, "digest": tree_digest(target)})


class PromptFile(Adaptation):
    """Gives the agent a text with advice. Its cost is unknown."""

    Options = FileOptions
    options: FileOptions

    path_type: ClassVar[PathType | None] = PathType.EXTERNAL
    needs_attempts: ClassVar[bool] = False
    charge: ClassVar[Charge] = "free"

    def __init__(self, options: Any, *, base: Path) -> None:
        """Find the file.

        Raises:
            ConfigError: There is none, or it is no short text in UTF-8.
        """
        super().__init__(options, base=base)
        self.file = base / self.options.path
        if not self.file.is_file():
            raise ConfigError(f"path: {self.file} is not a file")
        if self.file.stat().st_size > _LONGEST_PROMPT:
            raise ConfigError(f"path: {self.file} is larger than {_LONGEST_PROMPT // 1024} KiB; use `memory`")
        try:
            empty = not self.file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"path: {self.file} is no readable text in UTF-8: {error}") from None
        if empty:
            raise ConfigError(f"path: {self.file} is empty")

    def inputs_digest(self) -> str | None:
        """Digest of the file."""
        return file_digest(self.file)

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Copy the file into the state."""
        target = request.state / PROMPT
        try:
            shutil.copyfile(self.file, target)
        except OSError as error:
            raise AdaptationError(f"{self.file}: cannot be copied: {error.strerror or error}") from None
        return AdaptationOutcome(metadata={"digest": file_digest(target)})

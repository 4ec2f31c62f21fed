"""An adaptation that happened elsewhere: the arms of a recorded study whose agents did learn.

It makes nothing. It puts into the agent state what is at hand of the one that the recorded attempts ran
with, or a note that it is not, and reports what is known of its cost.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.adaptation.trees import Bounds, copy_tree
from sipbench.benchmarks.base import Charge, Options
from sipbench.errors import ConfigError
from sipbench.protocol.digests import tree_digest
from sipbench.protocol.records import Name, Usage
from sipbench.protocol.vocabulary import PathType

__all__ = ["NOTE_FILE", "RecordedAdaptation", "RecordedAdaptationOptions"]

NOTE_FILE = "made-elsewhere.json"
"""Stands in the agent state instead of one that is not at hand."""

_BOUNDS = Bounds(bytes=2**40)


class RecordedAdaptationOptions(Options):
    """Options of the adaptation ``recorded``."""

    path_type: Literal[PathType.EXTERNAL, PathType.PARAMETER] = Field(
        description="What was changed: `external` (skills, memory, prompts) or `parameter` (weights)."
    )
    state: Name | None = Field(
        default=None,
        description="Folder with the agent state, where there is one, relative to the study file.",
    )
    usage: Usage = Field(
        default_factory=Usage,
        description="What the adaptation itself spent, without adapt attempts (`token_total`, ...).",
    )
    needs_attempts: bool = Field(
        default=True, description="Whether adapt attempts were recorded; their cost counts as learning cost."
    )
    note: str | None = Field(default=None, description="How the state was made, in words.")


class RecordedAdaptation(Adaptation):
    """Stands for an adaptation that was made before, by somebody else."""

    Options = RecordedAdaptationOptions
    options: RecordedAdaptationOptions
    charge: ClassVar[Charge] = "free"

    def __init__(self, options: Any, *, base: Path) -> None:
        """Find the state.

        Raises:
            ConfigError: There is no such folder.
        """
        super().__init__(options, base=base)
        self.needs_attempts = self.options.needs_attempts  # type: ignore[misc]
        self.folder = None if self.options.state is None else base / self.options.state
        if self.folder is not None and not self.folder.is_dir():
            raise ConfigError(f"state: {self.folder} is not a folder")

    def inputs_digest(self) -> str | None:
        """Digest of the state; None where it is not at hand."""
        return None if self.folder is None else tree_digest(self.folder)

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Put the state, or the note, in its place."""
        if self.folder is not None:
            copy_tree(self.folder, request.state, _BOUNDS)
        else:
            note = {"path_type": self.options.path_type, "note": self.options.note}
            text = json.dumps(note, ensure_ascii=False, sort_keys=True)
            (request.state / NOTE_FILE).write_text(text + "\n", encoding="utf-8", newline="\n")
        known = self.options.usage != Usage()
        return AdaptationOutcome(self.options.usage, "import" if known else None, worked_here=False)

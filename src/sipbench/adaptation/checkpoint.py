"""Another model as an adaptation: weights that somebody trained elsewhere, by name or by path.

From T1 on the agent is given that model instead of its own. A path is what the agent gets to see as
its model, made absolute; the digest of what lies there is part of the agent state, so that other weights
at the same place are another state.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.benchmarks.base import Charge, Options
from sipbench.errors import ConfigError
from sipbench.protocol.agent_state import CHECKPOINT, CheckpointChoice
from sipbench.protocol.digests import file_digest, tree_digest
from sipbench.protocol.records import Name
from sipbench.protocol.vocabulary import PathType

__all__ = ["Checkpoint", "CheckpointOptions"]


class CheckpointOptions(Options):
    """Options of the adaptation ``checkpoint``: one of the two."""

    model: Name | None = Field(default=None, description="The model's name, as the agent takes it.")
    path: Name | None = Field(default=None, description="A file or folder, relative to the study file.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.model is None) == (self.path is None):
            raise ValueError("name either a `model` or a `path`")
        return self


class Checkpoint(Adaptation):
    """Gives the agent another model. What its training cost is unknown here."""

    Options = CheckpointOptions
    options: CheckpointOptions

    path_type: ClassVar[PathType | None] = PathType.PARAMETER
    needs_attempts: ClassVar[bool] = False
    charge: ClassVar[Charge] = "free"

    def __init__(self, options: Any, *, base: Path) -> None:
        """Find the checkpoint.

        Raises:
            ConfigError: There is nothing at its path.
        """
        super().__init__(options, base=base)
        if self.options.path is not None and not (base / self.options.path).exists():
            raise ConfigError(f"path: {base / self.options.path} does not exist")

    def inputs_digest(self) -> str | None:
        """Digest of what lies at the path; None for a model that is named."""
        if self.options.path is None:
            return None
        place = self.base / self.options.path
        return tree_digest(place) if place.is_dir() else file_digest(place)

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Write the choice into the state."""
        choice = CheckpointChoice(
            model=self.options.model, path=self.options.path, digest=self.inputs_digest()
        )
        text = choice.model_dump_json(indent=2) + "\n"
        (request.state / CHECKPOINT).write_text(text, encoding="utf-8", newline="\n")
        return AdaptationOutcome(metadata=choice.model_dump(mode="json", exclude_none=True))

"""The importer contract: what turns somebody's finished attempts into run records.

An importer is one module with a subclass of :class:`Importer`, registered in the entry-point group
``sipbench.importers``. It knows one file format. ``sip import KIND`` writes what it yields to
``runs.jsonl``; the benchmark ``recorded`` serves the same attempts to a study.

What a file does not say stays null; what it cannot say (which phase, split and arm its attempts belong
to) comes from a :class:`Binding`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from sipbench.errors import ConfigError
from sipbench.protocol.records import Count, Name, RunRecord, Seed
from sipbench.protocol.vocabulary import PathType, Phase, Split

__all__ = ["Binding", "Imported", "Importer", "Options", "Place"]


class Options(BaseModel):
    """Options of an importer; subclasses declare the fields. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Binding(BaseModel):
    """Where the attempts of a file stand in a study.

    A format that states phase and split itself is *selected* by them: only matching attempts are
    read. One that does not gets them from here. ``arm`` always names the arm. The other fields are
    for formats that do not state them, and are refused otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    phase: Phase | None = Field(default=None, description="T0, T1 or T2.")
    split: Split | None = Field(default=None, description="replay, adapt, heldout or drift.")
    arm: Name | None = Field(default=None, description="The arm whose attempts these are.")
    path_type: PathType | None = Field(default=None, description="How the arm may improve.")
    model: Name | None = Field(default=None, description="The model behind the agent.")
    agent: Name | None = Field(default=None, description="The agent.")
    agent_version: Name | None = Field(default=None, description="The agent's version.")
    seed: Seed | None = Field(default=None, description="The seed of the repeat.")
    repeat: Count | None = Field(default=None, description="The repeat that the attempts belong to.")
    first_attempt: Count | None = Field(
        default=None, description="Index of the first attempt per task; above 0 for a second file."
    )

    def keeps(self, record: RunRecord) -> bool:
        """Whether a record that states phase and split itself is selected."""
        return self.phase in (None, record.phase) and self.split in (None, record.benchmark_split)


@dataclass(frozen=True, slots=True)
class Place:
    """A binding in which nothing that a record needs is open any more."""

    phase: Phase
    split: Split
    arm: str
    path_type: PathType = PathType.FROZEN
    model: str = "unknown"
    agent: str = "unknown"
    agent_version: str = "unknown"
    seed: int | None = None
    repeat: int = 0
    first_attempt: int = 0

    @classmethod
    def of(cls, binding: Binding) -> Place:
        """Fill ``binding`` for a format that states none of it.

        A record must name model, agent and version: where nobody knows them it says ``unknown``.

        Raises:
            ConfigError: Phase, split or arm are open.
        """
        given = binding.model_dump(exclude_none=True)
        missing = [name for name in ("phase", "split", "arm") if name not in given]
        if missing:
            raise ConfigError(f"the file does not say its {' and '.join(missing)}: bind it to one")
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Imported:
    """One finished attempt of a file.

    Attributes:
        record: The attempt as a run record.
        text: The task's text, for near-duplicate search and for learners; None if unknown.
        task_metadata: Facts of the task (not of the attempt); plain JSON.
        trajectory: What the agent did, as the file has it; plain JSON; None if the file has none.
    """

    record: RunRecord
    text: str | None = None
    task_metadata: Mapping[str, Any] = field(default_factory=dict)
    trajectory: Any = None


class Importer(ABC):
    """Reads one format of finished attempts."""

    contract_version: ClassVar[int] = 1
    Options: ClassVar[type[Options]] = Options

    states_place: ClassVar[bool] = False
    """Whether the format states phase, split, agent and model of each attempt itself."""

    def __init__(self, options: Any) -> None:
        """Make the importer from an instance of ``Options``."""
        self.options = options

    @abstractmethod
    def read(self, path: Path, binding: Binding) -> Iterator[Imported]:
        """Yield the attempts of ``path``, in the file's order.

        An attempt that ended without a grade is yielded with its status. What the file cannot say is
        null in the record; a reward that is no number in range is a ``verifier_error``.

        Raises:
            RecordError: The file cannot be read or is of another format: where, and what to do.
            ConfigError: The binding or an option does not fit the file.
        """

"""Options of the benchmark ``recorded``: which files, and where in the study their attempts stand."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from sipbench import plugins
from sipbench.benchmarks.base import Options
from sipbench.errors import ConfigError
from sipbench.importers.base import Binding, Importer
from sipbench.importers.job import make_importer
from sipbench.protocol.manifest import DriftChange, ReplaySelection
from sipbench.protocol.records import Name

__all__ = ["RecordedFile", "RecordedOptions"]


class RecordedFile(Binding):
    """One file and its binding. All other keys are options of its kind (`trials: [0, 1]`)."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    path: Name = Field(description="The file, relative to the study file.")
    kind: Name = Field(description="What it is: `tau`, `tau2`, `sip-v0`, `runs`, or another importer's name.")
    tasks: Annotated[tuple[Name, ...], Field(min_length=1)] | None = Field(
        default=None, description="Task ids to take, or patterns of them (`airline:test:1*`); default: all."
    )

    @property
    def binding(self) -> Binding:
        """The part of this that an importer is given."""
        return Binding.model_validate({name: getattr(self, name) for name in Binding.model_fields})

    def takes(self, task_id: str) -> bool:
        """Whether the attempts of a task are taken."""
        return self.tasks is None or any(fnmatchcase(task_id, pattern) for pattern in self.tasks)

    def importer(self) -> Importer:
        """The importer of this file's kind.

        Raises:
            ConfigError: The kind is unknown, or a key belongs neither to it nor to a binding; or a file
                that does not state its phase, split and arm is not bound to one.
        """
        options: dict[str, Any] = dict(self.model_extra or {})
        found: type[Importer] = plugins.load("importers", self.kind)
        known = sorted({*found.Options.model_fields, *type(self).model_fields})
        for name in options:
            if name not in found.Options.model_fields:
                raise ConfigError(
                    f"unknown key '{name}'{plugins.suggestion(name, known)}; known here: {', '.join(known)}"
                )
        missing = [name for name in ("phase", "split", "arm") if getattr(self, name) is None]
        if missing and not found.states_place:
            raise ConfigError(f"{missing[0]}: missing; a file of kind {self.kind} does not state it")
        return make_importer(self.kind, options)


class RecordedOptions(Options):
    """Options of the benchmark ``recorded``."""

    files: Annotated[tuple[RecordedFile, ...], Field(min_length=1)] = Field(
        description="The files with the attempts, each bound to a phase, split and arm."
    )
    replay_selection: ReplaySelection | None = Field(
        default=None, description="How the replay tasks were chosen; needed with a replay split."
    )
    drift_changes: tuple[DriftChange, ...] = Field(
        default=(), description="What changes in drift tasks; needed with a drift split."
    )
    drift_note: str | None = Field(default=None, description="More about it, in words.")

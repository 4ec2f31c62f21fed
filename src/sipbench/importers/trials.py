"""What formats with numbered trials share: which trials are taken, and where they stand in a study.

Trials of one unchanged agent are several attempts at the same task, so that is what they become.
``trials_as: repeats`` is for files whose trials differ in the agent state behind them, one whole pass
each.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from sipbench.errors import ConfigError, RecordError
from sipbench.importers.base import Options, Place
from sipbench.protocol.records import Count

__all__ = ["TrialOptions", "Trials"]

_log = logging.getLogger(__name__)

_SHOWN = 3


def _listed(value: Any) -> Any:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


class TrialOptions(Options):
    """Options of a format with numbered trials."""

    trials: Annotated[tuple[Count, ...], BeforeValidator(_listed), Field(min_length=1)] | None = Field(
        default=None, description="Trials to read (`0,1`); default: all."
    )
    trials_as: Literal["attempts", "repeats"] = Field(
        default="attempts",
        description="What a trial becomes: another attempt at the task, or a repeat of the whole study.",
    )


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials that are taken from one file, in order: the first is attempt (or repeat) 0."""

    taken: tuple[int, ...]
    as_repeats: bool

    @classmethod
    def of(cls, path: Path, rows: Sequence[tuple[str, int, str]], options: TrialOptions) -> Self:
        """Check the (task, trial, place in the file) of every row, and choose.

        Raises:
            RecordError: A (task, trial) pair stands twice.
            ConfigError: A wanted trial is not in the file.
        """
        first: dict[tuple[str, int], str] = {}
        for task, trial, place in rows:
            if (task, trial) in first:
                raise RecordError(
                    f"{path}: {place}: task {task} trial {trial} was already {first[task, trial]}; "
                    "keep one of them, or split the file and number the attempts with first_attempt"
                )
            first[task, trial] = place
        held = sorted({trial for _, trial in first})
        taken = tuple(dict.fromkeys(options.trials)) if options.trials is not None else tuple(held)
        absent = [trial for trial in taken if trial not in held]
        if absent:
            trials = ", ".join(map(str, held)) or "none"
            raise ConfigError(f"{path}: trials: {absent[0]} is not in the file, which holds {trials}")
        _warn_of_gaps(path, first, taken)
        return cls(taken, options.trials_as == "repeats")

    def place(self, trial: int, place: Place) -> tuple[int, int] | None:
        """(repeat, attempt index) of a trial; None if it is not taken."""
        if trial not in self.taken:
            return None
        rank = self.taken.index(trial)
        if self.as_repeats:
            return place.repeat + rank, place.first_attempt
        return place.repeat, place.first_attempt + rank


def _warn_of_gaps(path: Path, held: dict[tuple[str, int], str], taken: Sequence[int]) -> None:
    tasks = list(dict.fromkeys(task for task, _ in held))
    gaps = [(task, trial) for task in tasks for trial in taken if (task, trial) not in held]
    if gaps:
        named = ", ".join(f"task {task} trial {trial}" for task, trial in gaps[:_SHOWN])
        more = f" and {len(gaps) - _SHOWN} more" if len(gaps) > _SHOWN else ""
        planned = len(tasks) * len(taken)
        _log.warning("%s: %d of %d attempts are missing (%s%s)", path, len(gaps), planned, named, more)

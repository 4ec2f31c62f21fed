"""From a table of attempts to task means: per task first, then per repeat.

Everything here is a group-by. Scores are sorted within each group before they are added, so that
the order of the rows cannot change the last digit of a mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from sipbench.errors import RecordError
from sipbench.protocol.vocabulary import METRIC_SPLITS, Phase, Split, Status
from sipbench.stats.contrasts import TaskMeans

__all__ = ["ArmTable", "CellKey", "split_arms"]

type CellKey = tuple[Phase, Split]

_ARM = ("benchmark_name", "benchmark_version", "arm")
_AGENT = ("model_name", "agent_name")


@dataclass(frozen=True, eq=False)
class ArmTable:
    """The attempts of one row of the summary: one arm, one benchmark, one agent or one per phase.

    Attributes:
        identity: benchmark_name, benchmark_version, arm, model_name, agent_name; the last two are
            those of the latest phase where they change from phase to phase.
        frame: Its attempts, without smoke and golden ones, with ``value``: the score an attempt
            counts with, 0 for an agent error, null if it is missing.
        families: Family of each task id that has one.
    """

    identity: tuple[str, str | None, str, str, str]
    frame: pl.DataFrame
    families: Mapping[str, str]

    @cached_property
    def repeats(self) -> list[int]:
        """All repeats that have an attempt, ascending."""
        return sorted(self.frame["repeat"].unique().to_list())

    @cached_property
    def task_means(self) -> dict[CellKey, TaskMeans]:
        """Mean of all counted attempts of each task, over all repeats, per phase and split."""
        keys = ["phase", "benchmark_split", "task_id"]
        means = self._counted().group_by(keys).agg(_mean())
        means = means.with_columns(pl.col("task_id").cast(pl.String)).sort(keys)
        return {
            key: TaskMeans(tuple(cell["task_id"].to_list()), cell["value"].to_numpy())
            for key, cell in _cells(means)
        }

    @cached_property
    def repeat_means(self) -> dict[CellKey, dict[int, tuple[float, int]]]:
        """Per phase and split, repeat to (mean over tasks, tasks)."""
        by_task = self._by_task
        means = by_task.group_by("phase", "benchmark_split", "repeat").agg(_mean(), pl.len().alias("n"))
        return {
            key: {r: (value, n) for r, value, n in cell.select("repeat", "value", "n").iter_rows()}
            for key, cell in _cells(means)
        }

    def paired(self, split: Split, before: Phase, after: Phase) -> dict[int, tuple[float, float, int]]:
        """Per repeat: mean before and mean after over the tasks counted in both, and their number."""
        cell = self._by_task.filter(pl.col("benchmark_split") == split.value)
        sides = [cell.filter(pl.col("phase") == phase.value) for phase in (before, after)]
        both = sides[0].join(sides[1], on=["repeat", "task_id"], suffix="_after")
        means = both.group_by("repeat").agg(_mean(), _mean("value_after"), pl.len().alias("n"))
        return {repeat: (old, new, n) for repeat, old, new, n in means.iter_rows()}

    def statuses(self) -> dict[CellKey, dict[Status, int]]:
        """How many attempts ended how, per phase and split."""
        counts = self.frame.group_by("phase", "benchmark_split", "status").len()
        found: dict[CellKey, dict[Status, int]] = {}
        for phase, split, status, n in counts.iter_rows():
            found.setdefault((Phase(phase), Split(split)), {})[Status(status)] = n
        return found

    def tasks(self, split: Split) -> set[str]:
        """Ids of the tasks attempted in a split, in any phase."""
        chosen = self.frame.filter(pl.col("benchmark_split") == split.value)["task_id"]
        return set(chosen.cast(pl.String).unique().to_list())

    def values(self, column: str) -> dict[Phase, tuple[Any, ...]]:
        """The distinct values of a column in each phase, sorted."""
        pairs = self.frame.select("phase", pl.col(column).cast(pl.String)).unique().sort("phase", column)
        found: dict[Phase, tuple[Any, ...]] = {}
        for phase, value in pairs.iter_rows():
            found[Phase(phase)] = (*found.get(Phase(phase), ()), value)
        return found

    def _counted(self) -> pl.DataFrame:
        return self.frame.filter(pl.col("value").is_not_null())

    @cached_property
    def _by_task(self) -> pl.DataFrame:
        keys = ["phase", "benchmark_split", "repeat", "task_id"]
        return self._counted().group_by(keys).agg(_mean())


def _mean(column: str = "value") -> pl.Expr:
    return pl.col(column).sort().mean()


def _cells(frame: pl.DataFrame) -> Iterator[tuple[CellKey, pl.DataFrame]]:
    for key, cell in frame.partition_by("phase", "benchmark_split", as_dict=True).items():
        phase, split = key
        yield (Phase(phase), Split(split)), cell


def split_arms(frame: pl.DataFrame, known_families: Mapping[str, str] | None = None) -> list[ArmTable]:
    """Divide a table of attempts into rows of a summary, sorted by benchmark and arm.

    An arm is one row. Its model or agent may change between phases (a checkpoint has another
    name); where one phase holds several, they are different agents that share an arm's name, and
    each pair of model and agent becomes a row of its own.

    Args:
        frame: The attempts.
        known_families: Family of each task id, for tasks whose attempts do not name one.

    Raises:
        RecordError: A task has two families.
    """
    used = frame.filter(pl.col("benchmark_split").is_in([split.value for split in METRIC_SPLITS]))
    value = pl.when(pl.col("status") == Status.AGENT_ERROR.value).then(0.0).otherwise(pl.col("score"))
    used = used.with_columns(value.alias("value"))
    arms = []
    for key, part in _partition(used, _ARM):
        families = {**(known_families or {}), **_families(part)}
        latest = _one_agent_per_phase(part)
        if latest is not None:
            arms.append(ArmTable((*key, *latest), part, families))
            continue
        arms += [ArmTable((*key, *agent), piece, families) for agent, piece in _partition(part, _AGENT)]
    return arms


def _partition(frame: pl.DataFrame, columns: tuple[str, ...]) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """The parts of a frame by the values of some columns, sorted by these values."""
    parts = frame.partition_by(*columns, as_dict=True)
    return sorted(parts.items(), key=lambda item: [part or "" for part in item[0]])


def _one_agent_per_phase(frame: pl.DataFrame) -> tuple[str, str] | None:
    agents = frame.select("phase", *_AGENT).unique().sort("phase")
    if agents["phase"].n_unique() != agents.height:
        return None
    _, model, agent = agents.row(-1)
    return model, agent


def _families(frame: pl.DataFrame) -> dict[str, str]:
    pairs = frame.select("task_id", "family").drop_nulls().unique().cast(pl.String).sort("task_id", "family")
    families: dict[str, str] = {}
    for task, family in pairs.iter_rows():
        if families.setdefault(task, family) != family:
            raise RecordError(
                f"task '{task}' has two families, '{families[task]}' and '{family}'; "
                "a task belongs to one template"
            )
    return families

"""From a table of attempts to task means: per task first, then per repeat.

Everything here is a group-by. Attempts are sorted by score before they are added, so that the order of
the rows cannot change the last digit of a mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sipbench.errors import RecordError
from sipbench.protocol.vocabulary import METRIC_SPLITS, Phase, Split, Status
from sipbench.stats._arrays import Floats, Ints
from sipbench.stats.contrasts import TaskMeans

__all__ = ["ArmTable", "CellKey", "Counts", "Trials", "split_arms"]

type CellKey = tuple[Phase, Split]
type Names = NDArray[np.object_]
type Identity = Literal["model_name", "agent_name", "agent_version", "path_type"]

_ARM = ("benchmark_name", "benchmark_version", "arm")
_AGENT = ("model_name", "agent_name")
_CELL = ("phase", "benchmark_split")


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What became of the attempts of one phase and split, task by task.

    Attributes:
        ids: Tasks with an attempt, sorted, n of them.
        recorded: Attempts, shape (n,).
        graded: Attempts with a grade, shape (n,).
        errors: Attempts that ended in the agent's own error, shape (n,).
        total: Sum of the grades, shape (n,).
        mean: Mean over the counted attempts, graded or agent errors, shape (n,); NaN without one.
        variance: Their sample variance (ddof 1), shape (n,); NaN with fewer than two.
        binary: Whether every counted attempt scores 0 or 1.
    """

    ids: tuple[str, ...]
    recorded: Ints
    graded: Ints
    errors: Ints
    total: Floats
    mean: Floats
    variance: Floats
    binary: bool

    @classmethod
    def of(cls, cell: pl.DataFrame, names: Names) -> Counts:
        """From one row per task, which is a place in ``names``."""

        def whole(name: str) -> Ints:
            return cell[name].cast(pl.Int64).to_numpy()

        def real(name: str) -> Floats:
            return cell[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()

        return cls(
            _named(cell["task"], names),
            whole("recorded"),
            whole("graded"),
            whole("errors"),
            real("total"),
            real("mean"),
            real("variance"),
            bool(cell["binary"].all()),
        )

    @property
    def counted(self) -> Ints:
        """Attempts that enter the mean, shape (n,)."""
        return self.graded + self.errors

    @property
    def means(self) -> TaskMeans:
        """Means of the tasks with a counted attempt."""
        keep = np.flatnonzero(self.counted)
        if keep.size == len(self.ids):
            return TaskMeans(self.ids, self.mean)
        return TaskMeans(tuple(self.ids[i] for i in keep), self.mean[keep])


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Attempts as a table: the j-th attempt of a task in the order of repeat and attempt, lost or not.

    Attributes:
        ids: Tasks, sorted, n of them.
        scores: What each attempt counts with, shape (n, k), 0 where there is none or it is lost.
        graded: Whether it has a grade, shape (n, k).
        counted: Whether it has one or is the agent's own error, shape (n, k).
        planned: Whether there is an attempt at all, shape (n, k).
    """

    ids: tuple[str, ...]
    scores: Floats
    graded: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    planned: NDArray[np.bool_]

    def of(self, ids: Sequence[str]) -> Trials:
        """The rows of some tasks, in their order; each must be one of these."""
        position = {task: i for i, task in enumerate(self.ids)}
        rows = [position[task] for task in ids]
        return Trials(
            tuple(ids), self.scores[rows], self.graded[rows], self.counted[rows], self.planned[rows]
        )


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
    def counts(self) -> dict[CellKey, Counts]:
        """What became of the attempts of each task, over all repeats, per phase and split."""
        keys = [*_CELL, "task"]
        value, score = pl.col("value"), pl.col("score")
        tasks = self._by_value.group_by(keys).agg(
            pl.len().alias("recorded"),
            score.is_not_null().sum().alias("graded"),
            (pl.col("status") == Status.AGENT_ERROR.value).sum().alias("errors"),
            score.sum().alias("total"),
            value.mean().alias("mean"),
            value.var().alias("variance"),
            value.is_in([0.0, 1.0]).all().alias("binary"),
        )
        return {key: Counts.of(cell, self._names) for key, cell in _cells(_sorted(tasks, keys)).items()}

    @cached_property
    def task_means(self) -> dict[CellKey, TaskMeans]:
        """Mean of all counted attempts of each task, over all repeats, per phase and split."""
        means = {key: counts.means for key, counts in self.counts.items()}
        return {key: cell for key, cell in means.items() if cell.ids}

    @cached_property
    def repeated_means(self) -> dict[CellKey, dict[int, TaskMeans]]:
        """Mean of the counted attempts of each task in each repeat, per phase and split."""
        keys = [*_CELL, "repeat"]
        means = self._counted.group_by(*keys, "task").agg(pl.col("value").mean())
        cells = _sorted(means, [*keys, "task"]).group_by(keys, maintain_order=True).agg("task", "value")
        found: dict[CellKey, dict[int, TaskMeans]] = {}
        for at, (phase, split, repeat) in enumerate(cells.select(keys).iter_rows()):
            tasks = TaskMeans(_named(cells["task"][at], self._names), cells["value"][at].to_numpy())
            found.setdefault((Phase(phase), Split(split)), {})[repeat] = tasks
        return found

    def trials(self, phase: Phase, split: Split, repeat: int | None = None) -> Trials:
        """The attempts of each task as a table, in the order of repeat and attempt.

        Args:
            phase: The phase.
            split: The split.
            repeat: Only this repeat; None: all of them.
        """
        chosen = (pl.col("phase") == phase.value) & (pl.col("benchmark_split") == split.value)
        if repeat is not None:
            chosen &= pl.col("repeat") == repeat
        cell = self.frame.filter(chosen).with_columns(pl.col("task_id").cast(pl.String))
        cell = cell.sort("task_id", "repeat", "attempt_index", "seed", "run_id")
        ids, sizes = np.unique(cell["task_id"].to_numpy(), return_counts=True)
        planned = np.arange(int(sizes.max(initial=0))) < sizes[:, np.newaxis]
        scores, graded, counted = np.zeros(planned.shape), planned.copy(), planned.copy()
        scores[planned] = cell["value"].fill_null(0.0).to_numpy()
        graded[planned] = cell["score"].is_not_null().to_numpy()
        counted[planned] = cell["value"].is_not_null().to_numpy()
        return Trials(tuple(ids.tolist()), scores, graded, counted, planned)

    def labelled(self, phase: Phase, split: Split) -> tuple[Floats, Ints, Ints]:
        """Score, task number and repeat of each counted attempt, shape (attempts,) each.

        Tasks are numbered by name; attempts are sorted by task, repeat and score, so that no order of
        rows shows in a sum.
        """
        cell = self._counted_cells.get((phase, split), self._counted.clear())
        scores, repeats = cell["value"].to_numpy(), cell["repeat"].to_numpy()
        tasks = cell["task"].cast(pl.Int64).to_numpy()
        order = np.lexsort((repeats, tasks))  # it keeps the order of the scores
        return scores[order], tasks[order], repeats[order]

    @cached_property
    def repeat_means(self) -> dict[CellKey, dict[int, tuple[float, int]]]:
        """Per phase and split, repeat to (mean over tasks, tasks)."""
        return {
            key: {repeat: (_average(cell.means), len(cell.ids)) for repeat, cell in cells.items()}
            for key, cells in self.repeated_means.items()
        }

    def paired(self, split: Split, before: Phase, after: Phase) -> dict[int, tuple[float, float, int]]:
        """Per repeat: mean before and mean after over the tasks counted in both, and their number."""
        old, new = (self.repeated_means.get((phase, split), {}) for phase in (before, after))
        found = {}
        for repeat in sorted(old.keys() & new.keys()):
            left, right = old[repeat], new[repeat]
            first, last = left.means, right.means
            if left.ids != right.ids:
                _, rows, columns = np.intersect1d(
                    np.asarray(left.ids), np.asarray(right.ids), assume_unique=True, return_indices=True
                )
                first, last = first[rows], last[columns]
            if first.size:
                found[repeat] = (_average(first), _average(last), int(first.size))
        return found

    @cached_property
    def statuses(self) -> dict[CellKey, dict[Status, int]]:
        """How many attempts ended how, per phase and split."""
        counts = self.frame.group_by(*_CELL, "status").len()
        found: dict[CellKey, dict[Status, int]] = {}
        for phase, split, status, n in counts.iter_rows():
            found.setdefault((Phase(phase), Split(split)), {})[Status(status)] = n
        return found

    def tasks(self, split: Split) -> set[str]:
        """Ids of the tasks attempted in a split, in any phase."""
        return {task for key, counts in self.counts.items() if key[1] is split for task in counts.ids}

    def values(self, column: Identity) -> dict[Phase, tuple[Any, ...]]:
        """The distinct values of a column in each phase, sorted."""
        pairs = (
            self._identities.select("phase", pl.col(column).cast(pl.String)).unique().sort("phase", column)
        )
        found: dict[Phase, tuple[Any, ...]] = {}
        for phase, value in pairs.iter_rows():
            found[Phase(phase)] = (*found.get(Phase(phase), ()), value)
        return found

    @cached_property
    def _identities(self) -> pl.DataFrame:
        return self.frame.select("phase", *get_args(Identity.__value__)).unique()

    @cached_property
    def _names(self) -> Names:
        """The tasks attempted, sorted; ``task`` in the frames below is the place here."""
        names = self.frame["task_id"].unique().cast(pl.String).sort()
        return np.asarray(names.to_list(), dtype=np.object_)

    @cached_property
    def _by_value(self) -> pl.DataFrame:
        """What is averaged, the lowest first: a group keeps this order."""
        task = pl.col("task_id").cast(pl.Enum(self._names.tolist())).to_physical().alias("task")
        columns = self.frame.select(*_CELL, "repeat", "status", "score", "value", task)
        # Threads only get in each other's way here.
        return columns.sort("value", multithreaded=False)

    @cached_property
    def _counted(self) -> pl.DataFrame:
        return self._by_value.filter(pl.col("value").is_not_null())

    @cached_property
    def _counted_cells(self) -> dict[CellKey, pl.DataFrame]:
        return _cells(self._counted)


def _named(tasks: pl.Series, names: Names) -> tuple[str, ...]:
    return tuple(names[tasks.to_numpy()].tolist())


def _sorted(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """As ``frame.sort(keys)``, which takes four times as long on columns of numbers."""
    return frame[np.lexsort([frame[key].to_physical().to_numpy() for key in reversed(keys)])]


def _average(means: Floats) -> float:
    """A mean that does not depend on the names of the tasks either."""
    return float(np.sort(means).mean())


def _cells(frame: pl.DataFrame) -> dict[CellKey, pl.DataFrame]:
    parts = frame.partition_by(*_CELL, as_dict=True)
    return {(Phase(phase), Split(split)): cell for (phase, split), cell in parts.items()}


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

"""What a pilot says of the attempts of a study to come: how noisy they are, what they take."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sipbench.protocol.settings import COST_FIELDS, AnalysisSettings
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, PathType, Phase, Split
from sipbench.stats.means import ArmTable, split_arms
from sipbench.stats.planning import Prices
from sipbench.stats.tables import read_table

__all__ = ["prices_of"]

_SECONDS, _USD = COST_FIELDS["seconds"], COST_FIELDS["usd"]
_EVALUATED = [split.value for split in EVALUATION_SPLITS]


def prices_of(runs: Path, settings: AnalysisSettings, *, trusted: bool = False) -> Prices:
    """Noise and unit costs of recorded attempts.

    The noise is the mean sample variance of the T0 attempts of a task, over the tasks of all arms
    with two attempts or more; an oracle's say nothing of others. Costs are means over the attempts on
    held-out, replay and drift tasks whose cost is known, with their failed tries.

    Args:
        runs: A file of run records.
        settings: Its ``cost_unit`` says what an attempt costs.
        trusted: Whether sipbench itself wrote the file, so that not each field is checked again.

    Raises:
        RecordError: It cannot be read, or holds an invalid record.
    """

    def read(field: str | None) -> pl.DataFrame:
        return read_table([runs], field, trusted=trusted).frame

    frame = read(COST_FIELDS[settings.cost_unit] if settings.cost_unit else None)
    arms = split_arms(frame.filter(pl.col("path_type") != PathType.ORACLE.value))
    noise = {}
    for split in (Split.HELDOUT, Split.REPLAY):
        found = _noise(arms, split)
        if found is not None:
            noise[split] = found
    cost = _mean_cost(frame) if settings.cost_unit else None
    return Prices(noise, cost, _mean_cost(read(_SECONDS)), _mean_cost(read(_USD)))


def _noise(arms: list[ArmTable], split: Split) -> float | None:
    known: list[float] = []
    for arm in arms:
        cell = arm.counts.get((Phase.T0, split))
        if cell is not None:
            known += cell.variance[cell.counted >= 2].tolist()
    return max(0.0, sum(known) / len(known)) if known else None


def _mean_cost(frame: pl.DataFrame) -> float | None:
    known = frame.filter(pl.col("benchmark_split").is_in(_EVALUATED))["cost"].drop_nulls()
    return float(known.sort().sum()) / known.len() if known.len() else None

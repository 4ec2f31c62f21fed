"""What doing nothing gives: noise floors, where the variance comes from, and pass rates."""

from __future__ import annotations

import numpy as np

from sipbench.protocol.inference import NoiseFloor, PassRates, VarianceParts
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats._arrays import Floats
from sipbench.stats.contrasts import TaskMeans
from sipbench.stats.means import ArmTable
from sipbench.stats.passk import pass_curve
from sipbench.stats.power import noise_floor
from sipbench.stats.repeats import variance_components

__all__ = ["floor_of", "pass_rates", "variance_parts"]


def floor_of(
    arm: ArmTable, phase: Phase, split: Split, n_tasks: int, trials: tuple[float, float], alpha: float
) -> NoiseFloor | None:
    """The A/A floor of a difference over ``n_tasks`` tasks, from the attempts of one phase.

    With two repeats or more it is measured: the variance of a task's mean between repeats, which
    holds whatever differs from run to run, ``z sqrt(2 v / (n R))`` for a phase of R repeats. With one
    repeat it is the variance of trials, ``z sqrt(2 E[pq] / (n k))``.

    Args:
        arm: Whose attempts; an unchanged agent's, so those of the control or of T0.
        phase: The phase they are from.
        split: The split.
        n_tasks: Tasks of the difference.
        trials: Attempts per task before and after.
        alpha: One minus the level.

    Returns:
        The floor; None with a single attempt per task, or no task.
    """
    # Two phases of k0 and k1 attempts have the noise of two of their harmonic mean.
    k = 2.0 / (1.0 / trials[0] + 1.0 / trials[1]) if min(trials) > 0 else 0.0
    if n_tasks < 1 or k < 1:
        return None
    name = arm.identity[2]
    between = _between_repeats(arm, phase, split)
    if between is not None:
        variance, per_repeat = between
        value = noise_floor(variance * per_repeat, n_tasks, k, alpha)
        return NoiseFloor(value=value, source="repeats", arm=name, n_tasks=n_tasks, trials=k)
    counts = arm.counts.get((phase, split))
    if counts is None:
        return None
    known = counts.variance[counts.counted >= 2]
    if not known.size:
        return None
    value = noise_floor(max(0.0, float(known.mean())), n_tasks, k, alpha)
    return NoiseFloor(value=value, source="trials", arm=name, n_tasks=n_tasks, trials=k)


def _between_repeats(arm: ArmTable, phase: Phase, split: Split) -> tuple[float, float] | None:
    """Mean variance of a task's mean between repeats, and attempts per task and repeat behind it."""
    repeated = arm.repeated_means.get((phase, split), {})
    if len(repeated) < 2:
        return None
    ids = sorted(set.intersection(*(set(cell.ids) for cell in repeated.values())))
    if len(ids) < 2:
        return None
    table = np.stack([_rows(cell, ids) for cell in repeated.values()], axis=1)
    counts = arm.counts[phase, split]
    position = {task: i for i, task in enumerate(counts.ids)}
    attempts = counts.counted[[position[task] for task in ids]].mean() / len(repeated)
    return float(table.var(axis=1, ddof=1).mean()), float(attempts)


def _rows(cell: TaskMeans, ids: list[str]) -> Floats:
    if len(ids) == len(cell.ids):
        return cell.means
    position = {task: i for i, task in enumerate(cell.ids)}
    return cell.means[[position[task] for task in ids]]


def pass_rates(arm: ArmTable, phase: Phase, split: Split) -> PassRates | None:
    """pass^k and pass@k of a cell; None where a score is neither 0 nor 1, or a task has one attempt."""
    counts = arm.counts.get((phase, split))
    if counts is None or not counts.binary:
        return None
    keep = counts.counted >= 1
    trials = counts.counted[keep]
    if not trials.size or trials.min() < 2:
        return None
    curve = pass_curve(trials, np.rint(counts.total[keep]).astype(np.int64))
    # Rounding of products must not leave [0, 1].
    hat, at = ((min(max(x, 0.0), 1.0) for x in side) for side in (curve.pass_hat, curve.pass_at))
    return PassRates(pass_hat=tuple(hat), pass_at=tuple(at), n_tasks=curve.n)


def variance_parts(arm: ArmTable, phase: Phase, split: Split) -> VarianceParts | None:
    """The variance of a cell's scores by task, repeat, both and within; None without any part."""
    scores, tasks, repeats = arm.labelled(phase, split)
    if not scores.size:
        return None
    found = variance_components(scores, tasks, repeats)
    parts = (found.between_task, found.between_repeat, found.task_by_repeat, found.within)
    if all(part is None for part in parts):
        return None
    return VarianceParts(
        between_task=found.between_task,
        between_repeat=found.between_repeat,
        task_by_repeat=found.task_by_repeat,
        within=found.within,
        n_tasks=found.n,
        n_repeats=found.n_repeats,
        n_dropped=found.n_dropped,
    )

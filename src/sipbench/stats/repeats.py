"""What varies: repeats of a study, tasks, and the trials within them.

References:
    Searle, Casella & McCulloch (1992), Variance Components, ch. 4 (two-way random model,
    unweighted cell means).
    Brennan (2001), Generalizability Theory, ch. 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Floats, Ints, group, vector


@dataclass(frozen=True, slots=True)
class RepeatSpread:
    """A metric over repeats.

    Attributes:
        mean: Mean over repeats; None without one.
        sd: Sample standard deviation (n - 1), or None with fewer than two.
        n: Repeats in which the metric exists.
    """

    mean: float | None
    sd: float | None
    n: int


def over_repeats(values: Sequence[float | None]) -> RepeatSpread:
    """Mean and sample sd of a metric over repeats; repeats where it is None are left out.

    The sd says how much repeats differ. It is no standard error of the metric, since
    repeats share their tasks.
    """
    known = vector([value for value in values if value is not None], "values")
    mean = float(known.mean()) if known.size else None
    return RepeatSpread(mean, float(known.std(ddof=1)) if known.size > 1 else None, known.size)


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances of a score, in squared score units; None where not identified.

    Attributes:
        between_task: Of task means: how much tasks differ in difficulty.
        between_repeat: Of repeat means: adaptation and seed.
        task_by_repeat: Of task effects that differ from repeat to repeat; None where one
            trial per cell mixes it into ``within``.
        within: Of trials of one task in one repeat.
        n: Tasks with a trial in every repeat; only these enter.
        n_repeats: Repeats.
        n_dropped: Tasks left out because a repeat lacks them.
    """

    between_task: float | None
    between_repeat: float | None
    task_by_repeat: float | None
    within: float | None
    n: int
    n_repeats: int
    n_dropped: int


def variance_components(scores: ArrayLike, tasks: ArrayLike, repeats: ArrayLike) -> VarianceComponents:
    """Split the variance of trial scores by task, by repeat, by both, and within.

    Model: ``y = mu + task + repeat + task:repeat + trial``, all random; expected mean
    squares of the unweighted cell means, negative estimates set to 0. With n tasks, R
    repeats and ``h`` the mean of one over the trials per cell:
    ``within = SS/(trials - cells)``, ``task:repeat = MS_res - h within``,
    ``repeat = (MS_repeat - MS_res)/n``, ``task = (MS_task - MS_res)/R``; with one repeat
    ``task = var(task means) - h within``.

    Args:
        scores: Score of each counted trial of one arm, phase and split, shape (a,).
        tasks: Its task label, shape (a,).
        repeats: Its repeat label, shape (a,).
    """
    y = vector(scores, "scores")
    by_task, by_repeat = group(tasks, y.size), group(repeats, y.size)
    n_repeats, n_tasks = by_repeat.sizes.size, by_task.sizes.size
    cell = by_task.codes * n_repeats + by_repeat.codes
    counts = np.bincount(cell, minlength=n_tasks * n_repeats).reshape(n_tasks, n_repeats)
    sums = np.bincount(cell, weights=y, minlength=n_tasks * n_repeats).reshape(n_tasks, n_repeats)
    whole = counts.min(axis=1, initial=1) > 0
    n, dropped = int(whole.sum()), int(n_tasks - whole.sum())
    if n == 0:
        return VarianceComponents(None, None, None, None, 0, n_repeats, dropped)
    means = sums / np.maximum(counts, 1)
    in_whole = whole[by_task.codes]
    within = _within(y[in_whole], means.ravel()[cell[in_whole]], counts[whole])
    noise = None if within is None else within * float(np.mean(1.0 / counts[whole]))
    task, repeat, both, residual = _two_way(means[whole], noise)
    if within is None and n_repeats > 1:
        within = residual
    return VarianceComponents(task, repeat, both, within, n, n_repeats, dropped)


def _within(scores: Floats, cell_means: Floats, counts: Ints) -> float | None:
    df = int(counts.sum()) - counts.size
    return float(np.sum((scores - cell_means) ** 2)) / df if df > 0 else None


def _two_way(
    means: Floats, noise: float | None
) -> tuple[float | None, float | None, float | None, float | None]:
    """Task, repeat and interaction variances, and the residual mean square, of cell means."""
    n, n_repeats = means.shape
    rows, columns = means.mean(axis=1), means.mean(axis=0)
    if n < 2:
        return None, None, None, None
    spread = float(rows.var(ddof=1))
    if n_repeats < 2:
        return (None if noise is None else max(0.0, spread - noise)), None, None, None
    residual = means - rows[:, np.newaxis] - columns + means.mean()
    ms = float(np.sum(residual**2)) / ((n - 1) * (n_repeats - 1))
    task = max(0.0, spread - ms / n_repeats)
    repeat = max(0.0, float(columns.var(ddof=1)) - ms / n)
    return task, repeat, (None if noise is None else max(0.0, ms - noise)), ms

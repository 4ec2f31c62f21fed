"""Contrasts of task means: paired by task, clustered by family.

Forward gain (FG), backward retention (BR, the backward transfer of continual
learning), stability (PDS) and drift gain are all the mean over tasks of a paired
difference; they differ only in phase and split. Average the attempts of a task first:
pooled rows weight tasks by how often they ran and can turn no change into a loss.

References:
    Lopez-Paz & Ranzato (2017), Gradient episodic memory, NeurIPS (backward transfer).
    Miller (2024), Adding error bars to evals, arXiv 2411.00640 (paired differences).
    Angrist & Pischke (2009), Mostly Harmless Econometrics, ch. 5 (difference in differences).
    Cameron, Gelbach & Miller (2011), Robust inference with multiway clustering, JBES
    29(2), 238-249 (adding two directions of variance and removing the overlap).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Floats, check_alpha, finite, group, vector
from sipbench.stats.intervals import Interval, clustered_t, t_interval
from sipbench.stats.signflip import SignFlip, sign_flip

METHOD_SCOPE = "tasks_by_seeds_t"


@dataclass(frozen=True, slots=True, eq=False)
class TaskMeans:
    """Mean score per task of one arm, phase and split.

    Attributes:
        ids: Task ids, distinct, n of them.
        means: Mean score of the counted attempts of each task, shape (n,).
    """

    ids: tuple[str, ...]
    means: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", vector(self.means, "means"))
        if len(self.ids) != self.means.size:
            raise ValueError(f"{len(self.ids)} task ids for {self.means.size} means")
        if len(set(self.ids)) != len(self.ids):
            raise ValueError("a task id occurs twice; average the attempts of a task first")

    @property
    def by_task(self) -> dict[str, float]:
        """Task id to mean."""
        return dict(zip(self.ids, self.means.tolist(), strict=True))

    def of(self, ids: Sequence[str]) -> Floats:
        """The means of some tasks, in their order, shape (len(ids),); each must be one of these."""
        known = self.by_task
        return np.asarray([known[task] for task in ids], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """A mean paired difference over tasks.

    Attributes:
        estimate: Mean of ``differences``; None without a paired task.
        interval: Family-clustered t interval, or None.
        reason: Why there is no interval, in words.
        p: Sign-flip test by families, printed beside the interval; None without a task, or
            where none was asked for.
        n: Paired tasks.
        n_families: Families among them.
        ids: Paired task ids, sorted.
        differences: After minus before, per paired task, shape (n,).
        families: Cluster label of each paired task, shape (n,).
        unpaired: Ids counted on one side only, sorted; they enter nothing.
        weights: Share of each task in the estimate, shape (n,), sums to 1; None: all alike.
    """

    estimate: float | None
    interval: Interval | None
    reason: str | None
    p: SignFlip | None
    n: int
    n_families: int
    ids: tuple[str, ...]
    differences: Floats
    families: tuple[str, ...]
    unpaired: tuple[str, ...]
    weights: Floats | None = None

    def flipped(self, shift: float = 0.0) -> SignFlip:
        """The sign-flip test of "the estimand is ``-shift``".

        What is flipped for a family is its part of the estimate plus ``shift``. Where tasks
        weigh differently (cross-fitting) that part has mean 0 under the null and need not be
        symmetric, so the test is approximate there.
        """
        moved = self.differences + shift
        if self.weights is not None:
            moved = moved * self.weights * moved.size
        return sign_flip(moved, self.families)


def task_means(ids: Sequence[str], scores: ArrayLike) -> TaskMeans:
    """Average the scores of a task's attempts.

    Args:
        ids: Task id of each counted attempt, length a.
        scores: Its score, shape (a,).

    Returns:
        One mean per distinct id, ids sorted.
    """
    values = vector(scores, "scores")
    if len(ids) != values.size:
        raise ValueError(f"{len(ids)} task ids for {values.size} scores")
    names = sorted(set(ids))
    position = {name: i for i, name in enumerate(names)}
    codes = np.fromiter((position[i] for i in ids), dtype=np.int64, count=len(ids))
    counts = np.bincount(codes, minlength=len(names))
    return TaskMeans(tuple(names), np.bincount(codes, weights=values, minlength=len(names)) / counts)


def paired_contrast(
    before: TaskMeans,
    after: TaskMeans,
    families: Mapping[str, str] | None = None,
    *,
    alpha: float = 0.05,
    seed: int = 0,
) -> Contrast:
    """Mean over tasks of ``after - before``, on the tasks counted in both.

    Estimand: ``E[p(after) - p(before)]`` over tasks, each of equal weight. FG is
    T1 - T0 on held-out tasks, BR the same on replay, PDS T2 - T1 on the same held-out
    tasks, drift gain T2 - T0 on drift tasks.

    Args:
        before: Task means of the earlier phase.
        after: Task means of the later phase.
        families: Family of each task id; a task without an entry is its own family.
        alpha: One minus the level of the interval.
        seed: Seed of the drawn sign flips.
    """
    return linear_contrast([after], [before], families, alpha=alpha, seed=seed)


def difference_in_differences(
    adapted_after: TaskMeans,
    control_after: TaskMeans,
    adapted_before: TaskMeans | None = None,
    control_before: TaskMeans | None = None,
    families: Mapping[str, str] | None = None,
    *,
    alpha: float = 0.05,
    seed: int = 0,
) -> Contrast:
    """The adapted arm's change minus the frozen control arm's, per task.

    Estimand: ``E[(p_A(after) - p_A(before)) - (p_F(after) - p_F(before))]``: what the
    adaptation did, free of what happened to both arms. If the arms share the rows of
    ``before``, leave both out: they cancel, the contrast is the per-task difference of
    the later phase, and replay selection cannot bias it. Otherwise tasks must be
    counted in all four cells, the trial noise doubles, and selection bias stays.

    Args:
        adapted_after: Task means of the adapted arm in the later phase.
        control_after: The same of the frozen arm.
        adapted_before: Adapted arm in the earlier phase, if not shared.
        control_before: Frozen arm in the earlier phase, if not shared.
        families: Family of each task id; a task without an entry is its own family.
        alpha: One minus the level of the interval.
        seed: Seed of the drawn sign flips.

    Raises:
        ValueError: One of the two earlier cells is given without the other.
    """
    if (adapted_before is None) != (control_before is None):
        raise ValueError("give the earlier phase of both arms, or of neither if they share it")
    if adapted_before is None or control_before is None:
        return paired_contrast(control_after, adapted_after, families, alpha=alpha, seed=seed)
    plus, minus = [adapted_after, control_before], [adapted_before, control_after]
    return linear_contrast(plus, minus, families, alpha=alpha, seed=seed)


def linear_contrast(
    plus: Sequence[TaskMeans],
    minus: Sequence[TaskMeans],
    families: Mapping[str, str] | None = None,
    *,
    alpha: float = 0.05,
    seed: int = 0,
    test: bool = True,
) -> Contrast:
    """Mean over tasks of the sum of ``plus`` less the sum of ``minus``.

    Only tasks counted in every cell enter; those counted in some are named as unpaired.
    A plain contrast is ``[after], [before]``; a difference in differences is
    ``[A after, F before], [A before, F after]``.

    Args:
        plus: Cells that enter with weight 1.
        minus: Cells that enter with weight -1.
        families: Family of each task id; a task without an entry is its own family.
        alpha: One minus the level of the interval.
        seed: Seed of the drawn sign flips.
        test: Whether to flip signs; drawing flips takes longer than all the rest.
    """
    cells = [cell.by_task for cell in (*plus, *minus)]
    if not cells:
        raise ValueError("a contrast needs at least one cell")
    # Sorted, so that the order of rows cannot reach the last bits or the drawn flips.
    ids = tuple(sorted(set.intersection(*(set(cell) for cell in cells))))
    unpaired = tuple(sorted(set().union(*cells).difference(ids)))
    columns = np.asarray([[cell[i] for i in ids] for cell in cells], dtype=np.float64)
    differences = columns[: len(plus)].sum(axis=0) - columns[len(plus) :].sum(axis=0)
    labels = cluster_labels(ids, families)
    mean = clustered_t(differences, labels, alpha)
    p = sign_flip(differences, labels, seed=seed) if ids and test else None
    return Contrast(
        mean.estimate,
        mean.interval,
        mean.reason,
        p,
        mean.n,
        mean.n_families,
        ids,
        differences,
        labels,
        unpaired,
    )


def cluster_labels(ids: Sequence[str], families: Mapping[str, str] | None) -> tuple[str, ...]:
    """One cluster label per task; a task without a family is a cluster of its own.

    The prefixes keep a task called like some other task's family apart from it.
    """
    known = families or {}
    return tuple(f"family:{known[i]}" if i in known else f"task:{i}" for i in ids)


@dataclass(frozen=True, slots=True)
class MethodMean:
    """A mean over tasks and adaptation seeds: a claim about the method.

    Attributes:
        estimate: Grand mean; None without a cell.
        interval: t interval for tasks and seeds both drawn, or None.
        reason: Why there is no interval, in words.
        n: Tasks.
        n_families: Families.
        n_seeds: Adaptation seeds.
        v_task: Variance of the estimate from drawing tasks, or None.
        v_seed: Variance of the estimate from drawing adaptation seeds, or None.
        v_cell: Residual variance of the estimate, contained in both, or None.
    """

    estimate: float | None
    interval: Interval | None
    reason: str | None
    n: int
    n_families: int
    n_seeds: int
    v_task: float | None = None
    v_seed: float | None = None
    v_cell: float | None = None


def method_scope(cells: ArrayLike, families: ArrayLike | None = None, alpha: float = 0.05) -> MethodMean:
    """Mean over tasks and adaptation seeds, generalising to new ones of both.

    One adaptation supports claims about that agent; a claim about the method that made
    it needs at least two adaptation seeds. With ``V_task`` the squared (clustered)
    standard error of the task means, ``V_seed = var(seed means)/S`` and ``V_cell`` the
    residual mean square of the two-way layout over nS,

    ``V = max(V_task + V_seed - V_cell, V_task, V_seed)``,
    ``df = V² / (V_task²/df_task + V_seed²/(S-1))``, df_task = n - 1 without families.

    Args:
        cells: Per-task contrast of each adaptation, shape (n, S): column s holds the
            paired differences under adaptation seed s. Complete; score units.
        families: Family label of each task, shape (n,), or None.
        alpha: One minus the level.

    Raises:
        ValueError: ``cells`` is not 2-D or not finite, or the labels do not fit.
    """
    check_alpha(alpha)
    table = np.asarray(cells, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"cells must have one row per task and one column per seed, not shape {table.shape}")
    finite(table, "cells")
    n, n_seeds = table.shape
    if n == 0 or n_seeds == 0:
        n_families = group(families, n).sizes.size
        return MethodMean(None, None, "no task or no adaptation to average over", n, n_families, n_seeds)
    by_task = clustered_t(table.mean(axis=1), families, alpha)
    estimate = float(table.mean())
    reason = by_task.reason
    if n_seeds < 2:
        reason = "one adaptation seed: it supports a claim about that agent, not about the method"
    if reason is not None or by_task.interval is None or by_task.interval.se is None:
        return MethodMean(estimate, None, reason, n, by_task.n_families, n_seeds)
    by_seed = table.mean(axis=0)
    residual = table - table.mean(axis=1, keepdims=True) - by_seed + estimate
    v_task = by_task.interval.se**2
    v_seed = float(by_seed.var(ddof=1)) / n_seeds
    v_cell = float(np.sum(residual**2)) / ((n - 1) * (n_seeds - 1)) / (n * n_seeds)
    v = max(v_task + v_seed - v_cell, v_task, v_seed)
    df_task = by_task.interval.df or float(n - 1)
    df = v**2 / (v_task**2 / df_task + v_seed**2 / (n_seeds - 1))
    interval = t_interval(estimate, float(np.sqrt(v)), df, alpha, METHOD_SCOPE)
    return MethodMean(estimate, interval, None, n, by_task.n_families, n_seeds, v_task, v_seed, v_cell)

"""pass@k and pass^k from n trials, without bias.

Plug-in rates (``(c/n)^k``, or "all of the first k") are biased when n is small or k is
near n; counting subsets is not.

References:
    Chen et al. (2021), Evaluating large language models trained on code, arXiv 2107.03374,
    eq. 1 (pass@k: at least one of k).
    Yao et al. (2024), tau-bench, arXiv 2406.12045, section 3 (pass^k: all of k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Floats, Ints


def pass_hat_k(trials: ArrayLike, passes: ArrayLike, k: int) -> Floats:
    """pass^k per task: the chance that k trials all succeed, ``C(c,k)/C(n,k)``.

    Args:
        trials: Valid trials n of each task, shape (tasks,).
        passes: Successes c among them, shape (tasks,).
        k: At least 1 and at most the smallest n.

    Returns:
        Unbiased estimates, shape (tasks,); their mean estimates the benchmark's pass^k.

    Raises:
        ValueError: Counts that are no counts, or k out of range.
    """
    n, c = _counts(trials, passes, k)
    steps = np.arange(k)
    return np.prod(np.maximum(c[:, np.newaxis] - steps, 0) / (n[:, np.newaxis] - steps), axis=1)


def pass_at_k(trials: ArrayLike, passes: ArrayLike, k: int) -> Floats:
    """pass@k per task: the chance that one of k trials succeeds, ``1 - C(n-c,k)/C(n,k)``.

    Arguments, result and errors as for `pass_hat_k`.
    """
    n, c = _counts(trials, passes, k)
    return 1.0 - pass_hat_k(n, n - c, k)


@dataclass(frozen=True, slots=True)
class PassCurve:
    """Means over tasks for k = 1 .. the smallest number of trials.

    Attributes:
        pass_hat: pass^1, pass^2, ...
        pass_at: pass@1, pass@2, ...
        n: Tasks.
    """

    pass_hat: tuple[float, ...]
    pass_at: tuple[float, ...]
    n: int


def pass_curve(trials: ArrayLike, passes: ArrayLike) -> PassCurve:
    """pass^k and pass@k averaged over tasks, for every k that all tasks support."""
    n, c = _counts(trials, passes, None)
    ks = range(1, int(n.min()) + 1) if n.size else range(0)
    return PassCurve(
        tuple(float(pass_hat_k(n, c, k).mean()) for k in ks),
        tuple(float(pass_at_k(n, c, k).mean()) for k in ks),
        n.size,
    )


def _counts(trials: ArrayLike, passes: ArrayLike, k: int | None) -> tuple[Ints, Ints]:
    n, c = np.asarray(trials), np.asarray(passes)
    if n.ndim != 1 or n.shape != c.shape:
        raise ValueError(
            f"trials and passes must be one count per task, not of shape {n.shape} and {c.shape}"
        )
    if n.size and not (np.issubdtype(n.dtype, np.integer) and np.issubdtype(c.dtype, np.integer)):
        raise ValueError("trials and passes must be whole numbers")
    if np.any(c < 0) or np.any(c > n) or np.any(n < 1):
        raise ValueError("every task needs a trial, and no more passes than trials")
    if k is not None and (k < 1 or (n.size and k > n.min())):
        raise ValueError(f"k = {k} needs at least {k} trials of every task, and k >= 1")
    return n.astype(np.int64), c.astype(np.int64)

"""Per-task changes, shrunken towards their mean by as much as they are noise.

References:
    Morris (1983), Parametric empirical Bayes inference: theory and applications, JASA
    78(381), 47-55.
    Efron & Morris (1977), Stein's paradox in statistics, Scientific American 236(5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Floats, vector


@dataclass(frozen=True, slots=True, eq=False)
class Shrunken:
    """Empirical-Bayes estimates of per-task effects.

    Attributes:
        effects: Shrunken change of each task, shape (n,), score units.
        mean: Their centre, the mean of the raw changes.
        tau2: Estimated variance of the true effects between tasks.
        noise: Mean trial-noise variance of a raw change.
        weight: ``tau2/(tau2 + noise)``: how much of a raw deviation is kept.
    """

    effects: Floats
    mean: float
    tau2: float
    noise: float
    weight: float


def shrink_changes(
    before: ArrayLike,
    trials_before: ArrayLike,
    after: ArrayLike,
    trials_after: ArrayLike,
    variances: tuple[ArrayLike, ArrayLike] | None = None,
) -> Shrunken | None:
    """Shrink per-task changes: ``EB_i = m + tau2/(tau2 + v) * (d_i - m)``.

    With ``d = after - before``, ``m`` its mean, ``v`` the mean over tasks of
    ``y0(1-y0)/(k0-1) + y1(1-y1)/(k1-1)`` (unbiased for the trial noise of binary
    scores), ``tau2 = max(0, var(d) - v)``.

    Args:
        before: Task means before, shape (n,).
        trials_before: Trials behind each, shape (n,).
        after: Task means after, shape (n,).
        trials_after: Trials behind each, shape (n,).
        variances: For graded scores, the sample variances (ddof 1) of each task's trials
            before and after, shape (n,) each; None takes the scores as 0 or 1.

    Returns:
        The estimates, or None where a single trial (show flips only) or a single task
        leaves no noise or no spread to go by.
    """
    y0, k0 = vector(before, "before"), vector(trials_before, "trials_before")
    y1, k1 = vector(after, "after"), vector(trials_after, "trials_after")
    if not y0.shape == y1.shape == k0.shape == k1.shape:
        raise ValueError("means and trials must hold the same tasks")
    if y0.size < 2 or min(k0.min(), k1.min()) < 2:
        return None
    if variances is None:
        if min(y0.min(), y1.min()) < 0.0 or max(y0.max(), y1.max()) > 1.0:
            raise ValueError("means of binary scores must lie in [0, 1]")
        noise_each = y0 * (1.0 - y0) / (k0 - 1.0) + y1 * (1.0 - y1) / (k1 - 1.0)
    else:
        noise_each = vector(variances[0], "variances") / k0 + vector(variances[1], "variances") / k1
    d = y1 - y0
    mean, noise = float(d.mean()), float(noise_each.mean())
    tau2 = max(0.0, float(d.var(ddof=1)) - noise)
    weight = tau2 / (tau2 + noise) if tau2 + noise > 0.0 else 0.0
    return Shrunken(mean + weight * (d - mean), mean, tau2, noise, weight)


def flips(before: ArrayLike, after: ArrayLike) -> Floats:
    """Tasks that went from never to always (+1) or from always to never (-1), else 0.

    Args:
        before: Task means of scores in [0, 1], shape (n,).
        after: The same tasks later, shape (n,).
    """
    y0, y1 = vector(before, "before"), vector(after, "after")
    if y0.shape != y1.shape:
        raise ValueError("before and after must hold the same tasks")
    gained, lost = (y0 == 0.0) & (y1 == 1.0), (y0 == 1.0) & (y1 == 0.0)
    return np.asarray(gained, dtype=np.float64) - np.asarray(lost, dtype=np.float64)

"""Several hypotheses at once: Holm over arms, Benjamini-Hochberg over per-task flags.

References:
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian
    Journal of Statistics 6(2), 65-70.
    Benjamini & Hochberg (1995), Controlling the false discovery rate, JRSS B 57(1), 289-300.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sipbench.stats._arrays import Floats, vector


def holm(p_values: ArrayLike) -> Floats:
    """Holm-adjusted p-values, for a claim on each of several arms or methods.

    ``p~_(i) = max over j <= i of min(1, (m - j + 1) p_(j))``; rejecting ``p~ <= alpha``
    keeps the chance of any false claim at or below alpha, whatever the dependence.

    Args:
        p_values: Shape (m,), each in [0, 1].

    Returns:
        Adjusted p-values in the order given, shape (m,).
    """
    p = _probabilities(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, (p.size - np.arange(p.size)) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Adjusted p-values that control the share of false flags among per-task flags.

    Args:
        p_values: Shape (m,), each in [0, 1].

    Returns:
        Adjusted p-values in the order given, shape (m,).
    """
    p = _probabilities(p_values)
    if p.size == 0:
        return p
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p), dtype=np.float64)


def _probabilities(p_values: ArrayLike) -> Floats:
    p = vector(p_values, "p_values")
    if p.size and (p.min() < 0.0 or p.max() > 1.0):
        raise ValueError("p_values must lie in [0, 1]")
    return p

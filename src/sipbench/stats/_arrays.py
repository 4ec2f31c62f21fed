"""What every estimator asks of its inputs: shape, finiteness and cluster identity, decided once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Families(NamedTuple):
    """Cluster membership of n tasks in G families.

    Attributes:
        codes: Shape (n,), the family number of each task, 0 .. G-1.
        sizes: Shape (G,), tasks per family, each at least 1.
    """

    codes: Ints
    sizes: Ints

    @property
    def equal(self) -> bool:
        """Whether all families hold the same number of tasks."""
        return self.sizes.size == 0 or bool(self.sizes.min() == self.sizes.max())

    def sums(self, values: Floats) -> Floats:
        """Sum of ``values`` (shape (n,)) within each family, shape (G,)."""
        return np.bincount(self.codes, weights=values, minlength=self.sizes.size)


def vector(values: ArrayLike, name: str) -> Floats:
    """Return ``values`` as a finite 1-D float array, or raise ``ValueError`` naming it."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
    return finite(array, name)


def finite(array: Floats, name: str) -> Floats:
    """Return ``array`` if all of it is finite, or raise ``ValueError`` naming the first bad place."""
    good = np.isfinite(array)
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        raise ValueError(
            f"{name} holds a value that is not finite at index {where}; decide what it counts as"
        )
    return array


def check_alpha(alpha: float) -> None:
    """Raise ``ValueError`` unless 0 < alpha < 1."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha}")


def group(families: ArrayLike | None, n: int) -> Families:
    """Number the families of n tasks; without labels each task is a family of its own.

    Args:
        families: Labels, shape (n,), strings or integers.
        n: Number of tasks.

    Raises:
        ValueError: The labels are not one per task, or one of them is None or NaN.
    """
    if families is None:
        return Families(np.arange(n, dtype=np.int64), np.ones(n, dtype=np.int64))
    labels = np.asarray(families)
    if labels.shape != (n,):
        raise ValueError(f"families must have one label for each of the {n} tasks, not shape {labels.shape}")
    if labels.dtype == object and any(label is None for label in labels):
        raise ValueError("families holds None; a task without a family is a family of its own: use its id")
    if labels.dtype.kind == "f":
        finite(labels.astype(np.float64), "families")
    if n == 0:
        return Families(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return Families(codes.astype(np.int64), sizes.astype(np.int64))

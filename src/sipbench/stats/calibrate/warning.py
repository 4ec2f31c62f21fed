"""Fitting the warning of too narrow intervals to the coverage map, and judging it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sipbench.stats._arrays import Floats
from sipbench.stats.calibrate.coverage_map import Measured
from sipbench.stats.undercoverage import FITTED, Model

LEAST_WARNED = 2 / 3
"""Share of its studies in which a design under 93 % must speak up."""


@dataclass(frozen=True, slots=True)
class Warned:
    """How often the product speaks up on one design.

    Attributes:
        measured: The design and its coverage.
        share: Share of its studies that say so: too few families, no interval, or the
            warning of :mod:`sipbench.stats.undercoverage`.
    """

    measured: Measured
    share: float

    @property
    def silent(self) -> bool:
        """Whether the design covers less than 93 % and most of its studies do not say so."""
        return self.measured.low and self.share < LEAST_WARNED


def features(measured: Measured) -> Floats:
    """What the model sees of each study, shape (studies, 4): 1, skewness, unchanged, reach."""
    shapes = measured.shapes
    skewed = np.abs(shapes.skewness) / np.sqrt(measured.n_families)
    return np.stack([np.ones_like(skewed), skewed, shapes.unchanged, np.log(shapes.reach)], axis=1)


def risks(measured: Measured, model: Model = FITTED) -> Floats:
    """`undercoverage.risk` of each study, shape (studies,)."""
    weights = np.asarray([model.constant, model.skewness, model.unchanged, model.reach])
    return np.asarray(1.0 / (1.0 + np.exp(-(features(measured) @ weights))), dtype=np.float64)


def warned(measured: Measured, model: Model = FITTED) -> Warned:
    """How often a design speaks up under a model."""
    if measured.few:
        return Warned(measured, 1.0)
    spoke = float((risks(measured, model) > model.threshold).mean()) if measured.without < 1 else 0.0
    return Warned(measured, spoke * (1.0 - measured.without) + measured.without)


def fit(measured: Sequence[Measured], studies: int = 2_000) -> Model:
    """Fit the model to the map, all designs of six families or more weighing the same.

    Maximum likelihood of "this study's design covers less than 93 %"; then the threshold: one
    step of .05, for the noise of the simulation, below the highest at which every such design
    speaks up in two thirds of its studies.

    Args:
        measured: The map.
        studies: Studies of each design that are looked at.
    """
    used = [design for design in measured if not design.few]
    rows = [features(design)[:studies] for design in used]
    weight = np.concatenate([np.full(len(part), 1.0 / len(part)) for part in rows])
    low = np.concatenate([np.full(len(part), float(d.low)) for part, d in zip(rows, used, strict=True)])
    found = _logistic(np.concatenate(rows), low, weight / weight.sum())
    constant, skewness, unchanged, reach = (round(float(value), 2) for value in found)
    model = Model(constant, skewness, unchanged, reach, threshold=0.05)
    for step in range(19, 1, -1):
        higher = replace(model, threshold=step / 20)
        if not any(warned(design, higher).silent for design in used):
            return replace(model, threshold=(step - 1) / 20)
    return model


def _logistic(rows: Floats, target: Floats, weight: Floats) -> Floats:
    """Weighted logistic regression by Newton's method."""
    beta = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-(rows @ beta)))
        gradient = rows.T @ (weight * (target - chance))
        information = (rows * (weight * chance * (1.0 - chance))[:, np.newaxis]).T @ rows
        step = np.linalg.solve(information, gradient)
        beta = beta + step
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(beta, dtype=np.float64)

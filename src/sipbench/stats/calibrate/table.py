"""The calibration table: every rule under simulation, from one seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sipbench.stats.calibrate import contrast_rows, identity_rows, other_rows, replay_rows
from sipbench.stats.calibrate.row import Row

Simulation = Callable[[np.random.Generator, int], Row]

# Each simulation with the studies that it draws per figure at scale 1.
ROWS: tuple[tuple[Simulation, int], ...] = (
    (contrast_rows.coverage, 2_000),
    (contrast_rows.families, 2_000),
    (contrast_rows.type_one, 3_000),
    (contrast_rows.detectable_effect, 20_000),
    (contrast_rows.scope, 2_000),
    (replay_rows.selection, 3_000),
    (replay_rows.ragged_crossfit, 2_000),
    (replay_rows.frozen_arm, 3_000),
    (replay_rows.margin, 2_000),
    (other_rows.fieller_ratio, 2_000),
    (other_rows.joint, 2_000),
    (other_rows.nis_box, 2_000),
    (other_rows.lost_failures, 400),
    (other_rows.pass_hat, 3_000),
    (identity_rows.identities, 200),
    # Last, so that the draws of the others stay what they were.
    (replay_rows.crossfit_flips, 2_000),
    (other_rows.lost_before, 400),
)


def simulate(index: int, seed: int = 0, scale: float = 1.0) -> Row:
    """Run one row; its draws depend on the seed and its place, not on the other rows."""
    simulation, repetitions = ROWS[index]
    return simulation(np.random.default_rng([seed, index]), max(1, round(repetitions * scale)))


def calibrate(seed: int = 0, scale: float = 1.0) -> tuple[Row, ...]:
    """Run every row.

    Args:
        seed: Seed of all simulations.
        scale: Multiplies the number of simulated studies; below 1 the limits, which allow
            for the noise of scale 1, may fail by chance.
    """
    return tuple(simulate(index, seed, scale) for index in range(len(ROWS)))

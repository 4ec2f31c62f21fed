"""Studies with a known truth: chances per task, drawn trials, their means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sipbench.stats._arrays import Floats, Ints

# Beta parameters with the mean and the intraclass correlation of tau-bench airline
# (gpt-4o: pass^1 .420, pass^2 .273; sierra-research/tau-bench, README).
AIRLINE = (0.639, 0.883)
# Most tasks hopeless or easy.
U_SHAPED = (0.35, 0.5)

_POPULATION = 1_000_000


@dataclass(frozen=True, slots=True)
class World:
    """How tasks and the effect of an adaptation on them are drawn.

    Attributes:
        beta: Parameters of the T0 chances.
        shift: Mean effect before chances are cut off at 0 and 1.
        effect_sd: SD of the effect between tasks.
        family_sd: SD of the effect between families.
        truth: Mean of p(T1) - p(T0) over the population.
    """

    beta: tuple[float, float]
    shift: float
    effect_sd: float
    family_sd: float
    truth: float

    def chances(self, rng: np.random.Generator, families: Ints) -> tuple[Floats, Floats]:
        """Chances at T0 and T1 of tasks in the given families, shape (n,) each."""
        n = families.size
        p0 = rng.beta(*self.beta, n)
        family = rng.normal(0.0, self.family_sd, int(families.max()) + 1)[families]
        return p0, np.clip(p0 + self.shift + family + rng.normal(0.0, self.effect_sd, n), 0.0, 1.0)


def world(
    beta: tuple[float, float], *, truth: float = 0.0, effect_sd: float = 0.0, family_sd: float = 0.0
) -> World:
    """A world whose mean effect, after cutting off chances at 0 and 1, is ``truth``."""
    rng = np.random.default_rng(0)
    p0 = rng.beta(*beta, _POPULATION)
    spread = rng.normal(0.0, 1.0, _POPULATION) * float(np.hypot(effect_sd, family_sd))
    if truth == 0.0 and effect_sd == family_sd == 0.0:
        return World(beta, 0.0, 0.0, 0.0, 0.0)

    def mean(shift: float) -> float:
        return float((np.clip(p0 + shift + spread, 0.0, 1.0) - p0).mean())

    low, high = -1.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) < truth else (low, middle)
    shift = (low + high) / 2
    return World(beta, shift, effect_sd, family_sd, mean(shift))


def trials(rng: np.random.Generator, p: Floats, k: int) -> Floats:
    """Binary scores of k trials per task, shape (n, k)."""
    return (rng.random((p.size, k)) < p[:, np.newaxis]).astype(np.float64)


def means(rng: np.random.Generator, p: Floats, k: int) -> Floats:
    """Mean binary score of k trials per task, shape (n,)."""
    return rng.binomial(k, p) / k

"""What a study can detect, before money is spent, and how large its noise is.

The variance of a paired mean over n tasks with k0 and k1 trials is
``(tau² + E[pq]_0/k0 + E[pq]_1/k1)/n``: tau the SD of the true effects between tasks,
``E[pq] = pass^1 - pass^2`` the mean trial variance of a binary score.

References:
    Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, ch. 2.
    Kish (1965), Survey Sampling, section 5.4 (design effect 1 + (m - 1) rho).
    Miller (2024), Adding error bars to evals, arXiv 2411.00640, section 5 (power of evals).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from sipbench.stats._arrays import check_alpha, vector
from sipbench.stats.intervals import t_quantile

# Study sizes beyond these are no plan.
MAX_TASKS = 1_000_000
MAX_TRIALS = 10_000

# Where the non-central t is the normal to four digits, and its algorithm slow.
_NORMAL_DF = 100_000.0


@dataclass(frozen=True, slots=True)
class Design:
    """A planned paired contrast.

    Attributes:
        tasks: Tasks n.
        trials_before: Attempts per task, phase and repeat in the earlier phase.
        trials_after: The same in the later phase.
        noise_before: E[pq] in the earlier phase, squared score units.
        noise_after: E[pq] in the later phase.
        tau: SD of the true effects between tasks, score units.
        repeats: Repeats, each with its own adaptation and attempts.
        repeat_sd: SD of the true effect between adaptations. 0 makes claims about these
            agents; above 0 about the method, which needs two repeats or more.
        family_size: Mean tasks per family.
        rho: Intraclass correlation of the per-task differences within families.
    """

    tasks: int
    trials_before: float
    trials_after: float
    noise_before: float
    noise_after: float
    tau: float
    repeats: int = 1
    repeat_sd: float = 0.0
    family_size: float = 1.0
    rho: float = 0.0

    def __post_init__(self) -> None:
        if min(self.tasks, self.trials_before, self.trials_after, self.repeats) < 1 or self.family_size < 1:
            raise ValueError(
                "a design needs at least one task, trial and repeat, and families of at least one task"
            )
        if min(self.noise_before, self.noise_after, self.tau, self.repeat_sd) < 0 or not 0 <= self.rho <= 1:
            raise ValueError("noise, tau and repeat_sd must not be negative, and rho must lie in [0, 1]")

    @property
    def families(self) -> float:
        """Families, ``n / family_size``."""
        return self.tasks / self.family_size

    @property
    def se(self) -> float:
        """Standard error of the contrast, score units.

        ``n`` counts as ``n/(1 + (family_size - 1) rho)``; drawn adaptations add
        ``repeat_sd²/repeats``.
        """
        return math.sqrt(self._v_tasks + self._v_repeats)

    @property
    def df(self) -> float | None:
        """Degrees of freedom: families - 1, or Satterthwaite's over families and repeats.

        None if there are too few of either.
        """
        if self.families < 2 or (self.repeat_sd > 0 and self.repeats < 2):
            return None
        if self.repeat_sd == 0:
            return self.families - 1
        parts = self._v_tasks**2 / (self.families - 1) + self._v_repeats**2 / (self.repeats - 1)
        return (self._v_tasks + self._v_repeats) ** 2 / parts

    @property
    def _v_tasks(self) -> float:
        trials = self.noise_before / self.trials_before + self.noise_after / self.trials_after
        effective = self.tasks / (1 + (self.family_size - 1) * self.rho)
        return (self.tau**2 + trials / self.repeats) / effective

    @property
    def _v_repeats(self) -> float:
        return self.repeat_sd**2 / self.repeats


def detectable(se: float, df: float, alpha: float = 0.05, power: float = 0.80) -> float:
    """Effect whose two-sided t test at level alpha has the wanted power, given its SE.

    ``c * se`` with c the non-centrality at which Student's t exceeds its critical value
    with probability ``power``: 2.95 at df 19 (20 tasks), 2.87 at df 39, 2.80 for many.
    The normal 2.80 at 20 tasks would give 76 % power in place of 80 %. The chance of
    rejecting on the wrong side (below 1e-4 here) is left out, so the same effect is the
    smallest testable non-inferiority margin.

    Args:
        se: Standard error of the contrast, score units.
        df: Its degrees of freedom.
        alpha: Two-sided level.
        power: Wanted power, above alpha/2.
    """
    check_alpha(alpha)
    if not alpha / 2 < power < 1.0:
        raise ValueError(f"power must lie between alpha/2 and 1, not {power}")
    critical = t_quantile(df, alpha)
    if df >= _NORMAL_DF:
        from scipy.special import ndtri

        return float(critical + ndtri(power)) * se
    from scipy.special import nctdtrinc

    return float(nctdtrinc(df, 1.0 - power, critical)) * se


def minimum_detectable_effect(design: Design, alpha: float = 0.05, power: float = 0.80) -> float | None:
    """MDE of a design, score units: the effect it finds with the wanted power.

    Returns:
        The effect; None if the design has no standard error (a single family, or claims
        about a method from one repeat).
    """
    return None if design.df is None else detectable(design.se, design.df, alpha, power)


def smallest_margin(design: Design, alpha: float = 0.05, power: float = 0.80) -> float | None:
    """Smallest non-inferiority margin that shows retention with the wanted power if BR = 0.

    Retention asks that the lower end of the two-sided interval is above -margin, which is
    a one-sided test at alpha/2; its non-centrality is ``margin/SE``. So the number is that
    of `minimum_detectable_effect`, on the replay design.
    """
    return minimum_detectable_effect(design, alpha, power)


def power_to_detect(design: Design, effect: float, alpha: float = 0.05) -> float | None:
    """Chance that the interval excludes 0 on the side of a true ``effect``, score units."""
    return _exceeds(design, abs(effect), alpha)


def power_to_retain(design: Design, margin: float, change: float = 0.0, alpha: float = 0.05) -> float | None:
    """Chance that the interval's lower end is above ``-margin`` if the true BR is ``change``."""
    return _exceeds(design, margin + change, alpha)


def noise_floor(noise: float, tasks: int, trials: float, alpha: float = 0.05) -> float:
    """A/A floor: limit of the difference between two runs of an unchanged agent.

    ``z * sqrt(2 E[pq]/(n k))``, the 1 - alpha limit of its absolute value. A difference
    below it is what doing nothing gives. A measured T0 - T0 contrast is better evidence.

    Args:
        noise: E[pq], mean trial variance, squared score units.
        tasks: Tasks n.
        trials: Trials k per task and run.
        alpha: One minus the level.
    """
    check_alpha(alpha)
    if noise < 0 or tasks < 1 or trials < 1:
        raise ValueError("the noise floor needs a variance, a task and a trial")
    from scipy.special import ndtri

    return float(ndtri(1.0 - alpha / 2.0)) * math.sqrt(2.0 * noise / (tasks * trials))


def tasks_needed(design: Design, effect: float, alpha: float = 0.05, power: float = 0.80) -> int | None:
    """Fewest tasks whose MDE is at most ``effect``, all else as in ``design``; None if none."""
    start = max(2, math.ceil(2 * design.family_size))
    return _fewest(lambda n: replace(design, tasks=n), start, MAX_TASKS, effect, alpha, power)


def trials_needed(design: Design, effect: float, alpha: float = 0.05, power: float = 0.80) -> int | None:
    """Fewest trials per task and phase whose MDE is at most ``effect``.

    None where no number suffices: trials remove trial noise, not the spread tau of the
    effects between tasks.
    """

    def at(k: int) -> Design:
        return replace(design, trials_before=k, trials_after=k)

    return _fewest(at, 1, MAX_TRIALS, effect, alpha, power)


def repeats_needed(design: Design, effect: float, alpha: float = 0.05, power: float = 0.80) -> int | None:
    """Fewest repeats whose MDE is at most ``effect``; None where no number suffices."""
    start = 2 if design.repeat_sd > 0 else 1
    return _fewest(lambda r: replace(design, repeats=r), start, MAX_TRIALS, effect, alpha, power)


def trial_noise(means: ArrayLike, trials: ArrayLike) -> float | None:
    """E[pq] of binary scores from task means: the mean of ``ybar (1 - ybar) k/(k - 1)``.

    Equals ``pass^1 - pass^2``. For graded scores the counterpart is ``within`` of
    `sipbench.stats.repeats.variance_components`.

    Args:
        means: Task means of binary scores, shape (n,).
        trials: Trials k behind each, shape (n,).

    Returns:
        The variance over tasks with two trials or more; None without such a task.
    """
    y, k = vector(means, "means"), vector(trials, "trials")
    if y.shape != k.shape:
        raise ValueError("means and trials must hold the same tasks")
    many = k >= 2
    if not many.any():
        return None
    return float((y[many] * (1.0 - y[many]) * k[many] / (k[many] - 1.0)).mean())


def intraclass_correlation(pass1: float, pass2: float) -> float | None:
    """ICC of binary trials within tasks, ``(pass^2 - pass1²)/(pass1 (1 - pass1))``.

    None where every trial, or none, succeeds.
    """
    if not 0.0 <= pass2 <= pass1 <= 1.0:
        raise ValueError(f"need 0 <= pass^2 <= pass^1 <= 1, not {pass2} and {pass1}")
    spread = pass1 * (1.0 - pass1)
    return (pass2 - pass1**2) / spread if spread > 0.0 else None


def _exceeds(design: Design, distance: float, alpha: float) -> float | None:
    check_alpha(alpha)
    if design.df is None:
        return None
    if design.se == 0.0:
        return float(distance > 0.0)
    critical = t_quantile(design.df, alpha)
    from scipy.special import nctdtr, ndtr

    shift = distance / design.se
    if design.df >= _NORMAL_DF:
        return float(ndtr(shift - critical))
    return float(1.0 - nctdtr(design.df, shift, critical))


def _fewest(
    at: Callable[[int], Design], low: int, high: int, effect: float, alpha: float, power: float
) -> int | None:
    """Bisect for the least count whose MDE is at most the effect; the MDE falls with it."""
    if effect <= 0.0:
        raise ValueError(f"the effect to find must be above 0, not {effect}")

    def enough(count: int) -> bool:
        found = minimum_detectable_effect(at(count), alpha, power)
        return found is not None and found <= effect

    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return low

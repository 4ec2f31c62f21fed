"""Attempts without a grade: what they could change, and when they forbid a verdict.

A status is not a score. Whether a missing grade counts as nothing, as 0, or as
anything between 0 and 1 is decided here, three ways side by side, because each is
wrong somewhere: dropping lost failures invents a gain, zeroing random losses a loss.

References:
    Manski (2003), Partial Identification of Probability Distributions, ch. 1 (bounds).
    Horowitz & Manski (2000), Nonparametric analysis of randomized experiments with
    missing covariate and outcome data, JASA 95(449), 77-84.
    Imbens & Manski (2004), Confidence intervals for partially identified parameters,
    Econometrica 72(6), 1845-1857 (an interval around both bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sipbench.stats._arrays import Floats, Ints
from sipbench.stats.contrasts import Contrast, MethodMean, TaskMeans, cluster_labels, linear_contrast
from sipbench.stats.intervals import Interval, clustered_t, t_p_value

COVERAGE_GATE = 0.90
COVERAGE_FLOOR = 0.60
ATTRITION_GAP = 0.02

GRADED = ("graded", "timeout_graded")
AGENT_ERROR = ("agent_error",)
MISSING = ("verifier_error", "infrastructure_error", "cancelled")


class Policy(StrEnum):
    """What an attempt without a grade counts as."""

    COMPLETE_CASE = "complete_case"
    PRIMARY = "primary"
    ERRORS_AS_0 = "errors_as_0"
    LOW = "low"
    HIGH = "high"


class Gate(StrEnum):
    """What the coverage of a contrast's cells allows."""

    VERDICT = "verdict"
    NUMBERS = "numbers"
    BOUNDS = "bounds"


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What became of the planned attempts of one arm, phase and split, task by task.

    Attributes:
        ids: Task ids, distinct, n of them.
        planned: Attempts planned, shape (n,).
        graded: Attempts with a grade, shape (n,).
        agent_errors: Attempts that ended in the agent's own error, shape (n,).
        total: Sum of the grades, each in [0, 1], shape (n,).
    """

    ids: tuple[str, ...]
    planned: Ints
    graded: Ints
    agent_errors: Ints
    total: Floats

    def __post_init__(self) -> None:
        shape = (len(self.ids),)
        for name in ("planned", "graded", "agent_errors", "total"):
            array = np.asarray(getattr(self, name))
            if array.shape != shape:
                raise ValueError(
                    f"{name} must have one value for each of the {shape[0]} tasks, not {array.shape}"
                )
        if len(set(self.ids)) != shape[0]:
            raise ValueError("a task id occurs twice in a tally")
        if np.any(self.graded + self.agent_errors > self.planned):
            raise ValueError("a task has more attempts than were planned")
        if not np.all((self.total >= 0.0) & (self.total <= self.graded + 1e-9)):
            raise ValueError("grades must lie in [0, 1]")

    @property
    def missing(self) -> Ints:
        """Planned attempts that are neither graded nor the agent's error, shape (n,)."""
        return self.planned - self.graded - self.agent_errors

    @property
    def coverage(self) -> float | None:
        """Share of planned attempts in the primary set; None if none was planned."""
        planned = int(self.planned.sum())
        return 1.0 - int(self.missing.sum()) / planned if planned else None

    def means(self, policy: Policy) -> TaskMeans:
        """Task means under a policy, on the tasks that it leaves with an attempt.

        With c grades of sum s, e agent errors and m planned attempts: complete-case
        ``s/c``; primary ``s/(c+e)``; errors-as-0 and low ``s/m``; high ``(s+m-c)/m``.
        """
        top, bottom = self.total, self.planned
        if policy is Policy.COMPLETE_CASE:
            bottom = self.graded
        elif policy is Policy.PRIMARY:
            bottom = self.graded + self.agent_errors
        elif policy is Policy.HIGH:
            top = self.total + (self.planned - self.graded)
        keep = np.flatnonzero(bottom)
        return TaskMeans(tuple(self.ids[i] for i in keep), top[keep] / bottom[keep])


def tally(
    ids: Sequence[str],
    statuses: Sequence[str],
    scores: Sequence[float | None],
    planned: Mapping[str, int] | None = None,
) -> Tally:
    """Count the attempts of one arm, phase and split by task.

    Args:
        ids: Task id of each attempt, length a.
        statuses: Its status: ``graded``, ``timeout_graded``, ``agent_error``,
            ``verifier_error``, ``infrastructure_error`` or ``cancelled``.
        scores: Its grade in [0, 1], or None where there is none.
        planned: Attempts planned per task id. Planned attempts without a row are
            missing. Without it the rows are the plan.

    Raises:
        ValueError: Unknown status, a grade without a graded status or the reverse.
    """
    plan = dict(planned or {})
    names = sorted({*ids, *plan})
    position = {name: i for i, name in enumerate(names)}
    rows, graded, errors = (np.zeros(len(names), dtype=np.int64) for _ in range(3))
    total = np.zeros(len(names))
    for name, status, score in zip(ids, statuses, scores, strict=True):
        i = position[name]
        rows[i] += 1
        if status in GRADED:
            if score is None or not 0.0 <= score <= 1.0:
                raise ValueError(f"task {name}: status {status} needs a score in [0, 1], not {score}")
            graded[i] += 1
            total[i] += score
        elif score is not None:
            raise ValueError(f"task {name}: status {status} has a score; only a grade gives one")
        elif status in AGENT_ERROR:
            errors[i] += 1
        elif status not in MISSING:
            raise ValueError(f"task {name}: unknown status {status!r}")
    asked = np.asarray([plan.get(name, 0) for name in names], dtype=np.int64)
    return Tally(tuple(names), np.maximum(rows, asked), graded, errors, total)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value that the missing grades allow.

    Attributes:
        low: Estimate with every null at its worst.
        high: Estimate with every null at its best.
        outer_low: Lower confidence limit of ``low``, or None.
        outer_high: Upper confidence limit of ``high``, or None.
        reason: Why one of them is None, in words; it begins with "unbounded" where there is no limit.
        sharp: Whether some lost grades reach each end; else the ends only hold them in.
    """

    low: float | None
    high: float | None
    outer_low: float | None
    outer_high: float | None
    reason: str | None = None
    sharp: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """One contrast under every policy.

    Attributes:
        complete_case: Graded attempts only.
        primary: Agent errors count 0, other losses nothing.
        errors_as_0: Everything without a grade counts 0.
        low: Nulls at their worst: 0 where they add, 1 where they subtract.
        high: Nulls at their best.
        coverage: Least share of planned attempts in the primary set over the cells;
            None if a cell has none planned.
        sharp: Whether some lost grades reach ``low`` and some ``high``.
    """

    complete_case: Contrast | MethodMean
    primary: Contrast | MethodMean
    errors_as_0: Contrast | MethodMean
    low: Contrast | MethodMean
    high: Contrast | MethodMean
    coverage: float | None
    sharp: bool = True

    @property
    def bounds(self) -> Bounds | None:
        """The bounds with their outer limits; None without a common task."""
        if self.low.estimate is None or self.high.estimate is None:
            return None
        below, above = self.low.interval, self.high.interval
        return Bounds(
            self.low.estimate,
            self.high.estimate,
            below.low if below else None,
            above.high if above else None,
            None if below and above else self.low.reason or self.high.reason,
            self.sharp,
        )


def sensitivity(
    plus: Sequence[Tally],
    minus: Sequence[Tally],
    families: Mapping[str, str] | None = None,
    *,
    alpha: float = 0.05,
    seed: int = 0,
    test: bool = True,
) -> Sensitivity:
    """A contrast under complete-case, primary, errors-as-0, and at both bounds.

    The bounds of ``after - before`` are ``[lo(after) - hi(before), hi(after) - lo(before)]``
    with nulls set to 0 and to 1; their outer limits are the lower confidence limit of
    the low and the upper one of the high bound, and contain the truth with at least the
    nominal level whatever the lost grades were.

    Args:
        plus: Cells with weight 1: ``[after]``, or ``[A after, F before]``.
        minus: Cells with weight -1: ``[before]``, or ``[A before, F after]``.
        families: Family of each task id; a task without an entry is its own family.
        alpha: One minus the level.
        seed: Seed of the drawn sign flips.
        test: Whether to flip signs under the primary policy; the others are not tested.
    """

    def under(added: Policy, subtracted: Policy, *, test: bool = False) -> Contrast:
        return linear_contrast(
            [cell.means(added) for cell in plus],
            [cell.means(subtracted) for cell in minus],
            families,
            alpha=alpha,
            seed=seed,
            test=test,
        )

    least = least_coverage((*plus, *minus))
    primary = under(Policy.PRIMARY, Policy.PRIMARY, test=test)
    if all(np.array_equal(cell.graded, cell.planned) for cell in (*plus, *minus)):
        return Sensitivity(primary, primary, primary, primary, primary, least)
    return under_every_policy(under, primary, least)


def under_every_policy(
    under: Callable[[Policy, Policy], Contrast | MethodMean],
    primary: Contrast | MethodMean,
    coverage: float | None,
) -> Sensitivity:
    """A contrast under every policy; at the bounds what is subtracted stands at the other end.

    Args:
        under: The contrast, by the policy of what adds and of what subtracts.
        primary: The primary estimate.
        coverage: The least coverage of its cells.
    """
    return Sensitivity(
        under(Policy.COMPLETE_CASE, Policy.COMPLETE_CASE),
        primary,
        under(Policy.ERRORS_AS_0, Policy.ERRORS_AS_0),
        under(Policy.LOW, Policy.HIGH),
        under(Policy.HIGH, Policy.LOW),
        coverage,
    )


def least_coverage(cells: Sequence[Tally]) -> float | None:
    """The least coverage of some cells; None if one of them has none planned."""
    shares = [cell.coverage for cell in cells]
    known = [share for share in shares if share is not None]
    return min(known) if known and len(known) == len(shares) else None


def coverage_gate(coverage: float | None, gate: float = COVERAGE_GATE, floor: float = COVERAGE_FLOOR) -> Gate:
    """What a coverage allows: a verdict, numbers without one, or bounds only.

    Args:
        coverage: Share of planned attempts in the primary set, the least over the
            contrast's cells; None counts as none at all.
        gate: At or above it a verdict is allowed.
        floor: Below it only bounds are.
    """
    if coverage is None or coverage < floor:
        return Gate.BOUNDS
    return Gate.VERDICT if coverage >= gate else Gate.NUMBERS


@dataclass(frozen=True, slots=True)
class Attrition:
    """Whether attempts went missing unevenly between two cells.

    Attributes:
        gap: Mean over tasks of the missing share, after minus before; None without a task.
        interval: Paired t interval of the gap, or None.
        p: Its two-sided p-value, or None.
        n: Tasks planned in both.
        flagged: ``p < alpha`` or a gap of more than two points; then a verdict stands
            only if the bounds agree with it.
    """

    gap: float | None
    interval: Interval | None
    p: float | None
    n: int
    flagged: bool


def attrition(
    before: Tally,
    after: Tally,
    families: Mapping[str, str] | None = None,
    *,
    alpha: float = 0.05,
    largest_gap: float = ATTRITION_GAP,
) -> Attrition:
    """Paired t test on the per-task share of missing attempts, after minus before.

    Args:
        before: Earlier phase, or control arm.
        after: Later phase, or adapted arm.
        families: Family of each task id; a task without an entry is its own family.
        alpha: Level of the test.
        largest_gap: Gap in share (0.02 is two points) that flags by itself.
    """
    shares = [_missing_shares(cell) for cell in (before, after)]
    ids = sorted(shares[0].keys() & shares[1].keys())
    d = np.asarray([shares[1][i] - shares[0][i] for i in ids], dtype=np.float64)
    mean = clustered_t(d, cluster_labels(ids, families), alpha)
    p = None
    if mean.estimate is not None and mean.interval is not None and mean.interval.se and mean.interval.df:
        p = t_p_value(mean.estimate, mean.interval.se, mean.interval.df)
    gap = abs(mean.estimate or 0.0)
    # Shares such as 0.27 - 0.25 must not exceed two points by rounding alone.
    flagged = (p is not None and p < alpha) or gap > largest_gap + 1e-12
    return Attrition(mean.estimate, mean.interval, p, mean.n, flagged)


def below_eps(mean: float, eps: float) -> str:
    """Why a ratio has no upper bound: lost T0 attempts may leave nothing to divide by."""
    return f"unbounded above: with lost attempts at 0 the mean T0 score is {mean:.3g}, below eps = {eps:g}"


def _missing_shares(cell: Tally) -> dict[str, float]:
    keep = np.flatnonzero(cell.planned)
    shares = cell.missing[keep] / cell.planned[keep]
    return dict(zip((cell.ids[i] for i in keep), shares.tolist(), strict=True))

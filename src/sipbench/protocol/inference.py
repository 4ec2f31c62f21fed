"""What may be concluded from an estimate, as ``summary.json`` holds it.

An estimate is a number with an interval. What it is worth depends on the control arm, on attempts
that were lost, on how replay was chosen and on what the study could have found at all; each of these
is an object here, and a verdict says what they allow together.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from sipbench.protocol.records import Count
from sipbench.protocol.settings import CostUnit, Share

__all__ = [
    "Adjusted",
    "Attrition",
    "BySelection",
    "Contrast",
    "Detectable",
    "GainAndCost",
    "Interval",
    "LostAttempts",
    "MethodScope",
    "NoiseFloor",
    "PassRates",
    "TaskChanges",
    "VarianceParts",
    "Verdict",
    "VerdictWord",
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Interval(_Model):
    """A two-sided confidence interval."""

    low: float
    high: float
    level: Annotated[float, Field(gt=0, lt=1)]
    method: str
    df: float | None = None
    se: float | None = None


class Contrast(_Model):
    """A paired difference over tasks under one analysis."""

    value: float | None
    interval: Interval | None = None
    reason: str | None = Field(default=None, description="Why `value` or `interval` is null.")
    n_tasks: Count = 0
    n_families: Count = 0


class Adjusted(Contrast):
    """The change of an arm less the change of the frozen control arm, task by task.

    The headline where there is a control: what changed for both arms (drift, another judge, a service)
    is in neither side.
    """

    control: str = Field(description="The control arm.")
    shared_before: bool = Field(
        description="Whether both arms have the same attempts before; they cancel, and with them the bias "
        "of a replay list that was chosen on them."
    )
    p_value: Share | None = Field(default=None, description="Sign-flip test by families.")


class Attrition(_Model):
    """Whether attempts went missing unevenly: the missing share per task, after less before."""

    gap: float | None
    p_value: Share | None
    n_tasks: Count
    flagged: bool


class LostAttempts(_Model):
    """What attempts without a grade could change.

    ``complete_case`` drops them, ``errors_as_0`` counts each as 0. ``low`` and ``high`` set every one
    to its worst and its best; the outer limits are the confidence limits of these two. A ratio whose
    denominator may be too small has no upper end: it is null, and ``reason`` begins with "unbounded".
    """

    complete_case: Contrast
    errors_as_0: Contrast
    low: float | None
    high: float | None
    outer_low: float | None
    outer_high: float | None
    reason: str | None = Field(default=None, description="Why an end or a limit is null. Since 1.2.0.")
    sharp: bool | None = Field(
        default=None,
        description="Whether some scores of the lost attempts reach `low` and some `high`; if not, these two "
        "only hold in what is possible. Null without them, and before 1.2.0.",
    )
    coverage: Share | None = Field(description="The least counted share of planned attempts in its cells.")
    gate: Literal["verdict", "numbers", "bounds"] = Field(description="What that coverage allows.")
    attrition: tuple[Attrition, ...] = Field(
        default=(), description="Before to after; with a control also control to arm, after."
    )


class MethodScope(Contrast):
    """The change with adaptations drawn as well as tasks: a claim about the method, not these agents."""

    n_adaptations: Count
    v_task: float | None = Field(default=None, description="Variance from drawing tasks.")
    v_adaptation: float | None = Field(default=None, description="Variance from drawing adaptations.")
    v_residual: float | None = Field(default=None, description="Residual variance, contained in both.")
    lost: LostAttempts | None = Field(
        default=None, description="The same with lost attempts at their worst and best. Since 1.2.0."
    )


class BySelection(_Model):
    """How replay was chosen, and what that does to BR."""

    method: Literal["preregistered", "screened", "crossfit", "same_run", "undeclared"]
    rule: str | None = None
    expected_bias: float | None = Field(
        default=None, description="BR to be expected of an unchanged agent, from the choice alone."
    )
    plain: Contrast | None = Field(
        default=None, description="With `crossfit`: the contrast of all candidates, whatever they scored."
    )
    fold_sizes: tuple[Count, ...] = ()
    note: str | None = None


class Detectable(_Model):
    """What the study as run could have found."""

    effect: float | None = Field(
        description="Smallest effect found with the wanted power; for BR and PDS also the smallest margin "
        "that could be tested. From the standard error of the headline."
    )
    power: Annotated[float, Field(gt=0, lt=1)]
    alpha: Annotated[float, Field(gt=0, lt=1)]


class NoiseFloor(_Model):
    """The difference that two runs of an unchanged agent stay below, 95 times in 100 at alpha .05."""

    value: float
    source: Literal["repeats", "trials"] = Field(
        description="Measured between repeats of one phase, or from the variance of trials."
    )
    arm: str = Field(description="Whose attempts it is from.")
    n_tasks: Count
    trials: float = Field(description="Attempts per task and phase that it is for.")


VerdictWord = Literal[
    "improved", "worse", "no evidence", "inconclusive", "retained", "loss", "persists", "decays"
]


class Verdict(_Model):
    """A word, and everything it rests on."""

    word: VerdictWord | None = Field(description="Null where no verdict may be given.")
    reasons: tuple[str, ...] = Field(default=(), description="Why it is `inconclusive` or null.")
    basis: Literal["adjusted", "plain"] = Field(
        description="`adjusted`: against the control arm. `plain`: the arm's own change."
    )
    value: float | None
    interval: Interval | None
    arm: str
    scope: Literal["agent", "method"]
    n_tasks: Count
    n_families: Count
    attempts: tuple[float, float] | None = Field(
        description="Mean counted attempts per task before and after, over all repeats."
    )
    coverage: Share | None
    p_value: Share | None = Field(default=None, description="Sign-flip test by families.")
    p_margin: Share | None = Field(default=None, description="The same of `just lost the margin`.")
    p_holm: Share | None = Field(
        default=None, description="The p of the interval, after Holm over the arms; with two or more arms."
    )
    margin: float | None = None
    sesoi: float | None = None
    selection: str | None = Field(default=None, description="How replay was chosen.")


class TaskChanges(_Model):
    """The change of each paired task, as columns."""

    ids: tuple[str, ...]
    families: tuple[str | None, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    shrunken: tuple[float, ...] | None = Field(
        default=None, description="The change, shrunken towards the mean by as much as it is trial noise."
    )
    kept: Share | None = Field(default=None, description="Share of a raw deviation that shrinking keeps.")
    flips: tuple[int, ...] = Field(description="1: from never to always. -1: from always to never.")
    omitted: Count = Field(default=0, description="Tasks beyond those listed.")


class PassRates(_Model):
    """pass^k (all of k attempts succeed) and pass@k (one of k does), for k = 1, 2, ..."""

    pass_hat: tuple[Share, ...]
    pass_at: tuple[Share, ...]
    n_tasks: Count


class VarianceParts(_Model):
    """Where the variance of scores comes from; null where that is not identified."""

    between_task: float | None
    between_repeat: float | None
    task_by_repeat: float | None
    within: float | None
    n_tasks: Count
    n_repeats: Count
    n_dropped: Count = Field(description="Tasks without an attempt in every repeat.")


class GainAndCost(_Model):
    """The pair (gain, learning cost) with a region that covers both: read it before IE.

    The box has the two intervals as sides, the ellipse the two radii as half-axes.
    """

    gain: float
    cost: float
    unit: CostUnit
    gain_interval: Interval
    cost_interval: Interval | None = Field(description="Null with one cost.")
    gain_radius: float
    cost_radius: float | None
    level: Annotated[float, Field(gt=0, lt=1)]
    n_costs: Count

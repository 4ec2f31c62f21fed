"""What a summary is computed with: declared before looking, recorded in the summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.manifest import SplitManifest
from sipbench.protocol.records import Count, Usage
from sipbench.protocol.rules import Violation
from sipbench.protocol.vocabulary import Phase, Split

__all__ = ["COST_FIELDS", "AnalysisSettings", "CostUnit", "PlannedCell", "Share", "StudyContext"]

CostUnit = Literal["tokens", "seconds", "tool_calls", "usd", "human_interventions"]
"""The one unit in which learning is paid."""

COST_FIELDS: dict[CostUnit, str] = {
    "tokens": "token_total",
    "seconds": "wall_clock_seconds",
    "tool_calls": "tool_calls_total",
    "usd": "cost_usd",
    "human_interventions": "human_interventions",
}
"""The field of a record that holds each unit."""

assert set(COST_FIELDS.values()) <= set(Usage.model_fields)

Share = Annotated[float, Field(ge=0, le=1)]


class AnalysisSettings(BaseModel):
    """The declared choices of an analysis.

    Attributes:
        sesoi: Smallest effect of interest, in score points (0.05 is five points); None if undeclared.
        cost_unit: Unit of IE's denominator; None: IE is not reported.
        lambda_: Weight of lost retention in NIS (``lambda`` in files).
        eps: Floor of BR_ratio's denominator; below it the ratio has no interval.
        alpha: 1 - level of the intervals.
        power: Wanted power of the plan.
        margin: Loss that still counts as retained.
        coverage_gate: Share of planned attempts that must be counted for a verdict.
        high_variance_sd: Standard deviation over repeats of FG or BR above which a row is warned
            about; None: max(0.05, |mean| / 2).
        scope: Whether claims are about this ``agent`` or about the ``method`` that adapted it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    sesoi: Annotated[float, Field(gt=0, le=1)] | None = None
    cost_unit: CostUnit | None = None
    lambda_: Annotated[float, Field(ge=0, le=1e6, alias="lambda")] = 1.0
    eps: Annotated[float, Field(gt=0, le=1)] = 0.05
    alpha: Annotated[float, Field(ge=1e-4, le=0.5)] = 0.05
    power: Annotated[float, Field(ge=0.5, le=0.999)] = 0.80
    margin: Annotated[float, Field(gt=0, le=1)] = 0.05
    coverage_gate: Share = 0.90
    high_variance_sd: Annotated[float, Field(gt=0)] | None = None
    scope: Literal["agent", "method"] = "agent"


class PlannedCell(BaseModel):
    """How many attempts the plan holds for one arm, phase and split, over all repeats."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm: str
    phase: Phase
    split: Split
    attempts: Count


@dataclass(frozen=True, slots=True)
class StudyContext:
    """What is known of the study beside its records; all of it is on disk in the study directory.

    Attributes:
        study: The study's name.
        planned: Planned attempts; without them what was recorded counts as planned.
        adaptations: What each adaptation spent; None if that is unknown.
        manifest: The splits.
        allowed: Split rules that are broken with the user's consent.
        delay: What the study declares to lie between T1 and T2, as it says it; None: no delay.
    """

    study: str | None = None
    planned: Sequence[PlannedCell] | None = None
    adaptations: Sequence[AdaptationRecord] | None = None
    manifest: SplitManifest | None = None
    allowed: Sequence[Violation] = ()
    delay: str | None = None

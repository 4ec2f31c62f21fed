"""What came out of a study: ``summary.json``.

A summary holds one row per arm. A row says who the arm is, how its attempts ended (cells), what it
gained, kept and paid (metrics and costs), and what a reader must know before believing it
(warnings). Where a number does not exist it is null and a sentence says why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sipbench.errors import RecordError
from sipbench.protocol.inference import (
    Adjusted,
    BySelection,
    Detectable,
    GainAndCost,
    Interval,
    LostAttempts,
    MethodScope,
    NoiseFloor,
    PassRates,
    TaskChanges,
    VarianceParts,
    Verdict,
)
from sipbench.protocol.jsonl import parse_object, problems, read_text
from sipbench.protocol.records import Count, Digest, Timestamp
from sipbench.protocol.settings import AnalysisSettings, CostUnit, Share
from sipbench.protocol.timing import Interleaving, PhaseInterleaving, T2Delay
from sipbench.protocol.versions import SUMMARY_VERSION, upgraded
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status

__all__ = [
    "METRICS",
    "Adjusted",
    "BySelection",
    "Cell",
    "Detectable",
    "Estimate",
    "Evaluation",
    "EvaluationCost",
    "GainAndCost",
    "Interleaving",
    "Interval",
    "LearningCost",
    "LostAttempts",
    "MethodScope",
    "Metrics",
    "NoiseFloor",
    "PassRates",
    "PhaseIdentity",
    "PhaseInterleaving",
    "Provenance",
    "RecordCounts",
    "RepeatCost",
    "RepeatValue",
    "Row",
    "RuleMark",
    "Source",
    "Summary",
    "SummaryWarning",
    "T2Delay",
    "TaskChanges",
    "VarianceParts",
    "Verdict",
    "WarningCode",
    "load_summary",
    "parse_summary",
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class RepeatValue(_Model):
    """A metric or mean in one repeat."""

    repeat: Count
    value: float | None
    n_tasks: Count
    reason: str | None = None


class Estimate(_Model):
    """A metric of one arm.

    ``value`` averages all counted attempts of a task, then over tasks counted in both phases; the
    interval belongs to it. ``repeats_mean`` and ``repeats_sd`` are the protocol's mean and sample
    standard deviation over repeats. The two means are equal when every repeat counts the same
    tasks equally often. Ratios (IE, BR_ratio) have no ``repeats_mean``: a mean of ratios is biased.
    """

    value: float | None = None
    reason: str | None = Field(default=None, description="Why `value` is null.")
    repeats_mean: float | None = None
    repeats_sd: float | None = Field(default=None, description="Null with fewer than two repeats.")
    by_repeat: tuple[RepeatValue, ...] = ()
    interval: Interval | None = None
    interval_reason: str | None = Field(default=None, description="Why `interval` is null.")
    p_value: Share | None = Field(default=None, description="Sign-flip test by families.")
    n_tasks: Count = 0
    n_families: Count = 0
    unpaired: Count = Field(default=0, description="Tasks counted in one of the two phases only.")
    unpaired_tasks: tuple[str, ...] = Field(default=(), description="The first of them.")
    label: Literal["confounded"] | None = None
    adjusted: Adjusted | None = Field(default=None, description="Less the control arm's; the headline.")
    method: MethodScope | None = Field(
        default=None, description="The headline with adaptations drawn as well; with two of them."
    )
    verdict: Verdict | None = Field(
        default=None, description="Of FG, BR and PDS; none of a control arm or an oracle."
    )
    lost: LostAttempts | None = Field(default=None, description="Of the headline.")
    selection: BySelection | None = Field(default=None, description="Of BR: how replay was chosen.")
    detectable: Detectable | None = None
    noise_floor: NoiseFloor | None = Field(default=None, description="What doing nothing gives.")
    tasks: TaskChanges | None = Field(default=None, description="The arm's own change of each task.")


class Metrics(_Model):
    """The metrics of one arm; definitions in ``sipbench.protocol.metrics``."""

    fg: Estimate
    br: Estimate
    br_ratio: Estimate
    ie: Estimate
    pds: Estimate = Field(description="T2 - T1 on the same held-out tasks.")
    drift_gain: Estimate = Field(description="T2 - T0 on drift tasks.")
    pds_protocol: Estimate = Field(description="The protocol's literal value; confounded if tasks differ.")
    br_t2: Estimate = Field(description="T2 - T0 on replay tasks.")
    nis: Estimate


METRICS: tuple[str, ...] = tuple(Metrics.model_fields)
"""The names of the metrics, in the order they are shown."""


class Cell(_Model):
    """The attempts of one arm in one phase and split, and their mean score."""

    phase: Phase
    split: Split
    mean: float | None = Field(description="Mean over tasks of the mean over a task's counted attempts.")
    reason: str | None = None
    by_repeat: tuple[RepeatValue, ...] = ()
    n_tasks: Count = Field(description="Tasks with at least one counted attempt.")
    n_families: Count = 0
    planned: Count
    recorded: Count
    counted: Count = Field(description="Attempts that enter the mean: graded ones, agent errors as 0.")
    statuses: dict[Status, Count]
    coverage: Share | None = Field(description="Counted share of the planned attempts.")
    passes: PassRates | None = Field(
        default=None, description="Where scores are 0 or 1 and every task has two attempts."
    )
    variance: VarianceParts | None = None
    noise_floor: NoiseFloor | None = Field(
        default=None, description="Between two unchanged runs of as many attempts as these."
    )


class Evaluation(_Model):
    """How many attempts on held-out, replay and drift tasks were planned and what became of them."""

    planned: Count
    recorded: Count
    counted: Count
    least_coverage: Share | None = Field(description="The lowest coverage of a phase and split.")


class RepeatCost(_Model):
    """What learning cost in one repeat."""

    repeat: Count
    value: float | None
    attempts: float | None = Field(description="Adapt attempts, with their failed tries.")
    adaptation: float | None = Field(description="What the adaptation itself spent.")
    n_attempts: Count
    reason: str | None = None


class LearningCost(_Model):
    """What an arm paid to become what it is at T1 (or T2): the denominator of IE. Never evaluation."""

    phase: Phase
    unit: CostUnit
    field: str
    value: float | None = Field(description="Mean over repeats; null if any part is unknown.")
    reason: str | None = None
    by_repeat: tuple[RepeatCost, ...] = ()
    adaptation_source: Literal["adaptations", "declared", "unknown"] = "unknown"
    records_digest: Digest | None = Field(
        default=None, description="Digest of the sorted run_ids of the adapt attempts that were summed."
    )


class EvaluationCost(_Model):
    """What measuring an arm cost, all repeats and phases together. It enters no metric."""

    unit: CostUnit
    field: str
    value: float | None = Field(description="Null if the cost of any attempt is unknown.")
    known: float = Field(description="Sum over the attempts whose cost is known.")
    n_attempts: Count
    n_unknown: Count


WarningCode = Literal[
    "few_repeats",
    "high_variance",
    "oracle",
    "no_gain",
    "low_coverage",
    "unpaired_tasks",
    "unbalanced_repeats",
    "confounded_pds",
    "unknown_cost",
    "mixed_versions",
    "model_changed",
    "selected_replay",
    "split_overlap",
    "broken_rule",
    "missing_arm",
    "few_families",
    "narrow_interval",
    "attrition",
    "control_changed",
    "no_control",
    "planned_mismatch",
    "not_interleaved",
    "short_delay",
    "t2_not_begun",
]


class SummaryWarning(_Model):
    """Something a reader must know, as a code for machines and a sentence for people."""

    code: WarningCode
    message: str
    keeps_out: bool = Field(default=False, description="Whether it keeps the row out of the main table.")


class PhaseIdentity(_Model):
    """Who acted in one phase. More than one value in a list is a warning."""

    phase: Phase
    models: tuple[str, ...]
    agents: tuple[str, ...]
    agent_versions: tuple[str, ...]
    path_types: tuple[PathType, ...]


class Row(_Model):
    """One arm."""

    arm: str
    benchmark_name: str
    benchmark_version: str | None
    model_name: str
    agent_name: str
    path_type: PathType
    phases: tuple[PhaseIdentity, ...]
    repeats: Count = Field(description="Repeats with the main metrics.")
    control: str | None = Field(default=None, description="The frozen arm that it is compared with.")
    evaluation: Evaluation
    cells: tuple[Cell, ...]
    metrics: Metrics
    gain_and_cost: GainAndCost | None = Field(
        default=None, description="The headline gain with its price, and a region that covers both."
    )
    learning_cost: LearningCost | None
    interleaving: Interleaving | None = Field(
        default=None, description="Whether it was measured by turns with its control. Since 1.2.0."
    )
    delay: T2Delay | None = Field(default=None, description="The time between T1 and T2. Since 1.2.0.")
    later_learning_cost: LearningCost | None = Field(
        default=None, description="What the second adaptation cost, which leads to T2."
    )
    evaluation_cost: EvaluationCost | None
    main_table: bool = Field(description="Whether the row belongs in the main comparison.")
    warnings: tuple[SummaryWarning, ...] = ()

    def cell(self, phase: Phase, split: Split) -> Cell | None:
        """The cell of one phase and split, if there are attempts or plans for it."""
        return next((cell for cell in self.cells if (cell.phase, cell.split) == (phase, split)), None)


class RuleMark(_Model):
    """A split rule that is broken with the user's consent."""

    rule: str
    message: str
    tasks: tuple[str, ...] = ()


class RecordCounts(_Model):
    """How many records were read, and how many of them never enter a metric."""

    total: Count
    smoke: Count = 0
    golden: Count = 0


class Source(_Model):
    """A file the summary was computed from."""

    name: str
    digest: Digest
    records: Count


class Provenance(_Model):
    """How the summary was made."""

    generated_at: Timestamp
    sipbench_version: str
    trusted: bool = Field(default=False, description="Whether records were checked by column only.")
    sources: tuple[Source, ...] = ()


class Summary(_Model):
    """What came out of a study."""

    model_config = ConfigDict(title="SIP-Bench summary")

    schema_version: Annotated[str, StringConstraints(pattern=r"^1\.\d{1,6}\.\d{1,6}$")] = SUMMARY_VERSION
    study: str | None = None
    settings: AnalysisSettings
    cost_field: str | None = Field(description="The record field of the cost unit.")
    rows: tuple[Row, ...]
    warnings: tuple[SummaryWarning, ...] = ()
    allowed: tuple[RuleMark, ...] = Field(default=(), description="Split rules broken with consent.")
    records: RecordCounts
    provenance: Provenance

    def document(self) -> dict[str, Any]:
        """The summary as plain JSON values, with the names that files have."""
        return self.model_dump(mode="json", by_alias=True)

    def to_json(self) -> str:
        """The text of ``summary.json``."""
        return json.dumps(self.document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def main_rows(self) -> Iterator[Row]:
        """Rows of the main comparison table."""
        return (row for row in self.rows if row.main_table)


def parse_summary(text: bytes) -> Summary:
    """Read a summary of any version that can be read.

    Raises:
        ValidationError: A field is wrong.
        RecordError: It is not a JSON object, or of a version that cannot be read.
    """
    upgraded(parse_object(text), current=SUMMARY_VERSION, upgrades={}, what="summaries")
    return Summary.model_validate_json(text, strict=True)


def load_summary(path: Path) -> Summary:
    """Read ``summary.json``.

    Raises:
        RecordError: It cannot be read, or is no valid summary.
    """
    text = read_text(path)
    try:
        return parse_summary(text)
    except ValidationError as error:
        first = next(problems(path, 0, error, Summary))
        where = f"{first.field}: " if first.field else ""
        raise RecordError(f"{path}: {where}{first.reason}; make it again with `sip summarize`") from None
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from None

"""``result.json``: what grading a submission gave, check by check."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from sipbench.cards.checks.model import Scope, Status
from sipbench.cards.model import Listed, Model, Text

__all__ = ["RESULT_VERSION", "CheckResult", "Counts", "JudgeRecord", "Outcome", "ResultFile", "Vote"]

RESULT_VERSION = "1.0.0"

type Outcome = Literal["pass", "fail", "error", "pending", "todo"]


class Vote(Model):
    """One answer of a judge.

    Attributes:
        score: On the scale of the check; None if the answer could not be read.
    """

    score: float | None
    reason: Text


class CheckResult(Model):
    """The outcome of one check.

    Attributes:
        outcome: ``pass`` or ``fail``; ``error``: could not be decided, and the submission is not to
            blame; ``pending``: waits for a person or a model; ``todo``: waits for its author.
        counted: Whether its points are part of the score.
        agreement: Of a judge's votes, the share on the side of the outcome; None without votes.
    """

    id: Text
    kind: Text
    points: float
    status: Status
    scope: Scope
    counted: bool
    outcome: Outcome
    reason: Text
    votes: Listed[Vote] = ()
    agreement: float | None = Field(default=None, ge=0, le=1)


class Counts(Model):
    """How many checks of each outcome: those that make the score, and those beside it."""

    passed: int
    failed: int
    undecided: int
    todo: int
    expert_review: int
    llm_judge: int


class JudgeRecord(Model):
    """Which model judged, with which prompt, and what it cost; an unknown cost is null."""

    model: Text
    prompt_version: Text
    votes: int = Field(ge=1)
    passed: int
    failed: int
    pending: int
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None


class ResultFile(Model):
    """``result.json``.

    Attributes:
        score: Points of passed checks over points of counted checks, in [0, 1]; None where nothing
            counts, or where a counted check could not be decided.
        points: Points of passed checks; None likewise.
        max_points: Points of counted checks.
    """

    schema_version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")] = RESULT_VERSION
    capsule_key: Text
    card_sha256: Text
    eval_sha256: Text
    grader: Text
    score: float | None = Field(ge=0, le=1)
    points: float | None = Field(ge=0)
    max_points: float = Field(ge=0)
    counts: Counts
    judge: JudgeRecord | None = None
    checks: Listed[CheckResult]

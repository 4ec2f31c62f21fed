"""The words of the protocol that appear in records: phases, splits, path types, statuses."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["EVALUATION_SPLITS", "METRIC_SPLITS", "PathType", "Phase", "Split", "Status"]


class Phase(StrEnum):
    """Where an agent stands in its life.

    ``T0`` is the agent before any benchmark-specific adaptation, ``T1`` after one adaptation
    cycle, ``T2`` after delay, drift or further exposure.
    """

    T0 = "T0"
    T1 = "T1"
    T2 = "T2"


class Split(StrEnum):
    """What a task is used for.

    ``smoke`` and ``golden`` records are read and kept; they never enter a metric.
    """

    REPLAY = "replay"
    ADAPT = "adapt"
    HELDOUT = "heldout"
    DRIFT = "drift"
    SMOKE = "smoke"
    GOLDEN = "golden"

    @property
    def noun(self) -> str:
        """As a sentence names its tasks: ``held-out``."""
        return "held-out" if self is Split.HELDOUT else self.value


METRIC_SPLITS = (Split.REPLAY, Split.ADAPT, Split.HELDOUT, Split.DRIFT)
"""Splits that a manifest may hold and a metric may read."""

EVALUATION_SPLITS = (Split.HELDOUT, Split.REPLAY, Split.DRIFT)
"""Splits whose attempts are scored for a metric; nothing may be learned from them."""


class PathType(StrEnum):
    """How an arm may improve.

    ``frozen`` not at all, ``external`` in the harness (skills, memory, prompts), ``parameter`` in
    the weights; ``oracle`` is an upper bound or a debugging aid and never enters a comparison.
    """

    FROZEN = "frozen"
    EXTERNAL = "external"
    PARAMETER = "parameter"
    ORACLE = "oracle"


class Status(StrEnum):
    """How an attempt ended. A status is not a score."""

    GRADED = "graded"
    """The verifier issued a score."""
    TIMEOUT_GRADED = "timeout_graded"
    """The agent ran out of time; the verifier graded what it left behind."""
    AGENT_ERROR = "agent_error"
    """The agent crashed, hit a limit or produced nothing: its own doing."""
    VERIFIER_ERROR = "verifier_error"
    """The verifier failed or issued no valid score."""
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    """Build, network, quota, host, or an exception of unknown cause."""
    CANCELLED = "cancelled"
    """Ended from outside before it was graded."""

    @property
    def is_graded(self) -> bool:
        """Whether an attempt with this status has a score."""
        return self in (Status.GRADED, Status.TIMEOUT_GRADED)

    @property
    def is_retried(self) -> bool:
        """Whether an attempt with this status may be tried again: only what the agent did not cause."""
        return self in (Status.VERIFIER_ERROR, Status.INFRASTRUCTURE_ERROR)

    @property
    def is_missing(self) -> bool:
        """Whether the primary analysis treats the score as missing (an ``agent_error`` counts as 0)."""
        return self in (Status.VERIFIER_ERROR, Status.INFRASTRUCTURE_ERROR, Status.CANCELLED)

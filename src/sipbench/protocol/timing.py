"""When an arm was measured: beside its control, and how long after T1 it came to T2."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from sipbench.protocol.records import Count, Timestamp
from sipbench.protocol.settings import Share
from sipbench.protocol.vocabulary import Phase

__all__ = ["Interleaving", "PhaseInterleaving", "T2Delay"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PhaseInterleaving(_Model):
    """How an arm's counted attempts in one phase lie in time against its control's."""

    phase: Phase
    later: Share = Field(
        description="Chance that an attempt of the arm began after one of its control's; 0.5: they took "
        "turns, 0 or 1: one was measured after the other."
    )
    by_chance: Share = Field(
        description="What |2 later - 1| stays below 95 times in 100 if the order is drawn at random."
    )
    n_arm: Count = Field(description="Attempts of the arm whose beginning is known.")
    n_control: Count


class Interleaving(_Model):
    """Whether what changed with time could be mistaken for a difference between an arm and its control."""

    apart: Share = Field(
        description="The largest |2 later - 1| of a phase: 0 if they took turns, 1 if one came after "
        "the other."
    )
    phases: tuple[PhaseInterleaving, ...]


class T2Delay(_Model):
    """How long an arm had between T1 and T2, and how long was declared."""

    declared: str | None = Field(description="As the study says it: a length, or a moment.")
    due_at: Timestamp | None = Field(
        default=None, description="When its T2 may begin, if its T1 is recorded and nothing of T2 is."
    )
    begun_at: Timestamp | None = Field(
        default=None, description="When its first counted attempt at T2 began."
    )
    shortest_seconds: float | None = Field(
        default=None,
        description="From the end of the last counted attempt at T1 to the beginning of the first one at "
        "T2 on evaluation tasks; the least of the repeats.",
    )
    median_seconds: float | None = Field(
        default=None,
        description="From a task's attempts at T1 (mean end) to those at T2 (mean beginning); median over "
        "tasks and repeats.",
    )
    n_pairs: Count = Field(default=0, description="Tasks and repeats that the median is over.")

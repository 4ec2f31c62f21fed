"""The v0.1.0 run record and summary, with v0.1.0's own constraints (its ``*.schema.json``)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

__all__ = ["V0_VERSION", "V0RunRecord", "V0Summary"]

V0_VERSION = "0.1.0"


def _integral(value: Any) -> Any:
    # JSON Schema takes 1.0 for an integer.
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Text = Annotated[str, StringConstraints(min_length=1)]
_Integer = Annotated[int, BeforeValidator(_integral)]
_Count = Annotated[int, BeforeValidator(_integral), Field(ge=0)]
_Amount = Annotated[float, Field(ge=0)]


class _Document(BaseModel):
    # v0.1.0's schemas let NaN and infinities pass; nothing here does.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class V0RunRecord(_Document):
    """One line of a v0.1.0 ``runs.jsonl``. Nothing is nullable."""

    schema_version: Literal["0.1.0"]
    run_id: _Text
    benchmark_name: _Text
    benchmark_version: str = ""
    benchmark_split: Literal["replay", "adapt", "heldout", "drift", "smoke", "golden"]
    phase: Literal["T0", "T1", "T2"]
    path_type: Literal["frozen", "external", "parameter", "oracle"]
    model_name: _Text
    agent_name: _Text
    agent_version: _Text
    task_id: _Text
    task_template_id: str = ""
    attempt_index: _Count
    score: Annotated[float, Field(ge=0, le=1)]
    success: bool
    token_input: _Count
    token_output: _Count
    token_total: _Count
    tool_calls_total: _Count
    memory_reads: _Count
    memory_writes: _Count
    wall_clock_seconds: _Amount
    cost_usd: _Amount | None = None
    human_interventions: _Count
    seed: _Integer
    started_at: str
    finished_at: str
    notes: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)


class _SampleSizes(_Document):
    replay: _Count
    adapt: _Count
    heldout: _Count
    drift: _Count


class _Metrics(_Document):
    t0_replay_mean: float
    t1_replay_mean: float
    t2_replay_mean: float | None
    t0_heldout_mean: float
    t1_heldout_mean: float
    t2_heldout_mean: float | None
    fg_mean: float
    fg_std: _Amount
    br_mean: float
    br_std: _Amount
    br_ratio_mean: float
    ie_mean: float | None
    ie_std: _Amount | None
    pds_mean: float | None
    pds_std: _Amount | None
    nis_mean: float
    nis_std: _Amount


class _Costs(_Document):
    token_total_mean: _Amount
    tool_calls_mean: _Amount
    wall_clock_seconds_mean: _Amount
    cost_usd_mean: _Amount
    human_interventions_mean: _Amount


class _Provenance(_Document):
    protocol_version: str = ""
    runs_file: str = ""
    benchmark_config_hash: str = ""
    notes: str = ""


class V0Summary(_Document):
    """One line of a v0.1.0 ``summary.jsonl``: one group of runs."""

    schema_version: Literal["0.1.0"]
    summary_id: _Text
    benchmark_name: _Text
    benchmark_version: str = ""
    path_type: Literal["frozen", "external", "parameter", "oracle"]
    model_name: _Text
    agent_name: _Text
    agent_version: _Text
    sample_sizes: _SampleSizes
    metrics: _Metrics
    costs: _Costs
    repeats: Annotated[int, BeforeValidator(_integral), Field(ge=1)]
    generated_at: str
    provenance: _Provenance = Field(default_factory=_Provenance)

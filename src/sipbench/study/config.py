"""What a study file may say: the model behind ``study.yaml``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from sipbench.protocol.delay import Delay, DelayText, parse_delay
from sipbench.protocol.manifest import ReplaySelection
from sipbench.protocol.records import Amount, Count, Name
from sipbench.protocol.rules import RULES
from sipbench.protocol.settings import AnalysisSettings
from sipbench.protocol.vocabulary import METRIC_SPLITS, PathType, Phase, Split

__all__ = [
    "AdaptationChoice",
    "AgentChoice",
    "ArmConfig",
    "AttemptCounts",
    "BenchmarkChoice",
    "Caps",
    "EstimateConfig",
    "Exposure",
    "LimitsConfig",
    "OrderName",
    "SplitsConfig",
    "StudyAnalysis",
    "StudyConfig",
    "T2Config",
]

Exposure = Literal["delay", "adaptation", "drift"]
"""What lies between T1 and T2: time, a second adaptation, or tasks of the drift split."""

OrderName = Literal["interleaved", "by_arm"]
"""How attempts follow each other: arms by turns in shuffled blocks, or one after the other."""

ArmName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""An arm's name is also a folder's: letters, digits, dot, hyphen and underscore."""

StudyName = ArmName
Positive = Annotated[int, Field(ge=1, le=1_000_000)]
Seconds = Annotated[float, Field(gt=0)]


def _no_switch(value: Any) -> Any:
    # `usd: no` means no cap; as a number it would be a cap of 0, and `usd: yes` one of a dollar.
    if isinstance(value, bool):
        raise ValueError(f"expected a value, not {'true' if value else 'false'} (yes, no, on, off)")
    return value


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    _no_switches = field_validator("*", mode="before")(_no_switch)


class _Open(BaseModel):
    """A choice of a plug-in: the keys beside its own are the plug-in's options."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    @property
    def options(self) -> dict[str, Any]:
        """The plug-in's options, as given."""
        return dict(self.model_extra or {})


class BenchmarkChoice(_Open):
    """Which benchmark; its options stand beside the name."""

    name: Name


class AdaptationChoice(_Open):
    """Which adaptation; its options stand beside the kind."""

    kind: Name


class AgentChoice(_Model):
    """Who attempts the tasks."""

    name: Name
    version: Name = "0"
    model: Name = "none"
    arguments: dict[str, Any] = Field(default_factory=dict)


class LimitsConfig(_Model):
    """What one attempt may use. It is part of an attempt's identity."""

    timeout_seconds: Seconds | None = None
    tool_calls: Positive | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None


class ArmConfig(_Model):
    """One agent with one path type."""

    path_type: PathType
    agent: AgentChoice | None = Field(default=None, description="Default: the study's agent.")
    adaptation: AdaptationChoice | None = None
    limits: LimitsConfig | None = Field(default=None, description="Default: the study's limits.")
    seed: Annotated[int, Field(gt=-(2**53), lt=2**53)] = Field(
        default=0, description="Added to the study's seed: for an A/A comparison."
    )

    @field_validator("adaptation", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        # `adaptation: none` is what people write.
        return {"kind": value} if isinstance(value, str) else value


class AttemptCounts(_Model):
    """Attempts per task and phase, by split."""

    replay: Positive = 1
    adapt: Positive = 1
    heldout: Positive = 1
    drift: Positive = 1

    def of(self, split: Split) -> int:
        """The number of attempts for a task of ``split``."""
        return int(getattr(self, split.value))


class SplitsConfig(_Model):
    """Where the splits come from: the adapter, with sizes, or a file."""

    sizes: dict[Split, Count] = Field(default_factory=dict)
    file: str | None = Field(default=None, description="A splits.json; relative to the study file.")

    @field_validator("sizes", mode="before")
    @classmethod
    def _numbers(cls, value: Any) -> Any:
        return (
            {split: _no_switch(size) for split, size in value.items()} if isinstance(value, dict) else value
        )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.file is not None and self.sizes:
            raise ValueError(
                "sizes: the file already says which tasks are in which split; drop one of the two"
            )
        foreign = [split for split in self.sizes if split not in METRIC_SPLITS]
        if foreign:
            raise ValueError(
                f"sizes: '{foreign[0]}' is no split of a study; use replay, adapt, heldout or drift"
            )
        return self


class T2Config(_Model):
    """How an arm comes to T2."""

    by: tuple[Exposure, ...] | None = Field(
        default=None,
        description="`adaptation` (a second one, on adapt_t2), `drift`, `delay`, or several; default: "
        "`delay` where one is declared, else what splits allow.",
    )
    delay: DelayText | None = Field(
        default=None,
        description="Nothing of T2 begins before: a length after the last score at T1 (7d, 36h, 1d12h), or a "
        "moment (2026-12-08T13:50:00Z).",
    )

    @field_validator("by", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _delay_declared(self) -> Self:
        if self.delay is None and "delay" in (self.by or ()):
            raise ValueError("by: `delay` needs the `delay` itself, such as `delay: 7d`")
        return self

    @property
    def waits(self) -> Delay | None:
        """The declared delay."""
        return None if self.delay is None else parse_delay(self.delay)


class Caps(_Model):
    """What the whole study may use. It stops cleanly between attempts, and goes on when they are raised."""

    tool_calls: Annotated[int, Field(ge=0)] | None = None
    tokens: Annotated[int, Field(ge=0)] | None = None
    hours: Annotated[float, Field(ge=0)] | None = None
    usd: Amount | None = Field(default=None, description="US dollars.")
    on_unknown_cost: Literal["stop", "allow"] = Field(
        default="stop",
        description="With `usd`: `stop` where it is unknown what an attempt, try or adaptation cost, or "
        "`allow` it and go on without counting it.",
    )


class EstimateConfig(_Model):
    """What an attempt is expected to take, and from which amount on a run asks before it spends it."""

    usd_per_attempt: Amount | None = Field(default=None, description="US dollars, failed tries included.")
    seconds_per_attempt: Amount | None = None
    pilot: Name | None = Field(
        default=None,
        description="Attempts made before, which say what is not given here: a study directory or a file of "
        "records; relative to the study file.",
    )
    ask_above_usd: Amount = Field(default=10.0, description="Ask before more than this is spent.")


class StudyAnalysis(AnalysisSettings):
    """The declared choices of the analysis; a study must say what effect it looks for."""

    _no_switches = field_validator("*", mode="before")(_no_switch)

    sesoi: Annotated[float, Field(gt=0, le=1)] = Field(
        description="The smallest effect of interest, in score points: 0.05 is five points."
    )


class StudyConfig(_Model):
    """A study, as a study file says it."""

    model_config = ConfigDict(title="SIP-Bench study")

    name: StudyName
    benchmark: BenchmarkChoice
    arms: Annotated[dict[ArmName, ArmConfig], Field(min_length=1)]
    analysis: StudyAnalysis
    agent: AgentChoice | None = Field(default=None, description="The agent of every arm that names none.")
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0
    phases: Annotated[tuple[Phase, ...], Field(min_length=1)] = (Phase.T0, Phase.T1)
    repeats: Annotated[int, Field(ge=1, le=1000)] = 3
    attempts: AttemptCounts = Field(default_factory=AttemptCounts)
    splits: SplitsConfig = Field(default_factory=SplitsConfig)
    t2: T2Config = Field(default_factory=T2Config)
    order: OrderName | None = Field(
        default=None,
        description="`interleaved` (arms by turns) or `by_arm`; default: as the benchmark's engine can.",
    )
    replay_selection: ReplaySelection | Literal["preregistered"] | None = Field(
        default=None,
        description="How replay tasks were chosen; `preregistered` alone: this list, as first planned.",
    )
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    caps: Caps = Field(default_factory=Caps)
    estimate: EstimateConfig = Field(default_factory=EstimateConfig)
    retries: Annotated[int, Field(ge=0, le=20)] = 2
    concurrency: Annotated[int, Field(ge=1, le=4096)] = 2
    executor: Name = "local"
    allow: tuple[str, ...] = Field(default=(), description="Split rules that may be broken, with a mark.")

    @field_validator("attempts", mode="before")
    @classmethod
    def _one_number(cls, value: Any) -> Any:
        # `attempts: 4` is four for every split.
        if isinstance(value, int) and not isinstance(value, bool):
            return dict.fromkeys((split.value for split in METRIC_SPLITS), value)
        return value

    @field_validator("phases")
    @classmethod
    def _in_order(cls, value: tuple[Phase, ...]) -> tuple[Phase, ...]:
        if value != tuple(Phase)[: len(value)]:
            raise ValueError("expected [T0], [T0, T1] or [T0, T1, T2]: each phase needs the one before")
        return value

    @field_validator("allow")
    @classmethod
    def _known_rules(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [rule for rule in value if rule not in RULES]
        if unknown:
            raise ValueError(f"'{unknown[0]}' is no split rule; rules are {', '.join(RULES)}")
        return value

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        for name, arm in self.arms.items():
            if arm.agent is None and self.agent is None:
                raise ValueError(f"arms.{name}: it names no agent, and the study has no default `agent`")
        if Phase.T2 not in self.phases and self.t2 != T2Config():
            raise ValueError("t2: the study has no phase T2; add it to `phases` or drop `t2`")
        return self

"""The exceptions that sipbench raises.

::

    SipbenchError
    ├── ConfigError       a study file, option or setting is wrong
    ├── SplitError        a split manifest breaks a rule of the protocol
    ├── RecordError       a run record or result file cannot be read or is invalid
    ├── StudyError        a study directory is locked, foreign or no longer what was planned
    ├── EngineError       a benchmark or its engine cannot run what was asked
    ├── AdaptationError   an adaptation failed or produced no usable agent state
    ├── CardError         a card, capsule or check cannot be read or is invalid
    ├── SkillError        a skill or a collection of skills cannot be read, written or served
    └── MissingExtraError an optional dependency is not installed

Every message is one line that says what is wrong, where, and what to do. The
command prints it and exits with status 2; a traceback is a bug.
"""

from __future__ import annotations

__all__ = [
    "AdaptationError",
    "CardError",
    "ConfigError",
    "EngineError",
    "MissingExtraError",
    "RecordError",
    "SipbenchError",
    "SkillError",
    "SplitError",
    "StudyError",
]


class SipbenchError(Exception):
    """Base of all errors that are the input's or the surroundings' doing, not a bug."""

    exit_code = 2


class ConfigError(SipbenchError):
    """A study file, option or setting is wrong."""


class SplitError(SipbenchError):
    """A split manifest breaks a rule of the protocol."""


class RecordError(SipbenchError):
    """A run record or result file cannot be read or is invalid."""


class StudyError(SipbenchError):
    """A study directory is locked, belongs to another study or has changed."""


class EngineError(SipbenchError):
    """A benchmark or its engine cannot run what was asked."""


class AdaptationError(SipbenchError):
    """An adaptation failed or produced no usable agent state."""


class CardError(SipbenchError):
    """A card, capsule or check cannot be read or is invalid."""


class SkillError(SipbenchError):
    """A skill or a collection of skills cannot be read, written or served."""


class MissingExtraError(SipbenchError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra '{extra}': pip install 'sipbench[{extra}]'")
        self.feature = feature
        self.extra = extra

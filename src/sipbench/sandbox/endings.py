"""How a command in a box, or the box itself, can end before it is done."""

from __future__ import annotations

from sipbench.errors import EngineError

__all__ = ["BoxEndedError", "TimedOutError"]


class BoxEndedError(EngineError):
    """The box is no longer running; the message says why."""


class TimedOutError(EngineError):
    """A command ran longer than allowed and was ended with all of its session."""

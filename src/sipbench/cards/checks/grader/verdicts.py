"""What a check can say."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ERROR", "FAIL", "PASS", "Failed", "Impossible", "Verdict", "reason_of", "shown"]

PASS, FAIL, ERROR = "pass", "fail", "error"

_LONGEST = 300


class Failed(Exception):
    """The submission is not what the check asks for."""


class Impossible(Exception):
    """The check cannot be decided, and the submission is not to blame."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check.

    Attributes:
        outcome: ``pass`` or ``fail``; ``error`` where the grader, not the submission, is at fault.
        reason: One line.
    """

    outcome: str
    reason: str


def shown(value: object, limit: int = 60) -> str:
    """A value from a submission for use in a reason: one line, short, nothing a terminal obeys."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in str(value))
    return text if len(text) <= limit else text[:limit] + "…"


def reason_of(text: str) -> str:
    """A reason as it is kept: one printable line."""
    return shown(" ".join(text.split()), _LONGEST)

"""What the whole study may use, and what it used: over all sessions, failed tries and adaptations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from sipbench.protocol.records import Usage
from sipbench.study.config import Caps

__all__ = ["Spending"]

_FIELDS = {"tool_calls": "tool_calls_total", "tokens": "token_total"}
_NOUNS = {"tool_calls": "tool calls", "tokens": "tokens"}


@dataclass(slots=True)
class Spending:
    """What was used by now.

    Attributes:
        known: Per capped quantity the sum of what is known.
        unknown: Per capped quantity the number of executions of which it is unknown.
        seconds_before: How long earlier sessions were at work.
    """

    known: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_FIELDS, 0))
    unknown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_FIELDS, 0))
    seconds_before: float = 0.0
    _start: float = field(default_factory=time.monotonic)

    def add(self, *executions: Usage) -> None:
        """Count executions: attempts without their failed tries, such tries, and adaptations."""
        for usage in executions:
            for name, column in _FIELDS.items():
                amount = getattr(usage, column)
                if amount is None:
                    self.unknown[name] += 1
                else:
                    self.known[name] += amount

    @property
    def hours(self) -> float:
        """How long the study has been at work, in all sessions."""
        return (self.seconds_before + time.monotonic() - self._start) / 3600

    def reached(self, caps: Caps) -> str | None:
        """The first cap that is reached, in words; None if there is room."""
        for name, noun in _NOUNS.items():
            cap = getattr(caps, name)
            if cap is not None and self.known[name] >= cap:
                return f"caps.{name}: {self.known[name]:,} of {cap:,} {noun} are used{self._of_unknown(name)}"
        if caps.hours is not None and self.hours >= caps.hours:
            return f"caps.hours: {self.hours:.2f} of {caps.hours:g} hours are used"
        return None

    def unknowns(self, caps: Caps) -> Iterator[str]:
        """What a cap cannot see, in words."""
        for name, noun in _NOUNS.items():
            if getattr(caps, name) is not None and self.unknown[name]:
                yield (
                    f"caps.{name}: the {noun} of {self.unknown[name]} attempts, tries or adaptations are "
                    "unknown; the cap cannot count them"
                )

    def _of_unknown(self, name: str) -> str:
        return f", and those of {self.unknown[name]} executions are unknown" if self.unknown[name] else ""

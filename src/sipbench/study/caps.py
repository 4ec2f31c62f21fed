"""What the whole study may use, and what it used: over all sessions, failed tries and adaptations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from sipbench.protocol.money import exact, usd_text
from sipbench.protocol.records import Usage
from sipbench.study.charges import Charges
from sipbench.study.config import Caps

if TYPE_CHECKING:
    from sipbench.study.design import Design

__all__ = ["Spending", "check_caps"]

_FIELDS = {"usd": "cost_usd", "tool_calls": "tool_calls_total", "tokens": "token_total"}
_NOUNS = {"tool_calls": "tool calls", "tokens": "tokens"}
_EXECUTIONS = "attempts, tries or adaptations"


def check_caps(design: Design, charges: Charges) -> str | None:
    """Refuse a cap on money that nobody could keep, before anything is spent.

    Returns:
        What is to be said of a cap that can be kept and never matters; None if there is nothing.

    Raises:
        ConfigError: Something costs money, and it is known beforehand that nobody will say how much.
    """
    caps = design.config.caps
    if caps.usd is None:
        return None
    if charges.unreported and caps.on_unknown_cost == "stop":
        raise design.loaded.error(
            f"the cost of {', '.join(charges.unreported)} will never be known, so that no cap on it can be "
            "kept; cap `tokens`, `tool_calls` or `hours` instead, or set caps.on_unknown_cost to allow",
            "caps",
            "usd",
        )
    return (
        "caps.usd: nothing in this study costs money, so that it is never reached" if charges.free else None
    )


@dataclass(slots=True)
class Spending:
    """What was used by now.

    Attributes:
        charges: What is known beforehand to be free: no money is counted there, known or unknown.
        known: Per capped quantity the sum of what is known; money as it is written, not in binary fractions.
        unknown: Per capped quantity the number of executions of which it is unknown.
        seconds_before: How long earlier sessions were at work.
    """

    charges: Charges = field(default_factory=Charges)
    known: dict[str, Decimal] = field(default_factory=lambda: dict.fromkeys(_FIELDS, Decimal()))
    unknown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_FIELDS, 0))
    seconds_before: float = 0.0
    _start: float = field(default_factory=time.monotonic)

    def attempted(self, arm: str, *executions: Usage) -> None:
        """Count attempts of an arm without their failed tries, and such tries."""
        self._add(executions, free=self.charges.attempts.get(arm) == "free")

    def adapted(self, arm: str, *executions: Usage) -> None:
        """Count adaptations of an arm; of a failed one nothing is known."""
        self._add(executions, free=self.charges.adaptations.get(arm) == "free")

    def add(self, *executions: Usage) -> None:
        """Count executions of which nothing is known beforehand."""
        self._add(executions, free=False)

    def _add(self, executions: tuple[Usage, ...], *, free: bool) -> None:
        for usage in executions:
            for name, column in _FIELDS.items():
                amount = 0 if free and name == "usd" else getattr(usage, column)
                if amount is None:
                    self.unknown[name] += 1
                else:
                    self.known[name] += exact(amount)

    @property
    def hours(self) -> float:
        """How long the study has been at work, in all sessions."""
        return (self.seconds_before + time.monotonic() - self._start) / 3600

    def usd_left(self, caps: Caps) -> Decimal | None:
        """What may still be spent; None without a cap that bounds it."""
        if caps.usd is None or caps.on_unknown_cost == "allow":
            return None
        return max(Decimal(), exact(caps.usd) - self.known["usd"])

    def reached(self, caps: Caps) -> str | None:
        """The first cap that is reached, or cannot be kept, in words; None if there is room."""
        if caps.usd is not None and self.known["usd"] >= exact(caps.usd):
            spent, cap = usd_text(self.known["usd"]), usd_text(caps.usd)
            unknown = f", and {self._unknown_cost}" if self.unknown["usd"] else ""
            return f"caps.usd: {spent} of {cap} are spent{unknown}; raise it to go on"
        for name, noun in _NOUNS.items():
            cap = getattr(caps, name)
            if cap is not None and self.known[name] >= cap:
                used = f"{self.known[name]:,} of {cap:,} {noun} are used{self._of_unknown(name)}"
                return f"caps.{name}: {used}; raise it to go on"
        if caps.hours is not None and self.hours >= caps.hours:
            return f"caps.hours: {self.hours:.2f} of {caps.hours:g} hours are used; raise it to go on"
        if caps.usd is not None and self.unknown["usd"] and caps.on_unknown_cost == "stop":
            return (
                f"caps.usd: {self._unknown_cost}, so that the cap cannot be kept; set caps.on_unknown_cost "
                "to allow to go on without counting it"
            )
        return None

    def unknowns(self, caps: Caps) -> Iterator[str]:
        """What a cap cannot see, in words."""
        if caps.usd is not None and self.unknown["usd"]:
            yield f"caps.usd: {self._unknown_cost}; the cap cannot count it"
        for name, noun in _NOUNS.items():
            if getattr(caps, name) is not None and self.unknown[name]:
                yield (
                    f"caps.{name}: the {noun} of {self.unknown[name]} {_EXECUTIONS} are unknown; the cap "
                    "cannot count them"
                )

    @property
    def _unknown_cost(self) -> str:
        return f"what {self.unknown['usd']} {_EXECUTIONS} cost is unknown"

    def _of_unknown(self, name: str) -> str:
        return f", and those of {self.unknown[name]} executions are unknown" if self.unknown[name] else ""

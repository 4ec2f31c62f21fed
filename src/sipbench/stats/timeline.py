"""When the attempts of each arm and phase were made, and whether the arms took turns.

Two arms that were not measured at the same time may differ by what changed meanwhile: a service, a judge,
a machine. A control arm takes that out only if it took turns with the others.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from sipbench.protocol.records import RunRecord, timestamp
from sipbench.protocol.vocabulary import Phase
from sipbench.stats.exposure import ArmKey, arm_key

__all__ = ["Span", "Timeline", "Turns"]


@dataclass(frozen=True, slots=True)
class Span:
    """When the attempts of one arm and phase were made.

    Attributes:
        phase: The phase.
        first: When the first one began, RFC 3339.
        last: When the last one began.
        attempts: Attempts whose beginning is known.
    """

    phase: Phase
    first: str
    last: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Turns:
    """How the arms followed each other in one phase, in the order in which attempts began.

    Attributes:
        phase: The phase.
        arms: Arms that made an attempt in it.
        attempts: Attempts whose beginning is known.
        changes: How often an attempt was another arm's than the one before it.
        expected: How often that would be if the order were drawn at random.
    """

    phase: Phase
    arms: int
    attempts: int
    changes: int
    expected: float


class Timeline:
    """Notes when attempts began, as records are read."""

    def __init__(self) -> None:
        self._keys: dict[ArmKey, int] = {}
        self._arms: dict[str, int] = {}
        self._at: dict[Phase, tuple[array[float], array[int], array[int]]] = {}

    def add(self, record: RunRecord) -> None:
        """Note one attempt, if it says when it began."""
        if record.started_at is None:
            return
        key = self._keys.setdefault(arm_key(record), len(self._keys))
        arm = self._arms.setdefault(record.arm, len(self._arms))
        moments, keys, arms = self._at.setdefault(record.phase, (array("d"), array("L"), array("L")))
        moments.append(datetime.fromisoformat(record.started_at).timestamp())
        keys.append(key)
        arms.append(arm)

    def spans(self, keys: Iterable[ArmKey]) -> list[Span]:
        """When the attempts under any of ``keys`` began, phase by phase."""
        wanted = [self._keys[key] for key in keys if key in self._keys]
        found = []
        for phase in sorted(self._at):
            moments, owners, _ = self._at[phase]
            mine = np.asarray(moments)[np.isin(np.asarray(owners), wanted)]
            if mine.size:
                first, last = (_text(float(moment)) for moment in (mine.min(), mine.max()))
                found.append(Span(phase, first, last, int(mine.size)))
        return found

    def turns(self) -> list[Turns]:
        """How the arms followed each other, phase by phase.

        Of n attempts in random order, of which arm a made n_a, neighbours differ
        ``(n^2 - sum n_a^2) / n`` times on average.
        """
        found = []
        for phase in sorted(self._at):
            moments, _, arms = (np.asarray(column) for column in self._at[phase])
            owners = arms[np.argsort(moments, kind="stable")]
            sizes = np.bincount(owners)
            n = int(owners.size)
            expected = (n**2 - float(np.sum(sizes.astype(np.float64) ** 2))) / n
            changes = int(np.count_nonzero(owners[1:] != owners[:-1]))
            found.append(Turns(phase, int(np.count_nonzero(sizes)), n, changes, expected))
        return found


def _text(moment: float) -> str:
    return timestamp(datetime.fromtimestamp(moment, UTC))

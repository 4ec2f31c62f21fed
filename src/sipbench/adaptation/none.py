"""No adaptation: the agent state stays empty."""

from __future__ import annotations

from typing import ClassVar

from sipbench.adaptation.base import Adaptation, AdaptationOutcome, AdaptationRequest
from sipbench.benchmarks.base import Charge
from sipbench.protocol.vocabulary import PathType

__all__ = ["NoAdaptation"]


class NoAdaptation(Adaptation):
    """Learns nothing and spends nothing: what a frozen arm does, said out loud."""

    path_type: ClassVar[PathType | None] = PathType.FROZEN
    needs_attempts: ClassVar[bool] = False
    charge: ClassVar[Charge] = "free"

    def adapt(self, request: AdaptationRequest) -> AdaptationOutcome:
        """Leave the state empty."""
        return AdaptationOutcome()

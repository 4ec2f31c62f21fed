"""What became of the attempts that were planned: run, graded, scored, and what was lost on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sipbench.protocol.summary import Cell
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, Phase, Status

__all__ = ["Flow", "attrition_flow"]


@dataclass(frozen=True, slots=True)
class Flow:
    """Planned attempts of one arm and phase on held-out, replay and drift tasks, and where they went.

    ``planned = run + not_run``; ``run = graded + agent_errors + verifier_errors +
    infrastructure_errors + cancelled``; ``scored = graded + agent_errors``, since an agent's error
    counts 0.

    Attributes:
        phase: The phase; None: all phases together.
        planned: Attempts of the plan; at least those that were recorded.
        run: Attempts that were recorded.
        graded: Attempts with a grade.
        timeouts: Those among them whose agent ran out of time.
        scored: Attempts that enter the primary analysis.
    """

    phase: Phase | None
    planned: int
    run: int
    graded: int
    timeouts: int
    agent_errors: int
    verifier_errors: int
    infrastructure_errors: int
    cancelled: int
    scored: int

    @property
    def not_run(self) -> int:
        """Planned attempts that were not recorded."""
        return self.planned - self.run

    @property
    def lost(self) -> int:
        """Planned attempts that enter no score."""
        return self.planned - self.scored


def attrition_flow(cells: Iterable[Cell]) -> list[Flow]:
    """The flow of each phase of an arm, then of all phases together.

    Args:
        cells: The cells of one row of a summary; those of adapt attempts are left out.
    """
    scored = [cell for cell in cells if cell.split in EVALUATION_SPLITS]
    phases = sorted({cell.phase for cell in scored})
    flows = [_flow(phase, [cell for cell in scored if cell.phase is phase]) for phase in phases]
    return [*flows, _flow(None, scored)] if flows else []


def _flow(phase: Phase | None, cells: list[Cell]) -> Flow:
    def ended(status: Status) -> int:
        return sum(cell.statuses.get(status, 0) for cell in cells)

    return Flow(
        phase=phase,
        planned=sum(max(cell.planned, cell.recorded) for cell in cells),
        run=sum(cell.recorded for cell in cells),
        graded=ended(Status.GRADED) + ended(Status.TIMEOUT_GRADED),
        timeouts=ended(Status.TIMEOUT_GRADED),
        agent_errors=ended(Status.AGENT_ERROR),
        verifier_errors=ended(Status.VERIFIER_ERROR),
        infrastructure_errors=ended(Status.INFRASTRUCTURE_ERROR),
        cancelled=ended(Status.CANCELLED),
        scored=sum(cell.counted for cell in cells),
    )

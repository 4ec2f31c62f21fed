from __future__ import annotations

from sipbench.protocol.settings import PlannedCell, StudyContext
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.flow import attrition_flow
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell

RECORDS = [
    *cell("T0", "heldout", {"a": [1.0, "agent_error"], "b": ["infrastructure_error", "verifier_error"]}),
    *cell("T0", "replay", {"r": [0.0]}),
    *cell("T1", "heldout", {"a": [1.0], "b": ["cancelled"]}),
    *cell("T1", "adapt", {"x": ["agent_error"]}),
]


def test_planned_attempts_are_run_graded_scored_or_lost_by_cause() -> None:
    planned = (
        PlannedCell(arm="learner", phase=Phase.T0, split=Split.HELDOUT, attempts=6),
        PlannedCell(arm="learner", phase=Phase.T0, split=Split.REPLAY, attempts=1),
        PlannedCell(arm="learner", phase=Phase.T1, split=Split.HELDOUT, attempts=2),
    )
    (row,) = summarize(RECORDS, context=StudyContext(planned=planned)).rows
    before, after, all_ = attrition_flow(row.cells)
    assert (before.phase, before.planned, before.run, before.not_run) == (Phase.T0, 7, 5, 2)
    assert (before.graded, before.agent_errors, before.scored, before.lost) == (2, 1, 3, 4)
    assert (before.verifier_errors, before.infrastructure_errors, before.cancelled) == (1, 1, 0)
    assert (after.phase, after.run, after.cancelled, after.scored) == (Phase.T1, 2, 1, 1)
    assert (all_.phase, all_.planned, all_.run, all_.scored) == (None, 9, 7, 4)


def test_the_parts_add_up() -> None:
    (row,) = summarize(RECORDS).rows
    for flow in attrition_flow(row.cells):
        ended = flow.graded + flow.agent_errors + flow.verifier_errors + flow.infrastructure_errors
        assert flow.run == ended + flow.cancelled
        assert flow.planned == flow.run + flow.not_run == flow.scored + flow.lost
        assert flow.scored == flow.graded + flow.agent_errors


def test_more_attempts_than_planned_are_planned_ones() -> None:
    planned = (PlannedCell(arm="learner", phase=Phase.T0, split=Split.HELDOUT, attempts=1),)
    (row,) = summarize(RECORDS, context=StudyContext(planned=planned)).rows
    assert all(flow.not_run == 0 for flow in attrition_flow(row.cells))


def test_adapt_attempts_alone_have_no_flow() -> None:
    (row,) = summarize(cell("T1", "adapt", {"x": [1.0]})).rows
    assert attrition_flow(row.cells) == []

from __future__ import annotations

import pytest

from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Phase
from sipbench.stats.exposure import arm_key
from sipbench.stats.timeline import Timeline
from tests.protocol.made import record


def at(second: int | None, arm: str, phase: str = "T0") -> RunRecord:
    started = None if second is None else f"2026-05-01T09:00:{second:02d}.500Z"
    return record(arm=arm, phase=phase, started_at=started)


def noted(*records: RunRecord) -> Timeline:
    timeline = Timeline()
    for item in records:
        timeline.add(item)
    return timeline


def test_a_span_runs_from_the_first_beginning_to_the_last() -> None:
    records = [at(9, "x"), at(3, "x"), at(5, "y"), at(None, "x"), at(40, "x", "T1")]
    before, after = noted(*records).spans([arm_key(records[0])])
    assert (before.phase, before.attempts) == (Phase.T0, 2)
    assert (before.first, before.last) == ("2026-05-01T09:00:03.500Z", "2026-05-01T09:00:09.500Z")
    assert (after.phase, after.first) == (Phase.T1, after.last)
    assert noted(*records).spans([]) == []


def test_arms_that_take_turns_change_at_every_attempt() -> None:
    (turns,) = noted(*(at(second, "xy"[second % 2]) for second in range(10))).turns()
    assert (turns.arms, turns.attempts, turns.changes) == (2, 10, 9)
    # At random: (10^2 - 5^2 - 5^2) / 10 = 5 of the 9 neighbours differ.
    assert turns.expected == pytest.approx(5.0)


def test_arms_that_were_measured_one_after_the_other_change_once() -> None:
    shuffled = [at(7, "y"), at(0, "x"), at(6, "y"), at(1, "x"), at(2, "x"), at(5, "y")]
    (turns,) = noted(*shuffled).turns()
    assert turns.changes == 1
    assert turns.expected == pytest.approx(3.0)


def test_one_arm_takes_no_turns_and_times_may_be_unknown() -> None:
    (turns,) = noted(at(1, "x"), at(2, "x"), at(None, "y")).turns()
    assert (turns.arms, turns.changes, turns.expected) == (1, 0, 0.0)
    assert noted(at(None, "x")).turns() == []

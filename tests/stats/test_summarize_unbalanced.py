"""Unbalanced attempts, by hand: what a summary says, what v0.1.0 says, and why they differ."""

from __future__ import annotations

from typing import Any

import pytest

from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import AnalysisSettings
from sipbench.protocol.summary import Metrics, Row
from sipbench.protocol.v0 import aggregate, downgrade_records
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell, record

KNOWN: dict[str, Any] = {
    "token_input": 5,
    "token_output": 5,
    "token_total": 10,
    "tool_calls_total": 0,
    "memory_reads": 0,
    "memory_writes": 0,
    "human_interventions": 0,
    "wall_clock_seconds": 1.0,
    "started_at": "2026-05-01T00:00:00Z",
    "finished_at": "2026-05-01T00:00:01Z",
}
FLAT = {"r": [0.5]}


def both(records: list[RunRecord]) -> tuple[Row, dict[str, Any]]:
    """The row of a summary, and v0.1.0's summary of the same attempts."""
    settings = AnalysisSettings(cost_unit="tokens")
    (ours,) = summarize(records, settings=settings, adaptation_cost={"learner": 0.0}).rows
    (theirs,) = aggregate(downgrade_records(records).records)
    return ours, theirs["metrics"]


def flat_replay(**given: Any) -> list[RunRecord]:
    return [*cell("T0", "replay", FLAT, **KNOWN, **given), *cell("T1", "replay", FLAT, **KNOWN, **given)]


def test_tasks_count_once_however_often_they_ran() -> None:
    """Two unchanged tasks, p = 1 and p = 0, run 9 + 1 times before and 5 + 5 times after."""
    records = [
        *flat_replay(),
        *cell("T0", "heldout", {"easy": [1.0] * 9, "hard": [0.0]}, **KNOWN),
        *cell("T1", "heldout", {"easy": [1.0] * 5, "hard": [0.0] * 5}, **KNOWN),
    ]
    ours, theirs = both(records)
    assert ours.metrics.fg.value == 0.0
    # v0.1.0 pools attempts: .5 - .9.
    assert theirs["fg_mean"] == pytest.approx(-0.4)


def test_a_task_that_failed_three_times_does_not_outweigh_one_that_passed_once() -> None:
    records = [
        *flat_replay(),
        *cell("T0", "heldout", {"a": [0.0], "b": [0.0]}, **KNOWN),
        *cell("T1", "heldout", {"a": [0.0] * 3, "b": [1.0]}, **KNOWN),
    ]
    ours, theirs = both(records)
    assert ours.metrics.fg.value == pytest.approx(0.5)
    assert theirs["fg_mean"] == pytest.approx(0.25)


def test_another_set_of_tasks_is_no_gain() -> None:
    """v0.1.0 takes the difference of two sets of tasks; a summary pairs the one task they share."""
    records = [
        *flat_replay(),
        *cell("T0", "heldout", {"hard": [0.0], "both": [0.5]}, **KNOWN),
        *cell("T1", "heldout", {"easy": [1.0], "both": [0.5]}, **KNOWN),
    ]
    ours, theirs = both(records)
    assert ours.metrics.fg.value == 0.0
    assert ours.metrics.fg.unpaired_tasks == ("easy", "hard")
    assert theirs["fg_mean"] == pytest.approx(0.5)


def test_a_lost_attempt_is_missing_and_not_a_zero() -> None:
    """Task b was lost after adaptation: it cannot be paired. v0.1.0 never hears of it."""
    lost = record(phase="T1", task_id="b", status="infrastructure_error", **KNOWN)
    records = [
        *flat_replay(),
        *cell("T0", "heldout", {"a": [0.2], "b": [0.8]}, **KNOWN),
        *cell("T1", "heldout", {"a": [0.3]}, **KNOWN),
        lost,
    ]
    ours, theirs = both(records)
    assert ours.metrics.fg.value == pytest.approx(0.1)
    assert theirs["fg_mean"] == pytest.approx(0.3 - 0.5)


def test_an_unknown_sd_is_null_and_not_zero() -> None:
    ours, theirs = both(
        [*flat_replay(), *cell("T0", "heldout", FLAT, **KNOWN), *cell("T1", "heldout", FLAT, **KNOWN)]
    )
    assert (ours.metrics.fg.repeats_sd, theirs["fg_std"]) == (None, 0.0)


def test_evaluation_is_no_learning_cost() -> None:
    """Without adapt attempts v0.1.0 divides by what the evaluation at T1 cost."""
    records = [
        *flat_replay(),
        *cell("T0", "heldout", {"h": [0.0]}, **KNOWN),
        *cell("T1", "heldout", {"h": [1.0]}, **KNOWN),
    ]
    ours, theirs = both(records)
    assert (ours.metrics.ie.value, ours.metrics.ie.reason) == (None, "the cost of learning is 0")
    assert theirs["ie_mean"] == pytest.approx(1.0 / 20)


def test_ie_is_a_ratio_of_means_and_no_mean_of_ratios() -> None:
    """The same gain of .2, learned for 10 tokens in one repeat and for 90 in the other."""
    records = []
    for repeat, tokens in ((0, 10), (1, 90)):
        records += flat_replay(repeat=repeat)
        records += cell("T0", "heldout", {"h": [0.2]}, repeat=repeat, **KNOWN)
        records += cell("T1", "heldout", {"h": [0.4]}, repeat=repeat, **KNOWN)
        records += cell("T1", "adapt", {"a": [1.0]}, repeat=repeat, **{**KNOWN, "token_total": tokens})
    ours, theirs = both(records)
    assert ours.metrics.ie.value == pytest.approx(0.2 / 50)
    assert ours.metrics.ie.repeats_mean is None
    assert theirs["ie_mean"] == pytest.approx((0.2 / 10 + 0.2 / 90) / 2)


def test_failed_tries_cost_what_they_cost() -> None:
    tried = record(
        phase="T1",
        benchmark_split="adapt",
        task_id="a",
        **KNOWN,
        tries=[{"status": "infrastructure_error", "token_total": 30}],
    )
    records = [
        *flat_replay(),
        *cell("T0", "heldout", {"h": [0.0]}, **KNOWN),
        *cell("T1", "heldout", {"h": [0.4]}, **KNOWN),
        tried,
    ]
    ours, theirs = both(records)
    assert ours.metrics.ie.value == pytest.approx(0.4 / 40)
    assert theirs["ie_mean"] == pytest.approx(0.4 / 10)


def test_a_zero_replay_score_has_no_ratio_worth_an_interval() -> None:
    records = [
        *cell("T0", "replay", {"r": [0.0]}, **KNOWN),
        *cell("T1", "replay", {"r": [0.2]}, **KNOWN),
        *cell("T0", "heldout", FLAT, **KNOWN),
        *cell("T1", "heldout", FLAT, **KNOWN),
    ]
    ours, theirs = both(records)
    assert ours.metrics.br_ratio.value == pytest.approx(0.2 / 0.05)
    assert theirs["br_ratio_mean"] == pytest.approx(200_000)


def test_stability_is_told_apart_from_difficulty() -> None:
    """Held-out stays at .6; drift tasks are harder. v0.1.0 calls the difference a decay."""
    steady = {"a": [0.6], "b": [0.6]}
    records = [
        *flat_replay(),
        *cell("T0", "heldout", {"a": [0.1], "b": [0.1]}, **KNOWN),
        *cell("T1", "heldout", steady, **KNOWN),
        *cell("T2", "heldout", steady, **KNOWN),
        *cell("T0", "drift", {"d": [0.0]}, **KNOWN),
        *cell("T2", "drift", {"d": [0.3]}, **KNOWN),
    ]
    ours, theirs = both(records)
    metrics: Metrics = ours.metrics
    assert metrics.pds.value == 0.0
    assert metrics.drift_gain.value == pytest.approx(0.3)
    assert theirs["pds_mean"] == pytest.approx(-0.3)
    assert metrics.pds_protocol.value == pytest.approx(-0.3)
    assert metrics.pds_protocol.label == "confounded"


def test_unbalanced_repeats_are_said() -> None:
    """Repeat 0 ran task a three times, repeat 1 once: the two means weight repeats differently."""
    records = []
    for repeat, times, after in ((0, 3, 1.0), (1, 1, 0.0)):
        records += cell("T0", "heldout", {"a": [0.0], "b": [0.0]}, repeat=repeat, **KNOWN)
        records += cell("T1", "heldout", {"a": [after] * times, "b": [0.5]}, repeat=repeat, **KNOWN)
    (ours,) = summarize(records).rows
    assert ours.metrics.fg.value == pytest.approx((0.75 + 0.5) / 2)
    assert ours.metrics.fg.repeats_mean == pytest.approx((0.75 + 0.25) / 2)
    assert "unbalanced_repeats" in [warning.code for warning in ours.warnings]

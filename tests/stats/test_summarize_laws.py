"""Laws that hold for every set of attempts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import AnalysisSettings
from sipbench.protocol.summary import Estimate, Metrics, Row, Summary
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.summarize import summarize
from tests.protocol.made import record

# A summary takes tens of milliseconds; these laws break on small cases or not at all.
few = settings(max_examples=30)

SETTINGS = AnalysisSettings(cost_unit="tokens")
COSTS = {"learner": 5.0}

outcomes = st.one_of(
    st.integers(0, 20).map(lambda n: n / 20),
    st.floats(0, 1),
    st.sampled_from(["agent_error", "verifier_error", "cancelled"]),
)
places = st.tuples(
    st.sampled_from(["T0", "T1", "T2"]),
    st.sampled_from(["heldout", "replay", "drift", "adapt"]),
    st.integers(0, 4),
    st.integers(0, 2),
    st.integers(0, 2),
)


@st.composite
def attempts(draw: st.DrawFn) -> list[RunRecord]:
    """A T0 and T1 of two tasks, and anything else."""
    chosen: dict[Any, Any] = {
        (p, s, t, 0, 0): 0.5 for p in ("T0", "T1") for s in ("heldout", "replay") for t in (0, 1)
    }
    chosen |= draw(st.dictionaries(places, outcomes, max_size=40))
    return [
        attempt(place, outcome, token_total=draw(st.one_of(st.none(), st.integers(0, 1000))))
        for place, outcome in chosen.items()
    ]


def attempt(place: tuple[str, str, int, int, int], outcome: float | str, **given: Any) -> RunRecord:
    phase, split, task, repeat, index = place
    return record(
        phase=phase,
        benchmark_split=split,
        task_id=f"{split}{task}",
        # Two tasks of one family, the others alone.
        family=f"{split}-family" if task < 2 else None,
        repeat=repeat,
        attempt_index=index,
        status=outcome if isinstance(outcome, str) else "graded",
        score=None if isinstance(outcome, str) else outcome,
        **given,
    )


def summary(records: list[RunRecord]) -> Summary:
    return summarize(records, settings=SETTINGS, adaptation_cost=COSTS)


def row(records: list[RunRecord]) -> Row:
    (only,) = summary(records).rows
    return only


def swapped(records: list[RunRecord]) -> list[RunRecord]:
    other = {Phase.T0: Phase.T1, Phase.T1: Phase.T0}
    return [r.model_copy(update={"phase": other.get(r.phase, r.phase)}) for r in records]


def assert_negated(found: Estimate, mirrored: Estimate) -> None:
    assert found.value is not None
    assert mirrored.value == -found.value
    assert [v.value for v in mirrored.by_repeat] == [
        None if v.value is None else -v.value for v in found.by_repeat
    ]
    assert (found.interval is None) == (mirrored.interval is None)
    if found.interval is not None and mirrored.interval is not None:
        ends = (found.interval.low, found.interval.high)
        assert (-mirrored.interval.high, -mirrored.interval.low) == pytest.approx(ends, rel=1e-12, abs=1e-15)
    assert mirrored.p_value == found.p_value


@few
@given(attempts())
def test_swapping_t0_and_t1_negates_fg_and_br(records: list[RunRecord]) -> None:
    found, mirrored = row(records).metrics, row(swapped(records)).metrics
    assert_negated(found.fg, mirrored.fg)
    assert_negated(found.br, mirrored.br)


@few
@given(attempts(), st.randoms(use_true_random=False))
def test_the_order_of_the_records_changes_no_bit(records: list[RunRecord], order: Any) -> None:
    shuffled = list(records)
    order.shuffle(shuffled)
    assert row(shuffled) == row(records)


@few
@given(attempts(), st.sampled_from(["verifier_error", "infrastructure_error", "cancelled"]), places)
def test_attempts_without_a_grade_change_no_score(
    records: list[RunRecord], status: str, place: tuple[str, str, int, int, int]
) -> None:
    lost = attempt((*place[:4], 99), status, token_total=0)
    found, more = row(records), row([*records, lost])
    for name in Metrics.model_fields:
        if name != "ie":
            before, after = getattr(found.metrics, name), getattr(more.metrics, name)
            # What the loss could mean is told apart from the score.
            same = {"lost", "verdict"}
            same |= {"by_repeat"} if place[3] not in {r.repeat for r in records} else set()
            assert after.model_dump(exclude=same) == before.model_dump(exclude=same)
    means = {(c.phase, c.split): c.mean for c in found.cells}
    assert all(means.get((c.phase, c.split)) == c.mean for c in more.cells)


@few
@given(attempts(), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_extra_trials_of_one_task_change_that_tasks_mean_and_nothing_else(
    records: list[RunRecord], scores: list[float]
) -> None:
    extra = [attempt(("T1", "heldout", 0, 0, 10 + i), score) for i, score in enumerate(scores)]
    found, more = row(records).metrics, row([*records, *extra]).metrics
    assert more.br == found.br
    assert more.br_ratio == found.br_ratio
    assert more.drift_gain == found.drift_gain
    assert (more.fg.n_tasks, more.fg.unpaired_tasks) == (found.fg.n_tasks, found.fg.unpaired_tasks)


@few
@given(attempts(), st.integers(1, 4))
def test_repeating_every_trial_changes_nothing(records: list[RunRecord], times: int) -> None:
    copies = [
        r.model_copy(update={"run_id": f"{r.run_id}-{k}", "attempt_index": r.attempt_index + 10 * k})
        for r in records
        for k in range(times + 1)
    ]
    found, more = row(records).metrics, row(copies).metrics
    for name in ("fg", "br", "pds", "drift_gain", "nis"):
        before, after = getattr(found, name), getattr(more, name)
        assert after.value == (None if before.value is None else pytest.approx(before.value, abs=1e-12))
        assert (after.n_tasks, after.unpaired) == (before.n_tasks, before.unpaired)


@few
@given(attempts())
def test_a_number_or_a_reason(records: list[RunRecord]) -> None:
    found = row(records)
    for name in Metrics.model_fields:
        estimate: Estimate = getattr(found.metrics, name)
        assert (estimate.value is None) == (estimate.reason is not None), name
        assert (estimate.interval is None) == (estimate.interval_reason is not None), name
        for value in estimate.by_repeat:
            assert (value.value is None) == (value.reason is not None), name
    for cell in found.cells:
        assert (cell.mean is None) == (cell.reason is not None)
        assert sum(cell.statuses.values()) == cell.recorded
    assert found.main_table == (not any(warning.keeps_out for warning in found.warnings))


@few
@given(attempts())
def test_scores_of_adapt_tasks_enter_no_metric(records: list[RunRecord]) -> None:
    flipped = [
        r.model_copy(update={"score": 1.0 - r.score})
        if r.benchmark_split is Split.ADAPT and r.score is not None
        else r
        for r in records
    ]
    assert row(flipped).metrics == row(records).metrics


@few
@given(attempts())
def test_the_summary_reads_back(records: list[RunRecord]) -> None:
    found = summary(records)
    assert Summary.model_validate_json(found.to_json(), strict=True) == found

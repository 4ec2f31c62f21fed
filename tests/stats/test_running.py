"""Means while attempts come in are those that a summary of the same attempts has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.running import RunningMeans
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell


def running(records: list[RunRecord]) -> dict[tuple[str, Phase, Split], float]:
    means = RunningMeans()
    for record in records:
        means.add(record)
    return means.means()


def test_tasks_are_averaged_first_and_an_agent_error_counts_0() -> None:
    # t1: (1 + 0) / 2, t2: 0 for the error; the lost attempt is missing. (0.5 + 0) / 2.
    records = cell("T0", "heldout", {"t1": [1.0, 0.0], "t2": ["agent_error", "infrastructure_error"]})
    assert running(records) == {("learner", Phase.T0, Split.HELDOUT): 0.25}


def test_without_a_counted_attempt_there_is_no_mean() -> None:
    assert running(cell("T0", "heldout", {"t1": ["verifier_error", "cancelled"]})) == {}


OUTCOMES = st.one_of(
    st.floats(0, 1), st.sampled_from(["agent_error", "verifier_error", "infrastructure_error", "cancelled"])
)


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(OUTCOMES, min_size=1, max_size=4), min_size=1),
    st.randoms(use_true_random=False),
)
def test_they_equal_the_summary_s_in_whatever_order_attempts_come(outcomes: dict, draws: object) -> None:  # type: ignore[type-arg]
    records = cell("T0", "heldout", outcomes)
    draws.shuffle(records)  # type: ignore[attr-defined]
    (row,) = summarize(records).rows
    found = row.cell(Phase.T0, Split.HELDOUT)
    assert found is not None
    mean = running(records).get(("learner", Phase.T0, Split.HELDOUT))
    assert mean == pytest.approx(found.mean, abs=1e-12)

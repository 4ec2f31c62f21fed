from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.means import ArmTable, split_arms
from sipbench.stats.profiles import bundles, profile
from sipbench.stats.tables import table_of
from tests.protocol.made import cell


def arm(records: list[RunRecord]) -> ArmTable:
    (found,) = split_arms(table_of(records, None).frame)
    return found


def test_a_phase_has_the_mean_of_its_task_means_with_a_t_interval() -> None:
    # Task means .25 (of 0 and .5), .5, .75: mean .5, sd .25, se .25/sqrt(3), t(.975, 2) = 4.3027.
    found = profile(
        arm(cell("T0", "heldout", {"a": [0.0, 0.5], "b": [0.5], "c": [0.75]})), Split.HELDOUT, 0.05
    )
    assert found is not None
    (at,) = found.means
    assert (at.phase, at.n_tasks) == (Phase.T0, 3)
    assert at.mean == pytest.approx(0.5)
    assert at.interval is not None
    assert at.interval.high - 0.5 == pytest.approx(4.302653 * 0.25 / math.sqrt(3), rel=1e-6)


def test_families_widen_the_interval_as_they_do_that_of_a_change() -> None:
    alone = cell("T0", "heldout", {"a": [0.0], "b": [0.1], "c": [0.9], "d": [1.0]})
    pairs = [
        record.model_copy(update={"family": "low" if record.task_id in "ab" else "high"}) for record in alone
    ]
    plain, tied = (profile(arm(records), Split.HELDOUT, 0.05) for records in (alone, pairs))
    assert plain is not None
    assert tied is not None
    widths = [found.means[0].interval.high - found.means[0].interval.low for found in (plain, tied)]  # type: ignore[union-attr]
    assert widths[1] > widths[0]


def test_one_task_has_a_mean_and_no_interval() -> None:
    found = profile(arm(cell("T0", "heldout", {"a": [0.5]})), Split.HELDOUT, 0.05)
    assert found is not None
    assert (found.means[0].mean, found.means[0].interval) == (0.5, None)


def test_a_task_that_a_phase_did_not_count_has_no_score_there() -> None:
    records = [
        *cell("T0", "heldout", {"a": [0.0], "b": [1.0]}),
        *cell("T2", "heldout", {"a": [1.0], "b": ["cancelled"]}),
    ]
    found = profile(arm(records), Split.HELDOUT, 0.05)
    assert found is not None
    assert found.phases == (Phase.T0, Phase.T2)
    assert [bundle.scores for bundle in bundles(found, 10)] == [(0.0, 1.0), (1.0, None)]
    assert [at.n_tasks for at in found.means] == [2, 1]


def test_a_split_without_a_counted_attempt_has_no_profile() -> None:
    records = [*cell("T0", "heldout", {"a": [0.0]}), *cell("T0", "replay", {"r": ["infrastructure_error"]})]
    assert profile(arm(records), Split.REPLAY, 0.05) is None
    assert profile(arm(records), Split.DRIFT, 0.05) is None


def test_tasks_that_went_alike_share_a_line_that_shows_their_mean() -> None:
    scores = {"a": [0.0], "b": [0.02], "c": [1.0]}
    found = profile(arm(cell("T0", "heldout", scores)), Split.HELDOUT, 0.05)
    assert found is not None
    assert [bundle.task for bundle in bundles(found, 3)] == ["a", "b", "c"]
    two = bundles(found, 2)
    assert [(bundle.n_tasks, bundle.task) for bundle in two] == [(2, None), (1, "c")]
    assert two[0].scores == (pytest.approx(0.01),)


def test_the_same_scores_are_one_line_however_much_room_there_is() -> None:
    scores = {"a": [0.5], "b": [0.25, 0.75], "c": [1.0]}
    found = profile(arm(cell("T0", "heldout", scores)), Split.HELDOUT, 0.05)
    assert found is not None
    assert [(bundle.scores, bundle.n_tasks) for bundle in bundles(found, 10)] == [((0.5,), 2), ((1.0,), 1)]


@given(
    scores=st.lists(
        st.tuples(st.floats(0, 1), st.one_of(st.none(), st.floats(0, 1))), min_size=1, max_size=40
    ),
    limit=st.integers(8, 30),
)
def test_no_task_is_lost_in_bundles(scores: list[tuple[float, float | None]], limit: int) -> None:
    before = {f"t{i}": [first] for i, (first, _) in enumerate(scores)}
    after = {f"t{i}": [second] for i, (_, second) in enumerate(scores) if second is not None}
    found = profile(arm([*cell("T0", "heldout", before), *cell("T1", "heldout", after)]), Split.HELDOUT, 0.05)
    assert found is not None
    made = bundles(found, limit)
    assert len(made) <= limit
    assert sum(bundle.n_tasks for bundle in made) == len(scores)
    total = sum(bundle.n_tasks * (bundle.scores[0] or 0.0) for bundle in made)
    assert total == pytest.approx(sum(first for first, _ in scores))

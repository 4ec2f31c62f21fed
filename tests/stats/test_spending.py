"""What learning cost: adapt attempts, their failed tries, and the adaptation itself. Never evaluation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sipbench.errors import ConfigError, RecordError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.digests import json_digest
from sipbench.protocol.records import RunRecord
from sipbench.protocol.settings import AnalysisSettings, StudyContext
from sipbench.protocol.summary import LearningCost, Row
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell, record

TOKENS = AnalysisSettings(cost_unit="tokens")
DIGEST = "sha256:" + "0" * 64
GAIN = 0.3


def adaptation(repeat: int = 0, phase: str = "T1", **given: Any) -> AdaptationRecord:
    document = {
        "schema_version": "1.0.0",
        "arm": "learner",
        "repeat": repeat,
        "phase": phase,
        "path_type": "external",
        "adaptation": "skills",
        "agent_state_digest": DIGEST,
        "previous_state_digest": DIGEST,
        "token_total": 1000,
        **given,
    }
    return AdaptationRecord.model_validate_json(json.dumps(document), strict=True)


def learner(repeats: int = 1, spent: tuple[int | None, ...] = (100, 200), **given: Any) -> list[RunRecord]:
    """Held-out tasks at T0 and T1 with a gain of GAIN, and adapt attempts that cost ``spent``."""
    found = []
    for repeat in range(repeats):
        found += cell("T0", "heldout", {"a": [0.1], "b": [0.2]}, repeat=repeat, token_total=7, **given)
        after = {"a": [0.1 + GAIN], "b": [0.2 + GAIN]}
        found += cell("T1", "heldout", after, repeat=repeat, token_total=7, **given)
        found += [
            record(
                phase="T1",
                benchmark_split="adapt",
                task_id=f"x{i}",
                repeat=repeat,
                token_total=tokens,
                **given,
            )
            for i, tokens in enumerate(spent)
        ]
    return found


def row(
    records: list[RunRecord], adaptations: list[AdaptationRecord] | None = None, **declared: float
) -> Row:
    context = StudyContext(adaptations=adaptations)
    (only,) = summarize(records, settings=TOKENS, context=context, adaptation_cost=declared).rows
    return only


def cost(found: Row) -> LearningCost:
    assert found.learning_cost is not None
    return found.learning_cost


def test_adapt_attempts_and_the_adaptation_are_added_and_evaluation_is_not() -> None:
    found = row(learner(), [adaptation(token_total=1000)])
    assert cost(found).value == 1300
    (repeat,) = cost(found).by_repeat
    assert (repeat.attempts, repeat.adaptation, repeat.n_attempts) == (300, 1000, 2)
    assert found.metrics.ie.value == pytest.approx(GAIN / 1300)
    assert found.evaluation_cost is not None
    assert found.evaluation_cost.value == 4 * 7


def test_ie_divides_by_the_mean_cost_of_an_adaptation() -> None:
    found = row(learner(2), [adaptation(0, token_total=100), adaptation(1, token_total=500)])
    assert cost(found).value == (400 + 800) / 2
    assert found.metrics.ie.value == pytest.approx(GAIN / 600)
    assert [item.value for item in found.metrics.ie.by_repeat] == pytest.approx([GAIN / 400, GAIN / 800])
    assert found.metrics.ie.repeats_mean is None


def test_failed_tries_of_adapt_attempts_are_paid_for() -> None:
    tried = record(
        phase="T1",
        benchmark_split="adapt",
        task_id="y",
        token_total=10,
        tries=[
            {"status": "infrastructure_error", "token_total": 5},
            {"status": "cancelled", "token_total": 6},
        ],
    )
    assert cost(row([*learner(), tried], [adaptation(token_total=0)])).value == 300 + 21


@pytest.mark.parametrize("status", ["agent_error", "infrastructure_error", "cancelled"])
def test_adapt_attempts_cost_whatever_became_of_them(status: str) -> None:
    lost = record(phase="T1", benchmark_split="adapt", task_id="y", token_total=50, status=status)
    assert cost(row([*learner(), lost], [adaptation(token_total=0)])).value == 350


def test_adapt_attempts_logged_at_t0_are_what_led_to_t1() -> None:
    early = record(phase="T0", benchmark_split="adapt", task_id="y", token_total=50)
    assert cost(row([*learner(), early], [adaptation(token_total=0)])).value == 350


def test_one_unknown_part_makes_the_sum_unknown() -> None:
    unknown = row(learner(spent=(100, None)), [adaptation()])
    assert (cost(unknown).value, unknown.metrics.ie.value) == (None, None)
    assert (
        cost(unknown).reason
        == "what an adapt attempt, with its failed tries, spent in tokens is not recorded"
    )
    assert "unknown_cost" in [warning.code for warning in unknown.warnings]


def test_an_unknown_try_makes_the_sum_unknown() -> None:
    tried = record(
        phase="T1", benchmark_split="adapt", task_id="y", token_total=1, tries=[{"status": "cancelled"}]
    )
    assert cost(row([*learner(), tried], [adaptation()])).value is None


def test_an_adaptation_of_unknown_cost_makes_the_sum_unknown() -> None:
    found = row(learner(), [adaptation(token_total=None)])
    assert "what the adaptation 'skills' itself spent in" in str(cost(found).reason)
    assert found.metrics.ie.reason == cost(found).reason


def test_a_repeat_without_an_adaptation_record_is_named() -> None:
    found = row(learner(2), [adaptation(0)])
    assert cost(found).reason == "repeat 1: no adaptation is recorded"


def test_a_repeat_that_has_not_reached_t1_says_nothing_of_the_cost() -> None:
    started = cell("T0", "heldout", {"a": [0.1], "b": [0.2]}, repeat=1)
    assert cost(row([*learner(), *started], [adaptation(0)])).value == 1300


def test_a_cost_of_zero_gives_no_ie() -> None:
    found = row(learner(spent=(0,)), [adaptation(token_total=0)])
    assert cost(found).value == 0
    assert (found.metrics.ie.value, found.metrics.ie.reason) == (None, "the cost of learning is 0")


def test_without_a_study_the_adaptations_cost_is_unknown_until_it_is_declared() -> None:
    unknown = row(learner())
    assert unknown.metrics.ie.value is None
    assert "--adaptation-cost" in str(unknown.metrics.ie.reason)
    assert cost(unknown).adaptation_source == "unknown"
    declared = row(learner(), learner=200)
    assert cost(declared).value == 500
    assert cost(declared).adaptation_source == "declared"
    assert declared.metrics.ie.value == pytest.approx(GAIN / 500)


def test_a_declared_cost_needs_an_arm_that_exists_and_no_recorded_one() -> None:
    with pytest.raises(ConfigError, match="no arm 'typo'; arms are learner"):
        row(learner(), typo=1.0)
    with pytest.raises(ConfigError, match="has recorded"):
        row(learner(), [adaptation()], learner=1.0)
    with pytest.raises(ConfigError, match="0 or more"):
        row(learner(), learner=float("nan"))


def test_an_arm_without_an_adaptation_has_no_ie() -> None:
    for found in (
        row(learner(spent=()), []),
        row(learner(spent=()), [adaptation(adaptation="none", token_total=0)]),
        row(learner(spent=(), path_type="frozen")),
        row(learner(spent=(), path_type="oracle")),
    ):
        assert found.metrics.ie.value is None
        assert found.metrics.ie.reason == "the arm has no adaptation"
        assert "unknown_cost" not in [warning.code for warning in found.warnings]


def test_without_a_unit_there_is_no_ie() -> None:
    (found,) = summarize(learner()).rows
    assert (found.learning_cost, found.evaluation_cost) == (None, None)
    assert found.metrics.ie.reason == "no cost unit was declared"


def test_two_records_of_the_same_adaptation_are_refused() -> None:
    with pytest.raises(RecordError, match="two adaptations of arm 'learner', repeat 0, phase T1"):
        row(learner(), [adaptation(), adaptation()])


def test_a_second_adaptation_is_paid_for_apart() -> None:
    later = [
        *cell("T2", "heldout", {"a": [0.4], "b": [0.5]}),
        record(phase="T2", benchmark_split="adapt", task_id="z", token_total=40),
    ]
    found = row([*learner(), *later], [adaptation(), adaptation(phase="T2", token_total=60)])
    assert cost(found).value == 1300
    assert found.later_learning_cost is not None
    assert found.later_learning_cost.value == 100
    assert row(learner(), [adaptation()]).later_learning_cost is None


def test_which_attempts_were_summed_is_recorded() -> None:
    records = learner()
    ids = sorted(r.run_id for r in records if r.benchmark_split == "adapt")
    assert cost(row(records, [adaptation()])).records_digest == json_digest(ids)


def test_unknown_evaluation_cost_is_counted_and_no_zero() -> None:
    records = [*learner(), record(phase="T1", task_id="c")]
    spent = row(records, [adaptation()]).evaluation_cost
    assert spent is not None
    assert (spent.value, spent.known, spent.n_attempts, spent.n_unknown) == (None, 28, 5, 1)


def test_one_cost_observation_gives_the_gains_interval_over_the_cost() -> None:
    records = [
        *cell("T0", "heldout", {"a": [0.1], "b": [0.2], "c": [0.1]}),
        *cell("T1", "heldout", {"a": [0.3], "b": [0.8], "c": [0.2]}),
    ]
    found = row(records, [adaptation(token_total=100)]).metrics
    assert found.fg.interval is not None
    assert found.ie.interval is not None
    assert found.ie.interval.low == pytest.approx(found.fg.interval.low / 100)
    assert found.ie.interval.high == pytest.approx(found.fg.interval.high / 100)

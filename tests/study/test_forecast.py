"""What is left of a study and what it will take, by hand; and when a person is asked before it begins."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import ConfigError, RecordError, StudyError
from sipbench.study.api import run_study
from sipbench.study.consent import questions, remark
from sipbench.study.design import resolve
from sipbench.study.forecast import Forecast, planned_forecast, prices_for
from sipbench.study.load import load_study
from tests.protocol.made import cell, write_lines
from tests.study.trial import LEARNER, Trial

MODEL = {"name": "somebody", "version": "1", "model": "provider/large"}
# 40 held-out tasks and effects of 90 points: the study answers its question.
LARGE: dict[str, Any] = {"benchmark": {"heldout": 40, "replay": 2}, "analysis": {"sesoi": 0.9}}


def planned(trial: Trial, **given: Any) -> Forecast:
    design = resolve(load_study(trial.file, environment={}))
    return planned_forecast(design, prices_for(design, **given))


def seen(trial: Trial) -> Forecast:
    """What ``run`` foresees, which then does not begin."""
    found: list[Forecast] = []

    def look(forecast: Forecast) -> bool:
        found.append(forecast)
        return False

    with pytest.raises(StudyError, match="not begun, as you answered; nothing was spent"):
        trial.run(consent=look)
    return found[0]


# -- what it will take ----------------------------------------------------------------------------


def test_declared_costs_are_multiplied_by_the_attempts(trial: Trial) -> None:
    trial.write(estimate={"usd_per_attempt": 0.5, "seconds_per_attempt": 36}, concurrency=2)
    found = planned(trial)
    # Five tasks at T0 and at T1.
    assert found.outlook.attempts == 10
    assert found.outlook.usd == pytest.approx(10 * 0.5)
    assert found.outlook.hours == pytest.approx(10 * 36 / 2 / 3600)
    assert (found.pays, found.begun, found.most_usd) == (True, False, None)


def test_what_is_free_is_not_priced(trial: Trial) -> None:
    arms = {"frozen": {"path_type": "frozen"}, "oracle": {"path_type": "oracle"}}
    trial.write(arms=arms, benchmark={"charge": {"oracle": "free"}}, estimate={"usd_per_attempt": 0.5})
    found = planned(trial)
    assert (found.outlook.attempts, found.outlook.usd) == (20, pytest.approx(10 * 0.5))
    trial.write(benchmark={"charge": {"frozen": "free"}}, estimate={"usd_per_attempt": 0.5})
    assert (planned(trial).outlook.usd, planned(trial).pays) == (0.0, False)


def test_unknown_is_not_nothing(trial: Trial) -> None:
    assert planned(trial.write()).outlook.usd is None
    assert not planned(trial).pays
    assert planned(trial.write(agent=MODEL)).pays
    assert not planned(trial.write(agent=MODEL, estimate={"usd_per_attempt": 0})).pays


def test_a_pilot_measures_what_is_not_declared(trial: Trial) -> None:
    records = cell("T0", "heldout", {"a": [1.0, 0.0]}, wall_clock_seconds=72.0, cost_usd=0.25)
    more = cell("T0", "replay", {"b": [1.0]}, wall_clock_seconds=72.0, cost_usd=0.55)
    write_lines(trial.folder / "pilot.jsonl", [*records, *more])
    trial.write(estimate={"pilot": "pilot.jsonl"}, concurrency=1)
    # (0.25 + 0.25 + 0.55) / 3 = 0.35.
    assert planned(trial).outlook.usd == pytest.approx(10 * 0.35)
    assert planned(trial).outlook.hours == pytest.approx(10 * 72 / 3600)
    trial.write(estimate={"pilot": "pilot.jsonl", "usd_per_attempt": 2}, concurrency=1)
    assert planned(trial).outlook.usd == pytest.approx(20)
    assert planned(trial).outlook.hours == pytest.approx(10 * 72 / 3600)
    # What the command line gives comes before both.
    assert planned(trial, seconds=36).outlook.hours == pytest.approx(10 * 36 / 3600)


def test_a_pilot_that_cannot_be_read_is_named_with_its_line(trial: Trial) -> None:
    trial.write(estimate={"pilot": "none.jsonl"})
    with pytest.raises(ConfigError, match=r"study.yaml:\d+: estimate.pilot: .*none.jsonl"):
        planned(trial)
    with pytest.raises(RecordError, match=r"other\.jsonl"):
        planned(trial.write(), pilot=trial.folder / "other.jsonl")


def test_a_cost_in_the_studys_unit_is_one_in_dollars_where_that_is_the_unit(trial: Trial) -> None:
    trial.write(analysis={"sesoi": 0.05, "cost_unit": "usd"})
    assert planned(trial, cost=0.2).outlook.usd == pytest.approx(2)
    trial.write(analysis={"sesoi": 0.05, "cost_unit": "tokens"})
    assert planned(trial, cost=0.2).outlook.usd is None


def test_a_resumed_study_foresees_what_is_left_by_what_its_own_attempts_cost(trial: Trial) -> None:
    trial.write(benchmark={"usd": 0.3}, caps={"usd": 1}, concurrency=1)
    assert trial.run().recorded == 4
    trial.edit("usd: 1\n", "usd: 5\n")
    found = seen(trial)
    assert found.outlook.attempts == 6
    assert found.outlook.usd == pytest.approx(6 * 0.3)
    assert (found.begun, found.most_usd) == (True, Decimal("3.8"))
    assert trial.run().missing == 0


def test_a_finished_study_asks_nobody(trial: Trial) -> None:
    trial.run()
    assert trial.run(consent=lambda forecast: pytest.fail("asked")).missing == 0


def test_whoever_calls_it_from_python_decides(trial: Trial) -> None:
    trial.write(agent=MODEL, estimate={"usd_per_attempt": 1000})
    assert run_study(trial.file, trial.out).missing == 0


# -- when it is asked -----------------------------------------------------------------------------


def asked(trial: Trial, **fields: Any) -> list[str]:
    return list(questions(planned(trial.write(**{**LARGE, **fields}))))


def test_what_costs_little_and_answers_its_question_is_not_asked_about(trial: Trial) -> None:
    # 2 x 42 attempts.
    assert asked(trial, agent=MODEL, estimate={"usd_per_attempt": 0.1}) == []
    assert remark(planned(trial)) is None


def test_more_than_the_declared_amount_is_asked_about(trial: Trial) -> None:
    assert asked(trial, agent=MODEL, estimate={"usd_per_attempt": 0.2}) == [
        "84 attempts will take about 16.80 USD: more than 10.00 USD, which `estimate.ask_above_usd` lets "
        "pass."
    ]
    assert asked(trial, agent=MODEL, estimate={"usd_per_attempt": 0.2, "ask_above_usd": 16.8}) == []


def test_an_unknown_cost_is_asked_about_as_unknown(trial: Trial) -> None:
    assert asked(trial, agent=MODEL) == ["The cost of 84 attempts is unknown."]


def test_a_cap_bounds_what_is_asked_about(trial: Trial) -> None:
    assert asked(trial, agent=MODEL, caps={"usd": 10}) == []
    bound = "at most 25.00 USD (caps.usd) and what is running then"
    assert asked(trial, agent=MODEL, caps={"usd": 25}) == [f"The cost of 84 attempts is unknown, {bound}."]
    assert asked(trial, agent=MODEL, caps={"usd": 25}, estimate={"usd_per_attempt": 0.2}) == [
        f"84 attempts will take about 16.80 USD, {bound}: more than 10.00 USD, which "
        "`estimate.ask_above_usd` lets pass."
    ]
    # What is let pass uncounted is not bounded.
    allowed = {"usd": 10, "on_unknown_cost": "allow"}
    assert asked(trial, agent=MODEL, caps=allowed) == ["The cost of 84 attempts is unknown."]


def test_an_adaptation_that_costs_is_asked_about(trial: Trial) -> None:
    learner = {"path_type": "external", "adaptation": {"kind": "trial-learner", "charge": "paid"}}
    free = {"charge": {"external": "free"}, "heldout": 40}
    assert asked(trial, arms={"learner": learner}, benchmark=free, repeats=2) == [
        "The cost of 2 adaptations is unknown."
    ]
    # Of one of which nothing is known it cannot be said that it costs.
    assert asked(trial, arms={"learner": LEARNER}, benchmark=free) == []


def test_a_study_without_an_answer_is_asked_about_where_it_costs(trial: Trial) -> None:
    few = {"benchmark": {"heldout": 10}, "analysis": {"sesoi": 0.05}, "estimate": {"usd_per_attempt": 0.01}}
    (said,) = asked(trial, **few)
    assert said.startswith("It may well miss a gain of 5 points, which it asks for: it would find a gain of ")
    assert said == planned(trial).outlook.sentence
    # One held-out task: nothing could be shown at all.
    (said,) = asked(trial, **{**few, "benchmark": {"heldout": 1}})
    assert said.startswith("Nothing can be shown")


def test_where_nothing_is_paid_it_is_said_and_not_asked(trial: Trial) -> None:
    assert asked(trial, benchmark={"heldout": 10}, analysis={"sesoi": 0.05}) == []
    said = remark(planned(trial))
    assert said is not None
    assert said.startswith("It may well miss a gain of 5 points")


def test_a_study_of_t0_alone_shows_no_gain_and_is_not_asked_about_one(trial: Trial) -> None:
    few = {"benchmark": {"heldout": 10}, "analysis": {"sesoi": 0.05}, "phases": ["T0"]}
    assert asked(trial, agent=MODEL, estimate={"usd_per_attempt": 0.01}, **few) == []
    assert remark(planned(trial)) is None


def test_a_study_that_was_begun_is_asked_about_its_money_alone(trial: Trial) -> None:
    trial.write(
        agent=MODEL, benchmark={"usd": 3}, caps={"usd": 5}, concurrency=1, estimate={"ask_above_usd": 2}
    )
    assert len(list(questions(seen(trial)))) == 2
    assert trial.run().recorded == 2
    trial.edit("usd: 5\n", "usd: 500\n")
    assert list(questions(seen(trial))) == [
        "8 attempts will take about 24.00 USD, at most 494.00 USD (caps.usd) and what is running then: more "
        "than 2.00 USD, which `estimate.ask_above_usd` lets pass."
    ]
    assert remark(seen(trial)) is None


def test_asking_begins_nothing(trial: Trial, tmp_path: Path) -> None:
    trial.write(agent=MODEL)
    seen(trial)
    assert trial.calls() == []
    assert not (trial.out / "runs.jsonl").exists()
    # Nothing was begun, so that the study may still be changed.
    trial.write(agent=MODEL, seed=3)
    assert trial.run().missing == 0

"""What a whole study may use: it stops between attempts, says what is missing, and goes on when it may."""

from __future__ import annotations

import pytest

from sipbench.protocol.records import Usage
from sipbench.study.caps import Spending
from sipbench.study.config import Caps
from tests.study.trial import LEARNER, Trial


def test_a_cap_on_tool_calls_stops_the_study_between_attempts(trial: Trial) -> None:
    trial.write(caps={"tool_calls": 45}, concurrency=1)
    result = trial.run()
    # Ten calls each: after the fifth attempt 50 are used.
    assert (result.planned, result.recorded, result.missing) == (10, 5, 5)
    assert result.stopped == "caps.tool_calls: 50 of 45 tool calls are used; raise it to go on"
    assert result.problems == ("stopped: caps.tool_calls: 50 of 45 tool calls are used; raise it to go on",)
    assert not result.interrupted
    assert result.summary is not None


def test_a_raised_cap_lets_it_go_on(trial: Trial) -> None:
    trial.write(caps={"tool_calls": 45}, concurrency=1).run()
    assert trial.run().recorded == 5
    trial.edit("tool_calls: 45", "tool_calls: 100000")
    assert trial.run().missing == 0
    assert len(set(trial.calls())) == len(trial.calls()) == 10


def test_a_cap_that_is_reached_by_the_last_attempt_stops_nothing(trial: Trial) -> None:
    result = trial.write(caps={"tool_calls": 100}, concurrency=1).run()
    assert (result.missing, result.stopped) == (0, None)


def test_failed_tries_count_against_a_cap_also_after_a_resume(trial: Trial) -> None:
    trial.write(
        benchmark={"does": {"replay-0": "nan-once"}}, caps={"tokens": 550}, concurrency=1, phases=["T0"]
    )
    result = trial.run()
    # Five attempts and one failed try: the sixth execution is the last that is started.
    assert result.stopped is None
    assert result.recorded == 5
    trial.write(benchmark={"does": {"replay-0": "nan"}}, caps={"tokens": 550}, concurrency=1, phases=["T0"])
    trial.out = trial.folder / "second"
    assert trial.run().ungraded == 1
    assert trial.run().stopped == "caps.tokens: 600 of 550 tokens are used; raise it to go on"


def test_adaptations_count_too(trial: Trial) -> None:
    trial.write(arms={"learner": LEARNER}, caps={"tool_calls": 73}, concurrency=1)
    # 5 at T0, 2 to learn from, 3 of the adaptation itself.
    result = trial.run()
    assert (result.recorded, result.stopped) == (
        7,
        "caps.tool_calls: 73 of 73 tool calls are used; raise it to go on",
    )


def test_hours_are_those_of_all_sessions(trial: Trial) -> None:
    trial.write(caps={"hours": 0})
    result = trial.run()
    assert (result.recorded, result.stopped) == (0, "caps.hours: 0.00 of 0 hours are used; raise it to go on")
    assert result.summary is None
    spending = Spending(seconds_before=7200.0)
    assert spending.reached(Caps(hours=2)) is not None
    assert spending.reached(Caps(hours=3)) is None


def test_what_is_unknown_counts_as_unknown_and_is_said(
    trial: Trial, caplog: pytest.LogCaptureFixture
) -> None:
    trial.write(benchmark={"does": {"heldout": "unknown-usage"}}, caps={"tokens": 10_000}, phases=["T0"])
    assert trial.run().missing == 0
    (said,) = (r.getMessage() for r in caplog.records if "caps.tokens" in r.getMessage())
    assert said.endswith(
        "caps.tokens: the tokens of 3 attempts, tries or adaptations are unknown; the cap cannot count them"
    )


def test_unknown_is_not_zero() -> None:
    spending = Spending()
    spending.add(Usage(tool_calls_total=3), Usage(), Usage(tool_calls_total=0))
    assert (spending.known["tool_calls"], spending.unknown["tool_calls"]) == (3, 1)
    assert list(spending.unknowns(Caps(tokens=5))) == [
        "caps.tokens: the tokens of 3 attempts, tries or adaptations are unknown; the cap cannot count them"
    ]
    assert list(spending.unknowns(Caps(hours=5))) == []

"""A cap on money: it stops what would start, counts all that was paid, and takes no unknown for nothing."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sipbench.benchmarks.base import Attempt
from sipbench.errors import ConfigError, EngineError
from sipbench.protocol.records import Usage
from sipbench.protocol.vocabulary import Status
from sipbench.study.caps import Spending
from sipbench.study.charges import Charges
from sipbench.study.config import Caps
from sipbench.study.design import resolve
from sipbench.study.directory import StudyDirectory
from sipbench.study.executors.base import (
    AdaptationDone,
    AdaptationJob,
    AttemptDone,
    AttemptJob,
    Executor,
    Times,
)
from sipbench.study.load import load_study
from sipbench.study.progress import Progress
from sipbench.study.runner import Ended, run_session
from sipbench.study.session import Session, take_up
from tests.study.trial import Trial

TIMES = Times("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", 0.0)


def test_it_stops_the_study_once_so_much_is_spent(trial: Trial) -> None:
    result = trial.write(benchmark={"usd": 0.3}, caps={"usd": 1}, concurrency=1, order="by_arm").run()
    # 0.3, 0.6, 0.9, 1.2: the fourth attempt is the last that is started.
    assert (result.planned, result.recorded, result.missing) == (10, 4, 6)
    assert result.stopped == "caps.usd: 1.20 USD of 1.00 USD are spent; raise it to go on"
    assert result.summary is not None


def test_it_goes_on_when_the_cap_is_raised_and_not_before(trial: Trial) -> None:
    trial.write(benchmark={"usd": 0.3}, caps={"usd": 1}, concurrency=1, order="by_arm").run()
    again = trial.run()
    assert (again.recorded, again.stopped) == (
        4,
        "caps.usd: 1.20 USD of 1.00 USD are spent; raise it to go on",
    )
    trial.edit("usd: 1\n", "usd: 3\n")
    assert trial.run().missing == 0
    assert len(trial.calls()) == len(set(trial.calls())) == 10


def test_amounts_are_summed_as_they_are_written() -> None:
    spending = Spending()
    for _ in range(10):
        spending.attempted("a", Usage(cost_usd=0.1))
    # In binary fractions this sum is 0.9999999999999999.
    assert spending.known["usd"] == Decimal(1)
    assert spending.reached(Caps(usd=1)) == "caps.usd: 1.00 USD of 1.00 USD are spent; raise it to go on"
    assert spending.reached(Caps(usd=1.01)) is None
    assert (spending.usd_left(Caps(usd=3)), spending.usd_left(Caps(usd=0.5)), spending.usd_left(Caps())) == (
        2,
        0,
        None,
    )
    # Where unknown costs are let pass, the cap bounds nothing.
    assert spending.usd_left(Caps(usd=3, on_unknown_cost="allow")) is None


def test_what_was_running_when_it_was_reached_is_in_what_it_says_was_spent(trial: Trial) -> None:
    trial.write(
        benchmark={"usd": 1, "heldout": 8, "replay": 8, "does": {"heldout": "wait", "replay": "wait"}},
        caps={"usd": 2},
        concurrency=4,
        phases=["T0"],
    )
    result = trial.run()
    spent = len(trial.records())
    assert spent >= 2
    assert result.stopped == f"caps.usd: {spent}.00 USD of 2.00 USD are spent; raise it to go on"


def test_a_cap_that_the_last_attempt_reaches_stops_nothing(trial: Trial) -> None:
    result = trial.write(benchmark={"usd": 0.1}, caps={"usd": 1}, concurrency=1, order="by_arm").run()
    assert (result.missing, result.stopped) == (0, None)


def test_failed_tries_are_paid_for_too_also_after_a_resume(trial: Trial) -> None:
    trial.write(
        benchmark={"usd": 1, "does": {"heldout-0": "nan"}},
        caps={"usd": 4},
        concurrency=1,
        order="by_arm",
        phases=["T0"],
    )
    # heldout-0 twice (a try and its repetition), heldout-1, heldout-2: 4; replay is not begun.
    result = trial.run()
    assert (result.recorded, result.stopped) == (
        3,
        "caps.usd: 4.00 USD of 4.00 USD are spent; raise it to go on",
    )
    # Taken back to be tried again, its two tries still count.
    again = trial.run()
    assert again.stopped == "caps.usd: 4.00 USD of 4.00 USD are spent; raise it to go on"
    assert len(trial.calls()) == 4


def test_a_cap_stops_the_next_try_as_it_stops_the_next_attempt(trial: Trial) -> None:
    trial.write(
        benchmark={"usd": 1, "does": {"heldout-0": "nan-once"}},
        caps={"usd": 1},
        concurrency=1,
        order="by_arm",
        retries=5,
        phases=["T0"],
    )
    assert trial.run().recorded == 0
    assert len(trial.calls()) == 1
    trial.edit("usd: 1\nconcurrency", "usd: 100\nconcurrency")
    assert trial.run().missing == 0
    (tried,) = trial.records()[0].tries
    assert tried.cost_usd == 1


def test_adaptations_are_paid_for_too(trial: Trial) -> None:
    learner = {"path_type": "external", "adaptation": {"kind": "trial-learner", "usd": 2.5}}
    trial.write(
        benchmark={"usd": 0.5}, arms={"learner": learner}, caps={"usd": 6}, concurrency=1, order="by_arm"
    )
    # 5 at T0 and 2 to learn from are 3.50, the adaptation makes it 6.00.
    result = trial.run()
    assert (result.recorded, result.stopped) == (
        7,
        "caps.usd: 6.00 USD of 6.00 USD are spent; raise it to go on",
    )
    assert trial.run().recorded == 7


# -- unknown costs --------------------------------------------------------------------------------

UNKNOWN = (
    "caps.usd: what {} attempts, tries or adaptations cost is unknown, so that the cap cannot be kept; set "
    "caps.on_unknown_cost to allow to go on without counting it"
)


def test_an_unknown_cost_stops_the_study(trial: Trial) -> None:
    trial.write(
        benchmark={"usd": 0.1, "does": {"heldout-1": "unknown-usage"}},
        caps={"usd": 100},
        concurrency=1,
        order="by_arm",
    )
    result = trial.run()
    assert (result.recorded, result.stopped) == (2, UNKNOWN.format(1))
    assert trial.run().recorded == 2
    assert len(trial.calls()) == 2


def test_it_may_be_allowed_and_that_is_said(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.write(
        benchmark={"usd": 0.1, "does": {"heldout": "unknown-usage"}},
        caps={"usd": 100, "on_unknown_cost": "allow"},
        phases=["T0"],
    )
    assert trial.run().missing == 0
    said = [r.getMessage() for r in caplog.records if "caps.usd" in r.getMessage()]
    assert len(said) == 1
    assert said[0].endswith(
        "caps.usd: what 3 attempts, tries or adaptations cost is unknown; the cap cannot count it"
    )


def test_a_half_run_study_goes_on_once_it_is_allowed(trial: Trial) -> None:
    trial.write(
        benchmark={"does": {"heldout-0": "unknown-usage"}, "usd": 1},
        caps={"usd": 100},
        concurrency=1,
        order="by_arm",
    )
    assert trial.run().recorded == 1
    trial.edit("usd: 100\n", "usd: 100\n  on_unknown_cost: allow\n")
    assert trial.run().missing == 0


def test_zero_is_a_cost_and_unknown_is_not_zero(trial: Trial) -> None:
    result = trial.write(benchmark={"usd": 0.0}, caps={"usd": 0.01}).run()
    assert (result.missing, result.stopped) == (0, None)


def test_a_try_that_was_lost_with_its_runner_is_of_unknown_cost(trial: Trial) -> None:
    trial.write(benchmark={"usd": 0.1}, caps={"usd": 100}, concurrency=1, order="by_arm", phases=["T0"]).run()
    # As a kill between the start of an attempt and its record leaves it.
    last = trial.records()[-1].run_id
    runs, journal = trial.out / "runs.jsonl", trial.out / "journal.jsonl"
    runs.write_text("".join(line for line in runs.read_text().splitlines(True) if last not in line))
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    kept = [
        e for e in events if (e["event"], e.get("run_id")) != ("finished", last) and e["event"] != "stopped"
    ]
    journal.write_text("".join(json.dumps(event) + "\n" for event in kept))
    assert trial.run().stopped == UNKNOWN.format(1)


def test_a_failed_adaptation_is_of_unknown_cost(trial: Trial) -> None:
    failing = {
        "path_type": "external",
        "adaptation": {"kind": "trial-learner", "does": "fail-once", "usd": 1},
    }
    trial.write(
        benchmark={"usd": 0.1}, arms={"learner": failing}, caps={"usd": 100}, concurrency=1, order="by_arm"
    )
    # Nothing is left to be stopped when it fails; the next session stops before it tries again.
    assert (trial.run().recorded, trial.run().recorded) == (7, 7)
    assert trial.run().stopped == UNKNOWN.format(1)
    trial.edit("usd: 100\n", "usd: 100\n  on_unknown_cost: allow\n")
    assert trial.run().missing == 0


# -- what is known beforehand ---------------------------------------------------------------------


def test_what_is_free_needs_no_amount(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    arms = {
        "frozen": {"path_type": "frozen"},
        "learner": {"path_type": "external", "adaptation": {"kind": "trial-learner", "charge": "free"}},
        "oracle": {"path_type": "oracle"},
    }
    charge = {"oracle": "free", "frozen": "free", "external": "free"}
    result = trial.write(benchmark={"charge": charge}, arms=arms, caps={"usd": 1}).run()
    assert (result.missing, result.stopped) == (0, None)
    assert "caps.usd: nothing in this study costs money, so that it is never reached" in caplog.messages


def test_an_upper_bound_that_is_free_does_not_stop_those_that_pay(trial: Trial) -> None:
    arms = {"oracle": {"path_type": "oracle"}, "frozen": {"path_type": "frozen"}}
    does = {f"oracle/heldout-{number}": "unknown-usage" for number in range(3)}
    trial.write(benchmark={"usd": 1, "does": does, "charge": {"oracle": "free"}}, arms=arms, caps={"usd": 7})
    trial.edit("retries: 1", "retries: 1\nconcurrency: 1\norder: by_arm")
    result = trial.run()
    # Whatever a free attempt says, it paid nothing.
    assert result.stopped == "caps.usd: 7.00 USD of 7.00 USD are spent; raise it to go on"
    assert sum(record.arm == "frozen" for record in trial.records()) == 7


def test_what_will_never_be_known_is_refused_before_anything_is_run(trial: Trial) -> None:
    trial.write(benchmark={"charge": {"frozen": "unreported"}}, caps={"usd": 5})
    with pytest.raises(
        ConfigError, match=r"study.yaml:\d+: caps.usd: the cost of attempts of arm 'frozen' will "
    ):
        trial.run()
    assert (trial.calls(), trial.out.exists()) == ([], False)
    trial.edit("usd: 5\n", "usd: 5\n  on_unknown_cost: allow\n")
    assert trial.run().missing == 0


def test_an_adaptation_may_declare_it_too(trial: Trial) -> None:
    learner = {"path_type": "external", "adaptation": {"kind": "trial-learner", "charge": "unreported"}}
    trial.write(arms={"learner": learner}, caps={"usd": 5})
    with pytest.raises(ConfigError, match="the cost of adaptations of arm 'learner' will never be known"):
        trial.run()


def test_a_plug_in_that_declares_nonsense_is_one_line(trial: Trial) -> None:
    with pytest.raises(EngineError, match="benchmark 'trial': its charge is 'cheap', not one of free, paid"):
        trial.write(benchmark={"charge": {"frozen": "cheap"}}).run()


def test_an_agent_that_names_a_model_is_taken_to_cost() -> None:
    charges = Charges({"a": "unknown", "b": "unknown", "c": "free", "d": "paid"}, models=frozenset("ac"))
    assert [charges.pays(arm) for arm in "abcd"] == [True, False, False, True]


# -- how far over the cap it can come -------------------------------------------------------------


class Till(Executor):
    """Takes its costs from a list, and notes who was under way when the cap was reached."""

    costs: Sequence[tuple[float, bool, int]] = ()
    cap = 0.0

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        type(self).spent = []
        type(self).under_way = None
        self._next = itertools.cycle(type(self).costs)
        self._running: list[float] = []

    spent: list[float] = []  # noqa: RUF012 (of the one run that is under way)
    under_way: list[float] | None = None

    async def attempt(self, job: AttemptJob) -> AttemptDone:
        assert type(self).under_way is None, "started after the cap was reached"
        cost, fails, turns = next(self._next)
        self._running.append(cost)
        for _ in range(turns):
            await asyncio.sleep(0)
        type(self).spent.append(cost)
        if type(self).under_way is None and sum(map(Decimal, map(str, self.spent))) >= Decimal(str(self.cap)):
            type(self).under_way = list(self._running)
        self._running.remove(cost)
        usage = Usage(cost_usd=cost)
        if fails:
            return AttemptDone(Attempt(Status.INFRASTRUCTURE_ERROR, usage=usage, error_message="lost"), TIMES)
        return AttemptDone(Attempt(Status.GRADED, reward=0.5, usage=usage), TIMES)

    async def adapt(self, job: AdaptationJob) -> AdaptationDone:
        raise NotImplementedError


def tilled(
    costs: Sequence[tuple[float, bool, int]], cap: float, pause_seconds: float = 0.0, **fields: Any
) -> tuple[Session, Ended]:
    """A study of T0 whose attempts and tries cost what is listed, over and over."""
    Till.costs, Till.cap = costs, cap
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder)).write(phases=["T0"], caps={"usd": cap}, **fields)
        directory = StudyDirectory(trial.out)
        design = resolve(load_study(trial.file))
        with directory.held(b""):
            session = take_up(directory, design)
            work = run_session(session, Till, Progress(), pause_seconds=pause_seconds)
            return session, asyncio.run(work)


def test_a_try_that_waits_for_its_turn_is_not_made_once_another_reached_the_cap(plugins: None) -> None:
    # The first fails and pauses; meanwhile the second reaches the cap, and nothing else could be started.
    session, ended = tilled(
        [(0.4, True, 0), (1.0, False, 1)],
        cap=1,
        pause_seconds=0.2,
        benchmark={"heldout": 2, "replay": 0},
        splits={"sizes": {"replay": 0}},
        concurrency=2,
    )
    assert Till.spent == [0.4, 1.0]
    assert len(session.done) == 1
    assert ended.stopped == "caps.usd: 1.40 USD of 1.00 USD are spent; raise it to go on"


@given(
    costs=st.lists(
        st.tuples(st.integers(0, 300).map(lambda cents: cents / 100), st.booleans(), st.integers(0, 4)),
        min_size=1,
        max_size=8,
    ),
    cap=st.integers(1, 1500).map(lambda cents: cents / 100),
    concurrency=st.integers(1, 5),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_spent_exceeds_the_cap_by_no_more_than_what_was_under_way(
    plugins: None, costs: list[tuple[float, bool, int]], cap: float, concurrency: int
) -> None:
    fields = {"benchmark": {"heldout": 9, "replay": 3}, "concurrency": concurrency}
    session, ended = tilled(costs, cap, **fields)
    total = sum(map(Decimal, map(str, Till.spent)))
    assert session.spending.known["usd"] == total
    if Till.under_way is None:
        assert total < Decimal(str(cap))
        assert ended.stopped is None
        return
    assert len(Till.under_way) <= concurrency
    assert total <= Decimal(str(cap)) + sum(map(Decimal, map(str, Till.under_way)))

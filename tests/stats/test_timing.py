"""When arms were measured: by turns or one after the other, and how long after T1 they came to T2."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from sipbench.protocol.records import RunRecord, timestamp
from sipbench.protocol.settings import PlannedCell, StudyContext
from sipbench.protocol.summary import Row, Summary
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.stats.summarize import summarize
from sipbench.stats.timing import chance_later
from tests.protocol.made import record
from tests.stats.studies import codes, row

START = datetime(2026, 5, 1, 9, tzinfo=UTC)


def made(arm: str, phase: str, task: int, minutes: float | None, **given: object) -> RunRecord:
    """An attempt that begins so many minutes after the start and takes one."""
    times = {}
    if minutes is not None:
        begin = START + timedelta(minutes=minutes)
        times = {"started_at": timestamp(begin), "finished_at": timestamp(begin + timedelta(minutes=1))}
    path = "frozen" if arm == "frozen" else "external"
    return record(arm=arm, phase=phase, task_id=f"t{task}", path_type=path, **{**times, **given})


def by_turns(phase: str, start: float, n: int = 30) -> list[RunRecord]:
    return [
        made(arm, phase, task, start + 2 * task + (place if task % 2 else 1 - place))
        for task in range(n)
        for place, arm in enumerate(("frozen", "learner"))
    ]


def in_a_row(phase: str, start: float, n: int = 30) -> list[RunRecord]:
    return [
        made(arm, phase, task, start + n * place + task)
        for place, arm in enumerate(("frozen", "learner"))
        for task in range(n)
    ]


def learner(records: Iterable[RunRecord], context: StudyContext | None = None) -> Row:
    return row(summarize(list(records), context=context), "learner")


def test_the_chance_to_be_later_counts_pairs_and_half_of_the_ties() -> None:
    # Pairs of (1, 4, 4) with (2, 4): 1 < both, 4 > 2 and 4 = 4 twice: (0 + 1.5 + 1.5) / 6.
    assert chance_later(np.array([1.0, 4.0, 4.0]), np.array([4.0, 2.0])) == pytest.approx(0.5)
    assert chance_later(np.array([5.0]), np.array([1.0, 2.0])) == 1.0


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12), st.lists(st.integers(0, 9), min_size=1, max_size=12)
)
def test_it_is_the_u_of_mann_and_whitney_over_all_pairs(left: list[int], right: list[int]) -> None:
    x, y = np.array(left, dtype=float), np.array(right, dtype=float)
    expected = mannwhitneyu(x, y).statistic / (x.size * y.size)
    assert chance_later(x, y) == pytest.approx(expected)


def test_arms_that_take_turns_are_not_apart() -> None:
    found = learner([*by_turns("T0", 0), *by_turns("T1", 100)])
    assert found.interleaving is not None
    assert found.interleaving.apart < 0.05
    assert [item.phase for item in found.interleaving.phases] == [Phase.T0, Phase.T1]
    assert "not_interleaved" not in codes(found)


def test_arms_that_were_measured_one_after_the_other_are_warned_of() -> None:
    found = learner([*by_turns("T0", 0), *in_a_row("T1", 100)])
    assert found.interleaving is not None
    assert found.interleaving.apart == 1.0
    t1 = found.interleaving.phases[1]
    assert (t1.later, t1.n_arm, t1.n_control) == (1.0, 30, 30)
    # 1.96 sqrt((30 + 30 + 1) / (3 * 30 * 30))
    assert t1.by_chance == pytest.approx(0.29460, abs=1e-4)
    (warning,) = (item for item in found.warnings if item.code == "not_interleaved")
    assert warning.message.startswith("at T1 it was not measured by turns with its control 'frozen': 100% of")
    assert not warning.keeps_out


def test_the_control_itself_and_an_arm_without_one_have_no_such_number() -> None:
    records = [*by_turns("T0", 0), *by_turns("T1", 100)]
    assert row(summarize(records), "frozen").interleaving is None
    alone = [item for item in records if item.arm == "learner"]
    assert learner(alone).interleaving is None


def test_attempts_whose_times_are_unknown_or_that_count_for_nothing_are_left_out() -> None:
    records = [*by_turns("T0", 0, 4), *by_turns("T1", 100, 4)]
    more = [
        made("learner", "T1", 7, None),
        made("learner", "T1", 8, 9_000, status="infrastructure_error"),
        made("learner", "T1", 9, 9_000, benchmark_split="adapt"),
    ]
    found = learner([*records, *more])
    assert found.interleaving == learner(records).interleaving
    assert found.interleaving is not None
    assert found.interleaving.phases[1].n_arm == 4
    unknown = [made(arm, "T0", task, None) for arm in ("frozen", "learner") for task in range(3)]
    assert learner(unknown).interleaving is None


def test_few_attempts_in_a_row_are_within_what_chance_gives() -> None:
    found = learner([*in_a_row("T0", 0, 2), *in_a_row("T1", 10, 2)])
    assert found.interleaving is not None
    assert found.interleaving.apart == 1.0
    assert found.interleaving.phases[0].by_chance == 1.0
    assert "not_interleaved" not in codes(found)


def later(days: float, repeat: int = 0, **given: object) -> list[RunRecord]:
    """T2 begins so many days after minute 160, when the last attempt of T1 has ended."""
    start = 160 + days * 1440
    return [
        made(arm, "T2", task, start + 2 * task + place, repeat=repeat, **given)
        for task in range(30)
        for place, arm in enumerate(("frozen", "learner"))
    ]


BEFORE = [*by_turns("T0", 0), *by_turns("T1", 100)]


def test_the_delay_runs_from_the_last_score_at_t1_to_the_first_attempt_at_t2() -> None:
    # The learner's last attempt at T1 begins at minute 100 + 2 * 29 + 1 and takes one.
    found = learner([*BEFORE, *later(7)], StudyContext(delay="7d"))
    assert found.delay is not None
    assert found.delay.declared == "7d"
    assert found.delay.due_at is None
    assert found.delay.begun_at == timestamp(START + timedelta(days=7, minutes=161))
    assert found.delay.shortest_seconds == 7 * 86_400 + 60 * (161 - 160)
    # Task by task it is 60 minutes and 7 days, less the minute at T1, up to the place in the block.
    assert found.delay.median_seconds == pytest.approx(7 * 86_400 + 3600 - 60, abs=120)
    assert found.delay.n_pairs == 30
    assert "short_delay" not in codes(found)


def test_the_least_of_the_repeats_counts() -> None:
    again = [item.model_copy(update={"repeat": 1, "run_id": f"{item.run_id}-again"}) for item in BEFORE]
    found = learner([*BEFORE, *again, *later(7), *later(3, repeat=1)], StudyContext(delay="7d"))
    assert found.delay is not None
    assert found.delay.shortest_seconds == 3 * 86_400 + 60
    (warning,) = (item for item in found.warnings if item.code == "short_delay")
    assert warning.message == "T2 began 3 d after the last score at T1; the study declares 7d"


def test_t2_that_began_before_t1_had_ended_or_before_its_moment_is_warned_of() -> None:
    found = learner([*BEFORE, *later(-0.01)], StudyContext(delay="7d"))
    (warning,) = (item for item in found.warnings if item.code == "short_delay")
    assert "before the last score at T1; the study declares 7d" in warning.message
    moment = learner([*BEFORE, *later(1)], StudyContext(delay="2026-05-09T00:00:00Z"))
    (warning,) = (item for item in moment.warnings if item.code == "short_delay")
    assert warning.message.startswith("T2 began at 2026-05-02T11:41:00.000Z; the study declares")


def test_a_delay_that_nobody_declared_is_measured_all_the_same() -> None:
    found = learner([*BEFORE, *later(2)])
    assert found.delay is not None
    assert (found.delay.declared, found.delay.shortest_seconds) == (None, 2 * 86_400 + 60)
    assert "short_delay" not in codes(found)


def test_without_a_t2_there_is_no_delay_and_without_times_it_is_unknown() -> None:
    assert learner(BEFORE, StudyContext(delay=None)).delay is None
    unknown = [made("learner", phase, 0, None) for phase in ("T0", "T1", "T2")]
    delay = learner(unknown).delay
    assert delay is not None
    assert (delay.shortest_seconds, delay.median_seconds, delay.begun_at, delay.n_pairs) == (
        None,
        None,
        None,
        0,
    )


def planned(n: int) -> list[PlannedCell]:
    return [
        PlannedCell(arm=arm, phase=phase, split=Split.HELDOUT, attempts=n)
        for arm in ("frozen", "learner")
        for phase in Phase
    ]


def test_a_study_that_waits_says_until_when_for_all_its_arms() -> None:
    summary = summarize(BEFORE, context=StudyContext(delay="7d", planned=planned(30)))
    dues = {_due(summary, arm) for arm in ("frozen", "learner")}
    assert dues == {"2026-05-08T11:40:00Z"}  # minute 160 of 1 May, 9:00


def test_what_is_left_of_t1_leaves_the_moment_open_and_a_begun_t2_needs_none() -> None:
    left = summarize(BEFORE, context=StudyContext(delay="7d", planned=planned(31)))
    assert _due(left, "learner") is None
    begun = summarize([*BEFORE, *later(7)], context=StudyContext(delay="7d", planned=planned(30)))
    assert _due(begun, "learner") is None


def _due(summary: Summary, arm: str) -> str | None:
    found = row(summary, arm).delay
    assert found is not None
    return found.due_at


@pytest.mark.parametrize("trusted", [False, True])
def test_times_are_read_the_same_way_from_a_file(tmp_path: Path, trusted: bool) -> None:
    path = tmp_path / "runs.jsonl"
    records = [*BEFORE, *later(7)]
    forms = ("Z", "+00:00")
    lines = []
    for number, item in enumerate(records):
        document = item.model_dump(mode="json")
        for name in ("started_at", "finished_at"):
            document[name] = document[name].replace(".000Z", forms[number % 2])
        lines.append(json.dumps(document) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    found = row(summarize(path, trusted=trusted), "learner")
    expected = learner(records)
    assert (found.delay, found.interleaving) == (expected.delay, expected.interleaving)

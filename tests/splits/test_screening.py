from __future__ import annotations

import pytest

from sipbench.errors import ConfigError, RecordError
from sipbench.splits.screening import ScreenRule, flag_tasks, screen
from tests.splits.made import record

RULE = ScreenRule(2, 3)
LOST = {"status": "infrastructure_error", "score": None}
CRASHED = {"status": "agent_error", "score": None}


def test_a_rule_is_read_and_written() -> None:
    assert ScreenRule.parse("2/3") == RULE
    assert str(RULE) == "solved in at least 2 of 3"
    assert str(ScreenRule.parse("1/2@0.5")) == "score >= 0.5 in at least 1 of 2"


@pytest.mark.parametrize(
    "text", ["", "2", "0/3", "4/3", "2/3@0", "2/3@1.5", "2/3@.", "2/3@1.2.3", "a/b", "-1/3"]
)
def test_a_senseless_rule_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected M/K"):
        ScreenRule.parse(text)


def test_a_task_is_eligible_failed_or_undecided() -> None:
    found = screen(
        [
            *(record("solved", n, score=score) for n, score in enumerate([1.0, 0.0, 1.0])),
            *(record("failed", n, score=score) for n, score in enumerate([1.0, 0.0, 0.0])),
            # An agent's own error is an outcome; a lost attempt is not.
            record("crashed", 0, **CRASHED), record("crashed", 1, **CRASHED), record("crashed", 2),
            record("lost", 0), record("lost", 1, **LOST), record("lost", 2, score=0.0),
            record("early", 0), record("early", 1),
            record("hopeless", 0, score=0.0), record("hopeless", 1, score=0.0), record("hopeless", 2, **LOST),
        ],
        RULE,
    )  # fmt: skip
    assert found.eligible == ("early", "solved")
    assert found.failed == ("crashed", "failed", "hopeless")
    assert found.undecided == ("lost",)
    assert found.attempts == 17


def test_only_the_first_attempts_are_looked_at() -> None:
    late = [record("t", n, score=float(n > 2)) for n in range(6)]
    assert screen(late, RULE).failed == ("t",)


def test_solved_is_what_the_benchmark_says_before_what_the_score_says() -> None:
    assert ScreenRule(1, 1).solved(record("t", score=0.4, success=True))
    assert not ScreenRule(1, 1).solved(record("t", score=1.0, success=False))
    assert ScreenRule(1, 1, 0.4).solved(record("t", score=0.4, success=False))


def test_the_run_is_known_by_the_ids_of_its_attempts() -> None:
    records = [record("a"), record("b")]
    assert screen(records, RULE).run_digest == screen(records[::-1], RULE).run_digest
    assert screen(records, RULE).run_digest != screen(records[:1], RULE).run_digest


def test_screening_is_for_t0() -> None:
    with pytest.raises(RecordError, match="an attempt at T1"):
        screen([record("a"), record("a", 1, phase="T1")], RULE)


def test_one_arm_is_screened_and_it_must_be_named_where_there_are_several() -> None:
    records = [
        record("a", arm="x"),
        record("b", arm="y"),
        record("c", arm="nop"),
        record("d", path_type="oracle"),
    ]
    with pytest.raises(ConfigError, match=r"several arms \(x, y\)"):
        screen(records, RULE)
    assert screen(records, ScreenRule(1, 1), arm="y").eligible == ("b",)
    with pytest.raises(RecordError, match="no attempt of arm 'z'; its arms are x, y"):
        screen(records, RULE, arm="z")
    with pytest.raises(RecordError, match="no attempts"):
        screen([], RULE)


def test_tasks_that_nothing_passes_or_the_solution_fails_are_flagged() -> None:
    idle = {"arm": "nop", "agent_name": "nop"}
    known = {"arm": "oracle", "path_type": "oracle"}
    flags = flag_tasks(
        [
            record("easy", 0, **idle), record("easy", 1, score=0.0, **idle),
            record("fine", 0, score=0.0, **idle), record("fine", 0, **known),
            record("broken", 0, **known), record("broken", 1, **(known | {"score": 0.0})),
            record("crashing", 0, **(known | CRASHED)),
            record("lost", 0, **(known | LOST)),
            record("fine", 5, arm="skilled"),
        ]
    )  # fmt: skip
    assert flags.passes_noop == {"easy": "1 of 2"}
    assert flags.oracle_fails == {"broken": "1 of 2", "crashing": "0 of 1"}
    assert flags.oracle_unknown == ("lost",)
    assert (flags.noop_tasks, flags.oracle_tasks) == (2, 4)


def test_a_do_nothing_arm_may_have_any_name() -> None:
    assert flag_tasks([record("t", arm="idler")], noop=["idler"]).passes_noop == {"t": "1 of 1"}
    assert not flag_tasks([record("t", arm="idler")]).passes_noop

"""What became of the tasks that used a skill: counted, shrunken, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol.records import RunRecord
from sipbench.stats.skill_effects import shrink_effects, skill_effects


def record(task: str, phase: str, score: float | None, number: int = 0, **changes: object) -> RunRecord:
    fields: dict[str, object] = {
        "schema_version": "1.0.0",
        "run_id": f"{task}-{phase}-{number}",
        "benchmark_name": "b",
        "benchmark_split": "heldout",
        "phase": phase,
        "path_type": "external",
        "arm": "skilled",
        "model_name": "m",
        "agent_name": "a",
        "agent_version": "1",
        "task_id": task,
        "status": "graded" if score is not None else "agent_error",
        "score": score,
        "attempt_index": number,
    }
    return RunRecord.model_validate(fields | changes)


def used(*names: str) -> dict[str, object]:
    both = [{"name": name} for name in ("good", "bad")]
    return {"skills_given": both, "skills_opened": [{"name": name} for name in names]}


def test_shrinking_by_hand() -> None:
    # Means 0.5 and -0.5; within: (0.1^2 * 2) twice / 2 = 0.02; v = 0.01 each; Q = 2 * 100 * 0.25 = 50;
    # scale = 200 - 20000 / 200 = 100; tau2 = (50 - 1) / 100 = 0.49; B = 0.49 / 0.5 = 0.98.
    found = shrink_effects([[0.4, 0.6], [-0.4, -0.6]])
    assert found is not None
    assert (found.mean, found.tau2) == (pytest.approx(0.0), pytest.approx(0.49))
    assert found.effects == pytest.approx([0.49, -0.49])
    # Variance: 0.98 * 0.01 + 0.02^2 / (2 / 0.5) = 0.0098 + 0.0001 = 0.0099.
    assert found.high[0] - found.effects[0] == pytest.approx(1.959964 * math.sqrt(0.0099), rel=1e-6)


def test_what_noise_cannot_tell_is_not_shrunken() -> None:
    assert shrink_effects([[0.5], [0.1]]) is None
    assert shrink_effects([[0.5, 0.1]]) is None
    assert shrink_effects([[1.0, 1.0], [0.0, 0.0]]) is None


@given(st.lists(st.lists(st.floats(-1, 1), min_size=1, max_size=5), min_size=2, max_size=6))
def test_no_estimate_leaves_the_range_of_the_means(groups: list[list[float]]) -> None:
    found = shrink_effects(groups)
    if found is not None:
        means = [sum(group) / len(group) for group in groups]
        assert all(min(means) - 1e-9 <= value <= max(means) + 1e-9 for value in found.effects)


def test_tasks_gained_and_lost_per_skill() -> None:
    records = [record(task, "T0", 0.5) for task in ("t1", "t2", "t3", "t4")]
    records += [
        record("t1", "T1", 1.0, **used("good")),
        record("t2", "T1", 0.75, **used("good")),
        record("t3", "T1", 0.0, **used("bad")),
        record("t4", "T1", 0.5, **used("bad")),
        record("t4", "T1", None, 1, **used("bad")),
        record("t5", "T1", 1.0, **used("good")),  # nothing before to compare it with
    ]
    good, bad = skill_effects(records)
    assert (good.name, good.given, good.opened, good.tasks, good.gained, good.lost) == ("good", 6, 3, 2, 2, 0)
    assert (bad.name, bad.given, bad.opened, bad.tasks, bad.gained, bad.lost) == ("bad", 6, 3, 2, 0, 1)
    assert (good.change, bad.change) == (pytest.approx(0.375), pytest.approx(-0.25))
    assert good.shrunken is not None
    assert bad.change is not None
    assert bad.change < good.shrunken < 0.375


def test_what_was_opened_may_be_unknown() -> None:
    records = [record("t1", "T0", 0.0), record("t1", "T1", 1.0, skills_given=[{"name": "good"}])]
    (effect,) = skill_effects(records)
    assert (effect.given, effect.opened, effect.tasks, effect.shrunken) == (1, None, 1, None)


def test_without_skills_there_is_nothing_to_report() -> None:
    assert skill_effects([record("t1", "T0", 0.0), record("t1", "T1", 1.0)]) == []

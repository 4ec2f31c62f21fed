"""In which order attempts are begun: arms by turns, seeded, the same again after an end."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sipbench.protocol.vocabulary import Phase, Split
from sipbench.study.config import AttemptCounts
from sipbench.study.order import Order
from sipbench.study.plan import ArmShape, Plan, Slot, make_plan
from tests.study.test_plan import THREE, manifest
from tests.study.test_resume import plain
from tests.study.trial import LEARNER, Trial

ARMS = (ArmShape("frozen"), ArmShape("one", adapts=True, needs_attempts=True), ArmShape("two", adapts=True))
BOTH = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}


def laid(repeats: int = 2, tasks: int = 8) -> Plan:
    splits = manifest(heldout=tasks, replay=tasks, adapt=3, adapt_t2=2, drift=2)
    return make_plan(
        ARMS,
        splits,
        phases=THREE,
        repeats=repeats,
        attempts=AttemptCounts(heldout=2),
        by=("adaptation", "drift"),
    )


def cell(slots: tuple[Slot, ...], repeat: int, phase: Phase) -> list[Slot]:
    return [s for s in slots if (s.repeat, s.phase) == (repeat, phase) and s.split is not Split.ADAPT]


@settings(max_examples=25)
@given(st.integers(0, 2**53 - 1))
def test_every_attempt_is_there_once_and_all_arms_are_equally_far_at_any_moment(seed: int) -> None:
    plan = laid()
    found = Order(seed=seed).sequence(plan)
    assert sorted(found, key=repr) == sorted(plan.slots, key=repr)
    for phase in Phase:
        far: Counter[str] = Counter()
        for slot in cell(found, 0, phase):
            far[slot.arm] += 1
            assert max(far.values()) - min(far[arm.name] for arm in ARMS) <= 1


def test_a_block_holds_one_attempt_of_every_arm_at_the_same_task() -> None:
    slots = cell(Order(seed=4).sequence(laid()), 1, Phase.T1)
    for start in range(0, len(slots), 3):
        block = slots[start : start + 3]
        assert len({(s.split, s.task_id, s.attempt_index) for s in block}) == 1
        assert {s.arm for s in block} == {"frozen", "one", "two"}


def test_every_arm_comes_first_about_equally_often_and_the_splits_are_mixed() -> None:
    slots = cell(Order(seed=1).sequence(laid(tasks=100)), 0, Phase.T0)
    firsts = Counter(slot.arm for slot in slots[::3])
    # 302 blocks, one in three: 101 expected, standard deviation 8.2.
    assert all(70 <= count <= 132 for count in firsts.values())
    splits = [slot.split for slot in slots[::3]]
    assert sum(left != right for left, right in pairwise(splits)) > 60


def test_repeats_follow_each_other_and_so_do_their_phases_with_what_is_learned_from_first() -> None:
    found = Order(seed=3).sequence(laid())
    heads = [(slot.repeat, slot.phase, slot.split is not Split.ADAPT) for slot in found]
    assert heads == sorted(heads)


def test_another_seed_is_another_order_and_the_same_one_the_same() -> None:
    plan = laid()
    assert Order(seed=1).sequence(plan) == Order(seed=1).sequence(plan)
    assert Order(seed=1).sequence(plan) != Order(seed=2).sequence(plan)


def test_what_is_left_keeps_its_order_when_tasks_or_attempts_are_taken_away() -> None:
    plan = laid()
    whole = Order(seed=9).sequence(plan)
    left = Plan(plan.slots[::3], plan.steps)
    assert Order(seed=9).sequence(left) == tuple(slot for slot in whole if slot in set(left.slots))


def test_by_arm_is_one_arm_after_the_other_in_each_repeat_and_phase() -> None:
    order = Order("by_arm", 5)
    slots = cell(order.sequence(laid()), 0, Phase.T0)
    assert sum(left.arm != right.arm for left, right in pairwise(slots)) == 2
    assert [s.task_id for s in slots if s.arm == "one"] == [
        s.task_id for s in cell(laid().slots, 0, Phase.T0) if s.arm == "one"
    ]
    assert order.company(laid()) == {}


def test_attempts_are_begun_in_the_order_of_the_seed_and_so_they_are_after_an_end(trial: Trial) -> None:
    trial.write(arms=BOTH, repeats=2, concurrency=1, seed=11, caps={"tool_calls": 150}).run()
    before = trial.calls()
    assert 0 < len(before) < 44
    trial.edit("tool_calls: 150", "tool_calls: 5000")
    trial.run()
    halved = trial.calls()
    (trial.folder / "calls.log").unlink()
    trial.out = trial.folder / "again"
    trial.run()
    whole = trial.calls()
    # What is learned from is written before it is, and meanwhile the next repeat begins.
    for place in ("0 T0", "0 T1", "1 T0", "1 T1"):
        assert [c for c in halved if f" {place} " in c] == [c for c in whole if f" {place} " in c]
    t0 = [call.split()[0] for call in whole if " 0 T0 " in call]
    assert t0 != ["frozen", "learner"] * 5
    assert all({a, b} == {"frozen", "learner"} for a, b in zip(t0[::2], t0[1::2], strict=True))


def test_the_order_changes_no_attempt_and_no_identity(trial: Trial) -> None:
    trial.write(arms=BOTH, repeats=2, order="by_arm").run()
    by_arm = plain(trial)
    trial.out = trial.folder / "again"
    trial.edit("order: by_arm", "order: interleaved")
    trial.run()
    assert plain(trial) == by_arm


def test_the_order_may_change_in_a_half_run_study(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.write(arms=BOTH, order="by_arm", caps={"tool_calls": 60}).run()
    trial.edit("order: by_arm", "order: interleaved")
    trial.edit("tool_calls: 60", "tool_calls: 6000")
    assert trial.run().missing == 0
    assert any('order was "by_arm" and is "interleaved"' in r.getMessage() for r in caplog.records)


def test_the_frozen_arm_is_measured_at_t1_together_with_the_one_that_learned(trial: Trial) -> None:
    trial.write(arms=BOTH, concurrency=4).run()
    (adapted,) = trial.journal("adapted")
    t1 = [r for r in trial.records() if (r.phase, r.arm) == (Phase.T1, "frozen")]
    assert t1
    assert all(r.started_at is not None and r.started_at >= adapted["at"] for r in t1)


def test_the_lock_holds_the_order_and_one_without_it_is_read(trial: Trial) -> None:
    trial.write(arms=BOTH, seed=4, phases=["T0"]).run()
    path = trial.out / "study.lock.json"
    lock = json.loads(path.read_text(encoding="utf-8"))
    assert lock["order"] == Order(seed=4).document()
    # As releases before it wrote it, with options as they were asked for.
    del lock["order"]
    lock["identity"]["benchmark"]["options"]["sandbox"] = "auto"
    path.write_text(json.dumps({**lock, "schema_version": "1.0.0"}), encoding="utf-8")
    assert trial.run().missing == 0
    assert json.loads(path.read_text(encoding="utf-8"))["order"] == Order(seed=4).document()

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol.digests import EMPTY_TREE
from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.versions import SPLITS_VERSION
from sipbench.protocol.vocabulary import PathType, Phase, Split
from sipbench.study.config import AttemptCounts, Exposure
from sipbench.study.identity import ArmIdentity, BenchmarkIdentity, attempt_seed, run_id
from sipbench.study.plan import ArmShape, Plan, Slot, make_plan

FROZEN = ArmShape("frozen")
LEARNS = ArmShape("learns", adapts=True, needs_attempts=True)
GIVEN = ArmShape("given", adapts=True)
THREE = (Phase.T0, Phase.T1, Phase.T2)


def manifest(**sizes: int) -> SplitManifest:
    pools = {
        pool: tuple(TaskEntry(id=f"{pool}-{number}") for number in range(size))
        for pool, size in sizes.items()
    }
    return SplitManifest.model_validate({"schema_version": SPLITS_VERSION, "benchmark_name": "made", **pools})


def laid(
    *arms: ArmShape,
    phases: tuple[Phase, ...] = THREE,
    by: tuple[Exposure, ...] = ("adaptation", "drift"),
    repeats: int = 1,
    attempts: AttemptCounts | None = None,
) -> Plan:
    tasks = manifest(heldout=2, replay=2, adapt=3, adapt_t2=2, drift=1)
    return make_plan(arms, tasks, phases=phases, repeats=repeats, attempts=attempts or AttemptCounts(), by=by)


def counts(plan: Plan, arm: str) -> dict[tuple[str, str], int]:
    return dict(Counter((slot.phase.value, slot.split.value) for slot in plan.slots if slot.arm == arm))


def test_an_arm_that_learns_runs_adapt_attempts_before_t1_and_t2() -> None:
    assert counts(laid(LEARNS), "learns") == {
        ("T0", "heldout"): 2,
        ("T0", "replay"): 2,
        ("T0", "drift"): 1,
        ("T1", "adapt"): 3,
        ("T1", "heldout"): 2,
        ("T1", "replay"): 2,
        ("T2", "adapt"): 2,
        ("T2", "heldout"): 2,
        ("T2", "replay"): 2,
        ("T2", "drift"): 1,
    }


@pytest.mark.parametrize("arm", [FROZEN, GIVEN])
def test_an_arm_that_learns_from_nothing_runs_no_adapt_attempts(arm: ArmShape) -> None:
    assert not {split for _, split in counts(laid(arm), arm.name)} & {"adapt"}


def test_every_arm_starts_from_the_empty_state() -> None:
    plan = laid(FROZEN, LEARNS, GIVEN)
    assert {slot.state for slot in plan.slots if slot.phase is Phase.T0} == {Phase.T0}


def test_the_frozen_arm_keeps_the_empty_state() -> None:
    assert {slot.state for slot in laid(FROZEN).slots} == {Phase.T0}
    assert laid(FROZEN).steps == ()


def test_adapt_attempts_run_with_the_state_that_they_are_to_improve() -> None:
    adapt = {(slot.phase, slot.state) for slot in laid(LEARNS).slots if slot.split is Split.ADAPT}
    assert adapt == {(Phase.T1, Phase.T0), (Phase.T2, Phase.T1)}


def test_evaluation_runs_with_the_state_of_its_phase() -> None:
    slots = [slot for slot in laid(LEARNS).slots if slot.split is Split.HELDOUT]
    assert {(slot.phase, slot.state) for slot in slots} == {(phase, phase) for phase in THREE}


def test_without_a_second_adaptation_t2_runs_with_the_state_of_t1() -> None:
    plan = laid(LEARNS, by=("drift",))
    assert {slot.state for slot in plan.slots if slot.phase is Phase.T2} == {Phase.T1}
    assert [step.key.phase for step in plan.steps] == [Phase.T1]


def test_a_step_is_shown_the_attempts_of_its_own_arm_and_repeat_only() -> None:
    other = ArmShape("other", adapts=True, needs_attempts=True)
    plan = laid(LEARNS, other, repeats=2)
    for step in plan.steps:
        assert {(slot.arm, slot.repeat) for slot in step.attempts} == {(step.key.arm, step.key.repeat)}
        assert {slot.split for slot in step.attempts} == {Split.ADAPT}


def test_planned_cells_count_every_slot_once() -> None:
    plan = laid(FROZEN, LEARNS, repeats=3, attempts=AttemptCounts(heldout=4))
    assert sum(cell.attempts for cell in plan.cells()) == len(plan.slots)
    cells = {(cell.arm, cell.phase, cell.split): cell.attempts for cell in plan.cells()}
    assert cells["frozen", Phase.T0, Split.HELDOUT] == 2 * 4 * 3


ARM = ArmIdentity("sha256:" + "a" * 64, PathType.EXTERNAL, ("macros", {"n": 1}), 7)
BENCH = BenchmarkIdentity("made", "1", "1")
SLOT = Slot("arm", 0, Phase.T1, Split.HELDOUT, "t", 0, Phase.T1)


def identity(slot: Slot = SLOT, arm: ArmIdentity = ARM, **other: str) -> str:
    given_ = {"task_digest": "d", "state_digest": EMPTY_TREE, **other}
    return run_id(slot, benchmark=BENCH, arm=arm, **given_)


def test_an_identity_is_the_same_everywhere() -> None:
    # Pinned: another value would make every half-run study start afresh.
    assert identity() == "8fcdff0963ff5ef808588d4fcb212f0f"


def test_the_name_of_an_arm_is_not_part_of_an_identity() -> None:
    renamed = Slot("renamed", *[getattr(SLOT, name) for name in Slot.__slots__[1:]])
    assert identity(renamed) == identity()


@pytest.mark.parametrize(
    "changed",
    [
        Slot("arm", 1, Phase.T1, Split.HELDOUT, "t", 0, Phase.T1),
        Slot("arm", 0, Phase.T2, Split.HELDOUT, "t", 0, Phase.T1),
        Slot("arm", 0, Phase.T1, Split.REPLAY, "t", 0, Phase.T1),
        Slot("arm", 0, Phase.T1, Split.HELDOUT, "u", 0, Phase.T1),
        Slot("arm", 0, Phase.T1, Split.HELDOUT, "t", 1, Phase.T1),
    ],
)
def test_another_place_in_the_design_is_another_identity(changed: Slot) -> None:
    assert identity(changed) != identity()


def test_another_agent_adaptation_state_task_or_seed_is_another_identity() -> None:
    others = [
        identity(arm=ArmIdentity("sha256:" + "b" * 64, ARM.path_type, ARM.adaptation, ARM.seed)),
        identity(arm=ArmIdentity(ARM.agent_digest, ARM.path_type, ("macros", {"n": 2}), ARM.seed)),
        identity(arm=ArmIdentity(ARM.agent_digest, ARM.path_type, ARM.adaptation, 8)),
        identity(task_digest="e"),
        identity(state_digest="sha256:" + "1" * 64),
    ]
    assert len({identity(), *others}) == 6


@given(st.integers(0, 50), st.integers(0, 50))
def test_repeats_phases_and_arms_draw_independently(left: int, right: int) -> None:
    one = Slot("a", left, Phase.T0, Split.HELDOUT, "t", 0, Phase.T0)
    two = Slot("a", right, Phase.T1, Split.HELDOUT, "t", 0, Phase.T1)
    assert attempt_seed(one, ARM, "d") != attempt_seed(two, ARM, "d")

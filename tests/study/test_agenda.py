"""What can be done now, as a pure function of the plan and of what is done."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol.manifest import SplitManifest, TaskEntry
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.study.agenda import Agenda
from sipbench.study.config import AttemptCounts
from sipbench.study.order import Order
from sipbench.study.plan import ArmShape, Plan, Slot, StateKey, Step, make_plan

FROZEN, LEARNER = ArmShape("frozen"), ArmShape("learner", adapts=True, needs_attempts=True)


def plan(*arms: ArmShape, repeats: int = 1, t2: bool = False) -> Plan:
    entries = {pool: (TaskEntry(id=f"{pool}-0"), TaskEntry(id=f"{pool}-1")) for pool in POOLS}
    manifest = SplitManifest(schema_version="1.0.0", benchmark_name="b", **entries)
    phases = tuple(Phase) if t2 else (Phase.T0, Phase.T1)
    by = ("adaptation",) if t2 else ()
    return make_plan(arms, manifest, phases=phases, repeats=repeats, attempts=AttemptCounts(), by=by)


POOLS = ("heldout", "replay", "adapt", "adapt_t2")


def drain(agenda: Agenda, until: Callable[[Slot | Step], bool] = lambda _: False) -> list[Slot | Step]:
    """Do one thing after the other, until one is met that is to be left undone."""
    done = []
    while (item := agenda.take()) is not None:
        if until(item):
            break
        done.append(item)
        agenda.settle(item)
    return done


def test_everything_is_done_once_in_the_order_of_the_plan() -> None:
    made = plan(FROZEN, LEARNER, repeats=2, t2=True)
    done = drain(Agenda(made, done=(), made=()))
    assert len(done) == len(set(done)) == len(made.slots) + len(made.steps)
    assert [item for item in done if isinstance(item, Slot)] == list(Order().sequence(made))


def test_another_repeat_is_not_waited_for() -> None:
    made = plan(LEARNER, repeats=2)
    agenda = Agenda(made, done=(), made=())
    held = []
    while (item := agenda.take()) is not None:
        # Nothing of the second repeat ever ends, and the first still comes to T1.
        if isinstance(item, Slot) and item.repeat == 1:
            held.append(item)
        else:
            agenda.settle(item)
    assert {slot.phase for slot in made.slots if slot.repeat == 0} == {Phase.T0, Phase.T1}
    assert agenda.open == sum(slot.repeat == 1 for slot in made.slots) + 1
    # Adapt attempts need the state of T0 alone, so that they too are offered.
    assert {slot.split for slot in held} == {Split.HELDOUT, Split.REPLAY, Split.ADAPT}


def test_an_adaptation_waits_for_all_its_attempts_and_then_goes_first() -> None:
    agenda = Agenda(plan(LEARNER, repeats=2), done=(), made=())
    adapt: list[Slot] = []
    while len(adapt) < 2:
        item = agenda.take()
        assert isinstance(item, Slot)
        if item.split is Split.ADAPT:
            adapt.append(item)
        else:
            agenda.settle(item)
    agenda.settle(adapt[1])
    assert isinstance(agenda.take(), Slot)
    agenda.settle(adapt[0])
    assert isinstance(agenda.take(), Step)


def test_what_is_done_and_made_is_not_offered_again() -> None:
    made = plan(FROZEN, LEARNER)
    (step,) = made.steps
    done = [slot for slot in made.slots if slot.phase is Phase.T0 or slot.split is Split.ADAPT]
    left = drain(Agenda(made, done=done, made=[step.key]))
    assert step not in left
    assert left == [slot for slot in Order().sequence(made) if slot not in done]


def test_an_adaptation_whose_attempts_are_done_is_offered_at_once() -> None:
    made = plan(LEARNER)
    agenda = Agenda(made, done=[slot for slot in made.slots if slot.split is Split.ADAPT], made=())
    assert isinstance(agenda.take(), Step)


@pytest.mark.parametrize("t2", [False, True])
def test_a_failed_adaptation_gives_up_what_depends_on_it_and_nothing_else(t2: bool) -> None:
    made = plan(FROZEN, LEARNER, repeats=2, t2=t2)
    agenda = Agenda(made, done=(), made=())
    failed = StateKey("learner", 0, Phase.T1)
    done = []
    while (item := agenda.take()) is not None:
        good = isinstance(item, Slot) or item.key != failed
        done.append(item)
        agenda.settle(item, made=good)
    assert agenda.open == 0
    lost = {item for item in made.slots if item.arm == "learner" and item.repeat == 0} - set(done)
    assert lost == {slot for slot in agenda.blocked if isinstance(slot, Slot)}
    assert all(slot.phase is not Phase.T0 and slot.state is not Phase.T0 for slot in lost)
    later = [item for item in agenda.blocked if isinstance(item, Step)]
    assert [step.key for step in later] == ([StateKey("learner", 0, Phase.T2)] if t2 else [])
    assert len(done) + len(agenda.blocked) == len(made.slots) + len(made.steps)


def test_at_t1_nobody_begins_before_the_states_of_all_arms_are_made() -> None:
    agenda = Agenda(plan(FROZEN, LEARNER), done=(), made=())
    before = drain(agenda, until=lambda item: isinstance(item, Step))
    assert {(item.arm, item.phase) for item in before if isinstance(item, Slot)} == {
        ("frozen", Phase.T0),
        ("learner", Phase.T0),
        ("learner", Phase.T1),  # what it learns from
    }
    assert agenda.take() is None


def test_one_arm_after_the_other_waits_for_no_other() -> None:
    made = plan(FROZEN, LEARNER)
    agenda = Agenda(made, done=(), made=(), order=Order("by_arm"))
    before = drain(agenda, until=lambda item: isinstance(item, Step))
    assert ("frozen", Phase.T1) not in {(i.arm, i.phase) for i in before if isinstance(i, Slot)}
    left = drain(agenda)
    assert {(item.arm, item.phase) for item in left if isinstance(item, Slot)} == {("frozen", Phase.T1)}


def test_an_arm_whose_adaptation_failed_is_not_waited_for() -> None:
    agenda = Agenda(plan(FROZEN, LEARNER, t2=True), done=(), made=())
    drained = []
    while (item := agenda.take()) is not None:
        drained.append(item)
        agenda.settle(item, made=False)
    phases = {item.phase for item in drained if isinstance(item, Slot) and item.arm == "frozen"}
    assert phases == set(Phase)
    assert agenda.open == 0


def test_what_is_held_back_is_not_offered_until_it_is_released() -> None:
    made = plan(FROZEN, LEARNER, t2=True)
    held = True
    agenda = Agenda(made, done=(), made=(), holds=lambda item: held and _phase(item) is Phase.T2)
    first = drain(agenda)
    assert Phase.T2 not in {_phase(item) for item in first}
    assert agenda.open == 0
    assert agenda.held == sum(slot.phase is Phase.T2 for slot in made.slots)
    held = False
    agenda.release()
    assert agenda.held == 0
    assert len(first) + len(drain(agenda)) == len(made.slots) + len(made.steps)


def test_who_may_begin_does_not_wait_for_the_adaptation_of_who_is_held_back() -> None:
    made = plan(FROZEN, LEARNER, t2=True)
    agenda = Agenda(
        made, done=(), made=(), holds=lambda item: _phase(item) is Phase.T2 and _arm(item) == "learner"
    )
    done = drain(agenda)
    assert {_phase(item) for item in done if _arm(item) == "frozen"} == set(Phase)


def test_what_is_held_back_is_given_up_with_the_state_that_it_needs() -> None:
    made = plan(FROZEN, LEARNER, t2=True)
    agenda = Agenda(made, done=(), made=(), holds=lambda item: _phase(item) is Phase.T2)
    while (item := agenda.take()) is not None:
        agenda.settle(item, made=isinstance(item, Slot))
    assert (agenda.open, agenda.held) == (
        0,
        sum(s.phase is Phase.T2 and s.arm == "frozen" for s in made.slots),
    )
    given_up = {(_arm(item), _phase(item), type(item)) for item in agenda.blocked}
    assert ("learner", Phase.T2, Step) in given_up
    assert ("learner", Phase.T2, Slot) in given_up
    assert len(agenda.blocked) == len(set(agenda.blocked))


def _phase(item: Slot | Step) -> Phase:
    return item.phase if isinstance(item, Slot) else item.key.phase


def _arm(item: Slot | Step) -> str:
    return item.arm if isinstance(item, Slot) else item.key.arm


@given(st.data())
def test_in_whatever_order_things_end_each_is_done_once_and_none_too_early(data: st.DataObject) -> None:
    made = plan(FROZEN, LEARNER, repeats=2, t2=True)
    agenda = Agenda(made, done=(), made=())
    running: list[Slot | Step] = []
    ended: set[Slot | Step] = set()
    states: set[StateKey] = set()
    while agenda.open:
        while (item := agenda.take()) is not None:
            needs = item.state_key if isinstance(item, Slot) else item.previous
            assert needs.phase is Phase.T0 or needs in states
            assert isinstance(item, Slot) or set(item.attempts) <= ended
            running.append(item)
        item = running.pop(data.draw(st.integers(0, len(running) - 1)))
        if isinstance(item, Step):
            states.add(item.key)
        ended.add(item)
        agenda.settle(item)
    assert ended == {*made.slots, *made.steps}

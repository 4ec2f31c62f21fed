"""The generator: worlds, programs, tasks and their labels."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from sipbench.benchmarks.synth import generate as module
from sipbench.benchmarks.synth.draws import Draws
from sipbench.benchmarks.synth.generate import (
    POOLS,
    Pair,
    SynthTask,
    World,
    behaves_uniquely,
    generate,
)
from sipbench.benchmarks.synth.language import NAMES, apply
from sipbench.errors import EngineError
from sipbench.protocol.digests import json_digest

from .conftest import SIZES

Tasks = tuple[SynthTask, ...]


def of(tasks: Tasks, *pools: str) -> list[SynthTask]:
    return [task for task in tasks if task.pool in pools]


# --- the world


@pytest.mark.parametrize("seed", range(8))
def test_a_world_has_enough_of_everything(seed: int) -> None:
    world = World(seed)
    assert len(world.related) == 10
    assert sorted(world.related + world.unrelated) == sorted(NAMES)
    assert len(set(world.concepts)) == 8
    assert len(world.adapt_t2_programs) == 8
    assert len(world.heldout_programs) >= 40
    assert len(world.replay_programs) >= 40
    assert len(world.drift_programs) >= 20


def test_worlds_differ_by_their_seed() -> None:
    assert len({World(seed).related for seed in range(6)}) == 6


@pytest.fixture(scope="module")
def world() -> World:
    return World(7)


def test_concepts_are_two_related_primitives(world: World) -> None:
    assert all(len(concept) == 2 and set(concept) <= set(world.related) for concept in world.concepts)


def test_the_second_adaptation_teaches_other_concepts(world: World) -> None:
    assert not set(world.adapt_t2_programs) & set(world.concepts)
    for program in world.adapt_t2_programs:
        assert sum(name in world.related for name in program) == 1


def test_heldout_programs_hold_a_concept_and_one_more_related_primitive(world: World) -> None:
    for program, concept in world.heldout_programs:
        assert len(program) == 3
        assert concept in world.concepts
        assert concept in (program[:2], program[1:])
        assert set(program) <= set(world.related)


def test_concepts_take_turns_in_heldout(world: World) -> None:
    counts = Counter(concept for _, concept in world.heldout_programs[:40])
    assert set(counts) == set(world.concepts)
    assert min(counts.values()) >= 3


def test_replay_programs_share_no_primitive_with_heldout(world: World) -> None:
    used = {name for program in world.replay_programs for name in program}
    assert used <= set(world.unrelated)
    assert all(len(program) == 2 for program in world.replay_programs)


def test_drift_programs_are_heldout_programs_with_one_step_of_the_concept_changed(world: World) -> None:
    heldout = {program for program, _ in world.heldout_programs}
    around = {concept: [p for p, c in world.heldout_programs if c == concept] for concept in world.concepts}
    for program, concept in world.drift_programs:
        assert program not in heldout
        assert set(program) <= set(world.related)

        def one_step_off(other: tuple[str, ...], program: tuple[str, ...] = program) -> bool:
            return sum(a != b for a, b in zip(other, program, strict=True)) == 1

        assert any(map(one_step_off, around[concept]))


def test_no_part_of_a_drift_program_is_a_concept(world: World) -> None:
    for program, _ in world.drift_programs:
        assert program[:2] not in world.concepts
        assert program[1:] not in world.concepts


# --- which programs are used


@pytest.mark.parametrize(
    ("program", "because"),
    [
        (("reverse", "reverse"), "the empty program does the same"),
        (("reverse", "flip_each_word"), "the other order, and reverse_words"),
        (("swap_pairs", "swap_pairs"), "the empty program does the same"),
        (("swap_end_words", "swap_end_words"), "the empty program does the same"),
        (("hyphen_first", "drop_vowels"), "the other order does the same"),
        (("reverse", "reverse_words", "mirror"), "flip_each_word, mirror is shorter"),
        (("drop_vowels", "hyphen_first", "mirror"), "hyphen_first, drop_vowels, mirror does the same"),
    ],
)
def test_a_program_with_an_equivalent_is_not_used(program: tuple[str, ...], because: str) -> None:
    assert not behaves_uniquely(program), because


@pytest.mark.parametrize(
    "program",
    [("reverse", "odd_letters"), ("sort_words", "drop_first"), ("sort_words", "mirror", "odd_letters")],
)
def test_a_program_without_an_equivalent_is_used(program: tuple[str, ...]) -> None:
    assert behaves_uniquely(program)


def test_most_programs_of_two_steps_can_be_used() -> None:
    usable = sum(map(behaves_uniquely, itertools.permutations(NAMES, 2)))
    assert 350 <= usable <= 500


@pytest.mark.parametrize("pool", POOLS)
def test_every_task_is_made_with_a_program_that_behaves_uniquely(tasks: Tasks, pool: str) -> None:
    assert all(behaves_uniquely(task.program) for task in of(tasks, pool))


def test_the_shown_pairs_rule_out_every_shorter_program(tasks: Tasks) -> None:
    for task in tasks[::4]:
        for length in range(len(task.program)):
            for other in itertools.product(NAMES, repeat=length):
                assert any(apply(other, pair.input) != pair.output for pair in task.shown)


def test_the_shown_pairs_rule_out_every_reordering(tasks: Tasks) -> None:
    for task in tasks:
        for other in itertools.permutations(task.program):
            fits = all(apply(other, pair.input) == pair.output for pair in task.shown)
            assert fits == (other == task.program)


# --- the tasks


def test_there_are_as_many_tasks_as_asked(tasks: Tasks) -> None:
    assert Counter(task.pool for task in tasks) == dict(SIZES)


def test_a_task_shows_4_pairs_and_hides_12_others(tasks: Tasks) -> None:
    for task in tasks:
        assert (len(task.shown), len(task.hidden)) == (4, 12)
        assert len({pair.input for pair in task.shown + task.hidden}) == 16


def test_pairs_are_made_by_the_program(tasks: Tasks) -> None:
    for task in tasks:
        for pair in task.shown + task.hidden:
            assert apply(task.program, pair.input) == pair.output


def test_inputs_are_rich(tasks: Tasks) -> None:
    texts = [pair.input for task in of(tasks, "heldout") for pair in task.shown]
    assert all(5 <= len(text.split(" ")) <= 6 for text in texts)
    everything = "".join(texts)
    assert any(map(str.isupper, everything))
    assert any(map(str.isdigit, everything))
    assert any(mark in everything for mark in ",.;!?")
    assert everything.isascii()


def test_drift_inputs_are_longer_with_more_capitals_and_digits(tasks: Tasks) -> None:
    def share(pool: str, test: str) -> float:
        text = "".join(pair.input for task in of(tasks, pool) for pair in task.shown + task.hidden)
        return sum(bool(getattr(letter, test)()) for letter in text) / len(text)

    assert all(7 <= len(pair.input.split(" ")) <= 8 for task in of(tasks, "drift") for pair in task.shown)
    assert share("drift", "isupper") > 1.2 * share("heldout", "isupper")
    assert share("drift", "isdigit") > 1.2 * share("heldout", "isdigit")


def test_adapt_has_three_tasks_for_each_concept(tasks: Tasks) -> None:
    assert set(Counter(task.program for task in of(tasks, "adapt")).values()) == {3}
    assert set(Counter(task.program for task in of(tasks, "adapt_t2")).values()) == {3}


def test_tasks_of_one_program_differ_in_their_inputs(tasks: Tasks) -> None:
    assert len({task.shown for task in tasks}) == len(tasks)


def test_no_program_of_an_adaptation_is_evaluated(tasks: Tasks) -> None:
    learned = {task.program for task in of(tasks, "adapt", "adapt_t2")}
    assert not learned & {task.program for task in of(tasks, "heldout", "replay", "drift")}


def test_every_evaluated_program_is_a_family_of_its_own(tasks: Tasks) -> None:
    evaluated = of(tasks, "heldout", "replay", "drift")
    assert len({task.family for task in evaluated}) == len(evaluated)


def test_a_concept_spans_adapt_and_heldout(tasks: Tasks) -> None:
    learned = {task.concept_label for task in of(tasks, "adapt")}
    assert {task.concept_label for task in of(tasks, "heldout")} == learned
    assert {task.concept_label for task in of(tasks, "replay")} == {None}


def test_labels_do_not_give_the_program_away(tasks: Tasks) -> None:
    for task in tasks:
        for label in (task.id, task.family, task.concept_label or ""):
            assert not any(name in label.replace("-", "_") for name in NAMES)


# --- stable


def test_the_tasks_of_the_shipped_seed_are_the_same_in_every_release(tasks: Tasks) -> None:
    # A change here is a new version of the benchmark: results before and after do not compare.
    assert json_digest([[task.id, task.digest, task.family] for task in tasks]) == GOLDEN


GOLDEN = "sha256:7c9f8f412e9cccfa39b3f72416ec76f74954657495526f2f067f594f8f21b23e"


def test_more_tasks_never_change_the_ones_before(tasks: Tasks) -> None:
    fewer = generate(7, (("heldout", 5), ("replay", 3)))
    assert fewer == (*of(tasks, "heldout")[:5], *of(tasks, "replay")[:3])


def test_programs_come_again_with_other_inputs_where_there_are_too_few() -> None:
    count = len(World(7).replay_programs)
    made = generate(7, (("replay", count + 2),))
    assert made[count].program == made[0].program
    assert made[count].shown != made[0].shown
    assert len({task.id for task in made}) == count + 2


def test_tasks_of_two_seeds_share_neither_ids_nor_digests(tasks: Tasks) -> None:
    other = generate(8, SIZES)
    assert not {task.id for task in tasks} & {task.id for task in other}
    assert not {task.digest for task in tasks} & {task.digest for task in other}


def test_the_digest_covers_what_the_grader_checks(tasks: Tasks) -> None:
    pairs = [[pair.input, pair.output] for pair in tasks[0].shown + tasks[0].hidden]
    assert tasks[0].digest == json_digest(pairs)


# --- bounded


def test_inputs_that_never_tell_programs_apart_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = 0

    def plain(draws: Draws, *, rich: bool = False) -> str:
        nonlocal drawn
        drawn += 1
        return "aa aa"

    monkeypatch.setattr(module, "_text", plain)
    with pytest.raises(EngineError, match=r"task synth-7-heldout-0000: 100 draws of inputs.*another seed"):
        generate.__wrapped__(7, (("heldout", 1),))
    assert drawn == 100 * 16


def test_a_seed_without_concepts_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "behaves_uniquely", lambda program: False)
    with pytest.raises(EngineError, match="seed 7: only 0 concepts; choose another seed"):
        World(7)


def test_a_pool_without_programs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "behaves_uniquely", lambda program: len(program) == 2)
    with pytest.raises(EngineError, match="seed 7: no program for heldout; choose another seed"):
        generate.__wrapped__(7, (("heldout", 1),))


def test_no_task_is_fine() -> None:
    assert generate(7, (("drift", 0),)) == ()


def test_a_pair_is_plain() -> None:
    assert Pair("a", "b") == Pair(input="a", output="b")

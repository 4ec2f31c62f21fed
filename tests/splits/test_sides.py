from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.splits.base import metadata_text
from sipbench.splits.sample import draw, strata
from sipbench.splits.sides import Wanted, divide
from sipbench.splits.units import Unit, units
from tests.splits.made import task


def groups(sizes: list[int]) -> list[Unit]:
    made, start = [], 0
    for size in sizes:
        made.append(Unit(tuple(range(start, start + size)), f"of {size}"))
        start += size
    return made


def adapt_tasks(chosen: set[int], sizes: list[int]) -> int:
    return sum(sizes[index] for index in chosen)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.data())
def test_no_division_misses_fewer_tasks(sizes: list[int], data: st.DataObject) -> None:
    whole = sum(sizes)
    adapt = data.draw(st.integers(0, whole))
    wanted = Wanted(adapt, data.draw(st.integers(0, whole - adapt)))
    fixed = data.draw(st.sets(st.integers(0, len(sizes) - 1), max_size=2))
    chosen = divide(groups(sizes), [""] * whole, wanted, 3, fixed)
    assert not chosen & fixed
    reached = adapt_tasks(chosen, sizes)
    best = min(
        wanted.missing(total, whole - total)
        for taken in product([0, 1], repeat=len(sizes))
        if not any(taken[index] for index in fixed)
        for total in [sum(size for size, one in zip(sizes, taken, strict=True) if one)]
    )
    assert wanted.missing(reached, whole - reached) == best


def test_an_exact_fit_is_found_where_a_greedy_one_fails() -> None:
    # Only 6 + 5 = 11 and 4 + 4 + 3 = 11 halve these.
    sizes = [6, 5, 4, 4, 3]
    chosen = divide(groups(sizes), [""] * 22, Wanted(11, 11), 1)
    assert adapt_tasks(chosen, sizes) == 11


def test_many_groups_of_few_sizes_are_divided_exactly() -> None:
    sizes = [7] * 300 + [5] * 300
    chosen = divide(groups(sizes), [""] * 3600, Wanted(1801, 1799), 1)
    assert adapt_tasks(chosen, sizes) == 1801


def test_both_sides_get_their_share_of_each_stratum() -> None:
    sizes = [3] * 40
    labels = [["easy", "easy", "hard"][at % 3] if at < 60 else "hard" for at in range(120)]
    chosen = divide(groups(sizes), labels, Wanted(60, 60), 5)
    hard = sum(labels[3 * index + place] == "hard" for index in chosen for place in range(3))
    assert hard == pytest.approx(labels.count("hard") / 2, abs=4)


def test_another_seed_gives_another_division() -> None:
    made = [frozenset(divide(groups([2] * 20), [""] * 40, Wanted(20, 20), seed)) for seed in range(5)]
    assert len(set(made)) > 1


def test_groups_are_connected_through_families_keys_and_duplicates() -> None:
    tasks = [
        task("1", family="F", user="ann"),
        task("2", family="G", user="ann"),
        task("3", family="G"),
        task("4", user="bob"),
        task("5"),
    ]
    assert sorted(len(unit.tasks) for unit in units(tasks)) == [1, 1, 1, 2]
    together = units(tasks, ["user"])
    assert sorted(unit.tasks for unit in together) == [(0, 1, 2), (3,), (4,)]
    assert max(together, key=lambda unit: len(unit.tasks)).name == "the group of family G"


def test_values_that_are_no_text_tie_by_their_content() -> None:
    tasks = [
        task("1", repo={"host": "h", "name": "n"}),
        task("2", repo={"name": "n", "host": "h"}),
        task("3"),
    ]
    assert sorted(unit.tasks for unit in units(tasks, ["repo"])) == [(0, 1), (2,)]


def test_metadata_are_compared_as_text_and_as_json() -> None:
    item = task("1", user="n", flag=True, level=3, odd=float("nan"), none=None, empty="")
    texts = [metadata_text(item, key) for key in ("user", "flag", "level", "odd", "none", "empty", "missing")]
    assert texts == ["n", "true", "3", "NaN", None, None, None]


def test_a_draw_gives_each_stratum_and_family_its_share() -> None:
    tasks = [
        task(f"t{n:03}", family=f"F{n % 6}", difficulty="hard" if n % 3 == 0 else "easy") for n in range(120)
    ]
    labels = strata(tasks, "difficulty")
    drawn = draw(range(120), 30, tasks, labels, 4)
    assert len(set(drawn)) == 30
    assert sum(labels[at] == "hard" for at in drawn) == 10
    for family in {item.family for item in tasks}:
        assert 4 <= sum(tasks[at].family == family for at in drawn) <= 6


def test_a_draw_does_not_depend_on_the_order_of_tasks() -> None:
    tasks = [task(f"t{n}") for n in range(40)]
    drawn = {tasks[at].id for at in draw(range(40), 13, tasks, [""] * 40, 9)}
    turned = tasks[::-1]
    assert drawn == {turned[at].id for at in draw(range(40), 13, turned, [""] * 40, 9)}


@given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 1000))
def test_a_draw_has_the_size_that_was_asked_for(pool: int, count: int, seed: int) -> None:
    tasks = [task(str(n)) for n in range(pool)]
    drawn = draw(range(pool), count, tasks, [""] * pool, seed)
    assert len(drawn) == len(set(drawn)) == min(pool, count)


def test_every_family_can_be_drawn_from() -> None:
    tasks = [task(f"t{n}", family=f"F{n}") for n in range(10)]
    drawn = [draw(range(10), 5, tasks, [""] * 10, seed) for seed in range(40)]
    assert {at for pool in drawn for at in pool} == set(range(10))


def test_numbers_become_quarters() -> None:
    tasks = [task(str(n), minutes=n) for n in range(12)] + [task("none")]
    labels = strata(tasks, "minutes")
    assert [labels.count(f"quarter {n}") for n in (1, 2, 3, 4)] == [3, 3, 3, 3]
    assert labels[-1] == "unknown"

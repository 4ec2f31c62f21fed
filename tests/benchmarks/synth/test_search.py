"""The search: cheapest first, one state per behaviour, and never more than the budget."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sipbench.benchmarks.synth.language import MAX_TEXT, NAMES, apply
from sipbench.benchmarks.synth.search import Graph, Production, search

A, B, C = ("reverse",), ("drop_first",), ("mirror",)


def graph(program: tuple[str, ...], inputs: tuple[str, ...] = ("Ab cd9 xyz", "q RST uvw.")) -> Graph:
    outputs = [apply(program, text) for text in inputs]
    assert None not in outputs
    return Graph(inputs, [text for text in outputs if text is not None])


def test_candidates_are_evaluated_in_the_order_of_their_cost() -> None:
    # By hand: reverse 1, drop_first 1.5, reverse reverse 2 (the start again, so not extended),
    # reverse drop_first and drop_first reverse 2.5, drop_first drop_first 3.
    found = search(graph(B + B), [Production(A, 1.0), Production(B, 1.5)], 10)
    assert found.program == ("drop_first", "drop_first")
    assert found.candidates == 6


def test_the_same_behaviour_is_extended_once() -> None:
    # By hand, with cost 1 for reverse and 10 for drop_first: 1 reverse, 2 reverse twice (known: not
    # extended), 10 drop_first, 11 drop_first reverse, 11 reverse drop_first. Without the pruning there
    # would be nine reverses before drop_first.
    target = graph(B + A)
    found = search(target, [Production(A, 1.0), Production(B, 10.0)], 100)
    assert found.program == ("drop_first", "reverse")
    assert found.candidates <= 5


def test_a_shorter_program_is_not_preferred_to_a_cheaper_one() -> None:
    two = Production(("reverse", "drop_first"), 5.0)
    found = search(graph(A + B), [Production(A, 1.0), Production(B, 1.5), two], 100)
    assert found.used == (0, 1)


def test_a_macro_is_one_candidate() -> None:
    macro = Production(("reverse", "drop_first"), 0.5)
    found = search(graph(A + B), [Production(A, 1.0), Production(B, 1.0), macro], 100)
    assert (found.program, found.used, found.candidates) == (A + B, (2,), 1)


def test_a_macro_can_be_extended() -> None:
    macro = Production(("reverse", "drop_first"), 0.5)
    found = search(graph((*A, *B, *C)), [Production(A, 1.0), Production(C, 1.0), macro], 100)
    assert found.program == (*A, *B, *C)
    assert found.used == (2, 1)


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_the_budget_is_never_exceeded(budget: int) -> None:
    found = search(graph(A + B), [Production(A, 1.0), Production(B, 1.5)], budget)
    assert (found.program, found.candidates) == (None, budget)


def test_the_budget_is_enough_when_it_is_just_enough() -> None:
    assert search(graph(B + B), [Production(A, 1.0), Production(B, 1.5)], 6).program == B + B
    assert search(graph(B + B), [Production(A, 1.0), Production(B, 1.5)], 5).program is None


def test_nothing_has_to_be_done_when_inputs_are_outputs() -> None:
    found = search(graph(()), [Production(A, 1.0)], 10)
    assert (found.program, found.candidates) == ((), 0)


def test_an_exhausted_space_ends_the_search() -> None:
    found = search(graph(B), [Production(A, 1.0)], 1000)
    assert (found.program, found.candidates) == (None, 2)


def test_without_productions_nothing_is_found() -> None:
    assert search(graph(B), [], 10).program is None


def test_productions_of_equal_cost_are_tried_in_the_order_given() -> None:
    productions = [Production((name,), 1.0) for name in NAMES]
    for order in (productions, productions[::-1]):
        position = [production.steps for production in order].index(B)
        assert search(graph(B), order, 100).candidates == position + 1


def test_texts_that_grow_too_long_are_not_extended() -> None:
    target = Graph(["ab"], ["never"])
    found = search(target, [Production(C, 1.0)], 1000)
    assert found.program is None
    assert found.candidates < 12
    assert max(len(text) for texts in target.texts for text in texts) <= MAX_TEXT


def test_a_program_must_fit_every_pair() -> None:
    # On the first pair alone, doing nothing fits.
    found = search(Graph(["aa", "ab"], ["aa", "ba"]), [Production(A, 1.0)], 5)
    assert found.program == A


def test_searches_that_share_a_graph_find_the_same() -> None:
    productions = [Production((name,), 1.0 + index / 50) for index, name in enumerate(NAMES)]
    target = ("sort_words", "odd_letters")
    shared = graph(target)
    fresh = [search(graph(target), order, 700) for order in (productions, productions[::-1])]
    assert [search(shared, order, 700) for order in (productions, productions[::-1], productions)] == [
        *fresh,
        fresh[0],
    ]


def naive(inputs: list[str], outputs: list[str], productions: list[Production]) -> float | None:
    """The cost of the cheapest program of up to three productions, by trying all."""
    costs = [
        sum(production.cost for production in chosen)
        for size in range(4)
        for chosen in itertools.product(productions, repeat=size)
        if [apply(itertools.chain(*(p.steps for p in chosen)), text) for text in inputs] == outputs
    ]
    return min(costs, default=None)


SMALL = ("reverse", "drop_first", "swap_pairs", "odd_letters", "sort_words")


@settings(max_examples=40)
@given(
    target=st.lists(st.sampled_from(SMALL), min_size=1, max_size=3),
    costs=st.lists(st.floats(1, 1.8), min_size=len(SMALL), max_size=len(SMALL)),
    macro=st.tuples(st.sampled_from(SMALL), st.sampled_from(SMALL)),
    macro_cost=st.floats(1, 1.8),
)
def test_what_is_found_is_as_cheap_as_what_exhaustive_trial_finds(
    target: list[str], costs: list[float], macro: tuple[str, str], macro_cost: float
) -> None:
    inputs = ["Ab cd9 xyz!", "q RST uvw a"]
    outputs = [text for one in inputs if (text := apply(target, one)) is not None]
    productions = [Production((name,), cost) for name, cost in zip(SMALL, costs, strict=True)]
    productions.append(Production(macro, macro_cost))
    found = search(Graph(inputs, outputs), productions, 50_000)
    assert found.program is not None
    assert [apply(found.program, text) for text in inputs] == outputs
    best = naive(inputs, outputs, productions)
    assert best is not None
    cost = sum(productions[index].cost for index in found.used)
    # The search may use more than three productions where that is cheaper.
    assert cost <= best + 1e-9
    if len(found.used) <= 3:
        assert cost == pytest.approx(best)


def test_costs_never_fall_along_the_way() -> None:
    """The candidates of every prefix of the budget are the cheapest ones: a longer budget only adds."""
    productions = [Production((name,), 1.0 + index / 7) for index, name in enumerate(NAMES)]
    target = graph(("sort_words", "mirror"))
    needed = search(target, productions, 10_000).candidates
    for budget in range(1, needed, 37):
        assert search(target, productions, budget).program is None
    assert search(target, productions, needed).program == ("sort_words", "mirror")

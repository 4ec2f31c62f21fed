"""Uniform-cost enumeration of programs with observational equivalence.

Candidates are evaluated in the order of their cost. Programs that do the same to the shown inputs are
one state, of which only the first and so the cheapest is extended. What can still be made of a state
depends on its outputs alone, so this loses no behaviour and no optimum (bottom-up enumeration with
observational equivalence: Albarghouthi, Gulwani, Kincaid, "Recursive Program Synthesis", CAV 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace

from sipbench.benchmarks.synth.language import MAX_TEXT, PRIMITIVES, Program

__all__ = ["Found", "Graph", "Production", "search"]


@dataclass(frozen=True, slots=True)
class Production:
    """What may be appended to a program: one or more steps, for a cost above 0, in nats."""

    steps: Program
    cost: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    Attributes:
        program: The cheapest program that fits; None if none was met within the budget.
        used: Which productions made it, by their positions.
        candidates: How many were evaluated.
    """

    program: Program | None
    used: tuple[int, ...]
    candidates: int


class Graph:
    """What programs do to the inputs of one task: states, and where each primitive leads.

    It holds truths about the language, and nothing about an agent, so searches may share it: the next
    one over the same task finds most of its transitions made.
    """

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.target_texts = tuple(outputs)
        self.texts: list[tuple[str, ...]] = [tuple(inputs)]
        self.steps: list[dict[str, int]] = [{}]
        self._index = {self.texts[0]: 0}
        self.target = 0 if self.texts[0] == self.target_texts else -1

    def step(self, state: int, name: str) -> int:
        """The state after one more primitive; -1 where it is not defined."""
        known = self.steps[state].get(name)
        if known is not None:
            return known
        primitive = PRIMITIVES[name]
        texts = tuple([primitive(text) for text in self.texts[state]])
        found = self._state(texts)
        self.steps[state][name] = found
        return found

    def _state(self, texts: tuple[str, ...]) -> int:
        found = self._index.get(texts)
        if found is not None:
            return found
        if max(map(len, texts)) > MAX_TEXT:
            return -1
        found = self._index[texts] = len(self.texts)
        self.texts.append(texts)
        self.steps.append({})
        if texts == self.target_texts:
            self.target = found
        return found

    def walk(self, state: int, steps: Program) -> int:
        """The state after several primitives; -1 where one is not defined."""
        for name in steps:
            state = self.step(state, name)
            if state < 0:
                break
        return state


def search(graph: Graph, productions: Sequence[Production], budget: int) -> Found:
    """Find the cheapest program that turns every shown input into its output.

    Productions of equal cost are tried in the order given.

    Args:
        graph: The task.
        productions: What programs are made of; every cost above 0.
        budget: How many candidates may be evaluated. The empty program is free.
    """
    if graph.target == 0:
        return Found((), (), 0)
    order = sorted(range(len(productions)), key=lambda index: productions[index].cost)
    costs = [productions[index].cost for index in order]
    steps = [productions[index].steps for index in order]
    single = [names[0] if len(names) == 1 else None for names in steps]
    last = len(order) - 1
    parents: dict[int, tuple[int, int]] = {0: (-1, -1)}
    # Of each reached state only the next untried production waits in the queue: the others cost more.
    queue = [(costs[0], 0, 0, 0, 0.0)] if order else []
    evaluated = serial = 0
    while queue and evaluated < budget:
        _, _, state, rank, base = queue[0]
        evaluated += 1
        name = single[rank]
        if name is None:
            reached = graph.walk(state, steps[rank])
        else:
            reached = graph.steps[state].get(name, -2)
            if reached == -2:
                reached = graph.step(state, name)
        cost = base + costs[rank]
        if rank < last:
            serial += 1
            heapreplace(queue, (base + costs[rank + 1], serial, state, rank + 1, base))
        else:
            heappop(queue)
        if reached < 0 or reached in parents:
            continue
        parents[reached] = (state, rank)
        if reached == graph.target:
            return _traced(reached, parents, order, steps, evaluated)
        serial += 1
        heappush(queue, (cost + costs[0], serial, reached, 0, cost))
    return Found(None, (), evaluated)


def _traced(
    state: int, parents: dict[int, tuple[int, int]], order: list[int], steps: list[Program], evaluated: int
) -> Found:
    used = []
    program: Program = ()
    while state:
        state, rank = parents[state]
        used.append(order[rank])
        program = steps[rank] + program
    return Found(program, tuple(reversed(used)), evaluated)

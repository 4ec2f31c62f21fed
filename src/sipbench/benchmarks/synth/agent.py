"""The agent: an agent state becomes production costs, and a search with them an attempt."""

from __future__ import annotations

import math
from collections import OrderedDict

from sipbench.benchmarks.synth.draws import Draws
from sipbench.benchmarks.synth.generate import SynthTask
from sipbench.benchmarks.synth.language import NAMES, Program, apply
from sipbench.benchmarks.synth.search import Found, Graph, Production, search
from sipbench.benchmarks.synth.state import Knowledge

__all__ = ["attempt", "production_costs", "share_right"]

_LEAST_COST = 0.01
_MOST_GRAPHS = 256
_MOST_STATES = 2_000

# What programs do to a task's inputs is the same for every attempt; keyed by the digest, since ids
# alone would mix up tasks of different generator seeds or releases.
_graphs: OrderedDict[str, Graph] = OrderedDict()


def production_costs(knowledge: Knowledge, *, jitter: float, seed: int) -> list[Production]:
    """The productions of an agent: 24 primitives and its macros.

    The cost of a production is -log(probability) plus a draw that ``seed`` decides. Of n productions
    each macro has probability 1/n; the primitives share the rest, evenly or by their weights. Those of
    equal cost stand in a drawn order.
    """
    draws = Draws("synth", "costs", seed)
    total = len(NAMES) + len(knowledge.macros)
    weights = knowledge.weights
    found: list[tuple[Program, float]] = []
    for name in NAMES:
        chance = 1 / len(NAMES) if weights is None else weights.probabilities[name]
        found.append(((name,), -math.log(chance * len(NAMES) / total)))
    found.extend((macro, math.log(total)) for macro in knowledge.macros)
    # Draws for primitives come first: an agent that learned a macro keeps them.
    productions = [
        Production(steps, max(_LEAST_COST, cost + jitter * draws.normal())) for steps, cost in found
    ]
    return draws.shuffled(productions)


def attempt(task: SynthTask, knowledge: Knowledge, *, budget: int, jitter: float, seed: int) -> Found:
    """Search for the program of ``task``, shown pairs only.

    Args:
        task: The task; its program and hidden pairs are not looked at.
        knowledge: What the agent learned.
        budget: How many candidates may be evaluated.
        jitter: Standard deviation of the draw on each cost, in nats.
        seed: Decides the draws, together with the task.
    """
    key = Draws(seed, task.digest).below(2**53)
    productions = production_costs(knowledge, jitter=jitter, seed=key)
    graph = _graphs.get(task.digest)
    if graph is None:
        graph = _graphs[task.digest] = Graph(
            [pair.input for pair in task.shown], [pair.output for pair in task.shown]
        )
        if len(_graphs) > _MOST_GRAPHS:
            _graphs.popitem(last=False)
    found = search(graph, productions, budget)
    if len(graph.texts) > _MOST_STATES:
        _graphs.pop(task.digest, None)
    return found


def share_right(task: SynthTask, program: Program | None) -> float:
    """The share of hidden pairs that ``program`` reproduces; 0 without a program."""
    if program is None:
        return 0.0
    right = sum(apply(program, pair.input) == pair.output for pair in task.hidden)
    return right / len(task.hidden)

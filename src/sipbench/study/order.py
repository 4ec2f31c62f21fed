"""The order in which attempts are begun, so that what changes with time is not mistaken for an arm.

``interleaved``
    Blocks, each with one attempt of every arm at one task, in a random order within a repeat and phase; the
    arms in a random order within a block. At any moment all arms are equally far, the frozen one as well:
    at T1 and T2 nobody begins before the agent states of all arms of that repeat are made, or cannot be.
``by_arm``
    One arm after the other in each repeat and phase, the tasks in the order of the splits: for an engine or
    a server that cannot change between agents at every attempt. Neighbouring arms may overlap by as many
    attempts as run at a time.

Repeats follow each other and phases do within them, as adaptation asks. The place of a block and of an
attempt in it follows from the study's seed and from what it is, so that a resumed study goes on in the
same order. The order is no part of an attempt's identity, and seeds do not depend on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sipbench.benchmarks.base import Benchmark
from sipbench.protocol.digests import seed_from
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.study.config import OrderName, StudyConfig
from sipbench.study.plan import Plan, Slot, StateKey

__all__ = ["ORDERS", "Order", "order_of"]

ORDERS: Mapping[OrderName, str] = {
    "interleaved": "blocks of one attempt per arm at the same task, blocks and arms within them shuffled",
    "by_arm": "one arm after the other in each repeat and phase",
}

_RULE = "sipbench-order-1"
"""Names this very rule: another one gets another name."""

type _Group = tuple[int, Phase, Split]


@dataclass(frozen=True, slots=True)
class Order:
    """How the attempts of a study follow each other.

    Attributes:
        name: Which of the two.
        seed: The study's seed, which the random order follows from.
        reason: Who chose it: the study, the benchmark's engine, or nobody.
    """

    name: OrderName = "interleaved"
    seed: int = 0
    reason: str = "default"

    def sequence(self, plan: Plan) -> tuple[Slot, ...]:
        """All attempts of a plan in the order in which they are to be begun."""
        arms = {arm: number for number, arm in enumerate(dict.fromkeys(slot.arm for slot in plan.slots))}

        def place(numbered: tuple[int, Slot]) -> tuple[int, ...]:
            number, slot = numbered
            learning = slot.split is not Split.ADAPT
            head = (slot.repeat, int(slot.phase[1:]), int(learning))
            if self.name == "by_arm":
                return (*head, arms[slot.arm], number)
            block = (slot.repeat, slot.phase, slot.split, slot.task_id, slot.attempt_index)
            drawn = seed_from(_RULE, self.seed, *block)
            return (*head, drawn, seed_from(_RULE, self.seed, *block, slot.arm), number)

        return tuple(slot for _, slot in sorted(enumerate(plan.slots), key=place))

    def company(self, plan: Plan) -> Mapping[_Group, tuple[StateKey, ...]]:
        """The agent states that must be there, or be given up, before an attempt of a group may begin.

        A group is a repeat, phase and split. An attempt's own state comes on top.
        """
        if self.name == "by_arm":
            return {}
        found: dict[_Group, dict[StateKey, None]] = defaultdict(dict)
        for slot in plan.slots:
            if slot.state is not Phase.T0:
                found[slot.repeat, slot.phase, slot.split][slot.state_key] = None
        return {group: tuple(keys) for group, keys in found.items()}

    def document(self) -> dict[str, Any]:
        """What ``study.lock.json`` says of it."""
        return {"name": self.name, "rule": _RULE, "seed": self.seed, "reason": self.reason}

    def words(self) -> str:
        """The order in a line."""
        seeded = f", seed {self.seed}" if self.name == "interleaved" else ""
        return f"{self.name.replace('_', ' ')}: {ORDERS[self.name]}{seeded} ({self.reason})"


def order_of(config: StudyConfig, benchmark: Benchmark) -> Order:
    """The order of a study: its own choice, else what the benchmark's engine asks for."""
    if config.order is not None:
        return Order(config.order, config.seed, "the study file's choice")
    if benchmark.arms_apart:
        return Order("by_arm", config.seed, f"as {benchmark.engine} asks for")
    return Order("interleaved", config.seed)

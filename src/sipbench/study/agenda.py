"""What can be done now: the plan, less what is done, in an order in which nothing waits without need.

An attempt waits for the agent state it runs with; an adaptation for the adapt attempts of its own arm
and repeat, and for the state before. Nothing waits for another repeat or arm.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection

from sipbench.protocol.vocabulary import Phase
from sipbench.study.plan import Plan, Slot, StateKey, Step

__all__ = ["Agenda"]


class Agenda:
    """Hands out attempts and adaptations, and learns what became of them."""

    def __init__(self, plan: Plan, *, done: Collection[Slot], made: Collection[StateKey]) -> None:
        """Take up a plan.

        Args:
            plan: All attempts and adaptations.
            done: Attempts that are finished.
            made: Agent states that exist. Those of T0 are empty and always there.
        """
        self._ready: list[tuple[int, int, Slot | Step]] = []
        self._order = {slot: index for index, slot in enumerate(plan.slots)}
        self._steps = {step: index for index, step in enumerate(plan.steps) if step.key not in made}
        self._states = set(made)
        self._waiting: dict[StateKey, list[Slot]] = defaultdict(list)
        self._after: dict[StateKey, list[Step]] = defaultdict(list)
        self._missing: dict[Step, int] = {}
        self._learned_by: dict[Slot, Step] = {}
        self._open = 0
        self.blocked: list[Slot | Step] = []
        """What will not be done, since an adaptation that it needs failed."""
        for slot in plan.slots:
            if slot not in done:
                self._open += 1
                self._offer_slot(slot)
        for step in self._steps:
            left = [slot for slot in step.attempts if slot not in done]
            self._missing[step] = len(left)
            self._learned_by |= dict.fromkeys(left, step)
            self._open += 1
            self._offer_step(step)

    @property
    def open(self) -> int:
        """Attempts and adaptations that are not settled yet."""
        return self._open

    def take(self) -> Slot | Step | None:
        """The next that can be done; None if there is nothing now."""
        return heapq.heappop(self._ready)[2] if self._ready else None

    def settle(self, item: Slot | Step, *, made: bool = True) -> None:
        """Learn that an attempt is recorded, or that an adaptation made its state (or failed to)."""
        self._open -= 1
        if isinstance(item, Slot):
            step = self._learned_by.pop(item, None)
            if step is not None:
                self._missing[step] -= 1
                self._offer_step(step)
        elif made:
            self._states.add(item.key)
            for slot in self._waiting.pop(item.key, []):
                self._offer_slot(slot)
            for step in self._after.pop(item.key, []):
                self._offer_step(step)
        else:
            self._block(item.key)

    def _has(self, key: StateKey) -> bool:
        return key.phase is Phase.T0 or key in self._states

    def _offer_slot(self, slot: Slot) -> None:
        if self._has(slot.state_key):
            heapq.heappush(self._ready, (1, self._order[slot], slot))
        else:
            self._waiting[slot.state_key].append(slot)

    def _offer_step(self, step: Step) -> None:
        if not self._has(step.previous):
            if step not in self._after[step.previous]:
                self._after[step.previous].append(step)
        elif self._missing[step] == 0:
            # Much may wait for an adaptation, so it goes first.
            heapq.heappush(self._ready, (0, self._steps[step], step))

    def _block(self, key: StateKey) -> None:
        """Give up what needs a state that could not be made."""
        slots = self._waiting.pop(key, [])
        self._open -= len(slots)
        self.blocked += slots
        for slot in slots:
            step = self._learned_by.pop(slot, None)
            if step is not None and step not in self.blocked:
                self._give_up(step)
        for step in self._after.pop(key, []):
            if step not in self.blocked:
                self._give_up(step)

    def _give_up(self, step: Step) -> None:
        self._open -= 1
        self.blocked.append(step)
        self._block(step.key)

"""What can be done now: the plan, less what is done, in an order in which nothing waits without need.

An attempt waits for the agent state it runs with, and for the states of those it keeps company with (see
:mod:`sipbench.study.order`); an adaptation for the adapt attempts of its own arm and repeat, and for the
state before. Nothing waits for another repeat. What is held back for T2 waits until it is released.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator

from sipbench.protocol.vocabulary import Phase
from sipbench.study.order import Order
from sipbench.study.plan import Plan, Slot, StateKey, Step

__all__ = ["Agenda"]


class Agenda:
    """Hands out attempts and adaptations, and learns what became of them."""

    def __init__(
        self,
        plan: Plan,
        *,
        done: Collection[Slot],
        made: Collection[StateKey],
        order: Order | None = None,
        holds: Callable[[Slot | Step], bool] | None = None,
    ) -> None:
        """Take up a plan.

        Args:
            plan: All attempts and adaptations.
            done: Attempts that are finished.
            made: Agent states that exist. Those of T0 are empty and always there.
            order: How attempts follow each other; default: interleaved.
            holds: Whether one must not begin yet; asked now and at each :meth:`release`. None: no.
        """
        order = order or Order()
        self._ready: list[tuple[int, int, Slot | Step]] = []
        self._order = {slot: index for index, slot in enumerate(order.sequence(plan))}
        self._company = order.company(plan)
        self._steps = {step: index for index, step in enumerate(plan.steps) if step.key not in made}
        self._states = set(made)
        self._failed: set[StateKey] = set()
        self._waiting: dict[StateKey, list[Slot]] = defaultdict(list)
        self._after: dict[StateKey, list[Step]] = defaultdict(list)
        self._missing: dict[Step, int] = {}
        self._learned_by: dict[Slot, Step] = {}
        self._open = 0
        self._holds = holds or (lambda _: False)
        self._held: list[Slot | Step] = []
        self._held_keys: set[StateKey] = set()
        self.blocked: list[Slot | Step] = []
        """What will not be done, since an adaptation that it needs failed."""
        for step in self._steps:
            left = [slot for slot in step.attempts if slot not in done]
            self._missing[step] = len(left)
            self._learned_by |= dict.fromkeys(left, step)
        self._take_up([*(slot for slot in plan.slots if slot not in done), *self._steps])

    @property
    def open(self) -> int:
        """Attempts and adaptations that are not settled yet, without those that are held back."""
        return self._open

    @property
    def held(self) -> int:
        """Attempts that are held back; adaptations come with them."""
        return sum(isinstance(item, Slot) for item in self._held)

    def take(self) -> Slot | Step | None:
        """The next that can be done; None if there is nothing now."""
        return heapq.heappop(self._ready)[2] if self._ready else None

    def release(self) -> None:
        """Ask again what is held back."""
        held, self._held = self._held, []
        self._take_up(held)

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

    def _take_up(self, items: list[Slot | Step]) -> None:
        self._held = [item for item in items if self._holds(item)]
        self._held_keys = {item.key for item in self._held if isinstance(item, Step)}
        held = set(self._held)
        for item in items:
            if item in held:
                continue
            self._open += 1
            if isinstance(item, Slot):
                self._offer_slot(item)
            else:
                self._offer_step(item)

    def _has(self, key: StateKey) -> bool:
        return key.phase is Phase.T0 or key in self._states

    def _offer_slot(self, slot: Slot) -> None:
        if slot.state_key in self._failed:
            self._give_up_slot(slot)
        elif (missing := next(self._awaited(slot), None)) is None:
            heapq.heappush(self._ready, (1, self._order[slot], slot))
        else:
            self._waiting[missing].append(slot)

    def _awaited(self, slot: Slot) -> Iterator[StateKey]:
        """The states that are not there yet: its own, and those of its company that may still come."""
        if not self._has(slot.state_key):
            yield slot.state_key
        for key in self._company.get((slot.repeat, slot.phase, slot.split), ()):
            if not self._has(key) and key not in self._failed and key not in self._held_keys:
                yield key

    def _offer_step(self, step: Step) -> None:
        if step.previous in self._failed:
            if step not in self.blocked:
                self._give_up(step)
        elif not self._has(step.previous):
            if step not in self._after[step.previous]:
                self._after[step.previous].append(step)
        elif self._missing[step] == 0:
            # Much may wait for an adaptation, so it goes first.
            heapq.heappush(self._ready, (0, self._steps[step], step))

    def _block(self, key: StateKey) -> None:
        """Give up what needs a state that could not be made; what only kept it company goes on."""
        self._failed.add(key)
        for slot in self._waiting.pop(key, []):
            self._offer_slot(slot)
        for step in self._after.pop(key, []):
            self._offer_step(step)
        needs_it = [item for item in self._held if _needs(item) == key]
        if needs_it:
            self._held = [item for item in self._held if _needs(item) != key]
            self._open += len(needs_it)
            for item in needs_it:
                if isinstance(item, Slot):
                    self._give_up_slot(item)
                elif item not in self.blocked:
                    self._give_up(item)

    def _give_up_slot(self, slot: Slot) -> None:
        self._open -= 1
        self.blocked.append(slot)
        step = self._learned_by.pop(slot, None)
        if step is not None and step not in self.blocked:
            self._give_up(step)

    def _give_up(self, step: Step) -> None:
        self._open -= 1
        self.blocked.append(step)
        self._block(step.key)


def _needs(item: Slot | Step) -> StateKey:
    return item.state_key if isinstance(item, Slot) else item.previous

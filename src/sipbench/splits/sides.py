"""Which groups of tasks are learned from and which are tested on.

Groups go to a side one by one, in a random order that prefers large ones, each to the side that is
further from what it should have of the group's strata; the best of several such orders is taken. Where
none of them meets the sizes, an exact search over the groups' sizes says whether any division does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sipbench.protocol.digests import seed_from
from sipbench.splits.units import Unit

__all__ = ["Wanted", "divide"]

_MANY = 2_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Tasks that each side is to have.

    Attributes:
        adapt: For adaptation.
        evaluation: For held-out and replay.
    """

    adapt: int
    evaluation: int

    def missing(self, adapt: int, evaluation: int) -> int:
        """Tasks that a division with so many on each side lacks."""
        return max(0, self.adapt - adapt) + max(0, self.evaluation - evaluation)


def divide(
    units: Sequence[Unit],
    strata: Sequence[str],
    wanted: Wanted,
    seed: int,
    tested_only: Collection[int] = (),
) -> set[int]:
    """Choose the units for adaptation; all others are for evaluation.

    Args:
        units: The indivisible groups.
        strata: A label for each task.
        wanted: Sizes of the two sides, of which no division may have more than all tasks.
        seed: Decides among divisions.
        tested_only: Units that must not be learned from.

    Returns:
        Indices of units. As few tasks are missing as any division can have it.
    """
    free = [index for index in range(len(units)) if index not in tested_only]
    profile = {index: Counter(strata[task] for task in units[index].tasks) for index in range(len(units))}
    tries = 2 if len(units) > _MANY else 16
    best: tuple[int, float, set[int]] | None = None
    for number in range(tries):
        chosen = _greedy(free, units, profile, wanted, seed_from(seed, "sides", number))
        judged = (_missing(chosen, units, wanted), _unlike(chosen, profile), chosen)
        if best is None or judged[:2] < best[:2]:
            best = judged
    assert best is not None
    if best[0] == 0:
        return best[2]
    exact = _exact(free, units, wanted, seed)
    return exact if _missing(exact, units, wanted) < best[0] else best[2]


def _missing(chosen: Collection[int], units: Sequence[Unit], wanted: Wanted) -> int:
    adapt = sum(len(units[index].tasks) for index in chosen)
    return wanted.missing(adapt, sum(len(unit.tasks) for unit in units) - adapt)


def _greedy(
    free: Sequence[int], units: Sequence[Unit], profile: dict[int, Counter[str]], wanted: Wanted, seed: int
) -> set[int]:
    whole = wanted.adapt + wanted.evaluation
    share = wanted.adapt / whole if whole else 0.0
    if share in (0.0, 1.0):
        return set(free) if share else set()
    total: Counter[str] = Counter()
    for counts in profile.values():
        total.update(counts)
    has: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    goal = {True: share, False: 1 - share}
    for index in set(profile) - set(free):
        has[False].update(profile[index])

    def need(index: int, adapt: bool) -> float:
        # How far the side is from its part of the unit's strata, each task of the unit counted.
        side, part = has[adapt], goal[adapt]
        return sum(count * (1 - side[name] / (part * total[name])) for name, count in profile[index].items())

    noise = {index: (seed_from(seed, index) % 1000) / 1000 + 0.5 for index in free}
    chosen = set()
    for index in sorted(
        free, key=lambda index: (-len(units[index].tasks) * noise[index], noise[index], index)
    ):
        adapt, evaluation = need(index, True), need(index, False)
        to_adapt = adapt > evaluation if adapt != evaluation else share > 0.5
        has[to_adapt].update(profile[index])
        if to_adapt:
            chosen.add(index)
    return chosen


def _unlike(chosen: Collection[int], profile: dict[int, Counter[str]]) -> float:
    """Distance between the two sides' shares of the strata: 0 alike, 1 nothing in common."""
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for index, counts in profile.items():
        sides[index in chosen].update(counts)
    first, second = (sum(side.values()) or 1 for side in sides)
    return sum(abs(sides[0][name] / first - sides[1][name] / second) for name in sides[0] | sides[1]) / 2


def _exact(free: Sequence[int], units: Sequence[Unit], wanted: Wanted, seed: int) -> set[int]:
    """A division with the fewest missing tasks: subset sums, as bits of a number."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for index in free:
        by_size[len(units[index].tasks)].append(index)
    for members in by_size.values():
        members.sort(key=lambda index: seed_from(seed, "exact", index))
    # Many units of one size are taken in lots of 1, 2, 4, ...: few steps, every number of them possible.
    lots = [(size, lot) for size, members in sorted(by_size.items()) for lot in _lots(len(members))]
    reachable = [1]
    for size, lot in lots:
        reachable.append(reachable[-1] | reachable[-1] << (size * lot))
    whole = sum(len(unit.tasks) for unit in units)
    sums = (total for total in range(whole + 1) if reachable[-1] >> total & 1)
    total = min(sums, key=lambda total: (wanted.missing(total, whole - total), abs(total - wanted.adapt)))
    chosen: set[int] = set()
    for (size, lot), before in zip(reversed(lots), reversed(reachable[:-1]), strict=True):
        if not before >> total & 1:
            chosen.update(by_size[size].pop() for _ in range(lot))
            total -= size * lot
    return chosen


def _lots(count: int) -> list[int]:
    lots, lot = [], 1
    while count > lot:
        lots.append(lot)
        count -= lot
        lot *= 2
    return [*lots, count]

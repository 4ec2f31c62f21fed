"""Which prices are worth paying: the arms that no cheaper arm gains more than."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["pareto_front"]


def pareto_front(costs: Sequence[float], gains: Sequence[float]) -> list[int]:
    """The points that no other one dominates, from cheap to dear.

    A point is dominated by one that costs no more and gains no less, and is better in one of the two. Of
    points that are equal in both, all are kept.

    Args:
        costs: Cost of each point.
        gains: Its gain, as many.

    Returns:
        Their positions, by cost, then by position.

    Raises:
        ValueError: There is not one gain for each cost.
    """
    if len(gains) != len(costs):
        raise ValueError(f"{len(gains)} gains for {len(costs)} costs")
    front: list[int] = []
    for i in sorted(range(len(costs)), key=lambda i: (costs[i], -gains[i], i)):
        best = gains[front[-1]] if front else None
        equal = bool(front) and (costs[i], gains[i]) == (costs[front[-1]], gains[front[-1]])
        if best is None or gains[i] > best or equal:
            front.append(i)
    return front

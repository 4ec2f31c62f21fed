"""The frozen arm that an adapted arm is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sipbench.protocol.vocabulary import PathType, Phase
from sipbench.stats.changes import EMPTY, Pair
from sipbench.stats.means import ArmTable

__all__ = ["ControlChoice", "choose_control", "shares_before"]


@dataclass(frozen=True, slots=True)
class ControlChoice:
    """A control arm, or why there is none.

    Attributes:
        arm: The control arm's attempts, or None.
        reason: Why it is None, if that needs saying.
    """

    arm: ArmTable | None
    reason: str | None = None


def choose_control(
    arm: ArmTable, path_type: PathType, others: Sequence[tuple[ArmTable, PathType]]
) -> ControlChoice:
    """The control of one arm: the frozen arm of the same benchmark and version.

    Where several are frozen, the one that shares model and agent at T0 is the control; if that leaves
    several as well, none is, since choosing one after the fact would be choosing the result.

    Args:
        arm: The arm to compare.
        path_type: Its path type; a frozen arm has no control, nor has an oracle, which does not learn.
        others: All arms with their path types.
    """
    if path_type in (PathType.FROZEN, PathType.ORACLE):
        return ControlChoice(None)
    frozen = [
        other for other, path in others if path is PathType.FROZEN and other.identity[:2] == arm.identity[:2]
    ]
    if len(frozen) > 1:
        frozen = [other for other in frozen if _agent(other) == _agent(arm)] or frozen
    if len(frozen) > 1:
        names = ", ".join(f"'{other.identity[2]}'" for other in frozen)
        reason = f"several frozen arms ({names}) could be the control, so none is; keep one of them apart"
        return ControlChoice(None, reason)
    return ControlChoice(frozen[0] if frozen else None)


def _agent(arm: ArmTable) -> tuple[tuple[str, ...], tuple[str, ...]]:
    models, agents = arm.values("model_name"), arm.values("agent_name")
    return models.get(Phase.T0, ()), agents.get(Phase.T0, ())


def shares_before(arm: ArmTable, control: ArmTable, pair: Pair) -> bool:
    """Whether the earlier attempts of both arms are the same ones.

    They are if the arm has none of its own, or if every task has the same mean of as many attempts:
    then the earlier phase cancels in the difference of the two changes, whoever ran it.
    """
    key = (pair.before, pair.split)
    theirs = control.task_means.get(key, EMPTY)
    if not theirs.ids:
        return False
    own = arm.task_means.get(key, EMPTY)
    if not own.ids:
        return True
    cells = arm.counts[key], control.counts[key]
    same_tasks = own.ids == theirs.ids and bool((own.means == theirs.means).all())
    return same_tasks and cells[0].counted.tolist() == cells[1].counted.tolist()

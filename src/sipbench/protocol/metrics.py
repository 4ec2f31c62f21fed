"""The protocol's metrics as definitions: two numbers in, one number out.

Each argument is a mean score in [0, 1] of one agent on one set of tasks in one phase: per task
first, then over tasks. What estimates them from attempts, with intervals, is in
:mod:`sipbench.stats`; SIP-Bench v0.1.0 applies the same definitions to pooled attempts
(:mod:`sipbench.protocol.v0`).

In the words of continual learning, adaptation is "training on a new experience", held-out tasks
are what comes next and replay tasks are what was there before. With ``R[p, s]`` the mean score in
phase ``p`` on split ``s``:

=============  =================================  ==============================================
metric         definition                         continual learning
=============  =================================  ==============================================
``fg``         R[T1, heldout] - R[T0, heldout]    forward transfer (Lopez-Paz & Ranzato: FWT, with
                                                  the agent before adaptation as the baseline)
``br``         R[T1, replay] - R[T0, replay]      backward transfer (BWT); Avalanche's forgetting
                                                  is ``-br``
``br_ratio``   R[T1, replay] / R[T0, replay]      relative retention
``ie``         fg / learning cost                 no counterpart
``pds``        R[T2, heldout] - R[T1, heldout]    backward transfer one experience later
``drift_gain`` R[T2, drift] - R[T0, drift]        forward transfer to shifted tasks
``nis``        fg - lambda * max(0, -br)          plasticity less weighted forgetting
=============  =================================  ==============================================

References:
    SIP-Bench Protocol Spec v0, "Required Metrics".
    Lopez-Paz & Ranzato (2017), Gradient episodic memory for continual learning, NeurIPS,
    section 2 (BWT and FWT). Avalanche (ContinualAI/avalanche), evaluation metrics ``forgetting``,
    ``bwt`` and ``forward_transfer``.
"""

from __future__ import annotations

__all__ = [
    "backward_retention",
    "br_ratio",
    "drift_gain",
    "forward_gain",
    "improvement_efficiency",
    "net_improvement",
    "persistence",
]


def forward_gain(t0_heldout: float, t1_heldout: float) -> float:
    """FG: what was gained on new tasks, in score points. Range [-1, 1].

    The forward transfer of continual learning. Lopez-Paz & Ranzato's FWT compares with a random
    initialisation; the protocol compares with the same agent before it adapted.
    """
    return t1_heldout - t0_heldout


def backward_retention(t0_replay: float, t1_replay: float) -> float:
    """BR: what became of old tasks, in score points. Range [-1, 1]; negative is forgetting.

    The backward transfer (BWT) of Lopez-Paz & Ranzato with one old experience; Avalanche reports
    its negative as forgetting.
    """
    return t1_replay - t0_replay


def br_ratio(t0_replay: float, t1_replay: float, eps: float) -> float:
    """BR_ratio: the share of the old score that is left, ``T1 / max(T0, eps)``.

    Below ``eps`` it is the floor that speaks, not the agent: read no interval into it then.
    """
    return t1_replay / max(t0_replay, eps)


def improvement_efficiency(fg: float, cost: float | None) -> float | None:
    """IE: score points gained per unit of learning cost.

    Args:
        fg: Forward gain.
        cost: What learning cost, in one declared unit, without any evaluation; None if unknown.

    Returns:
        ``fg / cost``; None where the cost is unknown or 0, since no finite value would be true.
    """
    return None if cost is None or cost <= 0 else fg / cost


def persistence(t1_target: float, t2_target: float) -> float:
    """PDS: what became of the gain after delay, drift or further exposure, in score points.

    ``pds`` has the same held-out tasks on both sides. The protocol's literal value
    (``pds_protocol``) may set drift tasks at T2 against held-out tasks at T1; it is then
    confounded with how hard the two sets are.
    """
    return t2_target - t1_target


def drift_gain(t0_drift: float, t2_drift: float) -> float:
    """What is gained on shifted tasks by T2, against the same tasks at T0, in score points."""
    return t2_drift - t0_drift


def net_improvement(fg: float, br: float, lambda_: float) -> float:
    """NIS: the gain less ``lambda_`` times what was forgotten. A convenience, no ranking.

    Its plug-in estimate is biased down when nothing changes, because noise in BR counts only
    when it is negative.
    """
    return fg - lambda_ * max(0.0, -br)

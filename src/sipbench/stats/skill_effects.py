"""What became of the tasks on which a skill was used, per skill, shrunken by as much as it is noise.

Whether a skill is opened is the agent's own choice, so these are associations and no effects of an
assignment; where every task is given every skill and it is unknown what was opened, they cannot be told
apart. Tasks are taken as independent: with few families the intervals are too narrow.

References:
    Morris (1983), Parametric empirical Bayes inference: theory and applications, JASA 78(381), 47-55.
    DerSimonian & Laird (1986), Meta-analysis in clinical trials, Controlled Clinical Trials 7(3), 177-188.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from sipbench.protocol.records import RunRecord, SkillRef
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, Phase
from sipbench.stats._arrays import Floats
from sipbench.stats.exposure import ArmKey, arm_key

__all__ = ["ShrunkenEffects", "SkillEffect", "shrink_effects", "skill_effects"]

_NO_NOISE = 1e-12

type _Task = tuple[str, str]  # split, task


@dataclass(frozen=True, slots=True)
class SkillEffect:
    """One skill of one arm.

    Attributes:
        arm: Whose.
        name: Of the skill.
        digest: That of its ``SKILL.md``, else that of all its files; None where records have neither.
        given: Attempts after adaptation that were given it.
        opened: Those that opened it; None where that is known of none.
        tasks: Tasks with a score before and with a graded attempt after that used it.
        gained: Those whose mean score rose.
        lost: Those whose mean score fell.
        change: Mean change over these tasks, score units; None without any.
        shrunken: The change moved towards the mean of all skills; None where noise is unknown.
        low: Lower end of its 95 % interval.
        high: Upper end.
    """

    arm: ArmKey
    name: str
    digest: str | None
    given: int
    opened: int | None
    tasks: int
    gained: int
    lost: int
    change: float | None
    shrunken: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkenEffects:
    """Empirical-Bayes estimates of several means.

    Attributes:
        effects: Shape (n,).
        low: Lower ends of the intervals, shape (n,).
        high: Upper ends, shape (n,).
        mean: Their centre, weighted by precision.
        tau2: Variance of the true means between skills (DerSimonian and Laird).
    """

    effects: Floats
    low: Floats
    high: Floats
    mean: float
    tau2: float


def shrink_effects(groups: Sequence[Sequence[float]], confidence: float = 0.95) -> ShrunkenEffects | None:
    """Shrink group means: ``m + B_i (y_i - m)`` with ``B_i = tau2 / (tau2 + v_i)`` and ``v_i = s2 / n_i``.

    ``s2`` is the variance within groups, pooled; ``m`` the mean weighted by ``1 / (v_i + tau2)``. The
    variance of an estimate is ``B_i v_i + (1 - B_i)^2 / sum(w)``; intervals are normal.

    Args:
        groups: The values of each group, none empty.
        confidence: Of the intervals.

    Returns:
        The estimates; None with fewer than two groups, or where no group has two values to tell noise by.
    """
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    if len(groups) < 2 or (freedom := float((sizes - 1).sum())) <= 0:
        return None
    means = np.array([float(np.mean(group)) for group in groups])
    pooled = sum(float(((np.asarray(group) - np.mean(group)) ** 2).sum()) for group in groups) / freedom
    if pooled <= _NO_NOISE:
        return None
    variances = pooled / sizes
    fixed = 1.0 / variances
    centre = float((fixed * means).sum() / fixed.sum())
    q = float((fixed * (means - centre) ** 2).sum())
    scale = float(fixed.sum() - (fixed**2).sum() / fixed.sum())
    tau2 = max(0.0, (q - (len(groups) - 1)) / scale)
    weights = 1.0 / (variances + tau2)
    mean = float((weights * means).sum() / weights.sum())
    kept = tau2 / (tau2 + variances)
    effects = mean + kept * (means - mean)
    spread = np.sqrt(kept * variances + (1.0 - kept) ** 2 / weights.sum())
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    return ShrunkenEffects(effects, effects - z * spread, effects + z * spread, mean, tau2)


def skill_effects(records: Iterable[RunRecord]) -> list[SkillEffect]:
    """Per arm and skill: how often it was given and opened, and what became of the tasks that used it.

    A task used a skill where an attempt after adaptation opened it; where what was opened is unknown,
    where it was given. Its change is the mean score of these attempts minus its mean score at T0.

    Returns:
        By arm, then by shrunken (else raw) change, the best first; skills without one last.
    """
    by_arm: dict[ArmKey, list[RunRecord]] = defaultdict(list)
    for record in records:
        if record.benchmark_split in EVALUATION_SPLITS:
            by_arm[arm_key(record)].append(record)
    return [effect for arm in sorted(by_arm, key=str) for effect in _of_arm(arm, by_arm[arm])]


def _of_arm(arm: ArmKey, records: list[RunRecord]) -> list[SkillEffect]:
    before: dict[_Task, list[float]] = defaultdict(list)
    after: dict[SkillRef, dict[_Task, list[float]]] = defaultdict(lambda: defaultdict(list))
    given: dict[SkillRef, int] = defaultdict(int)
    opened: dict[SkillRef, int] = defaultdict(int)
    known: set[SkillRef] = set()
    for record in records:
        task = (str(record.benchmark_split), record.task_id)
        if record.phase == Phase.T0:
            if record.score is not None:
                before[task].append(record.score)
            continue
        offered = dict.fromkeys(record.skills_given or ())
        used = offered if record.skills_opened is None else dict.fromkeys(record.skills_opened)
        for skill in offered:
            given[skill] += 1
        if record.skills_opened is not None:
            known.update(offered, used)
        for skill in used:
            opened[skill] += record.skills_opened is not None
            if record.score is not None:
                after[skill][task].append(record.score)
    found = {
        skill: [
            float(np.mean(scores)) - float(np.mean(before[task]))
            for task, scores in sorted(after[skill].items())
            if before.get(task)
        ]
        for skill in sorted(
            {*given, *after}, key=lambda skill: (skill.name, skill.digest or "", skill.tree_digest or "")
        )
    }
    shrunken = _shrunken(found)
    effects = [
        SkillEffect(
            arm,
            skill.name,
            skill.digest or skill.tree_digest,
            given[skill],
            opened[skill] if skill in known else None,
            len(changes),
            sum(change > 0 for change in changes),
            sum(change < 0 for change in changes),
            float(np.mean(changes)) if changes else None,
            *shrunken.get(skill, (None, None, None)),
        )
        for skill, changes in found.items()
    ]
    return sorted(effects, key=_order)


def _shrunken(found: dict[SkillRef, list[float]]) -> dict[SkillRef, tuple[float, float, float]]:
    skills = [skill for skill, changes in found.items() if changes]
    made = shrink_effects([found[skill] for skill in skills])
    if made is None:
        return {}
    rows = zip(made.effects, made.low, made.high, strict=True)
    return {
        skill: (float(effect), float(low), float(high))
        for skill, (effect, low, high) in zip(skills, rows, strict=True)
    }


def _order(effect: SkillEffect) -> tuple[bool, float, str]:
    best = effect.shrunken if effect.shrunken is not None else effect.change
    return (best is None, -(best or 0.0), effect.name)

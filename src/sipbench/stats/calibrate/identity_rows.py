"""What must hold exactly, on drawn studies: identities that an estimator of task means keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sipbench.stats._arrays import Floats
from sipbench.stats.calibrate.row import Figure, Row
from sipbench.stats.contrasts import Contrast, linear_contrast
from sipbench.stats.missing import Policy, tally
from sipbench.stats.signflip import sign_flip

_SAME = 1e-12


@dataclass(slots=True)
class _Attempts:
    """Attempts of one phase, one element per attempt."""

    tasks: list[str]
    statuses: list[str]
    scores: list[float | None]

    def add(self, task: str, score: float | None) -> None:
        self.tasks.append(task)
        self.statuses.append("infrastructure_error" if score is None else "graded")
        self.scores.append(score)

    def reordered(self, order: Sequence[int]) -> _Attempts:
        return _Attempts(
            [self.tasks[i] for i in order],
            [self.statuses[i] for i in order],
            [self.scores[i] for i in order],
        )

    def pooled(self) -> float:
        return float(np.mean([score for score in self.scores if score is not None]))


def identities(rng: np.random.Generator, reps: int) -> Row:
    """Exact identities of contrasts and tests, against rows pooled over tasks."""
    binomial, swapped, order, others, nulls, pooled = (0.0 for _ in range(6))
    for _ in range(reps):
        before, after = _drawn(rng, 3), _drawn(rng, 3)
        plain = _contrast(before, after)
        binomial = max(binomial, _binomial_gap(rng))
        swapped = max(swapped, _gap(_contrast(after, before).differences, -plain.differences))
        shuffled = [part.reordered(rng.permutation(len(part.tasks)).tolist()) for part in (before, after)]
        order = max(order, _gap(_contrast(*shuffled).differences, plain.differences))
        more = _with_more(after, [float(rng.integers(0, 2)) for _ in range(9)])
        others = max(others, _gap(_contrast(before, more).differences[1:], plain.differences[1:]))
        pooled = max(pooled, _pooled_gap(before, after))
        lost = _with_more(after, [None] * 9)
        nulls = max(nulls, _gap(_contrast(before, lost).differences, plain.differences))
    figures = (
        Figure("sign-flip less binomial test, one trial", binomial, high=_SAME),
        Figure("T0 and T1 swapped, less the negative", swapped, high=_SAME),
        Figure("row order", order, high=_SAME),
        Figure("extra trials of one task, on the other tasks", others, high=_SAME),
        Figure("attempts without a grade", nulls, high=_SAME),
    )
    without = (Figure("extra trials of one task with p = 1, FG of no change", pooled, high=_SAME),)
    settings = "12 tasks, 3 trials; the greatest absolute difference"
    return Row("identities", settings, reps, figures, "rows pooled over tasks", without)


def _drawn(rng: np.random.Generator, k: int) -> _Attempts:
    drawn = _Attempts([], [], [])
    for task, p in enumerate(rng.random(12)):
        for score in (rng.random(k) < p).astype(np.float64):
            drawn.add(f"t{task:02d}", float(score))
    return drawn


def _with_more(attempts: _Attempts, scores: Sequence[float | None]) -> _Attempts:
    """The attempts with more of the first task."""
    more = _Attempts(attempts.tasks.copy(), attempts.statuses.copy(), attempts.scores.copy())
    for score in scores:
        more.add("t00", score)
    return more


def _contrast(before: _Attempts, after: _Attempts) -> Contrast:
    cells = [tally(part.tasks, part.statuses, part.scores).means(Policy.PRIMARY) for part in (after, before)]
    return linear_contrast(cells[:1], cells[1:])


def _pooled_gap(before: _Attempts, after: _Attempts) -> float:
    """What pooled rows make of nine more trials that all pass, where the task always passes."""
    sure = [_with_more(part, [1.0]) for part in (before, after)]
    more = _with_more(sure[1], [1.0] * 9)
    return abs((more.pooled() - sure[0].pooled()) - (sure[1].pooled() - sure[0].pooled()))


def _binomial_gap(rng: np.random.Generator) -> float:
    from scipy.stats import binomtest

    d = rng.integers(-1, 2, 12).astype(np.float64)
    gains, losses = int((d > 0).sum()), int((d < 0).sum())
    want = float(binomtest(gains, gains + losses).pvalue) if gains + losses else 1.0
    return abs(sign_flip(d).p - want)


def _gap(left: Floats, right: Floats) -> float:
    return float(np.abs(left - right).max())

"""What each change of an arm is worth: against the control, with what was lost, and what it could show.

A finding gathers what a verdict rests on. Nothing here says a word yet; that is ``judgement``, which
needs the findings of all arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sipbench.protocol import inference as model
from sipbench.protocol.manifest import ReplaySelection
from sipbench.protocol.settings import AnalysisSettings
from sipbench.stats.adjusted import Subject, against, merged_families, over_adaptations
from sipbench.stats.changes import Change, Pair
from sipbench.stats.contrasts import Contrast, MethodMean
from sipbench.stats.control import shares_before
from sipbench.stats.crossfit_lost import crossfit_sensitivity
from sipbench.stats.entries import contrast_entry, interval_entry, method_entry, sensitivity_entry
from sipbench.stats.method_lost import method_sensitivity
from sipbench.stats.missing import Attrition, Sensitivity, attrition, sensitivity
from sipbench.stats.noise import floor_of
from sipbench.stats.power import detectable
from sipbench.stats.taskwise import task_changes

__all__ = ["Finding", "find"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A change and what it rests on.

    Attributes:
        change: The arm's own change.
        headline: The difference in differences where there is a control, else the change.
        control: Name of the control arm, where ``headline`` is that difference.
        shared_before: Whether the earlier attempts of both arms are the same.
        lost: The headline under every policy for lost attempts; None where it has no task.
        gaps: Attrition: before to after, and control to arm.
        method: The headline with adaptations drawn as well as tasks; None without two.
        method_lost: The same under every policy for lost attempts; None without it.
        attempts: Mean counted attempts per task before and after.
        floor: What doing nothing gives.
        tasks: The change of each task.
    """

    change: Change
    headline: Contrast
    control: str | None
    shared_before: bool
    lost: Sensitivity | None
    gaps: tuple[Attrition, ...]
    method: MethodMean | None
    method_lost: Sensitivity | None
    attempts: tuple[float, float] | None
    floor: model.NoiseFloor | None
    tasks: model.TaskChanges | None

    def claimed(self, settings: AnalysisSettings) -> Contrast | MethodMean:
        """What a verdict judges: the headline, or its mean over adaptations for claims about a method."""
        head = self.headline
        if settings.scope == "agent" or head.estimate is None:
            return head
        if self.method is not None:
            return self.method
        reason = "one adaptation: it supports a claim about that agent, not about the method"
        if self.change.crossfit is not None:
            reason = "cross-fitted replay supports claims about these agents, not about the method"
        return MethodMean(head.estimate, None, reason, head.n, head.n_families, 1)

    def claimed_lost(self, settings: AnalysisSettings) -> Sensitivity | None:
        """What a verdict judges, under every policy for lost attempts."""
        return self.lost if settings.scope == "agent" else self.method_lost

    def detectable(self, settings: AnalysisSettings) -> float | None:
        """The effect that what is claimed, with the noise that it has, had the wanted power to find."""
        interval = self.claimed(settings).interval
        if interval is None or interval.se is None or interval.df is None:
            return None
        return detectable(interval.se, interval.df, settings.alpha, settings.power)

    def entries(self, settings: AnalysisSettings) -> dict[str, object]:
        """The fields of an ``Estimate`` that are known before any verdict."""
        if self.change.contrast.estimate is None and self.control is None:
            return {}
        effect = model.Detectable(
            effect=self.detectable(settings), power=settings.power, alpha=settings.alpha
        )
        return {
            "adjusted": self._adjusted(),
            "method": method_entry(self.method, self.method_lost, settings.coverage_gate),
            "lost": sensitivity_entry(self.lost, settings.coverage_gate, self.gaps),
            "detectable": effect,
            "noise_floor": self.floor,
            "tasks": self.tasks,
        }

    def _adjusted(self) -> model.Adjusted | None:
        if self.control is None:
            return None
        return model.Adjusted(
            **contrast_entry(self.headline).model_dump(exclude={"interval"}),
            interval=interval_entry(self.headline.interval),
            control=self.control,
            shared_before=self.shared_before,
            p_value=self.headline.p.p if self.headline.p else None,
        )


def find(
    subject: Subject,
    metric: str,
    control: Subject | None,
    selection: ReplaySelection | None,
    settings: AnalysisSettings,
) -> Finding:
    """Gather what one change of one arm is worth.

    Args:
        subject: The arm.
        metric: The metric, by its name in ``PAIRS``.
        control: Its control arm, if there is one.
        selection: How replay was chosen.
        settings: The declared choices.
    """
    change, alpha = subject.changes[metric], settings.alpha
    headline, shared, other = change.contrast, False, None
    if control is not None:
        shared = shares_before(subject.arm, control.arm, change.pair)
        found = against(subject, control, metric, selection, alpha, shared=shared)
        if found.estimate is not None:
            headline, other = found, control
    shared = shared and other is not None
    sides = (subject,) if other is None else (subject, other)
    attempts = _attempts(subject, change.pair, other if shared and other else subject)
    method = over_adaptations(subject, other, change, alpha, shared=shared)
    method_lost = None
    if method is not None and method.estimate is not None:
        method_lost = method_sensitivity(subject, other, metric, method, alpha, shared=shared)
    return Finding(
        change=change,
        headline=headline,
        control=other.arm.identity[2] if other is not None else None,
        shared_before=shared,
        lost=_lost(sides, metric, headline, alpha, shared=shared),
        gaps=_gaps(sides, change.pair, alpha),
        method=method,
        method_lost=method_lost,
        attempts=attempts,
        floor=_floor(subject, control, change.pair, headline.n, attempts, alpha),
        tasks=task_changes(subject.arm, change),
    )


def _lost(
    sides: Sequence[Subject], metric: str, headline: Contrast, alpha: float, *, shared: bool
) -> Sensitivity | None:
    if headline.estimate is None:
        return None
    own, *rest = sides
    change = own.changes[metric]
    # With shared attempts before, the headline of cross-fitted replay is a plain difference.
    if change.rule is not None and not shared:
        return crossfit_sensitivity(own, rest[0] if rest else None, metric, headline, change.rule, alpha)
    pair = change.pair
    before, after = ((phase, pair.split) for phase in (pair.before, pair.after))
    keys = (after,) if shared else (after, before)
    if any(key not in side.tallies for side in sides for key in keys):
        return None
    plus, minus = [own.tallies[after]], [] if shared else [own.tallies[before]]
    for control in rest:
        minus.append(control.tallies[after])
        plus += [] if shared else [control.tallies[before]]
    families = merged_families(own, rest[0] if rest else None)
    return sensitivity(plus, minus, families, alpha=alpha, test=False)


def _gaps(sides: Sequence[Subject], pair: Pair, alpha: float) -> tuple[Attrition, ...]:
    before, after = ((phase, pair.split) for phase in (pair.before, pair.after))
    own, *rest = sides
    families = merged_families(own, rest[0] if rest else None)
    pairs = [(own.tallies.get(before), own.tallies.get(after))]
    pairs += [(control.tallies.get(after), own.tallies.get(after)) for control in rest]
    return tuple(
        attrition(old, new, families, alpha=alpha)
        for old, new in pairs
        if old is not None and new is not None
    )


def _attempts(subject: Subject, pair: Pair, lender: Subject) -> tuple[float, float] | None:
    """Mean counted attempts per task: before, of the arm whose attempts those are, and after."""
    found = []
    for phase, side in ((pair.before, lender), (pair.after, subject)):
        cell = side.arm.counts.get((phase, pair.split))
        counted = cell.counted[cell.counted > 0] if cell is not None else np.empty(0)
        if not counted.size:
            return None
        found.append(float(counted.mean()))
    return found[0], found[1]


def _floor(
    subject: Subject,
    control: Subject | None,
    pair: Pair,
    n_tasks: int,
    attempts: tuple[float, float] | None,
    alpha: float,
) -> model.NoiseFloor | None:
    """From the attempts of an agent that did not change: the control's, or the arm's own before."""
    if attempts is None:
        return None
    for side in (control, subject):
        if side is not None:
            found = floor_of(side.arm, pair.before, pair.split, n_tasks, attempts, alpha)
            if found is not None:
                return found
    return None

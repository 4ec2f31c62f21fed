"""What a planned study could show, and what it would take: before any money is spent.

The numbers rest on the noise of attempts, measured in a pilot or assumed, and on how much true effects
differ between tasks, which nobody knows before: everything is computed for a small and for a large such
spread.

References:
    Miller (2024), Adding error bars to evals, arXiv 2411.00640, section 5 (power of evals).
    Yao et al. (2024), tau-bench, arXiv 2406.12045: E[pq] = pass^1 - pass^2 of its published tables is
    .13 to .15 for airline, .11 to .12 for retail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sipbench.protocol.settings import AnalysisSettings
from sipbench.protocol.vocabulary import Split
from sipbench.stats.power import (
    Design,
    minimum_detectable_effect,
    noise_floor,
    repeats_needed,
    smallest_margin,
    tasks_needed,
)

__all__ = [
    "ASSUMED_NOISE",
    "SPREADS",
    "Assumption",
    "Outlook",
    "Panel",
    "Part",
    "Prices",
    "Range",
    "Sketch",
    "foresee",
]

SPREADS = (0.15, 0.25)
"""SD of true effects between tasks, score units: small and large."""

ASSUMED_NOISE = 0.14
"""E[pq] where no pilot says: what published tables of agent benchmarks show."""

ASSUMED_RHO = 0.2
"""Correlation of the changes of two tasks of one family."""

ASSUMED_REPEAT_SD = 0.05
"""SD of the effect between adaptations, for claims about a method."""

MORE_TASKS = 10


@dataclass(frozen=True, slots=True)
class Part:
    """What is planned on one split.

    Attributes:
        tasks: Tasks.
        families: Families among them; as many as tasks where each is its own.
        attempts: Attempts per task, phase and repeat.
    """

    tasks: int
    families: int
    attempts: int


@dataclass(frozen=True, slots=True)
class Sketch:
    """A study as far as its power depends on it.

    Attributes:
        heldout: What FG rests on; None without held-out tasks.
        replay: What BR rests on; None without replay.
        repeats: Whole passes.
        controlled: Whether there is a frozen arm, whose noise then adds to every headline.
        attempts: All attempts, of all arms, phases and splits; or those that are left.
        concurrency: Attempts that run at a time.
        paying: Those of ``attempts`` that may cost money; None: all.
    """

    heldout: Part | None
    replay: Part | None
    repeats: int
    controlled: bool
    attempts: int
    concurrency: int = 1
    paying: int | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """What an attempt costs and how noisy it is, measured or given.

    Attributes:
        noise: E[pq] per split, squared score units; a split that is not in it is assumed.
        cost: Mean cost of an attempt in the study's cost unit, or None.
        seconds: Mean duration of an attempt, or None.
        usd: Mean cost of an attempt in US dollars, or None.
    """

    noise: Mapping[Split, float]
    cost: float | None = None
    seconds: float | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """A number under a small and under a large spread of effects; None where it does not exist."""

    small: float | None
    large: float | None


@dataclass(frozen=True, slots=True)
class Panel:
    """What one metric could show.

    Attributes:
        detectable: Smallest effect found with the wanted power, score units; for BR the smallest margin
            that shows retention if nothing is lost.
        floor: What two runs of an unchanged agent differ by, 95 times in 100, score units.
        one_repeat_more: ``detectable`` with another repeat.
        ten_tasks_more: ``detectable`` with ten more tasks.
        tasks_needed: Tasks for the wanted effect, with a small and a large spread.
        repeats_needed: Repeats for it.
        noise: E[pq] that was used.
        measured: Whether that was measured.
    """

    detectable: Range
    floor: float
    one_repeat_more: Range
    ten_tasks_more: Range
    tasks_needed: Range
    repeats_needed: Range
    noise: float
    measured: bool


@dataclass(frozen=True, slots=True)
class Assumption:
    """A number that an outlook rests on, since the study has not measured it yet.

    Attributes:
        name: ``noise``: E[pq], the variance of an attempt around its task's chance, squared score units;
            ``spread``: SD of true effects between tasks, score units, a small and a large one; ``rho``:
            correlation of the changes of two tasks of one family; ``repeat_sd``: SD of the effect between
            adaptations, score units.
        split: The split that it is about, or None.
        values: One value, or two where everything is computed for both.
        source: ``pilot``, measured there; or ``default``, what this module assumes.
    """

    name: Literal["noise", "spread", "rho", "repeat_sd"]
    split: Split | None
    values: tuple[float, ...]
    source: Literal["default", "pilot"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a study could show and would take.

    Attributes:
        fg: Against ``sesoi``; None without held-out tasks.
        br: Against ``margin``; None without replay.
        attempts: Attempts in all.
        cost: Their expected cost in the cost unit, or None.
        hours: Their expected duration, or None.
        usd: Their expected cost in US dollars; 0 if none of them may cost any, None if it is unknown.
        answers: Whether FG's detectable effect is within SESOI: surely, perhaps (with a small spread of
            effects), not, or unknown where no SESOI is declared or nothing can be detected.
        sentence: That, said.
        assumptions: What the numbers rest on.
    """

    fg: Panel | None
    br: Panel | None
    attempts: int
    cost: float | None
    hours: float | None
    answers: str
    sentence: str
    assumptions: tuple[Assumption, ...] = ()
    usd: float | None = None


def foresee(sketch: Sketch, settings: AnalysisSettings, prices: Prices | None = None) -> Outlook:
    """What a study could show and would take.

    Args:
        sketch: The study.
        settings: Its declared choices; ``scope: method`` adds the spread between adaptations.
        prices: What is known of attempts; None: nothing.
    """
    prices = prices or Prices({})
    parts = {Split.HELDOUT: sketch.heldout, Split.REPLAY: sketch.replay}
    wanted = {Split.HELDOUT: settings.sesoi, Split.REPLAY: settings.margin}
    panels = {
        split: _panel(part, sketch, settings, prices.noise.get(split), wanted[split])
        for split, part in parts.items()
        if part is not None
    }
    fg, br = panels.get(Split.HELDOUT), panels.get(Split.REPLAY)
    answers = _answers(fg, settings.sesoi)
    return Outlook(
        fg,
        br,
        sketch.attempts,
        None if prices.cost is None else prices.cost * sketch.attempts,
        None if prices.seconds is None else prices.seconds * sketch.attempts / sketch.concurrency / 3600,
        answers,
        _sentence(answers, fg, settings),
        tuple(_assumptions(parts, settings, prices)),
        _usd(sketch, prices),
    )


def _assumptions(
    parts: Mapping[Split, Part | None], settings: AnalysisSettings, prices: Prices
) -> Iterator[Assumption]:
    planned = {split: part for split, part in parts.items() if part is not None}
    for split in planned:
        measured = prices.noise.get(split)
        if measured is None:
            yield Assumption("noise", split, (ASSUMED_NOISE,), "default")
        else:
            yield Assumption("noise", split, (measured,), "pilot")
    if planned:
        yield Assumption("spread", None, SPREADS, "default")
    if any(part.families < part.tasks for part in planned.values()):
        yield Assumption("rho", None, (ASSUMED_RHO,), "default")
    if planned and settings.scope == "method":
        yield Assumption("repeat_sd", None, (ASSUMED_REPEAT_SD,), "default")


def _usd(sketch: Sketch, prices: Prices) -> float | None:
    paying = sketch.attempts if sketch.paying is None else sketch.paying
    if not paying:
        return 0.0
    return None if prices.usd is None else prices.usd * paying


def design_of(part: Part, sketch: Sketch, settings: AnalysisSettings, noise: float, spread: float) -> Design:
    """The headline of one metric as a paired contrast.

    A control arm with attempts of its own doubles the noise of attempts: there are four cells in
    place of two.
    """
    cells = 2.0 if sketch.controlled else 1.0
    return Design(
        tasks=part.tasks,
        trials_before=part.attempts,
        trials_after=part.attempts,
        noise_before=noise * cells,
        noise_after=noise * cells,
        tau=spread,
        repeats=sketch.repeats,
        repeat_sd=ASSUMED_REPEAT_SD if settings.scope == "method" else 0.0,
        family_size=part.tasks / part.families,
        rho=ASSUMED_RHO if part.families < part.tasks else 0.0,
    )


def _panel(
    part: Part,
    sketch: Sketch,
    settings: AnalysisSettings,
    measured: float | None,
    wanted: float | None,
) -> Panel:
    noise = ASSUMED_NOISE if measured is None else measured
    alpha, power = settings.alpha, settings.power
    designs = [design_of(part, sketch, settings, noise, spread) for spread in SPREADS]

    def effects(changed: list[Design]) -> Range:
        found = [minimum_detectable_effect(design, alpha, power) for design in changed]
        return Range(found[0], found[1])

    needed = Range(None, None), Range(None, None)
    if wanted is not None:
        tasks = [tasks_needed(design, wanted, alpha, power) for design in designs]
        repeats = [repeats_needed(design, wanted, alpha, power) for design in designs]
        needed = Range(tasks[0], tasks[1]), Range(repeats[0], repeats[1])
    return Panel(
        detectable=Range(*(smallest_margin(design, alpha, power) for design in designs)),
        floor=noise_floor(noise, part.tasks, part.attempts * sketch.repeats, alpha),
        one_repeat_more=effects([replace(design, repeats=design.repeats + 1) for design in designs]),
        ten_tasks_more=effects([replace(design, tasks=design.tasks + MORE_TASKS) for design in designs]),
        tasks_needed=needed[0],
        repeats_needed=needed[1],
        noise=noise,
        measured=measured is not None,
    )


def _answers(fg: Panel | None, sesoi: float | None) -> str:
    if fg is None or sesoi is None or fg.detectable.large is None or fg.detectable.small is None:
        return "unknown"
    if fg.detectable.large <= sesoi:
        return "yes"
    return "perhaps" if fg.detectable.small <= sesoi else "no"


def _sentence(answers: str, fg: Panel | None, settings: AnalysisSettings) -> str:
    if fg is None:
        return "There are no held-out tasks, so no gain can be shown."
    small, large = fg.detectable.small, fg.detectable.large
    if small is None or large is None:
        return (
            "Nothing can be shown: there are fewer than two families, or claims about a method rest on one "
            "repeat."
        )
    found = f"a gain of {small * 100:.1f} points (or {large * 100:.1f}, if effects differ much between tasks)"
    sure = f"in {settings.power * 100:.6g}% of cases"
    if settings.sesoi is None:
        return (
            f"It would find {found} {sure}; no smallest effect of interest is declared to hold that against."
        )
    asked = f"{settings.sesoi * 100:.3g} points"
    if answers == "yes":
        return f"It can answer its question: it would find {found} {sure}, and asks for {asked}."
    if answers == "perhaps":
        return f"It may answer its question: it would find {found} {sure}, and asks for {asked}."
    return (
        f"It may well miss a gain of {asked}, which it asks for: it would find {found} {sure}; {_remedy(fg)}."
    )


def _remedy(fg: Panel) -> str:
    tasks, repeats = fg.tasks_needed, fg.repeats_needed
    if tasks.small is None:
        return "no number of tasks would do"
    many = f" to {tasks.large:,.0f}" if tasks.large is not None else ""
    text = f"that takes {tasks.small:,.0f}{many} held-out tasks"
    if repeats.small is not None:
        return f"{text}, or {repeats.small:,.0f} repeats if effects hardly differ between tasks"
    return f"{text}; more repeats alone would not do"

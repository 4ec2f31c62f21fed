"""What is left of a study, and what it is expected to take: before any of it is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from sipbench.errors import RecordError
from sipbench.protocol.folder import RUNS
from sipbench.protocol.vocabulary import PathType, Phase, Split
from sipbench.study.caps import Spending
from sipbench.study.charges import charges_of
from sipbench.study.design import Design
from sipbench.study.plan import Slot, Step

if TYPE_CHECKING:
    from sipbench.stats.planning import Outlook, Part, Prices, Sketch
    from sipbench.study.session import Session

__all__ = ["Forecast", "forecast_of", "planned_forecast", "prices_for"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is left of a study.

    Attributes:
        design: The study.
        outlook: What it could show as a whole, and what the attempts that are left will take.
        pays: Whether any of them is to be taken to cost money.
        learning: Adaptations that are left and cost money, which nobody can foresee.
        most_usd: What may be spent at most before a cap ends it; None where none bounds it.
        begun: Whether any attempt or adaptation of the study was started before.
    """

    design: Design
    outlook: Outlook
    pays: bool
    learning: int = 0
    most_usd: Decimal | None = None
    begun: bool = False

    @property
    def measures_gain(self) -> bool:
        """Whether it attempts held-out tasks before and after learning."""
        return Phase.T1 in self.design.config.phases and self.outlook.fg is not None


def planned_forecast(design: Design, prices: Prices) -> Forecast:
    """Of a study of which nothing is done."""
    spending = Spending(charges_of(design))
    left = _Left(design.plan.slots, design.plan.steps)
    return _forecast(design, left, prices, spending, begun=False)


def forecast_of(session: Session) -> Forecast:
    """Of a study that is taken up.

    What an attempt costs is measured in the study's own attempts where it is neither declared nor
    measured in a pilot.

    Raises:
        RecordError: The pilot cannot be read.
    """
    design, spending = session.design, session.spending
    left = _Left(
        [slot for slot in design.plan.slots if slot not in session.done],
        [step for step in design.plan.steps if step.key not in session.made],
    )
    prices = prices_for(design)
    if session.done and prices.usd is None and not spending.charges.free:
        prices = _completed(prices, _measured(session.directory.runs, design, trusted=True))
    return _forecast(design, left, prices, spending, begun=session.history.touched)


def prices_for(
    design: Design, *, pilot: Path | None = None, cost: float | None = None, seconds: float | None = None
) -> Prices:
    """What is known of attempts: as given here, else declared in the study file, else measured in a pilot.

    Args:
        design: The study.
        pilot: Attempts made before, a file or a study directory; default: the study file's.
        cost: Of an attempt, in the study's cost unit.
        seconds: Of an attempt.

    Raises:
        RecordError: The pilot cannot be read.
        ConfigError: The study file's pilot cannot be read.
    """
    from sipbench.stats.planning import Prices

    declared, unit = design.config.estimate, design.config.analysis.cost_unit
    usd = cost if unit == "usd" else None
    given = Prices({}, cost, seconds, usd)
    known = Prices({}, None, declared.seconds_per_attempt, declared.usd_per_attempt)
    found = _completed(given, known)
    if pilot is not None:
        found = _completed(found, _measured(pilot, design))
    elif declared.pilot is not None:
        try:
            found = _completed(found, _measured(design.loaded.base / declared.pilot, design))
        except RecordError as error:
            raise design.loaded.error(str(error), "estimate", "pilot") from None
    return replace(found, cost=found.usd) if unit == "usd" else found


def _measured(pilot: Path, design: Design, *, trusted: bool = False) -> Prices:
    from sipbench.stats.pilot import prices_of

    runs = pilot / RUNS if pilot.is_dir() else pilot
    return prices_of(runs, design.config.analysis, trusted=trusted)


def _completed(prices: Prices, further: Prices) -> Prices:
    """``prices``, with what they do not say taken from ``further``."""
    missing = {
        name: getattr(further, name) for name in ("cost", "seconds", "usd") if getattr(prices, name) is None
    }
    return replace(prices, noise={**further.noise, **prices.noise}, **missing)


@dataclass(frozen=True, slots=True)
class _Left:
    slots: Sequence[Slot]
    steps: Sequence[Step]


def _forecast(design: Design, left: _Left, prices: Prices, spending: Spending, *, begun: bool) -> Forecast:
    from sipbench.stats.planning import foresee

    charges = spending.charges
    paying = sum(charges.attempts[slot.arm] != "free" for slot in left.slots)
    outlook = foresee(_sketch(design, len(left.slots), paying), design.config.analysis, prices)
    arms = {slot.arm for slot in left.slots}
    costs = any(charges.pays(arm) for arm in arms) if outlook.usd is None else outlook.usd > 0
    learning = sum(charges.adaptations[step.key.arm] in ("paid", "unreported") for step in left.steps)
    most = spending.usd_left(design.config.caps)
    return Forecast(design, outlook, costs or learning > 0, learning, most, begun)


def _sketch(design: Design, left: int, paying: int) -> Sketch:
    from sipbench.stats.planning import Part, Sketch

    config = design.config

    def part(split: Split) -> Part | None:
        tasks = design.manifest.tasks(split)
        families = {task.family or (task.id,) for task in tasks}
        return Part(len(tasks), len(families), config.attempts.of(split)) if tasks else None

    paths = [arm.path_type for arm in design.arms.values()]
    return Sketch(
        part(Split.HELDOUT),
        part(Split.REPLAY),
        config.repeats,
        PathType.FROZEN in paths and len(paths) > 1,
        left,
        config.concurrency,
        paying,
    )

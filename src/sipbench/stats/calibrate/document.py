"""The calibration in words and tables: ``docs/calibration.md``."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from sipbench.stats.calibrate.coverage_map import Measured
from sipbench.stats.calibrate.designs import TRIALS, Cell
from sipbench.stats.calibrate.row import Figure, Row
from sipbench.stats.calibrate.warning import LEAST_WARNED, Warned, warned
from sipbench.stats.undercoverage import FITTED, LEAST_COVERAGE, Model


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that ``make calibrate`` measures.

    Attributes:
        rows: The table of rules.
        measured: The coverage map.
        refitted: The warning model as this map would have it.
        seed: Seed of all simulations.
        studies: Studies per design of the map.
    """

    rows: tuple[Row, ...]
    measured: tuple[Measured, ...]
    refitted: Model
    seed: int
    studies: int

    def failures(self) -> list[str]:
        """What does not hold, one line each; empty if the calibration stands."""
        found = [f"{row.name}: {_figure(f)}" for row in self.rows for f in row.figures if not f.passed]
        found += [f"{row.name}: passes without the rule" for row in self.rows if not row.rule_matters]
        for item in map(warned, self.measured):
            if item.silent:
                found.append(
                    f"coverage {item.measured.coverage:.3f} and warned of in only {item.share:.0%} of the "
                    f"studies: {_name(item.measured.cell)}"
                )
        return found


def markdown(calibration: Calibration) -> str:
    """The whole page."""
    parts = (
        _opening(calibration),
        _rules(calibration.rows),
        _map(calibration),
        _low(calibration.measured),
        _model(calibration.refitted),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


_OPENING = """\
# Calibration

Written by `make calibrate`; do not edit. Every number comes from seeded simulation: seed {seed},
Python {python}, numpy {numpy}, scipy {scipy}. What the estimators are, and why:
[measurement](measurement.md).
"""

_RULES = """
## Rules

Each rule is measured in place, where every figure has to keep its limits, and taken out, where one
has to break them: a simulation that cannot tell the difference would prove nothing.

| rule | simulated studies | figure | limits | with it | without it |
|---|---|---|---|---|---|"""

_MAP = """
## Coverage map

Share of studies whose nominal 95 % interval of FG holds the truth; a study without an interval
counts as a miss. {studies:,} studies a design. Bold: under {least:.0%}. In brackets, where it
differs by a point: the share among the studies that have an interval.

- **regular**: chances Beta(.35, .5) at T0; every task changes by its own amount, SD .25.
- **skewed**: hard tasks, Beta(.2, 3.8); one in ten closes 80 % of the way to 1, the others do not
  change.
- **tied**: 85 % of the tasks are never or always solved and stay so; the others gain .35.
- **binary**: a score is solved or not; **graded**: the share of ten independent checks that pass.
- **families**: of 1, 2, 3, 4, 1, 2, ... tasks. A change comes to whole families; regular ones have
  an SD of .15 between families and .20 within."""

_LOW = """
## Designs under {least:.0%}

{low} of {all} designs. `sip` says so by itself, from the data alone: in every study with under six
families, in every study without an interval, and where the model below puts the data among such
designs. Each of these designs has to speak up in at least {warned:.0%} of its studies.
"""

_QUIET = """
Of the {n} designs at {least:.0%} or above with six families or more, the median one warns in
{median:.0%} of its studies. Those that warn most:
"""

_DESIGNS = """\
| changes | scores | tasks | families | trials | coverage | speaks up |
|---|---|---|---|---|---|---|"""

_WARNING = """
## The warning

The chance that data come from a design under {least:.0%}, by logistic regression on all studies of
the designs with six families or more; G families, SE of the mean:

```
logit = constant + skewness * |skewness of the families' sums of residuals| / sqrt(G)
                 + unchanged * share of families whose changes sum to 0
                 + reach * log(G * SE)
```

The number of trials adds nothing once these are known. The warning is given above the threshold.

| | constant | skewness | unchanged | reach | threshold |
|---|---|---|---|---|---|"""

_CLOSING = """
No sample shows what it does not hold: where a rare large effect has left no trace, the interval is
narrow, and nothing in the data warns but that narrowness (`reach`). More families help; more trials
of the same tasks do not."""


def _opening(calibration: Calibration) -> Iterator[str]:
    import scipy

    yield _OPENING.format(
        seed=calibration.seed, python=platform.python_version(), numpy=np.__version__, scipy=scipy.__version__
    )
    failures = calibration.failures()
    yield "All of it stands." if not failures else "**It does not stand:**\n"
    yield from (f"- {failure}" for failure in failures)


def _rules(rows: Sequence[Row]) -> Iterator[str]:
    yield _RULES
    for row in rows:
        settings = f"{row.settings}; {row.repetitions:,} studies"
        for place, figure in enumerate(row.figures):
            first = (row.name, settings) if place == 0 else ("", "")
            yield _line(*first, figure.name, _limits(figure), _value(figure), "")
        for figure in row.without:
            yield _line("", f"instead: {row.removed}", figure.name, _limits(figure), "", _value(figure))


def _map(calibration: Calibration) -> Iterator[str]:
    yield _MAP.format(studies=calibration.studies, least=LEAST_COVERAGE)
    trials = " | ".join(f"{k} trial{'s' if k > 1 else ''}" for k in TRIALS)
    for changes, group in groupby(calibration.measured, key=lambda design: design.cell.changes):
        yield f"\n### {str(changes).capitalize()} changes\n"
        yield f"| scores | families | tasks | {trials} |"
        yield "|---|---|---|" + "---|" * len(TRIALS)
        for _, cells in groupby(group, key=lambda d: (d.cell.scores, d.cell.grouped, d.cell.tasks)):
            designs = list(cells)
            yield _line(*_place(designs[0]), *map(_coverage, designs))


def _low(measured: Sequence[Measured]) -> Iterator[str]:
    low = [warned(design) for design in measured if design.low]
    yield _LOW.format(least=LEAST_COVERAGE, low=len(low), all=len(measured), warned=LEAST_WARNED)
    yield _DESIGNS
    yield from map(_described, low)
    quiet = [warned(design) for design in measured if not design.low and not design.few]
    median = float(np.median([item.share for item in quiet]))
    yield _QUIET.format(n=len(quiet), least=LEAST_COVERAGE, median=median)
    yield _DESIGNS
    yield from map(_described, sorted(quiet, key=lambda item: -item.share)[:8])


def _model(refitted: Model) -> Iterator[str]:
    yield _WARNING.format(least=LEAST_COVERAGE)
    for name, model in (("in use", FITTED), ("fitted to this map", refitted)):
        parts = (model.constant, model.skewness, model.unchanged, model.reach, model.threshold)
        yield _line(name, *(f"{part:g}" for part in parts))
    yield _CLOSING


def _place(design: Measured) -> tuple[str, str, str]:
    cell = design.cell
    return str(cell.scores), str(design.n_families) if cell.grouped else "none", str(cell.tasks)


def _described(item: Warned) -> str:
    cell = item.measured.cell
    scores, families, tasks = _place(item.measured)
    coverage, share = f"{item.measured.coverage:.3f}", f"{item.share:.0%}"
    return _line(str(cell.changes), scores, tasks, families, str(cell.trials), coverage, share)


def _name(cell: Cell) -> str:
    grouped = "families" if cell.grouped else "no families"
    return f"{cell.changes}, {cell.scores}, {grouped}, {cell.tasks} tasks, {cell.trials} trials"


def _coverage(design: Measured) -> str:
    text = f"{design.coverage:.3f}"
    text = f"**{text}**" if design.low else text
    return text if design.given - design.coverage < 0.01 else f"{text} ({design.given:.3f})"


def _value(figure: Figure) -> str:
    text = _number(figure.value)
    return text if figure.passed else f"**{text}**"


def _number(value: float) -> str:
    return f"{value:.1e}" if 0 < abs(value) < 5e-4 else f"{value:.3f}"


def _figure(figure: Figure) -> str:
    return f"{figure.name} is {_number(figure.value)}, limits {_limits(figure)}"


def _limits(figure: Figure) -> str:
    if math.isinf(figure.high):
        return f"≥ {_number(figure.low)}"
    if math.isinf(figure.low):
        return f"≤ {_number(figure.high)}"
    return f"{_number(figure.low)} to {_number(figure.high)}"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"

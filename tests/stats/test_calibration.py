"""Each rule of estimation holds under simulation, and the simulation notices when it is gone."""

from __future__ import annotations

import pytest

from sipbench.stats.calibrate.row import Figure, Row
from sipbench.stats.calibrate.table import ROWS, simulate


@pytest.mark.parametrize("index", range(len(ROWS)), ids=[simulation.__name__ for simulation, _ in ROWS])
def test_the_rule_holds_and_is_needed(index: int) -> None:
    row = simulate(index)
    assert row.passed, [figure for figure in row.figures if not figure.passed]
    assert row.rule_matters, row.without


def test_rows_do_not_depend_on_each_other_and_repeat() -> None:
    last = len(ROWS) - 1
    assert simulate(last) == simulate(last)
    assert simulate(last) != simulate(last, seed=1)


def test_a_figure_outside_its_limits_fails_its_row() -> None:
    good, bad = Figure("x", 0.95, 0.93, 0.975), Figure("x", 0.90, 0.93, 0.975)
    assert Row("r", "s", 1, (good,), "w", (bad,)).passed
    assert Row("r", "s", 1, (good,), "w", (bad,)).rule_matters
    assert not Row("r", "s", 1, (good, bad), "w", (good,)).passed
    assert not Row("r", "s", 1, (good,), "w", (good,)).rule_matters

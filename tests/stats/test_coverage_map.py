"""The coverage map: it simulates what the product computes, and the product warns where it should."""

from __future__ import annotations

import numpy as np
import pytest

from sipbench.stats.calibrate.coverage_map import Measured, intervals, measure
from sipbench.stats.calibrate.designs import Cell, Changes, Scores, cells
from sipbench.stats.calibrate.document import Calibration, markdown
from sipbench.stats.calibrate.table import simulate
from sipbench.stats.calibrate.warning import LEAST_WARNED, fit, risks, warned
from sipbench.stats.intervals import clustered_t
from sipbench.stats.undercoverage import FITTED, risk, shape_of, too_narrow

# With 600 studies a coverage is known to .012 or better; what lies within .02 of the limit may fall
# on either side of it, and the whole map, with its 10,000, decides.
STUDIES = 600
CLOSE = 0.02


@pytest.fixture(scope="module")
def small_map() -> tuple[Measured, ...]:
    return tuple(measure(cell, seed=3, studies=STUDIES) for cell in cells())


def test_it_has_every_combination_once() -> None:
    assert len(cells()) == len(set(cells())) == 4 * 3 * 2 * 2 * 3
    assert {cell.tasks for cell in cells()} == {10, 20, 40, 87}
    assert {cell.trials for cell in cells()} == {1, 3, 5}


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("changes", list(Changes))
def test_many_studies_at_once_are_the_same_as_one_by_one(changes: Changes, grouped: bool) -> None:
    cell = Cell(changes, Scores.BINARY, grouped, 20, 3)
    d = cell.differences(np.random.default_rng(5), 50)
    mean, se, half, _ = intervals(d, cell.sizes)
    labels = np.repeat(np.arange(cell.sizes.size), cell.sizes)
    for row in range(50):
        one = clustered_t(d[row], labels)
        assert mean[row] == pytest.approx(one.estimate, abs=1e-15)
        assert (se[row] == 0.0) == (one.interval is None)
        if one.interval is not None:
            assert se[row] == pytest.approx(one.interval.se)
            assert half[row] == pytest.approx(one.interval.width / 2)


def test_the_map_warns_exactly_where_the_product_does() -> None:
    cell = Cell(Changes.SKEWED, Scores.GRADED, True, 40, 3)
    measured = measure(cell, seed=0, studies=60)
    place = 1_000 + cells().index(cell)
    d = cell.differences(np.random.default_rng([0, place]), 60)
    labels = np.repeat(np.arange(cell.sizes.size), cell.sizes)
    found, spoke = [], []
    for row in d:
        interval = clustered_t(row, labels).interval
        if interval is not None and interval.se is not None:
            shape = shape_of(row, labels, interval.se)
            assert shape is not None
            found.append(risk(shape))
            spoke.append(too_narrow(row, labels, interval.se) is not None)
    assert risks(measured) == pytest.approx(np.asarray(found))
    assert spoke == (risks(measured) > FITTED.threshold).tolist()


def test_the_truth_of_a_design_is_what_its_studies_average_to() -> None:
    for changes in Changes:
        cell = Cell(changes, Scores.GRADED, False, 87, 5)
        d = cell.differences(np.random.default_rng(7), 3_000)
        assert d.mean() == pytest.approx(cell.truth, abs=4 * d.std() / np.sqrt(d.size))


def test_even_changes_are_covered_with_enough_tasks(small_map: tuple[Measured, ...]) -> None:
    for item in small_map:
        if item.cell.changes is Changes.REGULAR and item.n_families >= 8 and item.cell.tasks >= 20:
            assert 0.92 <= item.coverage <= 0.98, item.cell


def test_every_design_far_under_the_limit_makes_the_product_speak_up(small_map: tuple[Measured, ...]) -> None:
    far = [item for item in small_map if item.coverage < 0.93 - CLOSE]
    assert len(far) > 50
    assert [item.cell for item in far if warned(item).share < LEAST_WARNED - 0.05] == []


def test_regular_designs_are_left_in_peace(small_map: tuple[Measured, ...]) -> None:
    shares = [
        warned(item).share
        for item in small_map
        if item.cell.changes is Changes.REGULAR and item.n_families >= 16
    ]
    assert np.median(shares) < 0.05
    assert max(shares) < 0.35


def test_a_small_map_fits_a_model_like_the_one_in_use(small_map: tuple[Measured, ...]) -> None:
    fitted = fit(small_map, STUDIES)
    assert fitted.skewness == pytest.approx(FITTED.skewness, rel=0.35)
    assert fitted.unchanged == pytest.approx(FITTED.unchanged, rel=0.35)
    assert fitted.reach == pytest.approx(FITTED.reach, rel=0.5)


def test_without_the_warning_the_page_says_that_it_does_not_stand(
    small_map: tuple[Measured, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = FITTED.__class__(-50.0, 0.0, 0.0, 0.0, 0.4)
    monkeypatch.setattr("sipbench.stats.calibrate.document.warned", lambda item: warned(item, deaf))
    calibration = Calibration((simulate(14, scale=0.05),), small_map, FITTED, 3, STUDIES)
    assert any("warned of in only" in line for line in calibration.failures())
    page = markdown(calibration)
    assert "It does not stand" in page
    assert "skewed, graded, families, 20 tasks, 3 trials" in page


def test_the_page_names_each_design_under_the_limit(small_map: tuple[Measured, ...]) -> None:
    page = markdown(Calibration((simulate(14, scale=0.05),), small_map, FITTED, 3, STUDIES))
    low = [item for item in small_map if item.low]
    section = page.partition("## Designs under 93%")[2].partition("\nOf the ")[0]
    assert section.count("\n| ") == len(low) + 1
    assert f"{len(low)} of 144 designs" in section

"""A study that lost 40 % of its T1 attempts says "inconclusive" with bounds, wherever it says anything."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from sipbench.protocol.inference import LostAttempts
from sipbench.protocol.summary import Row
from sipbench.report.charts import all_charts
from sipbench.report.latex import latex
from sipbench.report.leaderboard import leaderboard
from sipbench.report.markdown import markdown
from sipbench.report.page import report_page
from sipbench.report.reading import Study
from sipbench.report.tables import print_summary
from sipbench.report.values import values_csv
from sipbench.report.words import plain, points


@pytest.fixture(scope="module")
def row(lossy: Study) -> Row:
    return lossy.summary.rows[lossy.names.index("skilled")]


@pytest.fixture(scope="module")
def lost(row: Row) -> LostAttempts:
    found = row.metrics.fg.lost
    assert found is not None
    assert found.gate != "verdict"
    return found


def between(lost: LostAttempts) -> str:
    return f"between {points(lost.low)} and {points(lost.high)} points"


def test_in_the_terminal(lossy: Study, row: Row, lost: LostAttempts) -> None:
    out = io.StringIO()
    print_summary(lossy.summary, Console(file=out, width=200, color_system=None, highlight=False))
    text = out.getvalue()
    (said,) = (line for line in text.splitlines() if line.startswith("skilled: inconclusive on new tasks"))
    assert plain(between(lost)) in said
    assert row.metrics.fg.verdict is not None
    assert plain(points(row.metrics.fg.verdict.value)) not in said
    kept_out = text.partition("Kept out of the main comparison")[2]
    assert "skilled" in kept_out.partition("Warnings")[0].splitlines()[1]
    assert "Main comparison" not in text


def test_on_the_page_and_in_markdown(lossy: Study, lost: LostAttempts) -> None:
    html, text = report_page([lossy]), markdown([lossy])
    for shown in (html, text):
        assert f"gain on new tasks: inconclusive, {between(lost)}" in shown
        assert "improved" not in shown
    assert f"**inconclusive** (FG: new tasks): {between(lost)}" in text


def test_in_the_summary(row: Row) -> None:
    assert not row.main_table
    assert row.metrics.fg.verdict is not None
    assert row.metrics.fg.verdict.word == "inconclusive"
    for name in ("fg", "br", "br_ratio", "ie", "nis"):
        found = getattr(row.metrics, name).lost
        assert found is not None, name
        assert None not in (found.low, found.high, found.outer_low, found.outer_high), name
        assert found.outer_low < found.low < found.high < found.outer_high, name


def test_in_the_leaderboard(lossy: Study, lost: LostAttempts) -> None:
    board = leaderboard([lossy])
    assert not board.ranked.rows
    assert board.apart is not None
    (cells,) = board.apart.rows
    said = dict(zip(board.apart.head, (cell.lines for cell in cells), strict=True))
    assert "FG inconclusive" in said["verdicts"]
    assert f"bounds {points(lost.low)} to {points(lost.high)}" in said["FG"]
    assert any("of the planned attempts count" in reason for reason in said["why"])


def test_in_the_files_for_papers_and_spreadsheets(lossy: Study, lost: LostAttempts) -> None:
    assert "Kept out of the main comparison" in latex([lossy])
    rows = csv.DictReader(io.StringIO(values_csv([lossy])))
    (fg,) = (one for one in rows if (one["arm"], one["metric"], one["chart"]) == ("skilled", "FG", "table"))
    assert (fg["verdict"], fg["allows"]) == ("inconclusive", "numbers")
    assert (float(fg["bound_low"]), float(fg["bound_high"])) == (lost.low, lost.high)


def test_charts_reach_to_the_limits_and_say_so(lossy: Study, lost: LostAttempts) -> None:
    charts = {chart.key: chart for chart in all_charts(lossy)}
    record = next(record for record in charts["plane"].records if record["arm"] == "skilled")
    assert (record["fg_low"], record["fg_high"]) == (lost.outer_low, lost.outer_high)
    record = next(record for record in charts["frontier"].records if record["arm"] == "skilled")
    assert (record["gain_low"], record["gain_high"]) == (lost.outer_low, lost.outer_high)
    for key in ("plane", "frontier"):
        assert any("Too few attempts count for a verdict on skilled" in note for note in charts[key].notes)

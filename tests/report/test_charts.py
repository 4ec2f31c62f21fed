from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path

import pytest

from sipbench.protocol.vocabulary import Phase, Split
from sipbench.report.charts import Chart, all_charts
from sipbench.report.charts.theme import RAMP, looks, render, style_sheet
from sipbench.report.reading import Study, read_study
from sipbench.report.words import headline
from tests.protocol.made import cell, document, write_lines
from tests.report.studies import Design, make_study


def charts(study: Study) -> dict[str, Chart]:
    return {chart.key: chart for chart in all_charts(study)}


def drawn(chart: Chart) -> str:
    assert chart.draw is not None, chart.empty
    return render(chart.draw())


def test_the_charts_stand_in_the_order_of_the_page(study: Study) -> None:
    assert list(charts(study)) == [
        "phases",
        "plane",
        "tasks",
        "attempts-heldout",
        "attempts-replay",
        "attempts-drift",
        "frontier",
        "exposure",
        "attrition",
    ]


def test_every_chart_has_a_text_alternative_and_its_values(study: Study) -> None:
    for chart in charts(study).values():
        assert chart.alternative, chart.key
        assert chart.records, chart.key
        for record in chart.records:
            assert set(record) <= set(chart.columns), chart.key


@pytest.mark.parametrize("key", ["phases", "plane", "tasks", "attempts-heldout", "frontier", "exposure"])
def test_a_drawing_has_a_size_and_marks_and_no_address(study: Study, key: str) -> None:
    svg = drawn(charts(study)[key])
    width, height = re.match(r'<svg class="chart" viewBox="0 0 (\S+) (\S+)"', svg).groups()  # type: ignore[union-attr]
    assert float(width) > 200
    assert float(height) > 50
    assert svg.count("<path") + svg.count("<line") > 5
    assert "http" not in svg
    assert "style=" not in svg


def test_the_phases_show_the_means_of_the_summary(study: Study) -> None:
    means = {
        (record["arm"], record["split"], record["phase"]): record["score"]
        for record in charts(study)["phases"].records
        if record["series"] == "mean"
    }
    for row, name in zip(study.summary.rows, study.names, strict=True):
        found = row.cell(Phase.T1, Split.HELDOUT)
        assert found is not None
        assert means[name, "held-out", "T1"] == pytest.approx(found.mean)
    assert ("skilled", "drift", "T1") not in means


def test_every_task_is_in_a_grey_line(study: Study) -> None:
    lines = [
        record
        for record in charts(study)["phases"].records
        if record["series"] not in ("mean", "control")
        and (record["arm"], record["split"], record["phase"]) == ("tuned", "held-out", "T0")
    ]
    assert sum(int(record["n"] or 0) for record in lines) == 24


def test_the_control_is_dashed_in_the_panels_of_the_others_alone(study: Study) -> None:
    with_control = {r["arm"] for r in charts(study)["phases"].records if r["series"] == "control"}
    assert with_control == {"skilled", "tuned"}


def test_the_plane_shows_what_verdicts_judge_and_the_control_at_the_origin(study: Study) -> None:
    records = {record["arm"]: record for record in charts(study)["plane"].records}
    assert set(records) == {"skilled", "tuned", "frozen (control)"}
    assert (records["frozen (control)"]["fg"], records["frozen (control)"]["br"]) == (0.0, 0.0)
    row = study.summary.rows[study.names.index("tuned")]
    fg, box = headline(row.metrics.fg)
    assert box is not None
    assert records["tuned"]["fg"] == fg
    assert (records["tuned"]["fg_low"], records["tuned"]["fg_high"]) == (box.low, box.high)
    assert row.metrics.fg.adjusted is not None
    assert fg == row.metrics.fg.adjusted.value


def test_the_waterfall_shrinks_and_marks_flips(study: Study) -> None:
    records = [r for r in charts(study)["tasks"].records if (r["arm"], r["metric"]) == ("tuned", "BR")]
    assert len(records) == 16
    assert [r["rank"] for r in records] == list(range(1, 17))
    assert all(r["change"] == pytest.approx(r["after"] - r["before"]) for r in records)  # type: ignore[operator]
    assert {r["task"] for r in records if r["lost"]} == {
        r["task"] for r in records if (r["before"], r["after"]) == (1.0, 0.0)
    }
    assert {r["arm"] for r in charts(study)["tasks"].records} == {"skilled", "tuned"}


def test_each_attempt_is_a_cell_that_can_be_chosen(study: Study) -> None:
    chart = charts(study)["attempts-heldout"]
    assert len(chart.records) == 4 * 24 * 9
    assert len(set(chart.linked)) == len(chart.records)
    svg = drawn(chart)
    assert {int(row) for row in re.findall(r'data-row="(\d+)"', svg)} == set(chart.linked)
    assert "@row" not in svg


def test_lost_attempts_are_signs_and_no_scores(lossy: Study) -> None:
    chart = charts(lossy)["attempts-heldout"]
    lost = [record for record in chart.records if record["status"] == "infrastructure_error"]
    assert lost
    assert {record["score"] for record in lost} == {None}
    assert drawn(chart).count(">?</text>") == len(lost)


def test_the_flow_names_every_cause(lossy: Study) -> None:
    chart = charts(lossy)["attrition"]
    (row,) = (row for row in lossy.summary.rows if row.arm == "skilled")
    lost = row.evaluation.planned - row.evaluation.counted
    assert f"{lost} infrastructure errors" in chart.alternative
    assert "frozen" in chart.notes[0]
    steps = {
        (record["step"], record["part"]): record["attempts"]
        for record in chart.records
        if (record["arm"], record["phase"]) == ("skilled", "T1")
    }
    assert steps["planned", "kept"] == steps["scored", "kept"] + steps["graded", "infrastructure error"]  # type: ignore[operator]
    assert "infrastructure error" in drawn(chart)


def test_nothing_lost_needs_no_drawing(study: Study) -> None:
    chart = charts(study)["attrition"]
    assert (chart.draw, chart.empty) == (None, "Every planned attempt was run, graded and scored.")


def test_the_frontier_has_the_cost_and_who_is_on_it(study: Study) -> None:
    records = {record["arm"]: record for record in charts(study)["frontier"].records}
    row = study.summary.rows[study.names.index("skilled")]
    assert row.learning_cost is not None
    assert records["skilled"]["cost"] == row.learning_cost.value
    assert records["skilled"]["frontier"] == "yes"
    assert set(records) == {"skilled", "tuned"}


def test_an_unknown_cost_is_named_and_not_drawn(tmp_path: Path) -> None:
    found = read_study(make_study(tmp_path / "s", Design(learning=None, arms=("frozen", "skilled"))))
    chart = charts(found)["frontier"]
    assert (chart.records, chart.draw) == ((), None)
    assert chart.notes[0].startswith("Not drawn, cost or gain unknown: skilled: what the adaptation")


def test_without_a_cost_unit_the_frontier_says_so(tmp_path: Path) -> None:
    design = Design(analysis={"sesoi": 0.1}, arms=("frozen", "skilled"))
    chart = charts(read_study(make_study(tmp_path / "s", design)))["frontier"]
    assert (chart.empty, chart.notes) == ("No cost unit was declared.", ())


def test_exposure_counts_given_and_opened(study: Study) -> None:
    found = {
        (record["phase"], record["what"]): record
        for record in charts(study)["exposure"].records
        if record["arm"] == "skilled"
    }
    assert found["T0", "given a skill"]["attempts"] == 0
    given, opened = found["T1", "given a skill"], found["T1", "opened a skill"]
    assert given["attempts"] == given["known"] == 120
    assert 0 < opened["attempts"] < opened["known"]  # type: ignore[operator]
    assert opened["share"] == pytest.approx(opened["attempts"] / opened["known"])  # type: ignore[operator]


def test_records_that_know_nothing_of_skills_say_that(tmp_path: Path) -> None:
    records = [*cell("T0", "heldout", {"a": [0.1]}), *cell("T1", "heldout", {"a": [0.4]})]
    chart = charts(read_study(write_lines(tmp_path / "runs.jsonl", records)))["exposure"]
    assert chart.draw is None
    assert chart.empty == "No record says which skills an attempt was given or opened."


def test_one_attempt_alone_draws_what_there_is(tmp_path: Path) -> None:
    found = charts(read_study(write_lines(tmp_path / "runs.jsonl", [document()])))
    assert drawn(found["phases"])
    assert drawn(found["attempts-heldout"])
    for key in ("plane", "tasks", "frontier"):
        assert found[key].draw is None
        assert found[key].empty


def test_ids_of_two_drawings_differ(study: Study) -> None:
    chart = charts(study)["phases"]
    assert chart.draw is not None
    drawings = [render(chart.draw(), prefix) for prefix in ("one", "two")]
    one, two = (set(re.findall(r'id="([^"]+)"', svg)) for svg in drawings)
    assert one
    assert one.isdisjoint(two)
    assert set(re.findall(r"url\(#([^)]+)\)", drawings[0])) == one


def test_an_interval_beyond_what_a_score_can_be_is_cut_off_in_the_drawing_alone(tmp_path: Path) -> None:
    records = [
        *cell("T0", "heldout", {"a": [0.0], "b": [1.0]}),
        *cell("T1", "heldout", {"a": [0.5], "b": [1.0]}),
    ]
    chart = charts(read_study(write_lines(tmp_path / "runs.jsonl", records)))["phases"]
    wide = [record for record in chart.records if record["high"] is not None]
    assert max(float(record["high"] or 0) for record in wide) > 2
    height = float(re.search(r'height="(\S+)"', drawn(chart)).group(1))  # type: ignore[union-attr]
    assert height < 300


def test_names_are_text_in_a_drawing(tmp_path: Path) -> None:
    names = {"heldout-0000": "</text><script>alert(1)</script>", "skilled": '"><img src=x onerror=alert(1)>'}
    design = Design(names=names, arms=("frozen", "skilled"), repeats=1, phases=("T0", "T1"))
    found = charts(read_study(make_study(tmp_path / "s", design)))
    for key in ("phases", "plane", "tasks", "attempts-heldout"):
        svg = drawn(found[key])
        assert "<script" not in svg
        assert "<img" not in svg


def test_marks_of_expressions_are_no_expressions(tmp_path: Path) -> None:
    names = {"heldout-0000": "'; datum.x ? 1 : \"\\", "heldout-0001": "{{ 7 * 7 }}", "skilled": "a.b[c]"}
    design = Design(names=names, arms=("frozen", "skilled"), repeats=1, phases=("T0", "T1"))
    found = charts(read_study(make_study(tmp_path / "s", design)))
    svg = drawn(found["attempts-heldout"])
    assert "datum.x ? 1" in svg
    assert "a.b[c]" in drawn(found["phases"])


def test_arms_differ_by_shape_where_colours_repeat() -> None:
    found = looks(["external"] * 14)
    assert len({(look.colour, look.shape) for look in found}) == 14
    assert {look.colour for look in looks(["frozen", "oracle"])}.isdisjoint({look.colour for look in found})


def test_every_colour_of_a_drawing_has_one_for_the_dark(study: Study, lossy: Study) -> None:
    rules = style_sheet()
    for found in (study, lossy):
        for chart in charts(found).values():
            if chart.draw is None:
                continue
            for name, colour in set(re.findall(r'(fill|stroke)="(#[0-9a-f]+)"', drawn(chart))):
                assert f'[{name}="{colour}"]' in rules, (chart.key, colour)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return math.fsum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_scores_can_be_told_apart_in_grey() -> None:
    found = [luminance(colour) for colour in RAMP]
    assert found == sorted(found, reverse=True)
    assert min(a - b for a, b in pairwise(found)) > 0.05

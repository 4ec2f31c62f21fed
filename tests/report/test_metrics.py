from __future__ import annotations

from pathlib import Path

from sipbench.report.metrics import (
    adjusted_table,
    lost_table,
    metric_cell,
    passes_table,
    protocol_tables,
    variance_table,
)
from sipbench.report.reading import Study, read_study
from sipbench.report.tabular import Table
from sipbench.report.words import interval, points, score
from tests.report.studies import Design, make_study


def cells(table: Table, row: str) -> dict[str, tuple[str, ...]]:
    (found,) = (line for line in table.rows if line[0].lines[0] == row)
    return {head: cell.lines for head, cell in zip(table.head, found, strict=True)}


def tables(study: Study) -> dict[str, Table]:
    return {table.key: table for table in protocol_tables(study)}


def test_a_metric_has_its_mean_sd_interval_and_tasks(study: Study) -> None:
    row = study.summary.rows[study.names.index("tuned")]
    fg = row.metrics.fg
    found = cells(tables(study)["protocol"], "tuned")
    assert found["FG"] == (
        f"{score(fg.repeats_mean, '+.3f')} ± {score(fg.repeats_sd, '.3f')}",
        interval(fg.interval, "+.3f"),
        "24 tasks",
    )
    assert row.learning_cost is not None
    assert found["learning cost"] == (f"{row.learning_cost.value:g} tool calls",)
    assert found["repeats"] == ("3",)


def test_ratios_show_the_ratio_of_means(study: Study) -> None:
    row = study.summary.rows[study.names.index("tuned")]
    assert metric_cell(row, "br_ratio").value == row.metrics.br_ratio.value
    assert metric_cell(row, "ie").value == row.metrics.ie.value


def test_rows_kept_out_stand_apart_with_the_reason_and_the_oracle_last(study: Study) -> None:
    found = tables(study)
    assert list(found) == ["protocol", "kept-out", "oracle"]
    assert [row[0].lines[0] for row in found["oracle"].rows] == ["known"]
    kept_out = {row[0].lines[0] for row in found["kept-out"].rows}
    for name in kept_out:
        assert any(note.startswith(f"{name}: ") for note in found["kept-out"].notes)
    assert kept_out | {row[0].lines[0] for row in found["protocol"].rows} == {"skilled", "tuned", "frozen"}


def test_what_is_not_computed_says_why_once(study: Study) -> None:
    (note,) = (note for note in tables(study)["oracle"].notes if note.startswith("Interval of"))
    assert note.startswith("Interval of FG, BR, BR_ratio, PDS, NIS: all tasks have the same value")


def test_differences_from_the_control_have_verdicts(study: Study) -> None:
    table = adjusted_table(study)
    assert table is not None
    adjusted = study.summary.rows[study.names.index("tuned")].metrics.br.adjusted
    assert adjusted is not None
    assert cells(table, "tuned")["BR"][:2] == (points(adjusted.value), interval(adjusted.interval))
    assert cells(table, "tuned")["BR"][-1] == "loss"


def test_without_a_control_there_is_no_such_table(tmp_path: Path) -> None:
    found = read_study(make_study(tmp_path / "s", Design(arms=("skilled",), repeats=1)))
    assert adjusted_table(found) is None


def test_what_lost_attempts_could_change_has_bounds(study: Study, lossy: Study) -> None:
    assert lost_table(study) is None
    table = lost_table(lossy)
    assert table is not None
    lost = lossy.summary.rows[lossy.names.index("skilled")].metrics.fg.lost
    assert lost is not None
    found = cells(table, "skilled") if len(table.rows) == 1 else None
    first = dict(zip(table.head, (cell.lines for cell in table.rows[0]), strict=True))
    assert found is None or found == first
    assert first["at worst"] == (points(lost.low),)
    assert first["at best"] == (points(lost.high),)
    assert first["outer limits"] == (f"{points(lost.outer_low)} to {points(lost.outer_high)}",)
    assert first["lost unevenly"] == ("yes",)
    # Of ratios and sums nobody judges it: "no" would contradict the line above.
    said = {row[1].lines[0]: row[-1].lines for row in table.rows}
    assert said["IE"] == said["NIS"] == ("–",)


def test_where_little_counts_only_bounds_are_given(tmp_path: Path) -> None:
    design = Design(lost=0.7, arms=("frozen", "skilled"), phases=("T0", "T1"))
    found = read_study(make_study(tmp_path / "s", design))
    row = found.summary.rows[found.names.index("skilled")]
    assert row.metrics.fg.lost is not None
    assert row.metrics.fg.lost.gate == "bounds"
    for name in ("fg", "ie", "nis"):
        assert metric_cell(row, name).lines[0] == "bounds only"
    table = adjusted_table(found)
    assert table is not None
    lost = row.metrics.fg.lost
    assert cells(table, "skilled")["FG"] == ("bounds only", f"{points(lost.low)} to {points(lost.high)}")


def test_pass_rates_and_variance_stand_for_each_phase_and_split(study: Study) -> None:
    passes, variance = passes_table(study), variance_table(study)
    assert passes is not None
    assert variance is not None
    assert passes.head[4:] == ("pass^1", "pass^2", "pass^3", "pass@2", "pass@3")
    found = study.summary.rows[study.names.index("tuned")].cells[0].passes
    assert found is not None
    line = next(row for row in passes.rows if row[0].lines[0] == "tuned")
    assert [cell.lines[0] for cell in line[4:7]] == [score(value) for value in found.pass_hat]
    assert len(variance.rows) == len(passes.rows)

"""Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from sipbench.report.charts import all_charts
from sipbench.report.latex import latex
from sipbench.report.markdown import markdown
from sipbench.report.metrics import protocol_tables
from sipbench.report.reading import Study, read_study
from sipbench.report.values import values_csv
from sipbench.report.words import points
from tests.report.studies import Design, make_study


def lines_of(study: Study) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(values_csv([study]))))


def test_markdown_has_the_verdict_the_tables_and_every_warning(study: Study) -> None:
    text = markdown([study])
    assert text.startswith("# made\n")
    assert "**skilled** against frozen: gained" in text
    assert "## Provenance" in text
    for row in study.summary.rows:
        for warning in row.warnings:
            assert re.sub(r"([\\`*_{}\[\]<>|~#])", r"\\\1", warning.message) in text


def test_markdown_tables_have_as_many_cells_in_each_row(study: Study) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown([study]), re.M)
    assert len(tables) >= 8
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_forty_percent_lost_says_so_in_markdown(lossy: Study) -> None:
    lost = lossy.summary.rows[lossy.names.index("skilled")].metrics.fg.lost
    assert lost is not None
    assert f"gain on new tasks: inconclusive, between {points(lost.low)} and {points(lost.high)}" in markdown(
        [lossy]
    )


def test_latex_is_the_protocols_table(study: Study) -> None:
    text = latex([study])
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in body if r"\multicolumn" not in line} == {6}
    assert text.count("{") == text.count("}")
    for table in protocol_tables(study):
        for row in table.rows:
            assert row[0].lines[0] in text


def test_two_studies_make_two_tables(study: Study, lossy: Study) -> None:
    assert latex([study, lossy]).count(r"\begin{tabular}") == 2
    assert markdown([study, lossy]).count("\n## Verdicts\n") == 2


def test_the_csv_holds_every_plotted_value_with_all_digits(study: Study) -> None:
    lines = lines_of(study)
    by_chart: dict[str, int] = {}
    for line in lines:
        by_chart[line["chart"]] = by_chart.get(line["chart"], 0) + 1
    for chart in all_charts(study):
        assert by_chart[chart.key] == len(chart.records), chart.key
    assert by_chart["table"] == 4 * 6
    (fg,) = (x for x in lines if (x["chart"], x["arm"], x["metric"]) == ("table", "tuned", "FG"))
    metric = study.summary.rows[study.names.index("tuned")].metrics.fg
    assert float(fg["value"]) == metric.value
    assert float(fg["sd"]) == metric.repeats_sd
    assert metric.adjusted is not None
    assert float(fg["headline"]) == metric.adjusted.value
    assert fg["verdict"] == "improved"


def test_the_csv_gives_bounds_alone_where_little_counts(tmp_path: Path) -> None:
    design = Design(lost=0.7, arms=("frozen", "skilled"), phases=("T0", "T1"))
    found = read_study(make_study(tmp_path / "s", design))
    (fg,) = (x for x in lines_of(found) if (x["chart"], x["arm"], x["metric"]) == ("table", "skilled", "FG"))
    assert (fg["value"], fg["headline"], fg["allows"]) == ("", "", "bounds")
    assert float(fg["bound_low"]) < float(fg["bound_high"])


HOSTILE = {
    "heldout-0000": "=HYPERLINK(1)",
    "heldout-0001": 'a,b"c\nd',
    "heldout-0002": "+1",
    "heldout-0003": r"100% \input{/etc/passwd} $x$ _{}^~#&",
    "heldout-0004": "| a | b |\n\n# heading <script>",
    "skilled": r"\write18{rm} | `x` <b> 名前 é",
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Study:
    design = Design(
        names=HOSTILE, arms=("frozen", "skilled"), repeats=2, phases=("T0", "T1"), name="# | <x> \\end"
    )
    return read_study(make_study(tmp_path_factory.mktemp("hostile") / "s", design))


def test_no_cell_is_a_formula(hostile: Study) -> None:
    for line in lines_of(hostile):
        for value in line.values():
            assert not value.startswith(("=", "@", "\t")), value
            assert not (value.startswith(("+", "-")) and not re.fullmatch(r"[-+]?[\d.e+-]+", value)), value
    assert {"'=HYPERLINK(1)", "'+1"} <= {line["task"] for line in lines_of(hostile)}


def test_names_do_nothing_in_latex(hostile: Study) -> None:
    text = latex([hostile])
    commands = set(re.findall(r"\\([A-Za-z]+)", text))
    known = (
        "begin end caption centering small scriptsize emph multicolumn toprule midrule bottomrule usepackage "
        "pm lambda dots texttt textbackslash textless textgreater textbar textasciitilde textasciicircum"
    )
    assert commands <= set(known.split())
    assert r"\textbackslash{}write18\{rm\} \textbar{} `x` \textless{}b\textgreater{}" in text
    assert r"\texttt{U+540D}" in text


def test_names_do_nothing_in_markdown(hostile: Study) -> None:
    text = markdown([hostile])
    assert not re.search(r"(?<!\\)<(?!br>)", text)
    assert not re.search(r"^# heading", text, re.M)
    assert r"\\write18\{rm\} \| \`x\` \<b\>" in text

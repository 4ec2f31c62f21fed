from __future__ import annotations

from pathlib import Path

from sipbench.report.findings import ArmVerdict, _finding, arm_verdicts, in_words
from sipbench.report.reading import Study, read_study
from sipbench.report.words import interval, points
from tests.report.studies import Design, make_study


def arms(study: Study) -> dict[str, ArmVerdict]:
    return {arm.name: arm for arm in arm_verdicts(study.summary)}


def test_the_top_of_the_page_says_in_words_what_was_gained_and_lost(study: Study) -> None:
    said = dict(in_words(study.summary))
    assert list(said) == ["skilled", "tuned"]
    tuned = study.summary.rows[study.names.index("tuned")].metrics
    assert tuned.fg.verdict is not None
    assert tuned.br.verdict is not None
    assert said["tuned"].startswith(
        f"against frozen: gained {points(tuned.fg.verdict.value, sign=False)} points on new tasks; "
        f"lost {points(-(tuned.br.verdict.value or 0), sign=False)} points on old tasks"
    )


def test_a_line_has_the_word_the_number_and_the_interval_of_the_verdict(study: Study) -> None:
    fg = study.summary.rows[study.names.index("skilled")].metrics.fg
    assert fg.verdict is not None
    line = arms(study)["skilled"].lines[0]
    assert (line.metric, line.word, line.tone) == ("FG", "improved", "good")
    assert line.text == f"{points(fg.verdict.value)} points {interval(fg.verdict.interval)}"


def test_an_open_verdict_says_why(study: Study) -> None:
    line = arms(study)["skilled"].lines[1]
    assert (line.word, line.tone) == ("inconclusive", "open")
    assert "the interval contains both 0 and a loss of the margin, " in line.reasons[0]
    assert line.text.endswith("; down to −5.0 counts as retained")


def test_what_is_allowed_to_be_lost_is_said_in_the_words_of_the_metric(study: Study) -> None:
    metrics = study.summary.rows[study.names.index("skilled")].metrics
    assert metrics.br.verdict is not None
    for metric, word in (("br", "retained"), ("pds", "persisting")):
        assert _finding(metric, metrics.br, metrics.br.verdict).endswith(f"; down to −5.0 counts as {word}")


def test_cost_coverage_detectable_effect_and_noise_floor_are_there(study: Study) -> None:
    facts = {fact.label: fact for fact in arms(study)["skilled"].facts}
    assert facts["Learning cost"].value.endswith("tool calls")
    assert facts["Coverage"].value == "136 of 136 attempts count".replace(
        "136", facts["Coverage"].value.split()[0]
    )
    assert facts["Detectable effect"].value.endswith("points")
    assert "smallest effect of interest: 5.0 points" in facts["Detectable effect"].note
    assert "between repeats of frozen" in facts["Noise floor"].note
    assert "after Holm over the arms" in facts["p-value"].note
    assert "3 adaptations" in facts["As a claim about the method"].note


def test_every_warning_of_a_row_is_shown(study: Study) -> None:
    found = arms(study)
    for row, name in zip(study.summary.rows, study.names, strict=True):
        assert [warning.message for warning in row.warnings] == list(found[name].warnings)
    assert found["skilled"].warnings


def test_an_unknown_cost_says_what_is_unknown(tmp_path: Path) -> None:
    found = read_study(make_study(tmp_path / "s", Design(learning=None, arms=("frozen", "skilled"))))
    fact = arms(found)["skilled"].facts[0]
    assert fact.value == "unknown"
    assert "the adaptation 'command' itself spent" in fact.note


def test_controls_and_oracles_are_not_judged(study: Study) -> None:
    found = arms(study)
    assert {line.word for line in found["frozen"].lines} == {"without learning"}
    assert {line.word for line in found["known"].lines} == {"upper bound"}
    assert [arm.role for arm in arm_verdicts(study.summary)] == ["adapted", "adapted", "control", "oracle"]


def test_forty_percent_lost_is_inconclusive_with_bounds_and_no_gain(lossy: Study) -> None:
    lost = lossy.summary.rows[lossy.names.index("skilled")].metrics.fg.lost
    assert lost is not None
    assert lost.coverage is not None
    assert lost.coverage < 0.75
    line = arms(lossy)["skilled"].lines[0]
    assert (line.word, line.tone) == ("inconclusive", "open")
    assert f"between {points(lost.low)} and {points(lost.high)} points" in line.text
    assert f"confidence limits {points(lost.outer_low)} and {points(lost.outer_high)}" in line.text
    assert "too few of the planned attempts count: 61%, and a verdict needs 90%" in line.reasons
    ((name, said),) = in_words(lossy.summary)
    assert name == "skilled"
    assert "gain on new tasks: inconclusive, between" in said
    assert "gained" not in said


def test_where_only_bounds_are_allowed_no_other_number_is_claimed(tmp_path: Path) -> None:
    design = Design(lost=0.7, arms=("frozen", "skilled"), phases=("T0", "T1"))
    found = arms(read_study(make_study(tmp_path / "s", design)))["skilled"]
    assert not {"p-value", "As a claim about the method", "Detectable effect"} & {
        fact.label for fact in found.facts
    }
    assert found.lines[0].text.startswith("between ")


def test_a_study_with_an_oracle_alone_has_no_verdict(tmp_path: Path) -> None:
    found = read_study(make_study(tmp_path / "s", Design(arms=("known",))))
    assert in_words(found.summary) == (
        ("", "No arm that adapts was measured before and after, so there is no verdict."),
    )

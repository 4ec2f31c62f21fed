"""What a summary says, computed by hand."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from sipbench.errors import RecordError
from sipbench.protocol.manifest import Preregistered, SameRun, SplitManifest, TaskEntry
from sipbench.protocol.records import RunRecord
from sipbench.protocol.rules import Violation
from sipbench.protocol.settings import AnalysisSettings, PlannedCell, StudyContext
from sipbench.protocol.summary import Row, Summary, parse_summary
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status
from sipbench.stats.intervals import clustered_t
from sipbench.stats.summarize import summarize
from tests.protocol.made import cell, record


def row(records: list[RunRecord], **settings: object) -> Row:
    (only,) = summarize(records, settings=AnalysisSettings.model_validate(settings)).rows
    return only


def codes(found: Row | Summary) -> list[str]:
    return [warning.code for warning in found.warnings]


def three_repeats(gain: float = 0.2) -> list[RunRecord]:
    """Two held-out and two replay tasks, three balanced repeats."""
    found = []
    for repeat in range(3):
        for split, change in (("heldout", gain), ("replay", -0.1)):
            found += cell("T0", split, {f"{split}1": [0.2], f"{split}2": [0.4]}, repeat=repeat)
            after = {f"{split}1": [0.2 + change], f"{split}2": [0.4 + change + 0.01 * repeat]}
            found += cell("T1", split, after, repeat=repeat)
    return found


def test_fg_and_br_are_means_of_paired_task_differences() -> None:
    found = row(three_repeats())
    assert found.metrics.fg.value == pytest.approx(0.2 + 0.005)
    assert found.metrics.br.value == pytest.approx(-0.1 + 0.005)
    assert (found.metrics.fg.n_tasks, found.metrics.fg.n_families) == (2, 2)


def test_mean_and_sample_sd_are_over_repeats() -> None:
    fg = row(three_repeats()).metrics.fg
    by_hand = [0.2, 0.205, 0.21]
    assert [item.value for item in fg.by_repeat] == pytest.approx(by_hand)
    assert fg.repeats_mean == pytest.approx(statistics.mean(by_hand))
    assert fg.repeats_sd == pytest.approx(statistics.stdev(by_hand))


def test_the_sd_of_one_repeat_is_null() -> None:
    records = [r for r in three_repeats() if r.repeat == 0]
    fg = row(records).metrics.fg
    assert fg.repeats_mean == pytest.approx(0.2)
    assert fg.repeats_sd is None


def test_the_interval_is_the_paired_t_over_tasks() -> None:
    before, after = {"a": [0.1], "b": [0.5], "c": [0.2]}, {"a": [0.5], "b": [0.6], "c": [0.9]}
    fg = row([*cell("T0", "heldout", before), *cell("T1", "heldout", after)]).metrics.fg
    assert fg.value == pytest.approx(0.4)
    # d = .4, .1, .7; se = .3/sqrt(3); t(2, .975) = 4.302653
    assert fg.interval is not None
    half = 4.302652729911275 * 0.3 / math.sqrt(3)
    assert (fg.interval.low, fg.interval.high) == pytest.approx((0.4 - half, 0.4 + half))
    assert (fg.interval.method, fg.interval.df, fg.interval.level) == ("paired_t", 2, 0.95)


def test_alpha_sets_the_level() -> None:
    before, after = {"a": [0.1], "b": [0.5]}, {"a": [0.5], "b": [0.6]}
    fg = row([*cell("T0", "heldout", before), *cell("T1", "heldout", after)], alpha=0.2).metrics.fg
    assert fg.interval is not None
    assert fg.interval.level == pytest.approx(0.8)


def test_tasks_of_one_family_are_one_unit() -> None:
    names = {"a": "F", "b": "F", "c": "G", "d": "G"}
    before = {task: [0.0] for task in names}
    after = {"a": [0.2], "b": [0.4], "c": [0.6], "d": [0.7]}
    records = []
    for phase, scores in (("T0", before), ("T1", after)):
        for task, family in names.items():
            records += cell(phase, "heldout", {task: scores[task]}, family=family)
    fg = row(records).metrics.fg
    expected = clustered_t(np.array([0.2, 0.4, 0.6, 0.7]), ["F", "F", "G", "G"]).interval
    assert (fg.n_tasks, fg.n_families) == (4, 2)
    assert fg.interval is not None
    assert expected is not None
    assert (fg.interval.low, fg.interval.high) == pytest.approx((expected.low, expected.high))
    assert fg.interval.method == "clustered_t"


def test_families_come_from_the_manifest_where_records_do_not_name_them() -> None:
    before, after = {"a": [0.0], "b": [0.1]}, {"a": [0.2], "b": [0.4]}
    entries = (TaskEntry(id="a", family="F"), TaskEntry(id="b", family="F"))
    manifest = SplitManifest(schema_version="1.0.0", benchmark_name="made", heldout=entries)
    records = [*cell("T0", "heldout", before), *cell("T1", "heldout", after)]
    (found,) = summarize(records, context=StudyContext(manifest=manifest)).rows
    assert found.metrics.fg.n_families == 1
    assert found.metrics.fg.interval is None
    assert "one family" in str(found.metrics.fg.interval_reason)


def test_a_task_of_two_families_is_refused() -> None:
    records = [
        *cell("T0", "heldout", {"a": [0.0]}, family="F"),
        *cell("T1", "heldout", {"a": [0.0]}, family="G"),
    ]
    with pytest.raises(RecordError, match="task 'a' has two families, 'F' and 'G'"):
        summarize(records)


def test_an_agent_error_counts_zero_and_other_losses_are_missing() -> None:
    scores: dict[str, list[float | str]] = {
        "a": [1.0, "agent_error"],
        "b": [0.8, "verifier_error", "infrastructure_error", "cancelled"],
        "c": ["infrastructure_error"],
    }
    (found,) = row(cell("T0", "heldout", scores)).cells
    assert found.mean == pytest.approx((0.5 + 0.8) / 2)
    assert (found.n_tasks, found.recorded, found.counted) == (2, 7, 3)
    assert found.coverage == pytest.approx(3 / 7)
    assert found.statuses[Status.INFRASTRUCTURE_ERROR] == 2


def test_a_timeout_with_a_grade_is_a_grade() -> None:
    records = [record(status="timeout_graded", score=0.7)]
    assert row(records).cells[0].mean == pytest.approx(0.7)


def test_tasks_of_one_phase_only_are_left_out_counted_and_named() -> None:
    before, after = {"a": [0.2], "b": [0.4], "only0": [0.9]}, {"a": [0.3], "b": [0.7], "only1": [0.0]}
    found = row([*cell("T0", "heldout", before), *cell("T1", "heldout", after)])
    assert found.metrics.fg.value == pytest.approx(0.2)
    assert (found.metrics.fg.n_tasks, found.metrics.fg.unpaired) == (2, 2)
    assert found.metrics.fg.unpaired_tasks == ("only0", "only1")
    assert "unpaired_tasks" in codes(found)


def test_disjoint_task_sets_give_no_gain() -> None:
    found = row([*cell("T0", "heldout", {"a": [0.0]}), *cell("T1", "heldout", {"b": [1.0]})])
    assert found.metrics.fg.value is None
    assert found.metrics.fg.reason == "no held-out task was counted in both T0 and T1"
    assert not found.main_table


def test_a_missing_cell_is_named_and_other_arms_go_on() -> None:
    records = [*three_repeats(), *cell("T0", "heldout", {"a": [0.1]}, arm="broken")]
    broken, whole = summarize(records).rows
    assert broken.metrics.fg.reason == "no counted T1 attempt on held-out tasks"
    assert broken.metrics.br.reason == "no counted T0 and no T1 attempt on replay tasks"
    assert whole.metrics.fg.value is not None


def test_a_repeat_with_a_missing_cell_is_dropped_with_its_reason() -> None:
    records = [
        r
        for r in three_repeats()
        if not (r.repeat == 1 and r.phase is Phase.T1 and r.benchmark_split is Split.HELDOUT)
    ]
    found = row(records)
    values = {item.repeat: item for item in found.metrics.fg.by_repeat}
    assert values[1].value is None
    assert values[1].reason == "no task was counted in both phases of this repeat"
    assert found.repeats == 2
    assert "few_repeats" in codes(found)


def test_pds_has_the_same_heldout_tasks_on_both_sides() -> None:
    records = [
        *cell("T1", "heldout", {"a": [0.5], "b": [0.7]}),
        *cell("T2", "heldout", {"a": [0.4], "b": [0.7], "c": [0.0]}),
    ]
    assert row(records).metrics.pds.value == pytest.approx(-0.05)


def test_without_t2_pds_is_null() -> None:
    metrics = row(three_repeats()).metrics
    for metric in (metrics.pds, metrics.drift_gain, metrics.pds_protocol, metrics.br_t2):
        assert metric.value is None
        assert metric.reason is not None


def test_drift_gain_and_retention_at_t2_have_their_own_tasks() -> None:
    records = [
        *cell("T0", "drift", {"d": [0.1]}),
        *cell("T2", "drift", {"d": [0.5]}),
        *cell("T0", "replay", {"r": [0.8]}),
        *cell("T2", "replay", {"r": [0.6]}),
    ]
    metrics = row(records).metrics
    assert metrics.drift_gain.value == pytest.approx(0.4)
    assert metrics.br_t2.value == pytest.approx(-0.2)
    assert metrics.br.value is None


def test_the_protocols_literal_pds_is_labelled_where_its_tasks_differ() -> None:
    records = [
        *cell("T1", "heldout", {"a": [0.5], "b": [0.7]}),
        *cell("T2", "heldout", {"a": [0.5], "b": [0.7]}),
        *cell("T2", "drift", {"d": [0.2]}),
    ]
    found = row(records)
    literal = found.metrics.pds_protocol
    assert literal.value == pytest.approx(0.2 - 0.6)
    assert (literal.label, literal.interval) == ("confounded", None)
    assert found.metrics.pds.value == pytest.approx(0.0)
    assert "confounded_pds" in codes(found)


def test_the_protocols_literal_pds_is_pds_where_the_tasks_are_the_same() -> None:
    records = [
        *cell("T1", "heldout", {"a": [0.5], "b": [0.7]}),
        *cell("T2", "heldout", {"a": [0.4], "b": [0.8]}),
    ]
    metrics = row(records).metrics
    literal, pds = metrics.pds_protocol, metrics.pds
    assert (literal.value, literal.interval, literal.by_repeat) == (pds.value, pds.interval, pds.by_repeat)
    assert literal.label is None


def test_br_ratio_is_the_ratio_of_means() -> None:
    records = [
        *cell("T0", "replay", {"a": [0.5], "b": [1.0]}),
        *cell("T1", "replay", {"a": [0.1], "b": [0.8]}),
    ]
    assert row(records).metrics.br_ratio.value == pytest.approx(0.9 / 1.5)


def test_br_ratio_below_eps_has_the_protocols_value_and_no_interval() -> None:
    records = [
        *cell("T0", "replay", {"a": [0.0], "b": [0.02]}),
        *cell("T1", "replay", {"a": [0.1], "b": [0.3]}),
    ]
    ratio = row(records).metrics.br_ratio
    assert ratio.value == pytest.approx(0.2 / 0.05)
    assert ratio.interval is None
    assert "below eps" in str(ratio.interval_reason)
    assert row(records, eps=0.2).metrics.br_ratio.value == pytest.approx(0.2 / 0.2)


def test_ratios_have_no_mean_over_repeats() -> None:
    ratio = row(three_repeats()).metrics.br_ratio
    assert ratio.repeats_mean is None
    assert ratio.repeats_sd is not None
    assert ratio.by_repeat[0].value == pytest.approx(0.2 / 0.3)


def test_nis_charges_the_loss_with_lambda() -> None:
    found = row(three_repeats(), **{"lambda": 0.5}).metrics
    assert found.nis.value == pytest.approx(0.205 - 0.5 * 0.095)
    assert found.nis.by_repeat[0].value == pytest.approx(0.2 - 0.5 * 0.1)


def test_nis_has_the_box_interval_and_none_without_br() -> None:
    before, after = {"a": [0.1], "b": [0.5], "c": [0.2]}, {"a": [0.5], "b": [0.6], "c": [0.9]}
    heldout = [*cell("T0", "heldout", before), *cell("T1", "heldout", after)]
    replay = [*cell("T0", "replay", after), *cell("T1", "replay", before)]
    replay = [r.model_copy(update={"task_id": f"r{r.task_id}"}) for r in replay]
    both = row([*heldout, *replay]).metrics.nis
    assert both.interval is not None
    assert both.interval.method == "nis_box"
    alone = row(heldout).metrics.nis
    assert (alone.value, alone.reason) == (None, "no counted T0 and no T1 attempt on replay tasks")


def test_smoke_and_golden_are_counted_and_never_enter_a_metric() -> None:
    extra = [
        record(benchmark_split="smoke", score=1.0, phase="T1"),
        record(benchmark_split="golden", score=1.0),
    ]
    without, with_them = summarize(three_repeats()), summarize([*three_repeats(), *extra])
    assert with_them.rows[0].metrics == without.rows[0].metrics
    assert (with_them.records.total, with_them.records.smoke, with_them.records.golden) == (14 + 12, 1, 1)
    assert with_them.rows[0].cells == without.rows[0].cells


def test_three_steady_repeats_stand_in_the_main_table() -> None:
    found = row(three_repeats())
    assert found.main_table
    assert found.repeats == 3


def test_two_repeats_are_warned_about_and_kept_out() -> None:
    found = row([r for r in three_repeats() if r.repeat < 2])
    assert not found.main_table
    assert [w.message for w in found.warnings if w.code == "few_repeats"] == [
        "2 repeats; the protocol asks for 3"
    ]


def test_a_high_sd_is_warned_about_and_kept_out() -> None:
    records = three_repeats()
    assert row(records, high_variance_sd=0.004).main_table is False
    assert "high_variance" in codes(row(records, high_variance_sd=0.004))
    assert row(records, high_variance_sd=0.006).main_table


@pytest.mark.parametrize(("step", "kept_out"), [(0.04, False), (0.06, True)])
def test_the_default_limit_is_five_points_or_half_the_mean(step: float, kept_out: bool) -> None:
    records = []
    for repeat, change in enumerate((0.0, step, -step)):
        records += cell("T0", "heldout", {"a": [0.5], "b": [0.5]}, repeat=repeat)
        records += cell("T1", "heldout", {"a": [0.5 + change], "b": [0.5 + change]}, repeat=repeat)
    assert ("high_variance" in codes(row(records))) == kept_out


def test_a_large_steady_gain_may_vary_by_half_of_it() -> None:
    records = []
    for repeat, change in enumerate((0.4, 0.5, 0.6)):
        records += cell("T0", "heldout", {"a": [0.1], "b": [0.1]}, repeat=repeat)
        records += cell("T1", "heldout", {"a": [0.1 + change], "b": [0.1 + change]}, repeat=repeat)
    assert row(records).main_table


def test_oracle_rows_stand_apart() -> None:
    records = [r.model_copy(update={"path_type": PathType.ORACLE}) for r in three_repeats()]
    found = row(records)
    assert not found.main_table
    assert codes(found) == ["oracle"]


def test_coverage_is_of_the_plan() -> None:
    plan = [
        PlannedCell(arm="learner", phase=Phase.T0, split=Split.HELDOUT, attempts=4),
        PlannedCell(arm="learner", phase=Phase.T1, split=Split.HELDOUT, attempts=2),
        PlannedCell(arm="late", phase=Phase.T0, split=Split.HELDOUT, attempts=2),
    ]
    records = cell("T0", "heldout", {"a": [1.0], "b": ["cancelled"]})
    summary = summarize(records, context=StudyContext(planned=plan))
    (found,) = summary.rows
    t0, t1 = found.cells
    assert (t0.planned, t0.recorded, t0.counted, t0.coverage) == (4, 2, 1, 0.25)
    assert (t1.planned, t1.recorded, t1.mean, t1.coverage) == (2, 0, None, 0.0)
    assert (found.evaluation.planned, found.evaluation.counted) == (6, 1)
    assert found.evaluation.least_coverage == 0.0
    assert "low_coverage" in codes(found)
    assert codes(summary) == ["missing_arm"]


def test_more_attempts_than_planned_are_said() -> None:
    plan = [PlannedCell(arm="learner", phase=Phase.T0, split=Split.HELDOUT, attempts=1)]
    (found,) = summarize(cell("T0", "heldout", {"a": [1.0, 0.0]}), context=StudyContext(planned=plan)).rows
    assert "planned_mismatch" in codes(found)
    assert found.cells[0].coverage == 1.0


def test_low_coverage_follows_the_declared_gate() -> None:
    scores: dict[str, list[float | str]] = {"a": [1.0, 1.0, 1.0, "cancelled"]}
    records = [*cell("T0", "heldout", scores), *cell("T1", "heldout", scores)]
    assert "low_coverage" in codes(row(records))
    assert "low_coverage" not in codes(row(records, coverage_gate=0.75))


def test_versions_and_path_may_differ_by_phase() -> None:
    records = [
        *cell("T0", "heldout", {"a": [0.1], "b": [0.3]}, path_type="frozen", agent_version="1"),
        *cell("T1", "heldout", {"a": [0.4], "b": [0.7]}, path_type="external", agent_version="1+skills"),
    ]
    found = row(records)
    assert found.path_type is PathType.EXTERNAL
    assert found.metrics.fg.value == pytest.approx(0.35)
    assert [phase.agent_versions for phase in found.phases] == [("1",), ("1+skills",)]
    assert "mixed_versions" not in codes(found)


def test_two_versions_within_a_phase_are_said() -> None:
    records = [*cell("T0", "heldout", {"a": [0.1]}), *cell("T0", "heldout", {"b": [0.1]}, agent_version="2")]
    assert "mixed_versions" in codes(row(records))


def test_two_paths_in_one_arm_are_refused() -> None:
    records = [
        *cell("T0", "heldout", {"a": [0.1]}),
        *cell("T1", "heldout", {"a": [0.1]}, path_type="parameter"),
    ]
    with pytest.raises(RecordError, match="arm 'learner' has the path types external and parameter"):
        summarize(records)


def test_a_checkpoint_of_another_name_is_the_same_arm() -> None:
    records = [
        *cell("T0", "heldout", {"a": [0.1]}, path_type="parameter", model_name="base"),
        *cell("T1", "heldout", {"a": [0.4]}, path_type="parameter", model_name="tuned"),
    ]
    found = row(records)
    assert found.metrics.fg.value == pytest.approx(0.3)
    assert found.model_name == "tuned"
    assert "model_changed" not in codes(found)


def test_another_model_at_t1_of_an_external_arm_is_said() -> None:
    records = [*cell("T0", "heldout", {"a": [0.1]}), *cell("T1", "heldout", {"a": [0.4]}, model_name="other")]
    assert "model_changed" in codes(row(records))


def test_two_models_that_share_an_arms_name_are_two_rows() -> None:
    records = []
    for model, gain in (("x", 0.1), ("y", 0.5)):
        records += cell("T0", "heldout", {f"{model}a": [0.1]}, model_name=model)
        records += cell("T1", "heldout", {f"{model}a": [0.1 + gain]}, model_name=model)
    first, second = summarize(records).rows
    assert (first.model_name, first.metrics.fg.value) == ("x", pytest.approx(0.1))
    assert (second.model_name, second.metrics.fg.value) == ("y", pytest.approx(0.5))


def test_benchmarks_and_their_versions_are_rows_of_their_own_and_an_empty_version_is_none() -> None:
    records = [record(benchmark_version=version, task_id=str(i)) for i, version in enumerate(("2", "", None))]
    assert [r.benchmark_version for r in summarize(records).rows] == [None, "2"]


@pytest.mark.parametrize(
    ("splits", "kept_out"),
    [(("adapt", "heldout"), True), (("heldout", "replay"), True), (("adapt", "replay"), False)],
)
def test_a_task_in_two_splits_is_said(splits: tuple[str, str], kept_out: bool) -> None:
    records = [*three_repeats(), *(record(benchmark_split=split, task_id="both") for split in splits)]
    found = row(records)
    assert [w.keeps_out for w in found.warnings if w.code == "split_overlap"] == [kept_out]


def test_heldout_tasks_of_a_family_that_was_learned_from_are_said() -> None:
    records = [
        *cell("T0", "heldout", {"h": [0.1]}, family="F"),
        *cell("T1", "adapt", {"a": [0.1]}, family="F"),
    ]
    assert "1 held-out task shares a family with adapt: h" in [w.message for w in row(records).warnings]


def test_a_rule_broken_with_consent_leaves_a_mark_and_keeps_nobody_out() -> None:
    broken = Violation("disjoint-ids", "tasks stand in both adapt and heldout", ("both",))
    records = [*three_repeats(), *(record(benchmark_split=s, task_id="both") for s in ("adapt", "heldout"))]
    summary = summarize(records, context=StudyContext(allowed=(broken,)))
    assert [mark.rule for mark in summary.allowed] == ["disjoint-ids"]
    assert codes(summary) == ["broken_rule"]
    assert summary.rows[0].main_table


def test_replay_chosen_on_the_attempts_it_is_scored_with_is_said() -> None:
    listed = Preregistered(list_digest="sha256:" + "0" * 64, declared_at="2026-01-01T00:00:00Z")
    for selection, said in ((SameRun(rule="solved"), True), (listed, False)):
        manifest = SplitManifest(schema_version="1.0.0", benchmark_name="made", replay_selection=selection)
        (found,) = summarize(three_repeats(), context=StudyContext(manifest=manifest)).rows
        assert ("selected_replay" in codes(found)) == said


def test_what_it_was_computed_with_is_recorded() -> None:
    settings = AnalysisSettings.model_validate({"lambda": 2.0, "eps": 0.1, "cost_unit": "seconds"})
    summary = summarize(three_repeats(), settings=settings, context=StudyContext(study="mine"))
    document = summary.document()
    assert document["settings"]["lambda"] == 2.0
    assert document["settings"]["cost_unit"] == "seconds"
    assert (document["cost_field"], document["study"]) == ("wall_clock_seconds", "mine")
    assert parse_summary(summary.to_json().encode()) == summary


def test_nothing_gives_no_row() -> None:
    summary = summarize([])
    assert (summary.rows, summary.records.total) == ((), 0)

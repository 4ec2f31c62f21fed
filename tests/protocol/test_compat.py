"""v0.1.0's arithmetic: hand-computed, and against what the public project shipped."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sipbench.errors import RecordError
from sipbench.protocol.compat import compat_records, compat_summaries
from sipbench.protocol.v0 import aggregate
from tests.protocol.made import document, v0_document, write_lines

REQUIRED = [("T0", "replay"), ("T1", "replay"), ("T0", "heldout"), ("T1", "heldout")]


def run(phase: str, split: str, score: float, **given: Any) -> dict[str, Any]:
    return v0_document(phase=phase, benchmark_split=split, score=score, **given)


def whole(**scores: float) -> list[dict[str, Any]]:
    return [run(p, s, scores.get(f"{p}_{s}", 0.5)) for p, s in REQUIRED]


def test_attempts_are_pooled_whatever_their_task() -> None:
    records = whole()[1:] + [run("T0", "replay", 0.0, task_id="a") for _ in range(3)]
    records += [run("T0", "replay", 1.0, task_id="b")]
    (summary,) = aggregate(records)
    assert summary["metrics"]["t0_replay_mean"] == 0.25


def test_the_metrics_of_one_seed() -> None:
    records = whole(T0_replay=0.8, T1_replay=0.5, T0_heldout=0.2, T1_heldout=0.35)
    records += [run("T2", "heldout", 0.33), run("T1", "adapt", 1.0, token_total=50)]
    (summary,) = aggregate(records, lambda_=0.5)
    metrics = summary["metrics"]
    assert metrics["fg_mean"] == pytest.approx(0.15)
    assert metrics["br_mean"] == pytest.approx(-0.3)
    assert metrics["br_ratio_mean"] == pytest.approx(0.625)
    assert metrics["ie_mean"] == pytest.approx(0.003)
    assert metrics["pds_mean"] == pytest.approx(-0.02)
    assert metrics["nis_mean"] == pytest.approx(0.15 - 0.5 * 0.3)
    assert (metrics["fg_std"], metrics["ie_std"]) == (0.0, 0.0)


def test_without_adapt_attempts_everything_at_t1_is_the_cost_even_smoke() -> None:
    records = [*whole(T1_heldout=1.0), run("T1", "smoke", 1.0, token_total=70)]
    (summary,) = aggregate(records)
    assert summary["costs"]["token_total_mean"] == 15 + 15 + 70
    assert summary["metrics"]["ie_mean"] == pytest.approx(0.5 / 100)


def test_adapt_attempts_at_another_phase_are_ignored_and_zero_cost_gives_null() -> None:
    records = [*whole(), run("T0", "adapt", 1.0), run("T1", "adapt", 1.0, token_total=0)]
    (summary,) = aggregate(records)
    assert (summary["metrics"]["ie_mean"], summary["metrics"]["ie_std"]) == (None, None)


def test_a_missing_cost_counts_as_zero() -> None:
    records = whole()
    for record in records:
        del record["cost_usd"]
    (summary,) = aggregate(records, cost_field="cost_usd")
    assert summary["costs"]["cost_usd_mean"] == 0.0


def test_drift_goes_before_heldout_in_pds() -> None:
    records = [*whole(T1_heldout=0.5), run("T2", "heldout", 0.1), run("T2", "drift", 0.9)]
    (summary,) = aggregate(records)
    assert summary["metrics"]["pds_mean"] == pytest.approx(0.4)
    assert summary["metrics"]["t2_heldout_mean"] == 0.1


def test_ie_is_a_mean_of_ratios_over_the_seeds_that_have_one() -> None:
    records = []
    for seed, (gain, tokens) in enumerate([(0.2, 100), (0.4, 50), (0.3, 0)]):
        records += [record | {"seed": seed} for record in whole(T0_heldout=0.1, T1_heldout=0.1 + gain)]
        records.append(run("T1", "adapt", 1.0, token_total=tokens, seed=seed))
    (summary,) = aggregate(records)
    ratios = [0.002, 0.008]
    assert summary["metrics"]["ie_mean"] == pytest.approx(0.005)
    assert summary["metrics"]["ie_std"] == pytest.approx(abs(ratios[1] - ratios[0]) / math.sqrt(2))
    assert summary["repeats"] == 3


def test_groups_come_in_the_order_they_are_first_seen() -> None:
    records = [r | {"path_type": path} for path in ("oracle", "frozen") for r in whole()]
    assert [summary["path_type"] for summary in aggregate(records)] == ["oracle", "frozen"]
    assert [summary["path_type"] for summary in aggregate(records[::-1])] == ["frozen", "oracle"]


def test_an_empty_and_a_missing_version_are_two_groups_with_one_id() -> None:
    with_empty = [r | {"benchmark_version": ""} for r in whole()]
    without = [{k: v for k, v in r.items() if k != "benchmark_version"} for r in whole()]
    first, second = aggregate([*with_empty, *without])
    assert first["summary_id"] == second["summary_id"] == "skillsbench::external::m::a::1"
    assert "benchmark_version" not in first


@pytest.mark.parametrize("missing", REQUIRED)
def test_a_missing_cell_fails_all_with_v0s_words(missing: tuple[str, str]) -> None:
    records = [r for r in whole() if (r["phase"], r["benchmark_split"]) != missing]
    said = f"^Missing score for seed=0, phase={missing[0]}, split={missing[1]}"
    with pytest.raises(RecordError, match=said):
        aggregate([*whole(), *(r | {"path_type": "oracle"} for r in records)])


def test_cells_are_asked_for_in_v0s_order() -> None:
    with pytest.raises(RecordError, match="phase=T1, split=replay"):
        aggregate([run("T0", "replay", 1.0)])


def test_nothing_gives_nothing() -> None:
    assert aggregate([]) == []


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}/{key}")
    else:
        yield path, value


@pytest.mark.parametrize("suite", ["sample", "prepared-suite", "oracle-suite"])
def test_public_summaries_are_reproduced(shared_data: Callable[..., Path], suite: str) -> None:
    given = shared_data("sip-runs", suite, "summary.jsonl").read_text(encoding="utf-8")
    expected = [json.loads(line) for line in given.splitlines() if line.strip()]
    found = compat_summaries(compat_records([shared_data("sip-runs", suite, "runs.jsonl")]))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for each in (ours, theirs):
            del each["generated_at"], each["provenance"]
        left, right = dict(numbers(ours)), dict(numbers(theirs))
        assert left.keys() == right.keys()
        for path, value in right.items():
            if isinstance(value, float):
                assert left[path] == pytest.approx(value, abs=1e-12), path
            else:
                assert left[path] == value, path


def test_compat_summaries_keep_the_public_schema(shared_data: Callable[..., Path]) -> None:
    text = shared_data("sip-runs", "schemas", "summary.schema.json").read_text(encoding="utf-8")
    validator = jsonschema.Draft202012Validator(json.loads(text))
    for suite in ("sample", "prepared-suite", "oracle-suite"):
        for summary in compat_summaries(compat_records([shared_data("sip-runs", suite, "runs.jsonl")])):
            validator.validate(summary)


def test_v0_records_are_summarised_raw_so_that_placeholders_count_as_v0_counts_them(tmp_path: Path) -> None:
    records = [r | {"token_total": 0, "wall_clock_seconds": 0.0} for r in whole()]
    records[3] |= {"score": 0.0, "metadata": {"exception_type": "RuntimeError"}}
    found = compat_records([write_lines(tmp_path / "r.jsonl", records)])
    (summary,) = compat_summaries(found)
    assert summary["costs"]["token_total_mean"] == 0.0
    assert summary["metrics"]["t1_heldout_mean"] == 0.0


def test_a_repeated_run_id_is_counted_again_and_said(tmp_path: Path) -> None:
    records = whole()
    found = compat_records([write_lines(tmp_path / "r.jsonl", [*records, records[0]])])
    (summary,) = compat_summaries(found)
    assert "1 records repeat a run_id" in summary["provenance"]["notes"]


def test_a_compat_summary_is_labelled_and_says_what_its_zero_std_means(tmp_path: Path) -> None:
    found = compat_records([write_lines(tmp_path / "r.jsonl", whole())])
    (summary,) = compat_summaries(found, cost_field="tool_calls_total", lambda_=2.0, eps=0.5)
    notes = summary["provenance"]["notes"]
    assert notes.startswith("compat: v0.1.0 arithmetic")
    assert "cost_field tool_calls_total, lambda 2, eps 0.5" in notes
    assert "std 0.0 stands for the unknown sd of one repeat" in notes
    assert summary["provenance"]["runs_file"] == "r.jsonl"


KNOWN = {
    "token_input": 1,
    "token_output": 1,
    "token_total": 2,
    "tool_calls_total": 0,
    "memory_reads": 0,
    "memory_writes": 0,
    "human_interventions": 0,
    "wall_clock_seconds": 1.0,
    "success": False,
    "started_at": "2026-05-01T00:00:00Z",
    "finished_at": "2026-05-01T00:00:01Z",
}


def test_current_records_are_written_then_summarised(tmp_path: Path) -> None:
    records = [document(phase=p, benchmark_split=s, **KNOWN) for p, s in REQUIRED]
    records.append(document(phase="T1", status="verifier_error", attempt_index=1))
    found = compat_records([write_lines(tmp_path / "r.jsonl", records)])
    (summary,) = compat_summaries(found)
    assert summary["metrics"]["fg_mean"] == 0.0
    assert "1 attempts left out, status verifier_error" in summary["provenance"]["notes"]


def test_one_arm_of_several_can_be_chosen(tmp_path: Path) -> None:
    records = [
        document(phase=p, benchmark_split=s, arm=arm, **KNOWN) for p, s in REQUIRED for arm in ("a", "b")
    ]
    path = write_lines(tmp_path / "r.jsonl", records)
    assert len(compat_records([path], arm="a").records) == 4
    with pytest.raises(RecordError, match="no record of arm 'c'; arms are a, b"):
        compat_records([path], arm="c")


def test_mixed_versions_are_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "r.jsonl", [v0_document(), document()])
    with pytest.raises(RecordError, match="mixed"):
        compat_records([path])


def test_nan_is_refused_though_v0s_schema_lets_it_pass(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(v0_document(score=math.nan)), encoding="utf-8")
    with pytest.raises(RecordError, match="NaN is not JSON"):
        compat_records([path])

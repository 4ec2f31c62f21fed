from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sipbench.protocol.summary import load_summary
from sipbench.protocol.versions import SUMMARY_VERSION
from tests.cli.command import sip
from tests.protocol.made import cell, document, v0_document, write_lines
from tests.protocol.test_folder import LOCK, adaptation

REQUIRED = [(p, s) for p in ("T0", "T1") for s in ("replay", "heldout")]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    records = [
        *cell("T0", "heldout", {"a": [0.1], "b": [0.2]}, token_total=1),
        *cell("T1", "heldout", {"a": [0.4], "b": [0.6]}, token_total=1),
        *cell("T1", "adapt", {"x": [1.0]}, token_total=40),
    ]
    return write_lines(tmp_path / "runs.jsonl", records)


def test_a_table_is_printed(runs: Path) -> None:
    ended = sip("summarize", runs)
    assert (ended.code, ended.err) == (0, "")
    assert "FG" in ended.out
    assert "+0.350" in ended.out


def test_the_summary_is_written_and_can_be_shown(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "summary.json"
    printed = sip("summarize", runs, "-o", out)
    assert load_summary(out).rows[0].metrics.fg.value == pytest.approx(0.35)
    assert sip("show", out).out == printed.out


def test_json_is_the_summary(runs: Path) -> None:
    found = json.loads(sip("summarize", runs, "--json").out)
    assert found["schema_version"] == SUMMARY_VERSION
    assert found["rows"][0]["metrics"]["fg"]["value"] == pytest.approx(0.35)


def test_settings_from_the_command_line_are_recorded(runs: Path) -> None:
    arguments = ("--cost-unit", "tokens", "--lambda", "2", "--eps", "0.2", "--adaptation-cost", "learner=60")
    found = json.loads(sip("summarize", runs, "--json", *arguments).out)
    settings = found["settings"]
    assert (settings["cost_unit"], settings["lambda"], settings["eps"]) == ("tokens", 2.0, 0.2)
    assert found["rows"][0]["learning_cost"]["value"] == 100
    assert found["rows"][0]["metrics"]["ie"]["value"] == pytest.approx(0.35 / 100)


def test_a_study_directory_brings_its_own_settings_and_the_command_line_goes_before_them(
    runs: Path,
) -> None:
    study = runs.parent
    write_lines(study / "adaptations.jsonl", [adaptation()])
    (study / "study.lock.json").write_text(json.dumps(LOCK), encoding="utf-8")
    found = json.loads(sip("summarize", study, "--json").out)
    assert (found["study"], found["settings"]["lambda"], found["settings"]["eps"]) == ("mine", 2.0, 0.1)
    assert found["rows"][0]["learning_cost"]["value"] == 100
    changed = json.loads(sip("summarize", study, "--json", "--eps", "0.3").out)
    assert (changed["settings"]["lambda"], changed["settings"]["eps"]) == (2.0, 0.3)


def test_trusted_gives_the_same_table(runs: Path) -> None:
    assert sip("summarize", runs, "--trusted").out == sip("summarize", runs).out


def test_files_are_joined(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a.jsonl", cell("T0", "heldout", {"a": [0.1]}))
    second = write_lines(tmp_path / "b.jsonl", cell("T1", "heldout", {"a": [0.4]}))
    found = json.loads(sip("summarize", first, second, "--json").out)
    assert found["rows"][0]["metrics"]["fg"]["value"] == pytest.approx(0.3)
    assert [source["name"] for source in found["provenance"]["sources"]] == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cost-unit", "gold"], "--cost-unit"),
        (["--lambda", "-1"], "--lambda"),
        (["--eps", "0"], "--eps"),
        (["--eps", "nan"], "--eps"),
        (["--adaptation-cost", "learner"], "expected ARM=VALUE"),
        (["--adaptation-cost", "learner=-1"], "expected ARM=VALUE"),
        (["--adaptation-cost", "learner=inf"], "expected ARM=VALUE"),
        (["--adaptation-cost", "learner=1e308"], "a number from 0 to 1e+15"),
        (["--lambda", "1e308"], "--lambda: Input should be less than or equal to 1000000"),
        (["--cost-unit", "tokens", "--adaptation-cost", "typo=1"], "no arm 'typo'"),
        (["--schema", "0.2.0"], "only 0.1.0"),
        (["--schema", "0.1.0", "--trusted"], "mean nothing"),
        (["--unknown-as-zero"], "need --schema"),
        (["-o", "/dev/null/x.json"], "cannot be written"),
    ],
)
def test_a_wrong_option_is_one_line_and_exit_2(runs: Path, arguments: list[str], said: str) -> None:
    ended = sip("summarize", runs, *arguments)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert said in ended.err


def test_a_bad_record_is_one_line_and_exit_2_and_writes_nothing(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [document(score=2)])
    out = tmp_path / "summary.json"
    ended = sip("summarize", path, "-o", out)
    assert ended.code == 2
    assert ended.err.startswith(f"sip: {path}:1: score: ")
    assert not out.exists()


def test_a_failed_write_leaves_the_old_file(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "folder"
    out.mkdir()
    assert sip("summarize", runs, "-o", out).code == 2
    assert list(out.iterdir()) == []


def v0_runs(path: Path, **given: Any) -> Path:
    records = [v0_document(phase=p, benchmark_split=s, **given) for p, s in REQUIRED]
    return write_lines(path, records)


def test_compat_is_labelled_on_stderr_and_in_the_summary(tmp_path: Path) -> None:
    ended = sip("summarize", v0_runs(tmp_path / "runs.jsonl"), "--schema", "0.1.0")
    assert ended.code == 0
    (summary,) = map(json.loads, ended.out.splitlines())
    assert summary["schema_version"] == "0.1.0"
    assert summary["provenance"]["notes"].startswith("compat")
    assert ended.err.startswith("compat: ")


def test_compat_takes_v0s_own_eps_unless_told(tmp_path: Path) -> None:
    path = v0_runs(tmp_path / "runs.jsonl", score=0.0)
    first = json.loads(sip("summarize", path, "--schema", "0.1.0").out)
    second = json.loads(sip("summarize", path, "--schema", "0.1.0", "--eps", "0.5", "--lambda", "2").out)
    assert "eps 1e-06" in first["provenance"]["notes"]
    assert "lambda 2, eps 0.5" in second["provenance"]["notes"]


def test_compat_names_the_cost_field(tmp_path: Path) -> None:
    path = v0_runs(tmp_path / "runs.jsonl")
    found = json.loads(sip("summarize", path, "--schema", "0.1.0", "--cost-unit", "seconds").out)
    assert "cost_field wall_clock_seconds" in found["provenance"]["notes"]


def test_unknown_usage_is_refused_until_allowed_and_what_is_lost_is_listed(tmp_path: Path) -> None:
    current = [document(phase=p, benchmark_split=s) for p, s in REQUIRED]
    current.append(document(phase="T1", attempt_index=1, status="cancelled"))
    path = write_lines(tmp_path / "runs.jsonl", current)
    refused = sip("summarize", path, "--schema", "0.1.0")
    assert refused.code == 2
    assert "--unknown-as-zero" in refused.err
    records, out = tmp_path / "old-runs.jsonl", tmp_path / "old-summary.jsonl"
    arguments = ("--schema", "0.1.0", "--unknown-as-zero", "--records", records, "-o", out)
    ended = sip("summarize", path, *arguments)
    assert (ended.code, ended.out) == (0, "")
    assert "compat: 1 attempts left out, status cancelled" in ended.err
    written = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    assert len(written) == 4
    assert "token_total" in written[0]["metadata"]["unknown_fields"]
    assert sip("validate", records, out).code == 0


def test_a_missing_cell_fails_compat_in_one_line_and_not_the_summary(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "runs.jsonl", [v0_document(benchmark_split="replay")])
    ended = sip("summarize", path, "--schema", "0.1.0")
    assert ended.code == 2
    assert "Missing score for seed=0, phase=T1, split=replay" in ended.err
    assert sip("summarize", path).code == 0


@pytest.mark.parametrize("suite", ["sample", "prepared-suite", "oracle-suite"])
def test_public_summaries_are_reproduced(shared_data: Callable[..., Path], suite: str) -> None:
    runs, given = (shared_data("sip-runs", suite, name) for name in ("runs.jsonl", "summary.jsonl"))
    (found,) = map(json.loads, sip("summarize", runs, "--schema", "0.1.0").out.splitlines())
    (expected,) = map(json.loads, given.read_text(encoding="utf-8").splitlines())
    for part in ("metrics", "costs", "sample_sizes"):
        assert found[part] == pytest.approx(expected[part], abs=1e-9)
    assert found["repeats"] == expected["repeats"]

"""The page about recorded attempts, and its study over the trajectories that tau-bench ships."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sipbench.adaptation.recorded import RecordedAdaptationOptions
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Phase, Status
from tests.examples.pages import ROOT, blocks, shell

PAGE = "recorded.md"
STUDY = ROOT / "examples" / "recorded-tau" / "study.yaml"


@pytest.fixture
def place(shared_data: Callable[..., Path], tmp_path: Path) -> Path:
    """The example with the file that a user puts beside it."""
    shutil.copy(STUDY, tmp_path)
    shutil.copy(shared_data("tau", "gpt-4o-airline.json"), tmp_path)
    return tmp_path


def test_what_the_page_quotes_stands_in_the_study() -> None:
    quoted, arms = blocks(PAGE, "yaml")
    assert quoted in STUDY.read_text(encoding="utf-8")
    ((_, arm),) = yaml.safe_load(arms)["arms"].items()
    options = {key: value for key, value in arm["adaptation"].items() if key != "kind"}
    assert RecordedAdaptationOptions.model_validate_json(json.dumps(options), strict=True)


def test_the_commands_of_the_page_import_two_phases(place: Path) -> None:
    done = shell("\n".join(blocks(PAGE, "sh")), place)
    assert done.returncode == 0, done.stderr
    counts = Counter(record.phase for record in read_records(place / "runs.jsonl"))
    assert counts == {Phase.T0: 100, Phase.T1: 100}


def run_study(place: Path) -> tuple[list[RunRecord], dict[str, Any]]:
    done = shell("sip run study.yaml --out out && sip validate out/runs.jsonl out/summary.json", place)
    assert done.returncode == 0, done.stderr + done.stdout
    summary = json.loads((place / "out" / "summary.json").read_text(encoding="utf-8"))
    return list(read_records(place / "out" / "runs.jsonl")), summary


def test_an_unchanged_agent_observed_twice_shows_an_interval_and_no_gain(place: Path) -> None:
    records, summary = run_study(place)
    assert len(records) == 200
    assert {record.status for record in records} == {Status.GRADED}
    # Per phase, two attempts at each of 50 tasks: 43 and 41 of 100 are solved.
    solved = Counter(record.phase for record in records if record.success)
    assert solved == {Phase.T0: 43, Phase.T1: 41}
    (row,) = summary["rows"]
    fg = row["metrics"]["fg"]
    assert fg["value"] == pytest.approx(-0.02)
    low, high = fg["interval"]["low"], fg["interval"]["high"]
    assert low < -0.02 < high
    assert low < 0 < high


def test_nothing_that_the_file_does_not_say_is_made_up(place: Path) -> None:
    records, _ = run_study(place)
    for record in records:
        assert record.started_at is record.finished_at is record.wall_clock_seconds is None
        assert record.token_total is record.cost_usd is record.attempt_seed is None
        assert (record.agent_name, record.model_name) == ("tool-calling", "gpt-4o")
        assert record.benchmark_name == "tau-bench"
        assert record.usage_source == "import"

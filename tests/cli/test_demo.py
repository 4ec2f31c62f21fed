"""``sip demo``: the main job, for whoever has nothing but the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.cli.commands.demo import DEFAULT_FOLDER, STUDY
from sipbench.protocol.summary import Estimate, load_summary
from tests.cli.command import sip
from tests.repo.tree import ROOT


def test_the_installed_study_is_the_one_in_the_examples() -> None:
    assert STUDY.read_bytes() == (ROOT / "examples" / "synth" / "study.yaml").read_bytes()
    assert Path("sipbench-demo") == DEFAULT_FOLDER


def clear(estimate: Estimate, sign: int) -> bool:
    """Whether a metric has that sign, and its interval excludes 0."""
    interval = estimate.interval
    return interval is not None and min(sign * interval.low, sign * interval.high) > 0


@pytest.mark.slow
def test_the_demo_shows_what_is_gained_and_lost_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = sip("demo")
    assert ended.code == 0, ended.err
    folder = tmp_path / "sipbench-demo"
    assert sip("validate", folder).code == 0
    summary = load_summary(folder / "summary.json")
    rows = {row.arm: row for row in summary.rows}
    assert set(rows) == {"frozen", "macros", "weights", "oracle"}
    assert {row.repeats for row in rows.values()} == {3}
    learners = [rows["macros"], rows["weights"]]
    assert any(clear(row.metrics.fg, +1) and clear(row.metrics.br, -1) for row in learners)
    assert all(row.learning_cost is not None and row.learning_cost.value for row in learners)
    assert all(row.metrics.ie.value is not None for row in learners)
    assert not rows["oracle"].main_table
    for word in ("macros", "weights", "FG", "BR", "Oracle"):
        assert word in ended.out

    runs = (folder / "runs.jsonl").read_bytes()
    again = sip("demo")
    assert again.code == 0
    assert (folder / "runs.jsonl").read_bytes() == runs


def test_another_study_in_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    ended = sip("demo", "--out", tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "not a study directory, and not empty (notes.txt)" in ended.err
    assert len(ended.err.splitlines()) == 1

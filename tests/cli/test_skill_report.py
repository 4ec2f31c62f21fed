"""`sip skill-report`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import sip
from tests.stats.test_skill_effects import record, used


def test_each_skill_is_a_line(tmp_path: Path) -> None:
    records = [record("t1", "T0", 0.5), record("t1", "T1", 1.0, **used("good"))]
    (tmp_path / "runs.jsonl").write_text(
        "".join(item.model_dump_json(exclude_none=True) + "\n" for item in records), encoding="utf-8"
    )
    ended = sip("skill-report", tmp_path)
    assert ended.code == 0
    assert ["skilled", "good", "1", "1", "1", "1", "0", "+0.500", "-", "-"] in [
        line.split() for line in ended.out.splitlines()
    ]
    good, bad = json.loads(sip("skill-report", tmp_path, "--json").out)
    assert (good["gained"], good["change"], good["low"], good["arm"]) == (1, 0.5, None, "skilled")
    assert (bad["name"], bad["opened"], bad["change"]) == ("bad", 0, None)


def test_long_names_are_whole_on_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "differential-accessibility-interpretation"
    records = [record("t1", "T0", 0.5), record("t1", "T1", 1.0, **used(name))]
    (tmp_path / "runs.jsonl").write_text(
        "".join(item.model_dump_json(exclude_none=True) + "\n" for item in records), encoding="utf-8"
    )
    monkeypatch.setenv("COLUMNS", "80")
    ended = sip("skill-report", tmp_path)
    assert "…" not in ended.out
    pieces = [line.split()[1 if line.startswith("skilled") else 0] for line in ended.out.splitlines()[2:-1]]
    assert name in "".join(pieces)


def test_no_study_is_one_line(tmp_path: Path) -> None:
    ended = sip("skill-report", tmp_path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)

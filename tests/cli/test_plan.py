from __future__ import annotations

import json
from pathlib import Path

import pytest

from sipbench.cli.commands.app import app
from sipbench.cli.main import run
from tests.protocol.made import cell, write_lines

STUDY = """
name: try
benchmark: {name: synth, adapt: 4, heldout: 4, replay: 4, drift: 2}
agent: {name: enumerative-search}
arms:
  frozen: {path_type: frozen}
  macros: {path_type: external, adaptation: synth-macros}
analysis: {sesoi: 0.05}
"""


def sip(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr("sys.argv", ["sip", *map(str, arguments)])
    return run(app, "sip")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_a_plan_counts_attempts_and_runs_nothing(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sip(monkeypatch, "plan", study) == 0
    printed = capsys.readouterr().out
    assert "108 attempts and 3 adaptations on synth" in printed
    assert "Split rules: all kept" in printed
    assert [path.name for path in study.parent.iterdir()] == ["study.yaml"]


def test_a_plan_names_the_order_and_when_t2_begins(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY + "seed: 5\nphases: [T0, T1, T2]\nt2: {delay: 7d}\n", encoding="utf-8")
    assert sip(monkeypatch, "plan", study) == 0
    printed = capsys.readouterr().out
    assert "Order: interleaved: blocks of one attempt per arm at the same task" in printed
    assert ", seed 5 (default)" in printed
    assert "T2: at least 7d after the last score at T1; `sip run` ends before it, says when" in printed
    assert sip(monkeypatch, "plan", study, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["order"]["name"], document["order"]["seed"]) == ("interleaved", 5)
    assert document["t2_delay"] == "7d"


def test_a_plan_as_json(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sip(monkeypatch, "plan", study, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    # Two arms x (T0, T1) x (4 held-out + 4 replay) x 3 repeats, and 4 adapt attempts x 3.
    assert document["attempts"] == 2 * 2 * 8 * 3 + 4 * 3
    assert sum(cell["attempts"] for cell in document["cells"]) == document["attempts"]


def test_a_broken_rule_is_shown_and_refused_unless_allowed(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sip(monkeypatch, "plan", study, "--json")
    splits = json.loads(capsys.readouterr().out)["splits"]
    splits["adapt"] = splits["heldout"]
    (study.parent / "splits.json").write_text(json.dumps(splits), encoding="utf-8")
    study.write_text(STUDY + "splits: {file: splits.json}\n", encoding="utf-8")
    assert sip(monkeypatch, "plan", study) == 2
    shown = capsys.readouterr()
    assert "Rule disjoint-ids: broken" in shown.out
    assert "--allow disjoint-ids" in shown.err
    allowed = ["--allow", "disjoint-ids", "--allow", "disjoint-families"]
    assert sip(monkeypatch, "plan", study, *allowed) == 0
    assert "Rule disjoint-ids: allowed" in capsys.readouterr().out


def test_a_plan_says_what_the_study_could_show(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sip(monkeypatch, "plan", study, "--seconds-per-attempt", "100") == 0
    printed = capsys.readouterr().out
    assert "FG detectable: " in printed
    assert "BR smallest testable margin: " in printed
    assert "one repeat more" in printed
    assert "10 tasks more" in printed
    assert "Expected: 108 attempts, 90 min" in printed
    assert "variance of an attempt on held-out tasks: 0.14 (a default: nothing of this study says" in printed
    assert "SD of true effects between tasks: 0.15 or 0.25 (a default" in printed
    assert printed.strip().splitlines()[-1].startswith("It may well miss a gain of 5 points")


def test_a_pilot_takes_the_place_of_assumptions(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = cell("T0", "heldout", {"a": [1.0, 0.0], "b": [1.0, 1.0]}, wall_clock_seconds=36.0)
    pilot = write_lines(study.parent / "pilot.jsonl", records)
    assert sip(monkeypatch, "plan", study, "--pilot", pilot, "--json") == 0
    outlook = json.loads(capsys.readouterr().out)["outlook"]
    assert outlook["fg"]["noise"] == pytest.approx(0.25)
    assert outlook["fg"]["measured"]
    assert not outlook["br"]["measured"]
    sources = {(item["name"], item["split"]): item["source"] for item in outlook["assumptions"]}
    assert sources["noise", "heldout"] == "pilot"
    assert sources["noise", "replay"] == "default"
    assert outlook["hours"] == pytest.approx(108 * 36 / 2 / 3600)
    assert outlook["answers"] == "no"
    assert sip(monkeypatch, "plan", study, "--pilot", study.parent / "none.jsonl") == 2
    assert capsys.readouterr().err.count("\n") == 1

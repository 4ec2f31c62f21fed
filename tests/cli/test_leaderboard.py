from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.command import sip
from tests.report.studies import ANALYSIS, Design, make_study

BASE = Design(
    arms=("frozen", "skilled", "known"),
    phases=("T0", "T1"),
    analysis={**ANALYSIS, "high_variance_sd": 1.0},
)


@pytest.fixture
def studies(tmp_path: Path) -> list[Path]:
    return [
        make_study(tmp_path / name, replace(BASE, name=name, prefix=name, seed=seed))
        for name, seed in (("one", 5), ("two", 9))
    ]


def test_it_prints_a_ranking(studies: list[Path]) -> None:
    ended = sip("leaderboard", *studies)
    assert ended.code == 0
    assert "Ranked by the lower bound of FG" in ended.out
    assert ended.out.index("skilled") < ended.out.index("Controls") < ended.out.index("Left out")
    assert "against frozen" in ended.out


@pytest.mark.parametrize(("form", "start"), [("html", "<!doctype html>"), ("md", "# Leaderboard: made 1")])
def test_it_writes_a_page_or_markdown(studies: list[Path], tmp_path: Path, form: str, start: str) -> None:
    out = tmp_path / "board"
    assert sip("leaderboard", *studies, "--format", form, "--out", out).code == 0
    assert out.read_text(encoding="utf-8").startswith(start)
    assert sip("leaderboard", *studies, "--format", form).out.startswith(start)


def test_studies_of_other_tasks_are_refused_in_one_line(studies: list[Path], tmp_path: Path) -> None:
    other = make_study(tmp_path / "other", replace(BASE, sizes={"heldout": 4, "replay": 4}, prefix="o"))
    ended = sip("leaderboard", *studies, other)
    assert (ended.code, ended.out) == (2, "")
    assert "they cannot stand in one ranking" in ended.err
    assert ended.err.count("\n") == 1


def test_the_same_study_twice_is_refused(studies: list[Path]) -> None:
    assert "name one of them" in sip("leaderboard", studies[0], studies[0]).err

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sipbench.errors import RecordError
from sipbench.report.leaderboard import Leaderboard, leaderboard
from sipbench.report.reading import Study, read_study
from sipbench.report.tabular import Table
from sipbench.report.words import headline
from tests.report.studies import ANALYSIS, Design, make_study

STEADY = {**ANALYSIS, "high_variance_sd": 1.0}
BASE = Design(arms=("frozen", "skilled"), phases=("T0", "T1"), analysis=STEADY)


def made(tmp_path: Path, name: str, **given: Any) -> Study:
    design = replace(BASE, **{"name": name, "prefix": name, **given})
    return read_study(make_study(tmp_path / name, design))


def column(table: Table | None, head: str) -> list[str]:
    assert table is not None
    return [row[table.head.index(head)].lines[0] for row in table.rows]


@pytest.fixture
def board(tmp_path: Path) -> Leaderboard:
    studies = [
        made(tmp_path, "one", arms=("frozen", "skilled", "tuned", "known")),
        made(tmp_path, "two", seed=9),
        made(tmp_path, "short", repeats=2, seed=3),
        made(tmp_path, "lossy", lost=0.4, seed=4),
    ]
    return leaderboard(studies)


def test_arms_are_ranked_by_the_lower_bound_of_fg(board: Leaderboard) -> None:
    assert column(board.ranked, "rank") == ["1", "2", "3"]
    bounds = [row[board.ranked.head.index("FG")].value for row in board.ranked.rows]
    assert bounds == sorted(bounds, key=lambda value: -float(value or 0))
    assert set(zip(column(board.ranked, "arm"), column(board.ranked, "study"), strict=True)) == {
        ("skilled", "one"),
        ("tuned", "one"),
        ("skilled", "two"),
    }


def test_a_wide_interval_does_not_win(tmp_path: Path) -> None:
    studies = [made(tmp_path, "a"), made(tmp_path, "b", seed=9)]
    board = leaderboard(studies)
    lows = {}
    for study in studies:
        _, ends = headline(study.summary.rows[study.names.index("skilled")].metrics.fg)
        assert ends is not None
        lows[study.name] = ends.low
    assert column(board.ranked, "study") == sorted(lows, key=lambda name: -lows[name])


def test_few_repeats_low_coverage_and_high_variance_stand_apart_with_the_reason(
    board: Leaderboard, tmp_path: Path
) -> None:
    found = dict(zip(column(board.apart, "study"), column(board.apart, "why"), strict=True))
    assert found["short"] == "2 repeats; the protocol asks for 3"
    assert board.apart is not None
    reasons = {row[2].lines[0]: row[-1].lines for row in board.apart.rows}
    assert any("under 90% of the planned attempts count" in reason for reason in reasons["lossy"])
    varied = leaderboard([made(tmp_path, "varied", analysis={**ANALYSIS, "high_variance_sd": 1e-6})])
    assert varied.ranked.rows == ()
    assert any("varies between repeats" in text for text in column(varied.apart, "why"))


def test_oracles_are_left_out_and_controls_stand_for_reference(board: Leaderboard) -> None:
    every = [name for table in board.tables() for name in column(table, "arm")]
    assert "known" not in every
    assert any("Left out" in note and "known of one" in note for note in board.notes)
    assert set(column(board.controls, "arm")) == {"frozen"}


def test_nis_has_no_column(board: Leaderboard) -> None:
    assert "NIS" not in board.ranked.head


def test_mixed_bases_are_said(tmp_path: Path) -> None:
    board = leaderboard([made(tmp_path, "a"), made(tmp_path, "b", arms=("skilled",), seed=9)])
    assert any("compare with care" in note for note in board.notes)


def refused(*studies: Study) -> str:
    with pytest.raises(RecordError) as found:
        leaderboard(studies)
    assert "\n" not in str(found.value)
    return str(found.value)


def test_other_tasks_are_refused(tmp_path: Path) -> None:
    first = made(tmp_path, "a")
    text = refused(first, made(tmp_path, "b", sizes={"heldout": 20, "replay": 16}))
    assert f"{tmp_path / 'b'}: other heldout tasks (4 are missing, 0 are new, such as 'heldout-0020')" in text


def rewritten(study: Study, **changes: Any) -> Study:
    lines = study.runs.read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line) | changes for line in lines]
    study.runs.write_text("".join(json.dumps(item) + "\n" for item in documents), encoding="utf-8")
    return read_study(study.place)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task_digest": f"sha256:{'0' * 64}"}, "16 have another digest, such as 'replay-0000'"),
        ({"benchmark_version": "2"}, "another benchmark (made 2, not made 1)"),
        ({"grader_version": "2"}, "another grader (2, not 1)"),
        ({"task_digest": None}, "has no task_digest"),
    ],
)
def test_what_is_not_comparable_is_refused_with_what_differs(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    assert said in refused(made(tmp_path, "a"), rewritten(made(tmp_path, "b", seed=9), **changes))


def test_another_level_is_refused(tmp_path: Path) -> None:
    other = made(tmp_path, "b", analysis={**STEADY, "alpha": 0.1}, seed=9)
    assert "another level of the intervals (alpha 0.1, not 0.05)" in refused(made(tmp_path, "a"), other)


def test_the_same_attempts_are_refused_under_any_name(tmp_path: Path) -> None:
    copies = [made(tmp_path, name, prefix="run") for name in ("a", "b")]
    assert f"holds the same attempts as {tmp_path / 'a'}" in refused(*copies)


def test_two_benchmarks_in_one_study_are_refused(tmp_path: Path) -> None:
    study = made(tmp_path, "a")
    with study.runs.open("a", encoding="utf-8") as file:
        line = json.loads(study.runs.read_text(encoding="utf-8").splitlines()[0])
        file.write(json.dumps(line | {"run_id": "x", "benchmark_name": "other"}) + "\n")
    assert "holds 2 benchmarks" in refused(read_study(study.place))


def test_no_study_is_refused() -> None:
    assert "no study" in refused()

"""A benchmark in a package of its own: installed into a folder, found by its name, run as a study."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import Phase, Split, Status
from tests.examples.pages import ROOT, blocks, shell

PAGE = "third-party-benchmark.md"
EXAMPLE = ROOT / "examples" / "third_party"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands of the page were run, from the first to the last."""
    folder = tmp_path_factory.mktemp("third-party")
    shutil.copytree(EXAMPLE, folder / "examples" / "third_party")
    done = shell("\n".join(blocks(PAGE, "sh")), folder)
    assert done.returncode == 0, done.stderr
    (folder / "said").write_text(done.stdout, encoding="utf-8")
    return folder


def test_it_is_about_sixty_lines() -> None:
    lines = (EXAMPLE / "sipbench_example_units.py").read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if line.strip() and not line.lstrip().startswith(("#", '"""'))]
    assert len(code) <= 65


@pytest.mark.parametrize(
    ("language", "file"), [("python", "sipbench_example_units.py"), ("toml", "pyproject.toml")]
)
def test_what_the_page_quotes_stands_in_the_file(language: str, file: str) -> None:
    text = (EXAMPLE / file).read_text(encoding="utf-8")
    quoted = blocks(PAGE, language)
    assert quoted
    assert [block for block in quoted if block not in text] == []


def test_the_package_is_not_part_of_this_one(place: Path) -> None:
    assert (place / "plugins" / "sipbench_example_units.py").exists()
    assert shell("python -c 'import sipbench_example_units'", ROOT).returncode != 0


def test_the_plan_knows_it_by_its_name(place: Path) -> None:
    assert "864 attempts and 3 adaptations on units 1" in (place / "said").read_text(encoding="utf-8")


def test_every_attempt_was_run_and_graded_where_the_agent_had_an_answer(place: Path) -> None:
    records = list(read_records(place / "units-study" / "runs.jsonl"))
    assert len(records) == 864
    assert {record.benchmark_name for record in records} == {"units"}
    known = Counter(
        record.status for record in records if record.phase is Phase.T1 and record.arm == "skills"
    )
    assert known == {Status.GRADED: 192, Status.AGENT_ERROR: 24}
    failed = [record for record in records if record.status is Status.AGENT_ERROR]
    assert {(record.score, record.error_type) for record in failed} == {(None, "UnknownUnit")}


def test_a_reward_becomes_a_score_by_the_declared_rule(place: Path) -> None:
    records = [r for r in read_records(place / "units-study" / "runs.jsonl") if r.score is not None]
    assert {record.reward for record in records} >= {100.0}
    assert all(record.score == pytest.approx(float(record.reward or 0) / 100) for record in records)
    assert {record.normalization for record in records} == {
        "Points from 0 to 100 for the relative error, divided by 100."
    }


def test_the_skills_were_given_and_that_is_recorded(place: Path) -> None:
    for record in read_records(place / "units-study" / "runs.jsonl"):
        given = [skill.name for skill in record.skills_given or ()]
        adapted = record.arm == "skills" and record.phase is Phase.T1
        assert given == (["nautical", "surveying"] if adapted else [])


def test_gain_and_loss_are_what_the_page_says(place: Path) -> None:
    """Eight of ten held-out units are taught; a mile, one of eight replay units, is another one now."""
    scores: dict[tuple[str, Split], list[float]] = {}
    for record in read_records(place / "units-study" / "runs.jsonl"):
        if record.arm == "skills":
            scores.setdefault((record.phase, record.benchmark_split), []).append(record.score or 0.0)
    means = {key: sum(values) / len(values) for key, values in scores.items()}
    assert means[Phase.T0, Split.HELDOUT] == 0
    assert means[Phase.T1, Split.HELDOUT] == pytest.approx(0.8)
    assert means[Phase.T0, Split.REPLAY] == pytest.approx(1)
    # 1852 / 1609.344 is 15.08 % too much: 84.92 points for an eighth of the tasks.
    assert means[Phase.T1, Split.REPLAY] == pytest.approx(1 - (1852 / 1609.344 - 1) / 8)
    summary = json.loads((place / "units-study" / "summary.json").read_text(encoding="utf-8"))
    (row,) = [row for row in summary["rows"] if row["arm"] == "skills"]
    assert row["metrics"]["fg"]["value"] == pytest.approx(0.8)
    assert row["metrics"]["fg"]["interval"]["low"] > 0
    assert row["metrics"]["br"]["value"] < 0
    assert row["metrics"]["ie"]["value"] is None

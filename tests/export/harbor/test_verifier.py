"""``tests/``: the verifier, and the same checks for RewardKit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cards.made import FINDING, put
from tests.export.harbor.made import exported, grade, todo
from tests.export.made import CHECKS, RIGHT, author, check, files, made

# --- tests/


def test_the_verifier_holds_parameters_and_never_words(tmp_path: Path) -> None:
    checks = [
        item | {"text": f"secret {FINDING}", "notes": ["secret"], "sources": ["finding"]} for item in CHECKS
    ]
    one = made(tmp_path)
    author(tmp_path, one.card, *checks)
    one.one()
    document = json.loads((one.task / "tests/checks.json").read_text(encoding="utf-8"))
    assert [item["id"] for item in document["checks"]] == ["there", "named", "columns", "share", "same"]
    for path, data in files(one.task / "tests").items():
        if not path.startswith("grader/"):
            assert b"secret" not in data, path


@pytest.mark.parametrize(
    ("content", "reward"),
    [
        (RIGHT, 1),
        ("slope,r2\n0.4,0.63\n", 1),
        ("slope,r2\n0.4,0.7\n", 0),
        ("slope,r2\n0.5,0.625\n", 0),
        ("r2\n0.625\n", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_the_exported_verifier_tells_right_from_wrong(
    tmp_path: Path, content: str | None, reward: int
) -> None:
    one = exported(tmp_path)
    submission = tmp_path / "submission"
    submission.mkdir()
    if content is not None:
        put(submission / "fit.csv", content)
    assert grade(one.task, submission, tmp_path / "logs") == {"reward": reward}
    report = json.loads((tmp_path / "logs/ctrf.json").read_text(encoding="utf-8"))["results"]["summary"]
    assert report["tests"] == report["passed"] + report["failed"] + report["other"] == 5


def test_the_reward_of_a_draft_is_0_whatever_is_submitted(tmp_path: Path) -> None:
    one = made(tmp_path)
    author(tmp_path, one.card, check("there", kind="file_exists", path="fit.csv"))
    assert one.one().state == "draft"
    submission = put(tmp_path / "submission" / "fit.csv", RIGHT).parent
    task = tmp_path / "out" / "draft" / one.card.key
    assert grade(task, submission, tmp_path / "logs") == {"reward": 0}


def test_the_verifiers_image_installs_only_pinned_parsers_and_only_where_needed(tmp_path: Path) -> None:
    one = exported(tmp_path)
    assert "pip" not in (one.task / "tests/Dockerfile").read_text(encoding="utf-8")
    rows = check("rows", kind="row_count_equals", path="a.parquet", count=2)
    sheet = check("sheet", kind="file_format_is", path="b.xlsx", format="xlsx")
    author(tmp_path, one.card, rows, sheet)
    one.one()
    text = (one.task / "tests/Dockerfile").read_text(encoding="utf-8")
    assert re.search(
        r"^RUN python3 -m pip install --no-cache-dir openpyxl==[\d.]+ polars==[\d.]+$", text, re.M
    )


def test_the_test_script_downloads_nothing_and_always_grades(tmp_path: Path) -> None:
    one = exported(tmp_path)
    text = (one.task / "tests/test.sh").read_text(encoding="utf-8")
    assert text.splitlines()[-1] == "exec python3 -I /tests/grade.py"
    assert (one.task / "tests/test.sh").stat().st_mode & 0o111


# --- rewardkit


def test_the_same_checks_stand_there_as_rewardkit_criteria(tmp_path: Path) -> None:
    one = exported(tmp_path)
    native = (one.task / "tests/rewardkit/outputs.py").read_text(encoding="utf-8")
    assert "criteria.file_exists('output/fit.csv', name='there', weight=1.0)" in native
    assert "criteria.file_contains('output/fit.csv', 'slope', name='named', weight=1.0)" in native
    asserted = (one.task / "tests/rewardkit/assertions.py").read_text(encoding="utf-8")
    assert re.findall(r"criteria.holds\('(\w+)'", asserted) == ["columns", "share", "same"]
    judges = tomllib.loads((one.task / "authoring/rewardkit/judge.toml").read_text(encoding="utf-8"))
    assert (judges["judge"]["judge"], judges["criterion"][0]["name"]) == ("", "talk")
    assert "judge" in todo(one.task)


@pytest.mark.slow
@pytest.mark.parametrize(("content", "reward"), [(RIGHT, 1.0), ("", 0.25), (None, 0.0)])
def test_rewardkit_gives_the_same_verdicts(tmp_path: Path, content: str | None, reward: float) -> None:
    """Two files weigh the same: of an empty output, one of two criteria and none of three assertions hold."""
    pytest.importorskip("rewardkit", reason="rewardkit (extra 'rewardkit') is not installed")
    one = exported(tmp_path)
    workspace = tmp_path / "app"
    (workspace / "output").mkdir(parents=True)
    if content is not None:
        put(workspace / "output" / "fit.csv", content)
    out, tests = tmp_path / "reward.json", str(one.task / "tests/rewardkit")
    command = [sys.executable, "-m", "rewardkit", tests, "--workspace", str(workspace), "--output", str(out)]
    offline = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(command, capture_output=True, text=True, env=offline)
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text(encoding="utf-8"))["reward"] == pytest.approx(reward)

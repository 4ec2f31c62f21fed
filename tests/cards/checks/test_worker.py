from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sipbench.cards.checks.grader import main, worker
from sipbench.cards.checks.grader.kinds import EVALUATORS, EXISTENCE
from sipbench.cards.checks.grader.main import grade, reward_of
from sipbench.cards.checks.grader.verdicts import ERROR, FAIL, PASS, Verdict
from sipbench.cards.checks.grader.worker import decide
from tests.cards.checks.samples import sample

GRADER = Path(worker.__file__).parent
EXISTS = {"id": "a", "kind": "file_exists", "path": "a.json"}
JSON = {"id": "b", "kind": "file_format_is", "path": "a.json", "format": "json"}


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "a.json").write_text("{}", encoding="utf-8")
    return tmp_path / "submission"


def test_verdicts_come_in_the_order_of_the_checks(submission: Path) -> None:
    missing = {"id": "c", "kind": "file_exists", "path": "b.json"}
    outcomes = [verdict.outcome for verdict in decide([EXISTS, missing, JSON], str(submission), None)]
    assert outcomes == [PASS, FAIL, PASS]


def test_a_file_that_takes_too_long_fails_its_check_and_no_other(submission: Path) -> None:
    # A pattern of many stars over deep names: the matching takes exponential time.
    deep = submission.joinpath(*["d"] * 26)
    deep.mkdir(parents=True)
    (deep / "x").touch()
    slow = {"id": "s", "kind": "file_exists", "path": "/".join(["**", "d"] * 13) + "/y"}
    start = time.monotonic()
    verdicts = list(decide([EXISTS, slow, JSON], str(submission), None, timeout=1.0))
    assert [verdict.outcome for verdict in verdicts] == [PASS, FAIL, PASS]
    assert "cannot be read within" in verdicts[1].reason
    assert time.monotonic() - start < 60


def test_a_process_that_dies_fails_its_check_and_no_other(
    submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_START", worker._START.replace("serve()", "import os; os._exit(7)"))
    verdicts = list(decide([EXISTS], str(submission), None))
    assert [verdict.outcome for verdict in verdicts] == [FAIL]


def test_what_a_parser_prints_is_not_taken_for_a_verdict(submission: Path) -> None:
    # A program of the submission shares nothing with the worker's answers.
    script = {
        "id": "p",
        "kind": "script_runs",
        "cmd": ["echo", '{"outcome": "pass", "reason": "x"}'],
        "timeout_s": 5,
    }
    verdicts = list(
        decide(
            [script, {"id": "c", "kind": "file_exists", "path": "no"}],
            str(submission),
            None,
            run_scripts=True,
        )
    )
    assert verdicts[1].outcome == FAIL


@pytest.mark.parametrize(
    ("checks", "outcomes", "reward"),
    [
        ([EXISTS, JSON], [PASS, PASS], 1),
        ([EXISTS, JSON], [PASS, FAIL], 0),
        ([EXISTS, JSON], [PASS, ERROR], 0),
        ([EXISTS], [PASS], 0),  # an empty file would do
        ([], [], 0),
    ],
)
def test_the_reward_is_one_only_if_everything_passes_and_something_is_looked_at(
    checks: list[dict[str, str]], outcomes: list[str], reward: int
) -> None:
    assert reward_of(checks, [Verdict(outcome, "") for outcome in outcomes]) == reward


def test_the_reward_of_a_draft_is_never_one(submission: Path, tmp_path: Path) -> None:
    task = {"capsule_key": "k", "output": str(submission), "checks": [JSON]}
    assert grade(task, str(tmp_path))["reward"] == 1
    assert grade({**task, "draft": True}, str(tmp_path))["reward"] == 0


def test_only_kinds_that_an_empty_file_passes_count_as_existence(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    parameters = {
        "format": "text", "value": "x", "fields": ["x"], "container": "csv", "count": 0, "min": 0.0,
        "selector": {"by": "number"}, "reference": "a", "comparator": "json", "cmd": ["false"],
    }  # fmt: skip
    checks = [{"id": kind, "kind": kind, "path": "a", **parameters} for kind in sorted(EVALUATORS)]
    verdicts = decide(checks, str(tmp_path), str(tmp_path), run_scripts=False)
    passing = {
        check["kind"] for check, verdict in zip(checks, verdicts, strict=True) if verdict.outcome == PASS
    }
    assert passing == EXISTENCE


def test_the_grader_writes_what_harbor_reads(
    submission: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, logs = tmp_path / "tests", tmp_path / "logs"
    here.mkdir()
    task = {"capsule_key": "k", "output": str(submission), "checks": [JSON]}
    (here / "checks.json").write_text(json.dumps(task), encoding="utf-8")
    assert main.main(str(here), str(logs)) == 0
    assert (logs / "reward.json").read_bytes() == b'{"reward": 1}\n'
    details = json.loads((logs / "details.json").read_text(encoding="utf-8"))
    assert details["checks"][0]["outcome"] == PASS
    assert "reward 1" in capsys.readouterr().out


@pytest.mark.parametrize("trap", ["file", "link", "folder"])
def test_the_reward_replaces_whatever_was_put_in_its_place(
    submission: Path, tmp_path: Path, trap: str
) -> None:
    here, logs, victim = tmp_path / "tests", tmp_path / "logs", tmp_path / "victim"
    here.mkdir()
    logs.mkdir()
    victim.write_text("untouched", encoding="utf-8")
    match trap:
        case "file":
            (logs / "reward.json").write_text('{"reward": 1}', encoding="utf-8")
        case "link":
            (logs / "reward.json").symlink_to(victim)
        case _:
            (logs / "reward.json").mkdir()
    task = {"capsule_key": "k", "output": str(submission), "checks": [EXISTS]}
    (here / "checks.json").write_text(json.dumps(task), encoding="utf-8")
    main.main(str(here), str(logs))
    assert (logs / "reward.json").read_bytes() == b'{"reward": 0}\n'
    assert victim.read_text(encoding="utf-8") == "untouched"


def test_the_grader_needs_the_standard_library_alone() -> None:
    allowed = sys.stdlib_module_names | {"polars", "openpyxl"}
    for path in GRADER.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            assert {name.partition(".")[0] for name in names} <= allowed, path.name


def _pythons() -> list[str]:
    found = ["/usr/bin/python3", *map(str, Path.home().glob(".pyenv/versions/3.1*/bin/python3"))]
    return [path for path in found if Path(path).exists()]


@pytest.mark.parametrize(
    "python", _pythons() or [pytest.param("", marks=pytest.mark.skip("no other Python here"))]
)
def test_the_grader_runs_on_older_pythons(python: str, submission: Path, tmp_path: Path) -> None:
    asked = "import sys; print(sys.version_info >= (3, 10))"
    if subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout.strip() != "True":
        pytest.skip(f"{python} is older than 3.10")
    task = {"capsule_key": "k", "output": str(submission), "checks": [EXISTS, JSON]}
    (tmp_path / "checks.json").write_text(json.dumps(task), encoding="utf-8")
    code = "import sys; sys.path.append(sys.argv[1]); from grader.main import main; main(*sys.argv[2:])"
    arguments = [str(GRADER.parent), str(tmp_path), str(tmp_path / "logs")]
    done = subprocess.run([python, "-I", "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "logs" / "reward.json").read_bytes() == b'{"reward": 1}\n'


@pytest.mark.parametrize("form", ["parquet", "xlsx"])
def test_packages_that_read_a_format_work_within_the_limits(form: str, submission: Path) -> None:
    pytest.importorskip("openpyxl" if form == "xlsx" else "polars")
    (submission / "t").write_bytes(sample(form))
    rows = {"id": "r", "kind": "row_count_equals", "path": "t", "count": 2, "container": form}
    assert [verdict.outcome for verdict in decide([rows], str(submission), None)] == [PASS]

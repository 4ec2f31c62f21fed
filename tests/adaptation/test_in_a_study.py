"""A program that learns from recorded attempts, in a whole study: it gets them, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import Phase, Split
from tests.adaptation.test_isolation import missing_namespaces
from tests.examples.pages import shell
from tests.importers.made import tau_item, write

LEARN = """\
import json, os, pathlib, subprocess, sys
attempts = sorted(pathlib.Path(os.environ["SIPBENCH_ATTEMPTS"]).iterdir())
state = pathlib.Path(os.environ["SIPBENCH_STATE"])
memory = []
for folder in attempts:
    attempt = json.loads((folder / "attempt.json").read_text())
    trajectory = json.loads((folder / "output" / "trajectory.json").read_text())
    memory.append([attempt["task"]["text"], trajectory[1]["content"], attempt["record"]["score"]])
(state / "memory.json").write_text(json.dumps(memory))
# Everything it can find: the folder it stands in, the study and the recorded file by their paths.
found = subprocess.run(["grep", "-r", "order", ".", *sys.argv[1:]], capture_output=True, text=True)
(state / "found.txt").write_text(found.stdout + found.stderr)
pathlib.Path(os.environ["SIPBENCH_USAGE"]).write_text(json.dumps({"token_total": 11}))
"""


def bound(arm: str, phase: str, split: str, tasks: list[str], trials: list[int]) -> dict[str, Any]:
    place = {"arm": arm, "phase": phase, "split": split, "trials": trials}
    return {"path": "data/tau.json", "kind": "tau", "tasks": tasks, **place}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Tasks 0 and 1 (one user) to learn from, tasks 2 to 7 held out; trial 0 before, trial 1 after."""
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "tau.json", [tau_item(n, k, float(k)) for k in range(2) for n in range(8)])
    (tmp_path / "learn.py").write_text(LEARN, encoding="utf-8")
    later = ["*:[2-7]"]
    files = [
        bound(arm, phase, "heldout", later, [k]) for arm in ("f", "l") for k, phase in enumerate(("T0", "T1"))
    ]
    files.append(bound("l", "T1", "adapt", ["*:[01]"], [0]))
    command = ["python", "learn.py", *(str(tmp_path / name) for name in ("out", "data", "earlier"))]
    learner = {"kind": "command", "command": command, "path_type": "external", "timeout_seconds": 60}
    document = {
        "name": "learning",
        "benchmark": {"name": "recorded", "files": files},
        "agent": {"name": "g"},
        "arms": {"f": {"path_type": "frozen"}, "l": {"path_type": "external", "adaptation": learner}},
        "repeats": 1,
        "retries": 0,
        "splits": {"sizes": {"replay": 0}},
        "analysis": {"sesoi": 0.1, "cost_unit": "tokens"},
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    # Another study of the same tasks, made before: it holds what is held out here.
    (tmp_path / "earlier" / "attempts").mkdir(parents=True)
    (tmp_path / "earlier" / "study.lock.json").write_text("{}", encoding="utf-8")
    (tmp_path / "earlier" / "attempts" / "task").write_text("order of an earlier study", encoding="utf-8")
    done = shell("sip run study.yaml --out out", tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    return tmp_path / "out"


def test_it_learns_from_the_trajectories_of_adapt_attempts_and_finds_nothing_else(study: Path) -> None:
    state = study / "states" / "l" / "0" / "T1"
    (memory,) = state.rglob("memory.json")
    assert json.loads(memory.read_text(encoding="utf-8")) == [
        ["You want to cancel order 0.", "hello", 0.0],
        ["You want to cancel order 1.", "hello", 0.0],
    ]
    records = list(read_records(study / "runs.jsonl"))
    assert {(r.arm, r.phase) for r in records if r.benchmark_split is Split.ADAPT} == {("l", Phase.T1)}
    (line,) = (study / "adaptations.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["token_total"] == 11
    if missing_namespaces() is None:
        assert json.loads(line)["metadata"]["isolation"] == "namespaces"
        (found,) = state.rglob("found.txt")
        said = found.read_text(encoding="utf-8")
        assert [number for number in range(8) if f"cancel order {number}" in said] == []
        assert "earlier study" not in said


def test_a_benchmark_that_cannot_serve_skills_says_so_when_it_is_planned(tmp_path: Path) -> None:
    skill = tmp_path / "skills" / "lake-depth"
    skill.mkdir(parents=True)
    text = "---\nname: lake-depth\ndescription: Use when a lake is deep.\n---\n"
    (skill / "SKILL.md").write_text(text, encoding="utf-8")
    served = {"kind": "skills", "path": "skills", "through": "mcp"}
    document = {
        "name": "served",
        "benchmark": {"name": "synth"},
        "agent": {"name": "enumerative-search"},
        "arms": {"f": {"path_type": "frozen"}, "s": {"path_type": "external", "adaptation": served}},
        "analysis": {"sesoi": 0.1},
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    done = shell("sip plan study.yaml", tmp_path)
    assert done.returncode == 2
    assert "arms.s.adaptation: benchmark 'synth' gives skills as files alone; drop `through`" in done.stderr

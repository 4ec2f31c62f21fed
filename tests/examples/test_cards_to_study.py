"""The example about cards: made, exported, judged, and measured by a study."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sipbench.export.harbor.trials.tricks import TRICKS
from tests.cli.command import asb
from tests.examples.pages import ROOT
from tests.export.made import files
from tests.sandbox.conftest import why_not

EXAMPLE = ROOT / "examples" / "cards-to-study"
KEYS = [
    "decay__task_001",
    "genes__task_001",
    "lakes__task_001",
    "lakes__task_002",
    "spectra__task_001",
    "survey__task_001",
]


def make(out: Path) -> Path:
    subprocess.run(
        [sys.executable, "-B", "make.py", "--out", str(out)], cwd=EXAMPLE, check=True, capture_output=True
    )
    return out


def exported(work: Path) -> Path:
    ended = asb(
        "export-workflow", work / "collection", "--inputs", work / "inputs", "--oracle", work / "oracle",
        "--author", "The sipbench authors", "-o", work / "tasks",
    )  # fmt: skip
    assert (ended.code, ended.out.splitlines()[-1].split(";")[0]) == (
        0,
        "6 tasks, 0 drafts, 0 blocked, 0 unreadable",
    )
    return work / "tasks"


def test_making_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    assert files(make(tmp_path / "a")) == files(make(tmp_path / "b"))


def test_the_cards_are_valid_and_leak_nothing(tmp_path: Path) -> None:
    work = make(tmp_path)
    assert asb("leaks", work / "collection").code == 0
    pytest.importorskip("asb_schema", reason="the schemas of asb-schema (extra 'cards') are not installed")
    ended = asb("validate", work / "collection")
    assert (ended.code, "deviations" in ended.out) == (0, False)


def test_each_card_becomes_a_task_that_owes_nothing(tmp_path: Path) -> None:
    tasks = exported(make(tmp_path)) / "tasks"
    assert sorted(path.name for path in tasks.iterdir()) == KEYS
    for task in tasks.iterdir():
        document = json.loads((task / "TODO.json").read_text(encoding="utf-8"))
        assert document["items"] == [], task.name
        # The reward needs nothing that a network brings.
        assert "RUN python3 -m pip" not in (task / "tests/Dockerfile").read_text(encoding="utf-8")


def test_the_chained_card_comes_after_the_one_it_starts_from(tmp_path: Path) -> None:
    ended = asb("export-workflow", make(tmp_path) / "collection", "-o", tmp_path / "out")
    order = [line.split()[1].rstrip(":") for line in ended.out.splitlines() if line.startswith("task ")]
    assert order.index("lakes__task_001") < order.index("lakes__task_002")


@pytest.fixture(name="sandbox")
def _sandbox() -> None:
    pytest.importorskip("harbor", reason="harbor (extra 'harbor') is not installed")
    reason = why_not()
    if reason:
        pytest.skip(reason)


def judged(tasks: Path, out: Path, *options: object) -> dict[str, dict[str, list[float]]]:
    ended = asb("judge-trials", tasks, "-o", out, *options)
    assert ended.code == 0, ended.out
    document = json.loads((out / "judge.json").read_text(encoding="utf-8"))
    return {task["task"]: task["rewards"] for task in document["tasks"]}


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_every_task_stands_its_trials(tmp_path: Path) -> None:
    """All six with the oracle, with nobody and with four tricks; one of them with every trick."""
    tasks = exported(make(tmp_path))
    some = ["copy-input-1", "guess-1", "overwrite-tools", "wait-for-verifier"]
    options = [part for name in some for part in ("--trick", name)]
    rewards = judged(tasks, tmp_path / "trials", *options)
    assert sorted(rewards) == KEYS
    proven = {"oracle": [1.0] * 3, "nop": [0.0] * 3}
    assert all(found == proven | {key: [0.0] for key in some} for found in rewards.values())
    one = judged(tasks / "tasks" / "lakes__task_002", tmp_path / "trials")
    assert one == {"lakes__task_002": proven | {key: [0.0] for key in TRICKS}}


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_the_study_over_them_runs_and_the_skills_of_the_collection_help(tmp_path: Path) -> None:
    place = tmp_path / "cards-to-study"
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("work", "work-trials", "cards-to-study"))
    shutil.copytree(ROOT / "examples" / "skills-uplift" / "agents", tmp_path / "skills-uplift" / "agents")
    exported(make(place / "work"))
    study = place / "study.yaml"
    study.write_text(study.read_text(encoding="utf-8").replace("repeats: 3", "repeats: 1"), encoding="utf-8")
    command = [sys.executable, "-c", "from sipbench.cli.sip import main; main()", "run", str(study)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    records = [
        json.loads(line) for line in next(place.glob("*/runs.jsonl")).read_text(encoding="utf-8").splitlines()
    ]
    scores = {
        (arm, phase): [
            r["score"]
            for r in records
            if (r["arm"], r["phase"], r["benchmark_split"]) == (arm, phase, "heldout")
        ]
        for arm in ("frozen", "skills")
        for phase in ("T0", "T1")
    }
    assert all(len(found) == 5 for found in scores.values())
    assert sum(scores["frozen", "T1"]) == sum(scores["skills", "T0"]) == 0
    assert sum(scores["skills", "T1"]) >= 3

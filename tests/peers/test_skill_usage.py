"""Public SkillsBench v1 tasks, as somebody else wrote them, through the whole way from study file to records.

Run by ``make test-peers PEERS=DIR``, where ``DIR`` holds a checkout of ``yujianll/skill-usage`` (or its
folder ``tasks``). Without it these tests are skipped: the tasks are not part of this repository, and
their images and verifiers install packages, which needs the network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sipbench.benchmarks.harbor.tasks import find_tasks
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.records import RunRecord
from sipbench.protocol.vocabulary import Phase, Status
from tests.examples.pages import ROOT

TASKS = ("3d-scan-calc", "dialogue-parser", "lake-warming-attribution")
SKILLS = {
    "3d-scan-calc": {"mesh-analysis"},
    "dialogue-parser": {"dialogue_graph"},
    "lake-warming-attribution": {
        "contribution-analysis",
        "meteorology-driver-classification",
        "pca-decomposition",
        "trend-analysis",
    },
}
STUDY = {
    "name": "skillsbench-v1",
    "benchmark": {
        "name": "harbor",
        "include": list(TASKS),
        "benchmark_name": "skillsbench",
        "benchmark_version": "v1",
        "sandbox": "bwrap",
        # Package registries are reached as this machine reaches them.
        "sandbox_options": {"network": "host", "build_network": "host", "pass_env": ["PIP_CERT"]},
        "python_path": [str(ROOT / "examples" / "skills-uplift" / "agents")],
        "seed_argument": "seed",
    },
    "repeats": 1,
    "retries": 1,
    "splits": {"sizes": {"heldout": 3, "replay": 0, "adapt": 0}},
    "arms": {
        "idle": {"path_type": "frozen", "agent": {"name": "nop"}},
        "oracle": {"path_type": "oracle", "agent": {"name": "oracle"}},
        "skills": {"path_type": "external", "agent": {"name": "skill_picker:SkillPicker"}},
    },
    "analysis": {"sesoi": 0.1},
}


@pytest.fixture(scope="module")
def tasks() -> Path:
    """The folder of tasks of the checkout."""
    named = os.environ.get("SIPBENCH_PEERS")
    if not named:
        pytest.skip("peers: no checkout of yujianll/skill-usage; make test-peers PEERS=DIR")
    found = [place for place in (Path(named) / "tasks", Path(named)) if (place / TASKS[0]).is_dir()]
    assert found, f"{named} holds no folder tasks/{TASKS[0]}"
    return found[0].resolve()


@pytest.fixture(scope="module")
def records(tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> list[RunRecord]:
    """The records of the study."""
    pytest.importorskip("harbor", reason="this needs the extra 'harbor'")
    place = tmp_path_factory.mktemp("peers")
    study = json.loads(json.dumps(STUDY))
    study["benchmark"]["tasks"] = str(tasks)
    study["arms"]["skills"]["adaptation"] = {"kind": "task-skills", "tasks": str(tasks)}
    (place / "study.yaml").write_text(json.dumps(study), encoding="utf-8")
    command = [sys.executable, "-c", "from sipbench.cli.sip import main; main()", "run", "study.yaml"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = list(read_records(place / "skillsbench-v1" / "runs.jsonl"))
    for record in sorted(found, key=lambda item: (item.task_id, item.arm, item.phase)):
        given = ", ".join(skill.name for skill in record.skills_given or ()) or "-"
        print(f"{record.task_id:26} {record.arm:7} {record.phase} {record.status} {record.score} {given}")
    return found


def test_every_folder_is_a_task_or_named_with_a_reason(tasks: Path) -> None:
    usable, problems = find_tasks(tasks)
    for problem in problems:
        print(problem)
    assert {task.path.name for task in usable} >= set(TASKS)
    assert len(usable) + len(problems) == len([path for path in tasks.iterdir() if path.is_dir()])


def test_the_oracle_has_the_full_reward_and_doing_nothing_none(records: list[RunRecord]) -> None:
    assert {record.status for record in records} == {Status.GRADED}
    for arm, score in (("oracle", 1.0), ("idle", 0.0)):
        found = {(record.task_id, record.phase): record.score for record in records if record.arm == arm}
        assert found == {(task, phase): score for task in TASKS for phase in (Phase.T0, Phase.T1)}


def test_an_agent_has_no_skills_before_and_the_tasks_own_after(records: list[RunRecord]) -> None:
    for record in (record for record in records if record.arm == "skills"):
        given = {skill.name for skill in record.skills_given or ()}
        assert given == (SKILLS[record.task_id] if record.phase is Phase.T1 else set())
        assert all(skill.digest for skill in record.skills_given or ())
        assert {skill.name for skill in record.skills_opened or ()} <= given

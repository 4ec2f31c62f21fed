"""The example about skills: its tasks are those that the generator writes, and none is solved by itself."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from sipbench.benchmarks.base import Agent, AttemptContext
from sipbench.benchmarks.harbor.tasks import FamilyRule, find_tasks
from sipbench.protocol.digests import EMPTY_TREE
from sipbench.protocol.jsonl import read_records
from sipbench.protocol.vocabulary import PathType, Phase, Split, Status
from tests.examples.pages import ROOT
from tests.sandbox.conftest import Place, place, wait_for

__all__ = ["place"]

EXAMPLE = ROOT / "examples" / "skills-uplift"
SKILLS = sorted(path.parent for path in EXAMPLE.glob("skills/*/SKILL.md"))


def files(root: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), os.access(path, os.X_OK))
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_generator_writes_the_tasks_that_are_there(tmp_path: Path) -> None:
    command = [sys.executable, "-B", "generate.py", "--out", str(tmp_path / "tasks")]
    done = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("48 tasks in ")
    assert files(tmp_path / "tasks") == files(EXAMPLE / "tasks")
    again = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=False)
    assert again.returncode == 2


def test_another_seed_writes_other_tasks(tmp_path: Path) -> None:
    out = tmp_path / "tasks"
    command = [sys.executable, "-B", "generate.py", "--out", str(out), "--seed", "2", "--tasks", "1"]
    subprocess.run(command, cwd=EXAMPLE, capture_output=True, check=True)
    assert len(list(out.iterdir())) == 12
    assert not set(files(out).values()) >= set(files(EXAMPLE / "tasks" / "csv-repair-01").values())


def test_there_are_forty_tasks_in_ten_families_and_more() -> None:
    tasks, problems = find_tasks(EXAMPLE / "tasks")
    assert problems == []
    families = Counter(task.task(FamilyRule()).family for task in tasks)
    assert len(tasks) == 48
    assert set(families.values()) == {4}
    assert len(families) == 12
    assert len({task.digest for task in tasks}) == 48


@pytest.mark.parametrize("skill", [path for path in SKILLS if list(EXAMPLE.glob(f"tasks/{path.name}-*"))])
def test_a_skill_solves_every_task_of_its_family(skill: Path, tmp_path: Path) -> None:
    tasks = sorted(EXAMPLE.glob(f"tasks/{skill.name}-*"))
    for task in tasks:
        work = tmp_path / task.name
        shutil.copytree(task / "environment" / "data", work)
        instruction = (task / "instruction.md").read_text(encoding="utf-8")
        command = [sys.executable, str(skill / "scripts" / "run.py")]
        subprocess.run(command, cwd=work, input=instruction, text=True, check=True)
        assert (work / "answer.txt").read_text() == (task / "tests" / "expected.txt").read_text(), task.name
    assert len(tasks) == 4


def test_tasks_ship_the_skill_of_their_family() -> None:
    for shipped in EXAMPLE.glob("tasks/*/environment/skills/*/SKILL.md"):
        own = EXAMPLE / "skills" / shipped.parent.name
        assert shipped.parents[3].name.startswith(own.name)
        assert files(shipped.parent) == files(own)
    assert len(SKILLS) == 16


# -- in the sandbox -------------------------------------------------------------------------------


@pytest.fixture
def box(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("harbor", reason="this needs the extra 'harbor'")
    pytest.importorskip("dockerfile", reason="this needs the extra 'harbor'")
    monkeypatch.setenv("SIPBENCH_SANDBOX", str(place.store.root))


@pytest.mark.slow
@pytest.mark.usefixtures("box")
@pytest.mark.parametrize(("agent", "expected"), [("oracle", 1.0), ("nop", 0.0)])
def test_the_oracle_solves_each_task_and_doing_nothing_none(
    agent: str, expected: float, tmp_path: Path
) -> None:
    from sipbench.benchmarks.harbor.benchmark import HarborBenchmark

    benchmark = HarborBenchmark(HarborBenchmark.Options(tasks="tasks", sandbox="bwrap"), base=EXAMPLE)
    (tmp_path / "state").mkdir()

    async def attempts() -> dict[str, float | None]:
        gate, rewards = asyncio.Semaphore(2), {}
        for task in benchmark.tasks():
            (tmp_path / "attempts" / task.id).mkdir(parents=True)

        async def one(task: object) -> None:
            context = AttemptContext(
                agent=Agent(agent),
                state=tmp_path / "state",
                state_digest=EMPTY_TREE,
                workdir=tmp_path / "attempts" / task.id,
                arm="a",
                split=Split.HELDOUT,
                repeat=0,
                attempt_index=0,
            )
            async with gate:
                done = await benchmark.run(task, Phase.T0, PathType.FROZEN, 1, context=context)
            assert done.status is Status.GRADED, done.error_message
            rewards[task.id] = done.reward

        await asyncio.gather(*(one(task) for task in benchmark.tasks()))
        return rewards

    rewards = asyncio.run(attempts())
    assert len(rewards) == 48
    assert {name: reward for name, reward in rewards.items() if reward != expected} == {}


def small(folder: Path) -> Path:
    """The example with fewer tasks and one repeat."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("skills-uplift", "__pycache__"))
    study = yaml.safe_load((folder / "study.yaml").read_text(encoding="utf-8"))
    study["repeats"] = 1
    (folder / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    splits = json.loads((folder / "splits.json").read_text(encoding="utf-8"))
    splits["heldout"] = [entry for entry in splits["heldout"] if entry["id"].endswith("-03")]
    splits["replay"] = splits["replay"][::2]
    (folder / "splits.json").write_text(json.dumps(splits), encoding="utf-8")
    return folder / "study.yaml"


def sip(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from sipbench.cli.sip import main; main()", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.slow
@pytest.mark.usefixtures("box")
def test_one_command_measures_what_the_skills_are_worth_even_when_it_was_killed(tmp_path: Path) -> None:
    study, out = small(tmp_path / "example"), tmp_path / "out"
    run = sip("run", str(study), "--out", str(out))
    runs = out / "runs.jsonl"
    try:
        asyncio.run(wait_for(lambda: runs.exists() and runs.read_bytes().count(b"\n") >= 5, 120))
    finally:
        run.send_signal(signal.SIGKILL)
        run.communicate()
    before = runs.read_bytes().splitlines()
    run = sip("run", str(study), "--out", str(out))
    said, _ = run.communicate(timeout=600)
    assert run.returncode == 0, said
    # What was finished was not run again.
    assert runs.read_bytes().splitlines()[: len(before)] == before
    records = list(read_records(runs))
    assert len(records) == (10 + 4) * 2 * 2
    for record in records:
        given = len(SKILLS) if (record.arm, record.phase) == ("skills", Phase.T1) else 0
        assert len(record.skills_given or ()) == given
        assert record.skills_opened is not None
        assert len(record.skills_opened) <= 1
        assert record.token_total == 0
        assert record.attempt_seed is not None
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    (row,) = [row for row in summary["rows"] if row["arm"] == "skills"]
    fg = row["metrics"]["fg"]
    assert fg["value"] > 0
    assert 0 < fg["interval"]["low"] < fg["value"]

"""The skills that tasks ship, as an agent state."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sipbench.adaptation.task_skills import TaskSkills, TaskSkillsOptions
from sipbench.errors import AdaptationError, ConfigError
from sipbench.protocol.digests import tree_digest
from sipbench.protocol.vocabulary import PathType
from tests.adaptation.places import Place


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place.make(tmp_path)
    for task, skills in {"lake": ("water", "maps"), "csv": ("tables",), "bare": ()}.items():
        write(tmp_path / "tasks" / task / "task.toml", "")
        write(tmp_path / "tasks" / task / "solution" / "solve.sh")
        for name in skills:
            write(tmp_path / "tasks" / task / "environment" / "skills" / name / "SKILL.md", name)
            write(tmp_path / "tasks" / task / "environment" / "skills" / name / "scripts" / "run.py")
    return found


def adaptation(place: Place, tasks: str = "tasks") -> TaskSkills:
    return TaskSkills(TaskSkillsOptions(tasks=tasks), base=place.root)


def test_the_state_holds_the_skills_of_each_task_and_nothing_else_of_it(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        outcome = adaptation(place).adapt(place.request())
    held = sorted(
        path.relative_to(place.state).as_posix() for path in place.state.rglob("*") if path.is_file()
    )
    assert held == [
        f"task-skills/{task}/{skill}/{name}"
        for task, skill in (("csv", "tables"), ("lake", "maps"), ("lake", "water"))
        for name in ("SKILL.md", "scripts/run.py")
    ]
    assert outcome.metadata == {"tasks": 2, "skills": 3, "without": ["bare"]}
    assert "1 tasks ship no skills and cannot be attempted with them: bare" in caplog.text


def test_it_takes_the_external_path_and_no_attempts() -> None:
    assert (TaskSkills.path_type, TaskSkills.needs_attempts) == (PathType.EXTERNAL, False)


def test_a_changed_skill_is_another_input(place: Place) -> None:
    before = adaptation(place).inputs_digest()
    write(place.root / "tasks" / "csv" / "solution" / "solve.sh", "not a skill")
    assert adaptation(place).inputs_digest() == before
    write(
        place.root / "tasks" / "csv" / "environment" / "skills" / "tables" / "scripts" / "run.py", "changed"
    )
    assert adaptation(place).inputs_digest() != before


def test_a_single_task_is_a_folder_of_one(place: Place) -> None:
    adaptation(place, "tasks/lake").adapt(place.request())
    assert sorted(path.name for path in (place.state / "task-skills" / "lake").iterdir()) == ["maps", "water"]


def test_the_same_skills_give_the_same_state(place: Place, tmp_path: Path) -> None:
    adaptation(place).adapt(place.request())
    other = tmp_path / "again"
    other.mkdir()
    adaptation(place).adapt(place.request(state=other))
    assert tree_digest(other) == tree_digest(place.state)


def test_without_any_skill_there_is_nothing_to_measure(place: Place) -> None:
    write(place.root / "none" / "t" / "task.toml")
    with pytest.raises(ConfigError, match=r"tasks: no task of .*none ships a skill"):
        adaptation(place, "none")
    with pytest.raises(ConfigError, match=r"tasks: .*nothing is not a folder"):
        adaptation(place, "nothing")


def test_links_are_refused(place: Place) -> None:
    skills = place.root / "tasks" / "csv" / "environment" / "skills"
    (skills / "tables" / "secret").symlink_to(place.root / "private.json")
    with pytest.raises(AdaptationError, match="secret: a symbolic link"):
        adaptation(place).adapt(place.request())
    (skills / "tables" / "secret").unlink()
    (skills / "linked").symlink_to(skills / "tables")
    with pytest.raises(ConfigError, match="linked: a symbolic link; put the skill itself there"):
        adaptation(place)

"""A task without the skills that it ships, or with others in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.benchmarks.harbor.tree import walk
from sipbench.benchmarks.harbor.variant import copied_places, needs_skills, variant
from sipbench.errors import EngineError
from tests.benchmarks.harbor.made import DOCKERFILE, make_skill, make_task, skillful, task, write


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and mode of every file; of a link, where it points."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[path.relative_to(root).as_posix()] = (str(path.readlink()).encode(), 0)
        elif path.is_file():
            found[path.relative_to(root).as_posix()] = (path.read_bytes(), path.stat().st_mode)
    return found


def test_without_skills_every_other_byte_is_unchanged(tmp_path: Path) -> None:
    folder = skillful(tmp_path / "t", "a", "b")
    write(folder / "environment" / "data.bin", "\r\n\x00é")
    write(folder / "tests" / "skills" / "SKILL.md", "another folder of that name")
    (folder / "environment" / "link").symlink_to("data.bin")
    copy = variant(task(folder), tmp_path / "making", {})
    shipped = {name for name in contents(folder) if name.startswith("environment/skills/")}
    assert len(shipped) == 4
    assert contents(copy) == {name: held for name, held in contents(folder).items() if name not in shipped}
    assert list((copy / "environment" / "skills").iterdir()) == []
    assert copy.name == "t"
    assert task(copy).digest == task(folder).digest


def test_a_task_without_skills_is_run_from_its_own_folder(tmp_path: Path) -> None:
    folder = make_task(tmp_path / "t")
    assert variant(task(folder), tmp_path / "making", {}) == folder
    assert not (tmp_path / "making").exists()


def test_other_skills_take_the_place_of_its_own(tmp_path: Path) -> None:
    folder = skillful(tmp_path / "t", "own")
    given = make_skill(tmp_path / "given" / "other", script="x")
    copy = variant(task(folder), tmp_path / "making", {"other": given})
    assert [path.name for path in (copy / "environment" / "skills").iterdir()] == ["other"]
    assert contents(copy / "environment" / "skills" / "other") == contents(given)


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("COPY skills /root/.claude/skills", ["/root/.claude/skills"]),
        ("copy ./skills/ /s", ["/s"]),
        ("COPY --chown=a:b skills /s", ["/s"]),
        ('COPY ["skills", "/with space"]', ["/with space"]),
        ("COPY data.csv skills /s/", ["/s/"]),
        ("ADD skills/. /s", ["/s"]),
        ("COPY skills \\\n  # why\n  /s", ["/s"]),
        ("COPY . /app", ["/app/skills"]),
        ("COPY --from=builder skills /s", []),
        ("RUN echo COPY skills /s", []),
        ("COPY my-skills /s", []),
    ],
)
def test_where_a_dockerfile_puts_skills(tmp_path: Path, line: str, places: list[str]) -> None:
    folder = make_task(tmp_path / "t", files={"environment/Dockerfile": f"{DOCKERFILE}{line}\n"})
    assert list(copied_places(task(folder))) == places


def test_an_image_that_needs_a_shipped_skill_is_refused(tmp_path: Path) -> None:
    folder = skillful(tmp_path / "t", dockerfile=f"{DOCKERFILE}\nCOPY skills/own/answer /app/\n")
    reason = needs_skills(task(folder)) or ""
    assert reason.startswith("environment/Dockerfile:4 copies skills/own/answer")
    with pytest.raises(EngineError, match="leave the task out with `exclude`"):
        variant(task(folder), tmp_path / "making", {})


def test_a_link_into_the_skills_needs_them(tmp_path: Path) -> None:
    folder = skillful(tmp_path / "t")
    (folder / "tests" / "expected").symlink_to("../environment/skills/own/answer")
    assert needs_skills(task(folder)) == "tests/expected is a link into the shipped skills"


def test_a_copy_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    folder = skillful(tmp_path / "t")
    making = tmp_path / "making"
    making.write_text("a file is in the way")
    with pytest.raises(EngineError, match="the task's copy cannot be written"):
        variant(task(folder), making, {})


def test_the_task_itself_is_never_written(tmp_path: Path) -> None:
    folder = skillful(tmp_path / "t")
    before = [(entry, (folder / entry.path).stat().st_mtime_ns) for entry in walk(folder)]
    variant(task(folder), tmp_path / "making", {"x": make_skill(tmp_path / "x")})
    assert [(entry, (folder / entry.path).stat().st_mtime_ns) for entry in walk(folder)] == before

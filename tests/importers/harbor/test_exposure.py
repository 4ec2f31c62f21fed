"""Which skills an agent was given, and which it opened, as far as files tell."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from sipbench.importers.harbor.exposure import given_skills, opened_skills
from sipbench.protocol.digests import skill_digest
from tests.importers.harbor.made import OTHER_SKILL, SKILL, lock, shell, trajectory, trial


def names(refs: Any) -> list[str] | None:
    return None if refs is None else [ref.name for ref in refs]


def test_given_is_what_the_lock_lists() -> None:
    (skill,) = given_skills(lock("t", SKILL)) or ()
    assert (skill.name, skill.digest, skill.tree_digest) == (SKILL["name"], None, SKILL["digest"])
    assert given_skills(lock("t")) == ()


@pytest.mark.parametrize("damage", [{"skills": "csv"}, {"skills": [{"name": "csv"}]}, {"skills": [3]}])
def test_a_list_that_cannot_be_read_is_unknown(damage: dict[str, Any]) -> None:
    assert given_skills({**lock("t"), **damage}) is None
    assert given_skills(None) is None


def opened(tmp_path: Path, *calls: dict[str, Any]) -> list[str] | None:
    locked = lock("t", SKILL, OTHER_SKILL)
    files = trial(tmp_path, locked=locked, did=trajectory(*calls))
    return names(opened_skills(files, given_skills(locked)))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (shell("cat /runtime/skills/csv/SKILL.md"), ["csv"]),
        (shell("cd ~/.claude/skills/sql && ls"), ["sql"]),
        (shell("python3 '/x/skill/csv/scripts/fix.py' in.csv"), ["csv"]),
        (shell("cat /runtime/skills/*/SKILL.md"), ["csv", "sql"]),
        (shell("cd /runtime/skills; cat csv/SKILL.md"), ["csv"]),
        (shell("ls /runtime/skills"), []),
        (shell("ls /runtime/skills/*"), []),
        (shell("ls /app/csv/data.txt"), []),
        (shell("echo csv sql"), []),
        ({"function_name": "Skill", "arguments": {"skill": "csv"}}, ["csv"]),
        ({"function_name": "load_skill", "arguments": {"name": "plugin:sql"}}, ["sql"]),
        ({"function_name": "activate_skill", "arguments": ["csv"]}, ["csv"]),
        ({"function_name": "bash", "arguments": {"name": "csv"}}, []),
        (
            {"function_name": "terminal", "arguments": {"keys": [{"keystrokes": "less skills/csv/x.md\n"}]}},
            ["csv"],
        ),
        (
            {"function_name": "Read", "arguments": {"file_path": "/home/a/.agents/skills/sql/SKILL.md"}},
            ["sql"],
        ),
    ],
)
def test_opened_is_what_a_call_leads_into(tmp_path: Path, call: dict[str, Any], expected: list[str]) -> None:
    assert opened(tmp_path, call) == expected


def test_without_calls_nobody_knows_what_was_opened(tmp_path: Path) -> None:
    assert opened(tmp_path) is None
    assert opened_skills(trial(tmp_path / "x"), given_skills(lock("t", SKILL))) is None


def test_who_was_given_nothing_opened_nothing(tmp_path: Path) -> None:
    assert opened_skills(trial(tmp_path), ()) == ()
    assert opened_skills(trial(tmp_path), None) is None


def test_the_digest_of_a_skill_by_hand() -> None:
    first, second = hashlib.sha256(b"a").hexdigest(), hashlib.sha256(b"b").hexdigest()
    text = f"SKILL.md\0{first}\0scripts/run.py\0{second}\0"
    expected = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert skill_digest([("scripts/run.py", second), ("SKILL.md", first)]) == expected


def test_the_digest_of_a_skill_is_harbors(tmp_path: Path) -> None:
    skills = pytest.importorskip("harbor.skills", reason="needs the extra 'harbor'")
    for name, text in {"SKILL.md": "x", "a/b.py": "y", "a-b/c": "z", "a.txt": "", "B": "é"}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    hashes = [
        (path.relative_to(tmp_path).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
    ]
    assert skill_digest(hashes) == skills.compute_skill_digest(tmp_path)

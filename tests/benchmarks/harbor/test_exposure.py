"""What an agent has before it, as its environment itself shows."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sipbench.benchmarks.harbor.exposure import Found, NotExposedError, look, parse_listing, verdict
from sipbench.benchmarks.harbor.state import read_state
from sipbench.benchmarks.harbor.trial import skills_places
from sipbench.protocol.records import SkillRef
from tests.benchmarks.harbor.made import make_skill, write

ONE = "sha256:" + "1" * 64
TWO = "sha256:" + "2" * 64
WANTED = {"a": SkillRef(name="a", digest=TWO, tree_digest=ONE)}


@dataclass
class Done:
    return_code: int
    stdout: str | None
    stderr: str | None = None


class ThisMachine:
    """An environment whose commands run here."""

    async def exec(self, command: str, **_: Any) -> Done:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        return Done(done.returncode, done.stdout)


def found(*places: Path) -> Found:
    seen = asyncio.run(look(ThisMachine(), [str(place) for place in places]))
    assert seen is not None
    return seen


def test_what_lies_there_has_the_digest_of_what_was_given(tmp_path: Path) -> None:
    make_skill(tmp_path / "state" / "skills" / "a", script="x")
    write(tmp_path / "state" / "skills" / "a" / "deep er" / "é\\x", "y")
    make_skill(tmp_path / "state" / "skills" / "b")
    given = read_state(tmp_path / "state", "t", tmp_path).refs()
    seen = found(tmp_path / "state" / "skills", tmp_path / "nothing")
    assert {name: digest for _, name, digest in seen.skills} == {n: r.tree_digest for n, r in given.items()}


def test_a_folder_without_its_file_is_no_skill(tmp_path: Path) -> None:
    write(tmp_path / "a" / "README.md", "x")
    write(tmp_path / "SKILL.md", "x")
    assert found(tmp_path).skills == ()


def test_a_place_that_is_a_link_is_entered(tmp_path: Path) -> None:
    make_skill(tmp_path / "real" / "a")
    (tmp_path / "link").symlink_to("real")
    assert [name for _, name, _ in found(tmp_path / "link").skills] == ["a"]


def test_an_environment_that_cannot_be_searched_is_unknown() -> None:
    class Bare:
        async def exec(self, command: str, **_: Any) -> Done:
            return Done(127, None)

    assert asyncio.run(look(Bare(), ["/x"])) is None
    assert asyncio.run(look(Bare(), [])) == Found(())


def test_names_that_sha256sum_escapes_are_read() -> None:
    content = hashlib.sha256(b"").hexdigest()
    assert parse_listing(f"\\{content}  a\\\\b\\nc\n{content} *plain\nnoise\n") == {
        "a\\b\nc": content,
        "plain": content,
    }


def test_a_skill_that_arrived_is_given() -> None:
    (skill,) = verdict(Found((("/s", "a", ONE),)), WANTED, configured=True)
    assert skill == WANTED["a"]


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ((), "skills a are not among what the agent has"),
        ((("/s", "a", TWO),), "skills a differ from what the agent has"),
        ((("/s", "a", ONE), ("/t", "b", TWO)), r"not to have: b \(/t\)"),
        ((("/s", "a", ONE), ("/t", "a", TWO)), r"not to have: a \(/t\)"),
    ],
)
def test_an_arm_that_was_not_given_its_skills_is_not_let_begin(seen: Any, message: str) -> None:
    # benchflow-ai/benchflow#592: skills were mounted, the agent's list of them was empty.
    with pytest.raises(NotExposedError, match=message):
        verdict(Found(seen), WANTED, configured=True)


def test_a_control_that_has_skills_is_not_let_begin() -> None:
    assert verdict(Found(()), {}, configured=True) == ()
    with pytest.raises(NotExposedError, match=r"not to have: own \(/root/.claude/skills\)"):
        verdict(Found((("/root/.claude/skills", "own", ONE),)), {}, configured=True)


def test_where_nobody_can_look_harbor_vouches_for_what_it_put_there_and_for_nothing_else() -> None:
    assert [skill.name for skill in verdict(None, WANTED, configured=True)] == ["a"]
    with pytest.raises(NotExposedError, match="nobody knows"):
        verdict(None, WANTED, configured=False)


def test_the_places_are_harbors_own_the_tasks_and_the_images() -> None:
    config = {"environment": {"skills_dir": "/skills"}}
    assert skills_places(config, ["/root/.claude/skills/", "/skills"]) == (
        "/runtime/skills",
        "/skills",
        "/root/.claude/skills",
    )
    assert skills_places({}, []) == ("/runtime/skills",)

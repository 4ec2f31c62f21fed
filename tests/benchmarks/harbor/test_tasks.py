"""A folder of Harbor tasks: ids, families, digests, and what cannot be used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sipbench.benchmarks.harbor.tasks import FamilyRule, find_tasks, read_task, refuse
from sipbench.errors import EngineError
from tests.benchmarks.harbor.made import TOML, make_skill, make_task, skillful, write


def test_tasks_are_found_in_the_order_of_their_folders(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        make_task(tmp_path / name)
    write(tmp_path / "README.md", "no task")
    (tmp_path / ".git").mkdir()
    tasks, problems = find_tasks(tmp_path)
    assert [task.id for task in tasks] == ["a", "b", "c"]
    assert problems == []


def test_a_single_task_is_a_folder_of_one(tmp_path: Path) -> None:
    tasks, _ = find_tasks(make_task(tmp_path / "only"))
    assert [task.id for task in tasks] == ["only"]


def test_the_id_is_the_name_that_the_task_gives_itself(tmp_path: Path) -> None:
    make_task(tmp_path / "folder", '[task]\nname = "org/named"\n')
    assert find_tasks(tmp_path)[0][0].id == "org/named"


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        make_task(tmp_path / folder, '[task]\nname = "org/same"\n')
    with pytest.raises(EngineError, match="a and b are both task 'org/same'"):
        find_tasks(tmp_path)


def test_tasks_are_chosen_by_pattern_and_left_out_by_name(tmp_path: Path) -> None:
    for name in ("lake-1", "lake-2", "sea-1"):
        make_task(tmp_path / name)
    tasks, _ = find_tasks(tmp_path, include=["lake-*"], exclude=["lake-2"])
    assert [task.id for task in tasks] == ["lake-1"]
    with pytest.raises(EngineError, match="exclude names 'lake-3', which is not there"):
        find_tasks(tmp_path, exclude=["lake-3"])


def test_the_family_stands_in_the_metadata_or_in_the_name(tmp_path: Path) -> None:
    make_task(tmp_path / "lake-1", '[metadata]\nfamily = "water"\n')
    make_task(tmp_path / "lake-2")
    make_task(tmp_path / "other")
    rule = FamilyRule(pattern=re.compile(r"^(\w+)-\d+$"))
    tasks, _ = find_tasks(tmp_path)
    assert [task.task(rule).family for task in tasks] == ["water", "lake", None]


def test_the_instruction_is_read_without_its_canary(tmp_path: Path) -> None:
    text = "<!-- benchmark canary GUID 1 -->\n# canary 2\n\nDo it.\n"
    assert read_task(make_task(tmp_path / "t", files={"instruction.md": text})).text == "Do it."


def test_a_task_with_steps_has_all_their_instructions(tmp_path: Path) -> None:
    names = ("one", "two")
    files = {"instruction.md": "", "tests/test.sh": ""}
    files |= {f"steps/{name}/instruction.md": f"Do {name}." for name in names}
    files |= {f"steps/{name}/tests/test.sh": "#!/bin/bash\n" for name in names}
    toml = "".join(f'[[steps]]\nname = "{name}"\n' for name in names)
    assert read_task(make_task(tmp_path / "t", toml, files)).text == "Do one.\n\nDo two."


def test_shipped_skills_are_no_part_of_the_digest(tmp_path: Path) -> None:
    plain = make_task(tmp_path / "plain" / "t", files={"environment/Dockerfile": "FROM x\nCOPY skills /s\n"})
    bare = read_task(plain)
    make_skill(plain / "environment" / "skills" / "own")
    shipping = read_task(plain)
    assert shipping.digest == bare.digest
    assert (bare.ships_skills, shipping.ships_skills) == (False, True)
    assert shipping.skills == ("own",)


@pytest.mark.parametrize(
    "name",
    [
        "task.toml",
        "instruction.md",
        "environment/Dockerfile",
        "environment/data.csv",
        "tests/test.sh",
        "solution/solve.sh",
    ],
)
def test_everything_else_that_the_agent_sees_or_the_grader_checks_is(tmp_path: Path, name: str) -> None:
    folder = make_task(tmp_path / "t", files={"environment/data.csv": "1\n"})
    before = read_task(folder).digest
    with (folder / name).open("a", encoding="utf-8") as handle:
        handle.write("# more\n")
    assert read_task(folder).digest != before


@pytest.mark.parametrize("name", ["README.md", "authoring/notes.md", "tests/__pycache__/x.pyc"])
def test_what_nobody_sees_is_not(tmp_path: Path, name: str) -> None:
    folder = make_task(tmp_path / "t")
    before = read_task(folder).digest
    write(folder / name, "x")
    assert read_task(folder).digest == before


def test_harbors_own_digest_stands_beside_it(tmp_path: Path) -> None:
    found = read_task(skillful(tmp_path / "t", "b", "a")).task(FamilyRule(), upstream_digest="sha256:x")
    assert found.metadata["upstream_digest"] == "sha256:x"
    assert found.metadata["shipped_skills"] == ["a", "b"]
    assert found.metadata["folder"] == "t"


@pytest.mark.parametrize(
    ("files", "toml", "reason"),
    [
        ({"task.toml": ""}, "", "has no task.toml"),
        ({"task.toml": "", "task.md": "---\n"}, "", "BenchFlow's layout .*use the v1 folder"),
        ({"task.toml": "", "inner/task.toml": "x = 1"}, "", "its subfolder inner is one"),
        ({"task.toml": "[a\n"}, "", "task.toml: not TOML"),
        ({"instruction.md": ""}, "", "instruction.md: cannot be read"),
        ({"tests/test.sh": ""}, "", "has no tests/test.sh, so nothing can grade it"),
        ({"environment/Dockerfile": ""}, "", "neither environment/ nor"),
        ({}, '[[steps]]\nname = "../x"\n', "each of .* needs a name"),
    ],
)
def test_what_is_no_task_is_named_with_its_reason(
    tmp_path: Path, files: dict[str, str], toml: str, reason: str
) -> None:
    make_task(tmp_path / "good")
    make_task(tmp_path / "odd", toml, files)
    tasks, problems = find_tasks(tmp_path)
    assert [task.id for task in tasks] == ["good"]
    with pytest.raises(EngineError, match=f"1 of its folders cannot be run.*odd: .*{reason}") as caught:
        refuse(tmp_path, problems)
    assert "\n" not in str(caught.value)
    assert find_tasks(tmp_path, exclude=["odd"])[1] == []


def test_a_verifier_with_an_image_of_its_own_brings_its_test(tmp_path: Path) -> None:
    read_task(
        make_task(tmp_path / "a", "[verifier.environment]\ndocker_image = 'x'\n", {"tests/test.sh": ""})
    )
    read_task(make_task(tmp_path / "b", files={"tests/test.sh": "", "tests/Dockerfile": "FROM x\n"}))


def test_an_image_stands_in_for_a_folder(tmp_path: Path) -> None:
    toml = TOML + "[environment]\ndocker_image = 'x'\n"
    read_task(make_task(tmp_path / "t", files={"task.toml": toml, "environment/Dockerfile": ""}))


def test_a_hostile_folder_is_a_problem_and_no_more(tmp_path: Path) -> None:
    make_task(tmp_path / "tasks" / "good")
    hostile = make_task(tmp_path / "tasks" / "hostile")
    (hostile / "environment" / "data").symlink_to("/etc/passwd")
    elsewhere = make_task(tmp_path / "elsewhere")
    (tmp_path / "tasks" / "linked").symlink_to(elsewhere)
    tasks, problems = find_tasks(tmp_path / "tasks")
    assert [task.id for task in tasks] == ["good"]
    assert {problem.folder for problem in problems} == {"hostile", "linked"}


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no such folder of tasks"):
        find_tasks(tmp_path / "nothing")
    with pytest.raises(EngineError, match=r"`harbor download mine@1\.0 -o DIR` brings a dataset"):
        find_tasks(tmp_path / "mine@1.0")

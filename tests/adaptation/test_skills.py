"""A folder of skills, and nothing at all, as adaptations."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench import plugins
from sipbench.adaptation.none import NoAdaptation
from sipbench.adaptation.skills import SkillsFolder, SkillsOptions
from sipbench.benchmarks.base import Options
from sipbench.errors import AdaptationError, ConfigError, SipbenchError
from sipbench.protocol.digests import EMPTY_TREE, file_digest, tree_digest
from sipbench.protocol.records import Usage
from sipbench.protocol.vocabulary import PathType
from tests.adaptation.places import Place


def skill(folder: Path, text: str = "how to") -> Path:
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(f"---\r\nname: {folder.name}\r\n---\r\n{text}".encode())
    (folder / "scripts" / "go.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place.make(tmp_path)
    skill(tmp_path / "skills" / "csv")
    skill(tmp_path / "skills" / "sql")
    (tmp_path / "skills" / "README.md").write_text("no skill", encoding="utf-8")
    (tmp_path / "skills" / "drafts").mkdir()
    return made


def adaptation(place: Place, path: str = "skills") -> SkillsFolder:
    return SkillsFolder(SkillsOptions(path=path), base=place.root)


def test_each_folder_with_a_skill_file_goes_into_the_state_byte_for_byte(place: Place) -> None:
    outcome = adaptation(place).adapt(place.request())
    assert sorted(path.name for path in (place.state / "skills").iterdir()) == ["csv", "sql"]
    for name in ("csv", "sql"):
        assert tree_digest(place.state / "skills" / name) == tree_digest(place.root / "skills" / name)
    digest = file_digest(place.root / "skills" / "csv" / "SKILL.md")
    assert outcome.metadata["skills"][0] == {"name": "csv", "digest": digest}


def test_one_skill_may_be_given_by_itself(place: Place) -> None:
    adaptation(place, "skills/csv").adapt(place.request())
    assert [path.name for path in (place.state / "skills").iterdir()] == ["csv"]


def test_its_cost_is_unknown_and_it_needs_no_attempts(place: Place) -> None:
    made = adaptation(place)
    outcome = made.adapt(place.request())
    assert outcome.usage == Usage()
    assert outcome.usage_source is None
    assert not outcome.worked_here, "copying them is not what they cost"
    assert not made.needs_attempts
    assert made.path is PathType.EXTERNAL


def test_the_digest_of_its_inputs_follows_the_skills_and_nothing_else(place: Place) -> None:
    before = adaptation(place).inputs_digest()
    (place.root / "skills" / "README.md").write_text("changed", encoding="utf-8")
    assert adaptation(place).inputs_digest() == before
    (place.root / "skills" / "csv" / "SKILL.md").write_text("changed", encoding="utf-8")
    assert adaptation(place).inputs_digest() != before


@pytest.mark.parametrize(
    ("path", "reason"), [("nowhere", "is not a folder"), ("skills/drafts", "holds no skill")]
)
def test_a_folder_without_skills_is_a_wrong_option(place: Place, path: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"path: .*{reason}"):
        adaptation(place, path)


def test_a_link_in_a_skill_is_refused(place: Place) -> None:
    (place.root / "skills" / "csv" / "answers").symlink_to(place.study / "secret")
    made = adaptation(place)
    with pytest.raises(SipbenchError, match="symbolic link"):
        made.inputs_digest()
    with pytest.raises(AdaptationError, match="symbolic link"):
        made.adapt(place.request())


def test_a_skill_that_is_a_link_itself_is_refused(place: Place) -> None:
    (place.root / "skills" / "zip").symlink_to(place.root / "skills" / "csv")
    with pytest.raises(ConfigError, match="zip: a symbolic link"):
        adaptation(place)


def test_no_adaptation_leaves_the_state_empty(place: Place) -> None:
    made = NoAdaptation(Options(), base=place.root)
    outcome = made.adapt(place.request())
    assert tree_digest(place.state) == EMPTY_TREE
    assert outcome.usage == Usage()
    assert not made.needs_attempts


@pytest.mark.parametrize("name", ["none", "skills", "command"])
def test_they_are_found_by_name(name: str) -> None:
    assert plugins.load("adaptations", name).contract_version == 1

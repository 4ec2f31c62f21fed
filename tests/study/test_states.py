"""Agent states: made as a whole, not changed afterwards, and never removed by mistake."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sipbench.errors import AdaptationError, StudyError
from sipbench.protocol.digests import EMPTY_TREE, tree_digest
from sipbench.protocol.vocabulary import Phase
from sipbench.study.directory import StudyDirectory
from sipbench.study.plan import StateKey
from sipbench.study.states import States
from tests.study.trial import LEARNER, Trial

T0, T1 = StateKey("a", 0, Phase.T0), StateKey("a", 0, Phase.T1)


@pytest.fixture
def states(tmp_path: Path) -> States:
    return States(StudyDirectory(tmp_path / "study"), {})


def made(states: States, text: str = "x") -> Path:
    making = states.begin(T1)
    (making / "skills").mkdir()
    (making / "skills" / "s.md").write_text(text, encoding="utf-8")
    states.publish(T1, making)
    return states.path(T1)


def test_the_state_of_t0_is_an_empty_folder(states: States) -> None:
    assert list(states.path(T0).iterdir()) == []
    assert states.digest(T0) == EMPTY_TREE


def test_something_in_the_state_of_t0_is_refused(states: States, tmp_path: Path) -> None:
    folder = tmp_path / "study" / "states" / "a" / "0" / "T0"
    folder.mkdir(parents=True)
    (folder / "hint.txt").write_text("42", encoding="utf-8")
    with pytest.raises(StudyError, match="was changed"):
        states.path(T0)


def test_a_state_comes_to_its_place_as_a_whole_and_read_only(states: States, tmp_path: Path) -> None:
    path = made(states)
    assert path == tmp_path / "study" / "states" / "a" / "0" / "T1"
    assert [each.name for each in path.parent.iterdir()] == ["T1"]
    assert states.digest(T1) == tree_digest(path)
    assert (path / "skills" / "s.md").stat().st_mode & 0o222 == 0
    states.check_all()


def remove(making: Path) -> None:
    making.rmdir()


def replace_by_link(making: Path) -> None:
    making.rmdir()
    making.symlink_to("/etc")


def replace_by_file(making: Path) -> None:
    making.rmdir()
    making.write_text("a state", encoding="utf-8")


@pytest.mark.parametrize("spoil", [remove, replace_by_link, replace_by_file])
def test_a_folder_that_was_removed_or_replaced_is_no_state(
    states: States, spoil: Callable[[Path], None]
) -> None:
    making = states.begin(T1)
    spoil(making)
    with pytest.raises(AdaptationError, match="removed or replaced the folder"):
        states.publish(T1, making)
    states.discard(making)
    assert list(making.parent.iterdir()) == []
    assert Path("/etc").is_dir()


def test_a_state_that_is_deeper_than_a_path_can_be_is_refused_and_removed(states: States) -> None:
    making = states.begin(T1)
    here = os.open(making, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deep", dir_fd=here)
        inner = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    with pytest.raises(AdaptationError, match="cannot be used"):
        states.publish(T1, making)
    states.discard(making)
    assert not making.exists()


def test_a_link_cannot_be_part_of_a_state(states: States) -> None:
    making = states.begin(T1)
    (making / "x").symlink_to("/etc/hostname")
    with pytest.raises(AdaptationError, match="a symbolic link"):
        states.publish(T1, making)


@pytest.mark.parametrize("name", [".", "..", "T1", ".T1", ".T1.making-xyz", ".T1.unrecorded-01234567"])
def test_only_a_folder_that_a_state_was_begun_in_is_removed(states: States, name: str) -> None:
    path = made(states)
    with pytest.raises(StudyError, match="left alone"):
        states.discard(path.parent / name)
    assert (path / "skills" / "s.md").exists()


def test_a_folder_of_that_name_elsewhere_is_not_removed(states: States, tmp_path: Path) -> None:
    made(states)
    elsewhere = tmp_path / ".T1.making-01234567"
    elsewhere.mkdir()
    with pytest.raises(StudyError, match="left alone"):
        states.discard(elsewhere)
    link = tmp_path / "study" / "states" / "a" / "0" / ".T1.making-01234567"
    link.symlink_to(elsewhere)
    states.discard_leftovers()
    assert not link.is_symlink()
    assert elsewhere.is_dir()


@pytest.mark.parametrize("does", ["heldout-0", "frozen/heldout-0", "learner/heldout-0"])
def test_an_attempt_that_changes_its_agent_state_is_found(trial: Trial, does: str) -> None:
    arms = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}
    trial.write(arms=arms, benchmark={"does": {does: "spoil-state"}})
    with pytest.raises(
        StudyError, match=r"states/\w+/0/T[01]: the agent state was changed since it was made"
    ):
        trial.run()

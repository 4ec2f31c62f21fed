"""Agent states: made as a whole, not changed afterwards, and never removed by mistake."""

from __future__ import annotations

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
    with pytest.raises(StudyError, match="left alone"):
        states.discard(link)
    assert elsewhere.is_dir()


@pytest.mark.parametrize("does", ["heldout-0", "frozen/heldout-0", "learner/heldout-0"])
def test_an_attempt_that_changes_its_agent_state_is_found(trial: Trial, does: str) -> None:
    arms = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}
    trial.write(arms=arms, benchmark={"does": {does: "spoil-state"}})
    with pytest.raises(
        StudyError, match=r"states/\w+/0/T[01]: the agent state was changed since it was made"
    ):
        trial.run()

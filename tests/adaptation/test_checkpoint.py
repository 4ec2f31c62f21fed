"""Another model as an agent state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from sipbench.adaptation.checkpoint import Checkpoint, CheckpointOptions
from sipbench.errors import ConfigError
from sipbench.protocol.agent_state import CheckpointChoice
from sipbench.protocol.digests import file_digest, tree_digest
from sipbench.protocol.vocabulary import PathType
from tests.adaptation.places import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place.make(tmp_path)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model.bin").write_bytes(b"\0" * 100)
    return found


def made(place: Place, **options: str) -> dict[str, object]:
    checkpoint = Checkpoint(CheckpointOptions.model_validate(options), base=place.root)
    checkpoint.adapt(place.request())
    document: dict[str, object] = json.loads((place.state / "checkpoint.json").read_text())
    return document


def test_a_model_by_name(place: Place) -> None:
    document = made(place, model="org/tuned")
    assert (document["model"], document["path"], document["digest"]) == ("org/tuned", None, None)


def test_a_model_by_path_is_known_by_what_lies_there(place: Place) -> None:
    document = made(place, path="weights")
    # As written, so that the state is the same on another machine.
    assert (document["path"], document["digest"]) == ("weights", tree_digest(place.root / "weights"))
    document = made(place, path="weights/model.bin")
    assert document["digest"] == file_digest(place.root / "weights" / "model.bin")


def test_other_weights_at_the_same_place_are_another_input(place: Place) -> None:
    checkpoint = Checkpoint(CheckpointOptions(path="weights"), base=place.root)
    before = checkpoint.inputs_digest()
    (place.root / "weights" / "model.bin").write_bytes(b"\1")
    assert checkpoint.inputs_digest() != before
    assert Checkpoint(CheckpointOptions(model="x"), base=place.root).inputs_digest() is None


def test_it_takes_the_parameter_path_and_no_attempts() -> None:
    assert (Checkpoint.path_type, Checkpoint.needs_attempts) == (PathType.PARAMETER, False)


def test_exactly_one_of_the_two_is_named(place: Place) -> None:
    for options in ({}, {"model": "a", "path": "weights"}):
        with pytest.raises(ValidationError, match="either a `model` or a `path`"):
            CheckpointOptions.model_validate(options)
    with pytest.raises(ConfigError, match="nothing does not exist"):
        Checkpoint(CheckpointOptions(path="nothing"), base=place.root)


def test_a_path_without_its_digest_says_not_which_weights() -> None:
    with pytest.raises(ValidationError, match="goes with its `digest`"):
        CheckpointChoice(path="weights")

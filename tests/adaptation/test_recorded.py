"""An adaptation that happened elsewhere: what is known of it, and nothing more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sipbench.adaptation.recorded import NOTE_FILE, RecordedAdaptation, RecordedAdaptationOptions
from sipbench.errors import ConfigError
from sipbench.protocol.digests import tree_digest
from sipbench.protocol.records import Usage
from sipbench.protocol.vocabulary import PathType
from tests.adaptation.places import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place.make(tmp_path)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "w.bin").write_bytes(b"\0\1")
    return made


def adaptation(place: Place, **options: Any) -> RecordedAdaptation:
    text = json.dumps({"path_type": "parameter", **options})
    return RecordedAdaptation(
        RecordedAdaptationOptions.model_validate_json(text, strict=True), base=place.root
    )


def test_the_state_that_is_at_hand_is_taken(place: Place) -> None:
    made = adaptation(place, state="weights")
    made.adapt(place.request())
    assert tree_digest(place.state) == tree_digest(place.root / "weights") == made.inputs_digest()
    assert made.path is PathType.PARAMETER


def test_one_that_is_not_is_named_as_such(place: Place) -> None:
    made = adaptation(place, note="a week of fine-tuning")
    made.adapt(place.request())
    assert json.loads(place.left(NOTE_FILE)) == {"path_type": "parameter", "note": "a week of fine-tuning"}
    assert made.inputs_digest() is None


def test_its_cost_is_what_was_said_and_else_unknown_time_included(place: Place) -> None:
    outcome = adaptation(place).adapt(place.request())
    assert (outcome.usage, outcome.usage_source, outcome.worked_here) == (Usage(), None, False)
    (place.state / NOTE_FILE).unlink()
    outcome = adaptation(place, usage={"token_total": 5}).adapt(place.request())
    assert (outcome.usage.token_total, outcome.usage_source) == (5, "import")
    assert outcome.usage.wall_clock_seconds is None
    assert not outcome.worked_here


def test_whether_it_learned_from_attempts_is_declared(place: Place) -> None:
    assert adaptation(place).needs_attempts
    assert not adaptation(place, needs_attempts=False).needs_attempts


def test_a_state_that_is_not_there_is_a_wrong_option(place: Place) -> None:
    with pytest.raises(ConfigError, match=r"state: .*nowhere is not a folder"):
        adaptation(place, state="nowhere")

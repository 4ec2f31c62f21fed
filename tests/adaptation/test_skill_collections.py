"""A collection as an adaptation: pinned, by task, with the digests that a server gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sipbench.adaptation.skills import SkillsFolder, SkillsOptions
from sipbench.errors import AdaptationError, ConfigError
from sipbench.protocol.digests import file_digest
from sipbench.skills.collection import pin_collection
from sipbench.skills.layout import locate_one
from sipbench.skills.mcp.served import ServedSkills
from tests.adaptation.places import Place
from tests.cards import made
from tests.skills.test_collection import collection


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Place:
    place = Place.make(tmp_path)
    collection(tmp_path / "release")
    pin_collection(locate_one(tmp_path / "release"))
    return place


def skills(place: Place, **options: Any) -> SkillsFolder:
    return SkillsFolder(SkillsOptions(path="release", **options), base=place.root)


def test_a_collection_gives_its_leaves(place: Place) -> None:
    skills(place).adapt(place.request())
    assert sorted(path.name for path in (place.state / "skills").iterdir()) == ["lake-depth", "lake-volume"]


def test_the_recorded_digests_are_those_that_a_server_gives(place: Place) -> None:
    recorded = skills(place).adapt(place.request()).metadata["skills"]
    served = ServedSkills(place.root / "release")
    given = {}
    for uri in served.uris():
        entry = served.entry(uri) or {}
        given[entry["frontmatter"]["name"]] = next(r["digest"] for r in entry["resources"] if r["uri"] == uri)
    assert {item["name"]: item["digest"] for item in recorded} == given


def test_a_pin_that_holds(place: Place) -> None:
    pin = file_digest(place.root / "release" / "collection.yaml")
    assert skills(place, pin=pin).adapt(place.request()).metadata["skills"]


def test_another_release_and_a_tampered_one_are_refused(place: Place) -> None:
    with pytest.raises(ConfigError, match="pinned is"):
        skills(place, pin="sha256:" + "0" * 64)
    pin = file_digest(place.root / "release" / "collection.yaml")
    pinned = skills(place, pin=pin)
    (place.root / "release" / "leaves" / "lake-volume" / "run.py").write_text("evil", encoding="utf-8")
    with pytest.raises(AdaptationError, match=r"lake-volume/run\.py"):
        pinned.adapt(place.request())
    with pytest.raises(ConfigError, match="not as pinned"):
        skills(place, pin=pin)


def test_each_task_gets_the_skills_that_its_card_is_linked_with(place: Place) -> None:
    made.collection(place.root / "made", made.card(), made.card(task_id="task_002"), capsules=False)
    links = {"links": {"lakes/task_001": {"skills": ["lake-volume", "absent"]}}}
    (place.root / "release" / "links.json").write_text(json.dumps(links), encoding="utf-8")
    outcome = skills(place, select="for-task", cards="made").adapt(place.request())
    (task,) = (place.state / "task-skills").iterdir()
    assert task.name.endswith("__task_001")
    assert [path.name for path in task.iterdir()] == ["lake-volume"]
    assert not (place.state / "skills").exists()
    assert [item["name"] for item in outcome.metadata["skills"]] == ["lake-volume"]


def test_cards_without_links_are_a_wrong_option(place: Place) -> None:
    made.collection(place.root / "made", made.card(task_id="task_009"), capsules=False)
    with pytest.raises(ConfigError, match="no card of made is linked"):
        skills(place, select="for-task", cards="made")
    with pytest.raises(ValidationError, match="goes with"):
        SkillsOptions(path="release", select="for-task")

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
from tests.skills.made import skill, text
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
    links = {"links": {"lakes/task_001": {"skills": ["lake-volume", "absent", "lake-volume"]}}}
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


class TestTopK:
    """For each task the skills whose words fit its instruction best."""

    @pytest.fixture(autouse=True)
    def _searching(self) -> None:
        pytest.importorskip("bm25s", reason="bm25s (extra 'skills') is not installed")

    @pytest.fixture(name="ranked")
    def _ranked(self, tmp_path: Path) -> Place:
        place = Place.make(tmp_path)
        for name, description in (
            ("depth", "Use when the depth of a lake is to be measured."),
            ("volume", "Use when the volume of a lake is to be estimated."),
            ("twin-b", "Use when moss grows."),
            ("twin-a", "Use when moss grows."),
        ):
            front = f"name: {{name}}\ndescription: {description}\n"
            skill(tmp_path / "release", name, text(name, front))
        for name, said in (
            ("t-depth", "What is the depth of the lake?"),
            ("t-moss", "Does moss grow?"),
            ("t-none", "Zzz."),
        ):
            task = tmp_path / "tasks" / name
            (task / "solution").mkdir(parents=True)
            (task / "task.toml").write_text("", encoding="utf-8")
            (task / "instruction.md").write_text(said, encoding="utf-8")
            (task / "solution" / "solve.sh").write_text("volume volume volume volume", encoding="utf-8")
        return place

    def chosen(self, place: Place, k: int) -> dict[str, list[str]]:
        outcome = skills(place, select="top-k", tasks="tasks", k=k).adapt(place.request())
        return {
            task: [item["name"] for item in ranked] for task, ranked in outcome.metadata["chosen"].items()
        }

    def test_the_best_of_equals_the_first_by_name_and_none_without_a_word(self, ranked: Place) -> None:
        assert self.chosen(ranked, 1) == {"t-depth": ["depth"], "t-moss": ["twin-a"], "t-none": []}

    def test_no_more_than_k_and_the_order_is_that_of_the_scores(self, ranked: Place) -> None:
        chosen = self.chosen(ranked, 2)
        assert chosen == {"t-depth": ["depth", "volume"], "t-moss": ["twin-a", "twin-b"], "t-none": []}

    def test_the_state_holds_them_per_task_and_says_of_each_task_what_was_chosen(self, ranked: Place) -> None:
        self.chosen(ranked, 1)
        held = {path.relative_to(ranked.state).as_posix() for path in ranked.state.rglob("*.*")}
        assert held == {
            "task-skills/t-depth/depth/SKILL.md",
            "task-skills/t-depth/selection.json",
            "task-skills/t-moss/twin-a/SKILL.md",
            "task-skills/t-moss/selection.json",
            "task-skills/t-none/selection.json",
        }
        none = json.loads((ranked.state / "task-skills/t-none/selection.json").read_text(encoding="utf-8"))
        assert none == {"select": "top-k", "k": 1, "skills": []}

    def test_a_harbor_agent_is_given_those_of_its_task_or_none(self, ranked: Place) -> None:
        from sipbench.benchmarks.harbor.state import read_state

        self.chosen(ranked, 1)
        states = {name: read_state(ranked.state, name, ranked.root) for name in ("t-moss", "t-none", "t-new")}
        assert {name: list(state.skills) for name, state in states.items()} == {
            "t-moss": ["twin-a"], "t-none": [], "t-new": [],
        }  # fmt: skip
        assert {name: state.unserved for name, state in states.items()} == {
            "t-moss": False, "t-none": False, "t-new": True,
        }  # fmt: skip

    def test_what_was_chosen_is_recorded_with_its_scores(self, ranked: Place) -> None:
        made_ = skills(ranked, select="top-k", tasks="tasks", k=1).adapt(ranked.request()).metadata
        assert (made_["k"], made_["tasks"]) == (1, 3)
        assert made_["ranking"].startswith("BM25")
        assert made_["chosen"]["t-depth"][0]["score"] > 0
        assert [item["name"] for item in made_["skills"]] == ["depth", "twin-a"]

    def test_the_digest_of_inputs_follows_the_choice_and_never_the_answer(self, ranked: Place) -> None:
        def digest() -> str | None:
            return skills(ranked, select="top-k", tasks="tasks", k=1).inputs_digest()

        before = digest()
        (ranked.root / "tasks/t-depth/solution/solve.sh").write_text("moss", encoding="utf-8")
        assert digest() == before
        (ranked.root / "tasks/t-depth/instruction.md").write_text("moss", encoding="utf-8")
        assert digest() != before

    def test_the_instructions_of_steps_count(self, ranked: Place) -> None:
        task = ranked.root / "tasks" / "t-none"
        (task / "steps" / "one").mkdir(parents=True)
        (task / "steps" / "one" / "instruction.md").write_text("Measure its volume.", encoding="utf-8")
        assert self.chosen(ranked, 1)["t-none"] == ["volume"]

    def test_an_instruction_that_leads_elsewhere_is_refused(self, ranked: Place) -> None:
        file = ranked.root / "tasks" / "t-none" / "instruction.md"
        file.unlink()
        file.symlink_to("solution/solve.sh")
        with pytest.raises(ConfigError, match=r"instruction\.md: cannot be read"):
            self.chosen(ranked, 1)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"select": "top-k", "tasks": "tasks"}, "`k` goes with"),
            ({"select": "top-k", "k": 3}, "`tasks` goes with"),
            ({"k": 3}, "`k` goes with"),
            ({"select": "top-k", "tasks": "tasks", "k": 0}, "greater than or equal to 1"),
        ],
    )
    def test_it_needs_tasks_and_k(self, options: dict[str, Any], said: str) -> None:
        with pytest.raises(ValidationError, match=said):
            SkillsOptions(path="release", **options)

    def test_no_tasks_is_a_wrong_option(self, ranked: Place) -> None:
        with pytest.raises(ConfigError, match="holds no Harbor task"):
            skills(ranked, select="top-k", tasks="release", k=1)


class TestThroughMcp:
    def test_the_state_says_that_they_are_to_be_served(self, place: Place) -> None:
        made_ = skills(place, through="mcp")
        assert made_.through == "mcp"
        made_.adapt(place.request())
        document = json.loads((place.state / "delivery.json").read_text(encoding="utf-8"))
        assert document == {"schema_version": "1.0.0", "skills": "mcp"}
        assert skills(place).through == "files"

    def test_skills_that_a_server_would_leave_out_are_a_wrong_option(self, place: Place) -> None:
        skill(place.root / "release" / "leaves", "Broken", "---\nname: x\n---\n")
        skills(place)
        with pytest.raises(ConfigError, match=r"1 of its skills do not conform .*, Broken"):
            skills(place, through="mcp")

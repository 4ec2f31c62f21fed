"""What an agent state means for a trial."""

from __future__ import annotations

from pathlib import Path

import pytest

from sipbench.benchmarks.base import Agent
from sipbench.benchmarks.harbor.served import plan_serving
from sipbench.benchmarks.harbor.state import read_state
from sipbench.errors import EngineError
from sipbench.protocol.agent_state import CheckpointChoice
from sipbench.protocol.digests import file_digest, tree_digest
from tests.benchmarks.harbor.made import make_skill, write


def test_an_empty_state_gives_nothing(tmp_path: Path) -> None:
    state = read_state(tmp_path, "t", tmp_path)
    assert (state.nothing, dict(state.skills), state.placed, state.model) == (True, {}, (), None)


def test_skills_are_those_of_the_state_and_those_for_the_task(tmp_path: Path) -> None:
    for place in ("skills/b", "skills/a", "task-skills/t/c", "task-skills/other/d"):
        make_skill(tmp_path / place)
    write(tmp_path / "skills" / "notes.txt", "no skill")
    state = read_state(tmp_path, "t", tmp_path)
    assert list(state.skills) == ["a", "b", "c"]
    assert not state.unserved
    assert set(state.refs()) == {"a", "b", "c"}


def test_a_task_without_skills_of_its_own_is_seen(tmp_path: Path) -> None:
    make_skill(tmp_path / "task-skills" / "other" / "d")
    state = read_state(tmp_path, "t", tmp_path)
    assert (state.unserved, dict(state.skills)) == (True, {})


def test_files_have_a_place_a_digest_and_a_sentence(tmp_path: Path) -> None:
    write(tmp_path / "memory" / "a.md", "x")
    write(tmp_path / "memory" / "deep" / "b.md", "y")
    write(tmp_path / "prompt.md", "Be careful.")
    memory, prompt = read_state(tmp_path, "t", tmp_path).placed
    assert (str(memory.place), memory.digest) == ("/runtime/memory", tree_digest(tmp_path / "memory"))
    assert "/runtime/memory: a.md, deep/b.md" in memory.sentence
    assert (str(prompt.place), prompt.digest) == ("/runtime/prompt.md", file_digest(tmp_path / "prompt.md"))
    assert "/runtime/prompt.md" in prompt.sentence


def test_a_checkpoint_is_another_model(tmp_path: Path) -> None:
    write(tmp_path / "checkpoint.json", CheckpointChoice(model="org/tuned").model_dump_json())
    assert read_state(tmp_path, "t", tmp_path).model == "org/tuned"
    choice = CheckpointChoice(path="weights", digest="sha256:" + "0" * 64)
    write(tmp_path / "checkpoint.json", choice.model_dump_json())
    assert read_state(tmp_path, "t", tmp_path / "study").model == str(tmp_path / "study" / "weights")


@pytest.mark.parametrize("text", ["{}", "[]", "{", '{"model": "a", "path": "b"}', '{"model": "a", "x": 1}'])
def test_a_checkpoint_that_says_nothing_clear_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path / "checkpoint.json", text)
    with pytest.raises(EngineError, match=r"checkpoint\.json of the agent state"):
        read_state(tmp_path, "t", tmp_path)


def test_what_an_agent_cannot_be_given_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "weights.bin", "x")
    with pytest.raises(EngineError, match=r"the agent state holds weights\.bin, which a Harbor agent cannot"):
        read_state(tmp_path, "t", tmp_path)


def test_skills_are_served_where_the_state_says_so(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills" / "a")
    assert not read_state(tmp_path, "t", tmp_path).through_mcp
    write(tmp_path / "delivery.json", '{"schema_version": "1.0.0", "skills": "mcp"}')
    assert read_state(tmp_path, "t", tmp_path).through_mcp
    write(tmp_path / "delivery.json", '{"skills": "post"}')
    with pytest.raises(EngineError, match=r"^delivery\.json of the agent state: skills: "):
        read_state(tmp_path, "t", tmp_path)


def test_skills_of_two_folders_are_not_served_together(tmp_path: Path) -> None:
    for place in ("skills/a", "task-skills/t/c"):
        make_skill(tmp_path / place)
    write(tmp_path / "delivery.json", '{"skills": "mcp"}')
    state = read_state(tmp_path, "t", tmp_path)
    with pytest.raises(EngineError, match="cannot be served together"):
        plan_serving(state, Agent("nop"), tmp_path)

"""``environment/``: a Dockerfile, inputs, skills."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cards.made import FINDING, put
from tests.export.harbor.made import dockerfile, exported, manifest, todo
from tests.export.made import made

# --- environment


def test_the_dockerfile_keeps_to_the_subset_that_runs_without_docker(tmp_path: Path) -> None:
    one = exported(tmp_path, tools=["Python", "R", "fit 1.2", "plot"])
    for path in (one.task / "environment/Dockerfile", one.task / "tests/Dockerfile"):
        words = {line.split()[0] for line in path.read_text(encoding="utf-8").splitlines()}
        assert words <= {"FROM", "WORKDIR", "ENV", "COPY", "RUN", "#"}


def test_tools_are_installed_by_nobody_but_named_as_owed(tmp_path: Path) -> None:
    one = exported(tmp_path, tools=["Python (>3.7)", "fit 1.2.0", "plot", "evil\nRUN rm -rf /"])
    text = dockerfile(one.task)
    assert "# TODO: install fit 1.2.0\n" in text
    assert "# TODO: install plot (the card names no version)\n" in text
    assert "\nRUN rm" not in text
    assert [line for line in text.splitlines() if line.startswith("RUN")] == ["RUN mkdir -p /app/output"]
    assert {"environment_tool_1", "environment_tool_2"} <= set(todo(one.task))


@pytest.mark.parametrize(
    ("stated", "line"),
    [
        ({"container_image": "biocontainers/fit:1.2.0"}, "FROM biocontainers/fit:1.2.0"),
        ({"container_image": "fit"}, "FROM fit"),
        ({"container_image": "fit:1\nRUN evil"}, "FROM python:3.12-slim-bookworm"),
        ({"container_image": "--privileged"}, "FROM python:3.12-slim-bookworm"),
        ({"container_image": 3}, "FROM python:3.12-slim-bookworm"),
        ("nonsense", "FROM python:3.12-slim-bookworm"),
        (None, "FROM python:3.12-slim-bookworm"),
    ],
)
def test_the_cards_own_image_is_taken_where_it_is_one(tmp_path: Path, stated: Any, line: str) -> None:
    one = exported(tmp_path, execution_environment=stated)
    assert dockerfile(one.task).splitlines()[0] == line
    assert ("environment_image" in todo(one.task)) is ("fit" in line)


def test_an_authors_dockerfile_replaces_the_draft(tmp_path: Path) -> None:
    one = made(tmp_path)
    put(tmp_path / "places" / one.card.key / "Dockerfile", "FROM mine:1\n")
    one.one(given=replace(one.request.given, environment=tmp_path / "places"))
    assert dockerfile(one.task) == "FROM mine:1\n"


def test_inputs_are_copied_with_their_digests(tmp_path: Path) -> None:
    import hashlib

    one = exported(tmp_path)
    data = (one.task / "environment/inputs/rain.csv").read_bytes()
    provenance = json.loads((one.task / "authoring/provenance/provenance.json").read_text(encoding="utf-8"))
    assert provenance["inputs"] == [{"path": "rain.csv", "sha256": hashlib.sha256(data).hexdigest()}]
    assert "COPY inputs /app/inputs" in dockerfile(one.task)


@pytest.mark.parametrize("place", ["", "leaves", "skills"])
def test_linked_skills_are_bundled_and_others_are_not(tmp_path: Path, place: str) -> None:
    one = made(tmp_path, skills=["linear-regression", "absent-one", "../evil"])
    root = tmp_path / "pack"
    put(root / place / "linear-regression" / "SKILL.md", "---\nname: linear-regression\n---\nFit.\n")
    put(root / place / "other" / "SKILL.md", "x")
    one.one(given=replace(one.request.given, skills=root))
    shipped = {
        path.relative_to(one.task / "environment/skills").as_posix()
        for path in (one.task / "environment/skills").rglob("SKILL.md")
    }
    assert shipped == {"linear-regression/SKILL.md"}
    assert manifest(one.task)["environment"]["skills_dir"] == "/app/skills"
    assert "COPY skills /app/skills" in dockerfile(one.task)
    assert "absent-one" in todo(one.task)["skills"]["need"]


def test_a_skill_that_states_the_answer_stops_the_export(tmp_path: Path) -> None:
    one = made(tmp_path)
    put(tmp_path / "pack" / "linear-regression" / "SKILL.md", f"---\nevidence: {FINDING}\n---\n")
    outcome = one.one(given=replace(one.request.given, skills=tmp_path / "pack"))
    assert "environment/skills/linear-regression/SKILL.md" in str(outcome.reason)

"""The pages about cards: the walk runs as it stands, and the reference shows what the models take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sipbench.cards.checks.grader.formats import FORMATS
from sipbench.cards.checks.model import AUTOMATIC, parse_eval
from sipbench.cards.deviations import GENERATOR_KEYS
from tests.examples.pages import ROOT, blocks, shell
from tests.sandbox.conftest import why_not

WALK = "card-to-task.md"
KEY = "10_5555_depth_2026_1__task_001"


@pytest.fixture(scope="module", name="walked")
def _walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder after all commands of the page, and what each block printed."""
    pytest.importorskip("asb_schema", reason="the schemas of asb-schema (extra 'cards') are not installed")
    folder = tmp_path_factory.mktemp("walk")
    printed = []
    for script in blocks(WALK, "sh"):
        done = shell(script, folder)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        printed.append(done.stdout)
    return folder, printed


def test_the_walk_runs_as_it_stands(walked: tuple[Path, list[str]]) -> None:
    _, printed = walked
    assert "Finding (hidden from agents)" in printed[0]
    assert "1 card: 0 would be stopped" in printed[1]
    assert "2 cards" not in printed[2]
    assert "score 1 (3 of 3 points)" in printed[4]
    assert f"task     {KEY} 1.0.0 (first export), " in printed[6]
    assert f"task     {KEY} 1.0.0 (unchanged), " in printed[7]


def test_the_task_has_the_parts_that_the_page_lists(walked: tuple[Path, list[str]]) -> None:
    folder, _ = walked
    task = folder / "tasks" / "tasks" / KEY
    for part in ("instruction.md", "environment", "tests", "solution", "authoring", "TODO.json", "TODO.md"):
        assert (task / part).exists()
    assert json.loads((task / "TODO.json").read_text(encoding="utf-8"))["items"] == []


@pytest.mark.slow
def test_its_trials_hold(walked: tuple[Path, list[str]]) -> None:
    pytest.importorskip("harbor", reason="harbor (extra 'harbor') is not installed")
    if reason := why_not():
        pytest.skip(reason)
    folder, _ = walked
    (script,) = blocks(WALK, "sh-sandbox")
    done = shell(script, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("1 of 1 tasks hold")


def test_the_example_of_the_reference_is_read() -> None:
    (text,) = blocks("eval-json.md", "json")
    (check,) = parse_eval(json.loads(text), "the page").scored()
    assert check.kind == "value_in_range"


def test_the_reference_names_every_kind_and_format() -> None:
    page = (ROOT / "docs" / "eval-json.md").read_text(encoding="utf-8")
    for name in (*AUTOMATIC, "expert_review", "llm_judge", *FORMATS):
        assert f"`{name}`" in page, name


def test_the_page_about_cards_names_every_deviation() -> None:
    page = (ROOT / "docs" / "cards.md").read_text(encoding="utf-8")
    source = "".join(
        (ROOT / "src/sipbench/cards" / name).read_text(encoding="utf-8")
        for name in ("deviations.py", "validate.py")
    )
    for rule in (
        "artifact-ref-object", "accession-object", "null-enum", "mvp-strategy", "provenance-source",
        "source-doi-address", "rubric-sum", "rubric-drift", "dangling-result", "dangling-input-from",
    ):  # fmt: skip
        assert f"`{rule}`" in page
        assert f'"{rule}"' in source
    assert len(GENERATOR_KEYS) == 12

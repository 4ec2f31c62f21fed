"""The pages about publishing and serving skills: their commands, run as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sipbench.adaptation.skills import SkillsOptions
from tests.examples.pages import blocks, shell


def test_a_collection_is_published(tmp_path: Path) -> None:
    for module in ("asb_schema", "skills_ref", "skills_ref_rs", "bm25s"):
        pytest.importorskip(module, reason=f"{module} (extras 'cards', 'skills') is not installed")
    ended = shell("\n".join(blocks("publish-skills.md", "sh")), tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for said in (
        "1 skill: 0 valid, 1 invalid",
        "not yet",
        "1 skill, 1 rewritten, 1 renamed, 0 left out; release: written",
        "release: as it would be written",
        "1 skill and 0 tools pinned",
        "1 skill, 0 tools: as pinned",
        "leaves/lake-depth/SKILL.md: pinned as sha256:",
        "tampered with",
        "skills-ref-rs       1 looked at: passed",
        "1 of 1 skills; depth-pack: written",
        "lake-depth: Use when the depth of a lake is to be measured.",
    ):
        assert said in ended.stdout, ended.stdout
    assert (tmp_path / "catalogue.json").read_text(encoding="utf-8").startswith("{")


def test_the_adaptations_that_the_page_shows_are_options() -> None:
    (block,) = blocks("publish-skills.md", "yaml")
    shown = [yaml.safe_load(line)["adaptation"] for line in block.splitlines()]
    assert [options.pop("kind") for options in shown] == ["skills"] * 5
    made = [SkillsOptions.model_validate(options) for options in shown]
    assert [options.select for options in made[:3]] == ["all", "for-task", "top-k"]
    assert made[3].through == "mcp"


def test_skills_are_served(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="mcp (extra 'mcp') is not installed")
    (setup,) = blocks("serve-skills.md", "sh")
    (client,) = blocks("serve-skills.md", "python")
    (tmp_path / "client.py").write_text(client, encoding="utf-8")
    ended = shell(f"{setup}\n{sys.executable} client.py", tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == blocks("serve-skills.md", "text")[0]


def test_the_commands_of_the_page_about_http_are_known() -> None:
    for block in blocks("serve-skills.md", "text")[1:]:
        words = [word for word in block.split() if word.startswith("--")]
        help_ = subprocess.run(
            [sys.executable, "-c", "from sipbench.cli.asb import main; main()", "serve-skills", "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert all(word in help_ for word in words)

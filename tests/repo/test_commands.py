"""The commands that the documents name are those that the Makefile has and the CI runs."""

from __future__ import annotations

import re

import pytest

from tests.repo.tree import ROOT

TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))


def commands_of(name: str) -> list[str]:
    """The targets of the lines that begin with ``make`` in ``name``, in order."""
    return re.findall(r"^make ([a-z-]+)", (ROOT / name).read_text(encoding="utf-8"), re.M)


def test_the_readme_gives_two_commands() -> None:
    assert {"demo", "test"} <= set(commands_of("README.md"))


def test_ci_runs_the_test_command_and_then_the_checks() -> None:
    assert commands_of(".ci/run") == ["test", "test-engines", "check"]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_each_command_that_a_document_names_exists(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(commands_of(name)) | set(re.findall(r"`make ([a-z-]+)", text))
    assert named, f"{name} names no command"
    assert named <= TARGETS

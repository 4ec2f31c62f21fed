"""Documents, Makefile, CI and package metadata name the same things."""

from __future__ import annotations

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from sipbench import plugins
from sipbench.errors import MissingExtraError
from tests.repo.tree import ROOT, own_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


def fenced(path: Path) -> list[str]:
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def test_the_readme_shows_the_two_commands() -> None:
    lines = fenced(ROOT / "README.md")
    assert any(line.startswith("make demo") for line in lines)
    assert any(line.startswith("make test") for line in lines)


def test_ci_runs_what_the_readme_says_then_the_checks() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.index("make test") < script.index("make check")


@pytest.mark.parametrize("path", [path for path in own_files() if path.suffix == ".md"], ids=lambda p: p.name)
def test_documents_name_targets_that_exist(path: Path) -> None:
    named = {match for line in fenced(path) for match in re.findall(r"^\$? ?make ([a-z-]+)", line)}
    assert named <= TARGETS


@pytest.mark.parametrize("path", [path for path in own_files() if path.suffix == ".md"], ids=lambda p: p.name)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    broken = [name for name in targets if name and "://" not in name and not (path.parent / name).exists()]
    assert broken == []


@pytest.mark.parametrize(
    ("group", "name"),
    [
        (group.removeprefix("sipbench."), name)
        for group, points in PROJECT["project"]["entry-points"].items()
        for name in points
    ],
)
def test_what_is_registered_can_be_loaded(group: plugins.Group, name: str) -> None:
    try:
        found = plugins.load(group, name)
    except MissingExtraError as error:
        missing = error.extra
    else:
        missing = None
        assert found.__doc__
    assert missing is None or missing in PROJECT["project"]["optional-dependencies"]


def test_commands_point_at_functions() -> None:
    for target in PROJECT["project"]["scripts"].values():
        module, _, function = target.partition(":")
        assert find_spec(module) is not None
        assert function == "main"


def test_pins_hold_no_address() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert "://" not in pins
    assert re.search(r"^polars==", pins, re.MULTILINE)

"""What no file of the repository may hold, and how long a module may be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repo.tree import ROOT, SOURCE, modules, named, own_files

LONGEST_MODULE = 400
LARGEST_TEXT = 2 * 1024 * 1024

# Inside a container such paths are the task's own, not a machine's.
CONTAINER_PATHS = ("examples/skills-uplift/", "src/sipbench/sandbox/", "tests/sandbox/", "docs/sandbox.md")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:root|Users|home/(?!user\b|agent\b|author\b)\w+)/[\w.-]")
REGISTRY = re.compile(r"https?://[^/\s\"'`)]+/simple\b|https?://registry\.|\bindex-url\s*=|pypi\.org/simple")


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in own_files():
        if path.stat().st_size > LARGEST_TEXT:
            continue
        try:
            found.append((path, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def places(pattern: re.Pattern[str], *, but: tuple[str, ...] = ()) -> list[str]:
    here = Path(__file__)
    return [
        f"{named(path, number)}: {match.group()}"
        for path, text in texts()
        if path != here and not named(path).startswith(but)
        for number, line in enumerate(text.splitlines(), start=1)
        if (match := pattern.search(line))
    ]


def test_no_file_holds_a_path_of_a_machine() -> None:
    own = re.compile(re.escape(f"{ROOT.parent}/"))
    assert places(MACHINE_PATH, but=CONTAINER_PATHS) == []
    # A checkout may lie in a folder whose name is an ordinary word; only a deep one is telling.
    if len(ROOT.parent.parts) > 1:
        assert places(own) == []


def test_no_file_names_a_package_registry() -> None:
    assert places(REGISTRY) == []


@pytest.mark.parametrize("text", ["/root/.cache/x", "see /home/somebody/data", "/Users/x/y"])
def test_machine_paths_are_recognised(text: str) -> None:
    assert MACHINE_PATH.search(text)


@pytest.mark.parametrize("text", ["/home/user/data", "a/root/b", "https://example.org/home/page"])
def test_other_paths_are_not(text: str) -> None:
    assert not MACHINE_PATH.search(text)


def test_a_module_is_a_page() -> None:
    long = {named(path): count for path in modules() if (count := len(path.read_bytes().splitlines())) > 400}
    assert not long, f"over {LONGEST_MODULE} lines: two ideas in one room: {long}"


def test_every_module_says_what_it_is() -> None:
    silent = [
        named(path) for path in modules() if not path.read_text("utf-8").lstrip().startswith(('"""', 'r"""'))
    ]
    assert silent == []


def test_the_package_is_typed() -> None:
    assert (SOURCE / "py.typed").is_file()

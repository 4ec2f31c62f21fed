"""What no file may hold: a machine's paths, a registry's address, two ideas in one module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repo.tree import PACKAGE, ROOT, modules, own_files

LONGEST_MODULE = 400

# Assembled here, so that this file does not hold what it looks for.
REGISTRIES = [
    f"{name}.{top}"
    for name, top in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("deb.debian", "org"),
        ("archive.ubuntu", "com"),
        ("docker", "io"),
        ("ghcr", "io"),
    ]
]
REGISTRY = re.compile(
    r"(?<![\w-])(?:[\w-]+\.)*(?:" + "|".join(map(re.escape, REGISTRIES)) + r")(?![\w-])", re.I
)
MACHINE_PATH = re.compile(r"(?<![\w./}])/(?:" + "work|root|home/[a-z]|Users/[A-Za-z]" + r")[\w./-]*")

# Folders whose files name such a path because it is a container's, not this machine's: the reason.
CONTAINER_PATHS: dict[str, str] = {
    "src/sipbench/sandbox": "the sandbox speaks of the paths that a container has, and of those it hides",
    "docs/sandbox.md": "likewise",
    "examples/skills-uplift": "Dockerfiles and instructions name paths inside of the container",
}


def found(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    """``file:line: text`` for each match in the files that are text."""
    hits = []
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, start=1):
            hits += [f"{path.relative_to(ROOT)}:{number}: {match[0]}" for match in pattern.finditer(line)]
    return hits


def test_no_file_names_a_registry_host() -> None:
    hits = found(REGISTRY, list(own_files()))
    assert not hits, "\n".join(hits)


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    paths = [
        path
        for path in own_files()
        # Tests of what must be refused or redacted need such paths.
        if not path.is_relative_to(ROOT / "tests")
        and not any(path.is_relative_to(ROOT / folder) for folder in CONTAINER_PATHS)
    ]
    hits = found(MACHINE_PATH, paths)
    assert not hits, "\n".join(hits)


def test_no_file_names_the_folder_of_this_checkout() -> None:
    hits = found(re.compile(re.escape(str(ROOT)) + r"(?!\w)"), list(own_files()))
    assert not hits, "\n".join(hits)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (REGISTRY, "--index-url https://" + REGISTRIES[0] + "/simple"),
        (REGISTRY, "https://files." + REGISTRIES[1] + "/packages"),
        (MACHINE_PATH, "python = '/ho" + "me/ann/.venv/bin/python'"),
        (MACHINE_PATH, "see /wo" + "rk/main"),
    ],
)
def test_the_search_finds(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.search(text)


@pytest.mark.parametrize(
    "text", ["~/.pyenv/versions", "docs/homework", "w3id.org/x", "src/root/a", "a/work/b"]
)
def test_the_search_leaves_alone(text: str) -> None:
    assert not REGISTRY.search(text)
    assert not MACHINE_PATH.search(text)


def test_a_module_is_one_idea() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    too_long = {str(path.relative_to(PACKAGE)): n for path, n in lengths.items() if n > LONGEST_MODULE}
    assert not too_long, f"modules of more than {LONGEST_MODULE} lines: {too_long}"

"""constraints.txt: every version pinned, none from an address, none that the requirements exclude."""

from __future__ import annotations

import re
from itertools import chain

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repo.tree import PROJECT, ROOT


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def required() -> list[Requirement]:
    """Everything that a person can ask for: the core, the extras, the tools, the engines to come."""
    extras = PROJECT["project"].get("optional-dependencies", {}).values()
    groups = PROJECT["dependency-groups"].values()
    named = [PROJECT["project"]["dependencies"], *extras, *groups, lines("constraints.in")]
    # A group may include another one: that is no requirement, but a table.
    return [Requirement(text) for text in chain.from_iterable(named) if isinstance(text, str)]


def pinned() -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for line in lines("constraints.txt"):
        pin = Requirement(line)
        versions.setdefault(canonicalize_name(pin.name), []).append(str(pin.specifier).removeprefix("=="))
    return versions


def test_each_line_pins_one_version_by_name() -> None:
    wrong = [
        line for line in lines("constraints.txt") if not re.fullmatch(r"[\w.-]+==[\w.!+]+( ; [^@]+)?", line)
    ]
    assert not wrong
    assert len(pinned()) > len(required())


def test_the_pins_are_what_the_requirements_allow() -> None:
    versions = pinned()
    stale = [
        f"{requirement} is not met by {versions.get(canonicalize_name(requirement.name), 'any pin')}"
        for requirement in required()
        if canonicalize_name(requirement.name) != "sipbench"
        and not any(
            requirement.specifier.contains(version, prereleases=True)
            for version in versions.get(canonicalize_name(requirement.name), [])
        )
    ]
    assert not stale, "run `make lock`: " + "; ".join(stale)

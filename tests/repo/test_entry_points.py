"""What pyproject.toml registers exists, and is what is installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint, distribution

import pytest

from tests.repo.tree import PROJECT

GROUPS: dict[str, dict[str, str]] = {
    "console_scripts": PROJECT["project"]["scripts"],
    **PROJECT["project"]["entry-points"],
}
REGISTERED = [
    EntryPoint(name, target, group) for group, points in GROUPS.items() for name, target in points.items()
]


@pytest.mark.parametrize("point", REGISTERED, ids=lambda point: f"{point.group}:{point.name}")
def test_each_registered_name_leads_to_an_object(point: EntryPoint) -> None:
    assert callable(point.load())


def test_what_is_installed_is_what_is_registered() -> None:
    installed = {(point.group, point.name, point.value) for point in distribution("sipbench").entry_points}
    assert installed == {(point.group, point.name, point.value) for point in REGISTERED}, "run `make venv`"

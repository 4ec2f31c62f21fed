from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from sipbench import plugins
from sipbench.errors import ConfigError, EngineError, MissingExtraError


class Current:
    contract_version = plugins.CONTRACT_VERSIONS["benchmarks"]


class Older:
    contract_version = 0


class Bare:
    pass


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    targets: dict[str, str] = {}

    def entry_points(group: str) -> list[EntryPoint]:
        return [EntryPoint(name, value, group) for name, value in targets.items()]

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    return targets


def test_a_registered_class_is_found_by_name(offered: dict[str, str]) -> None:
    offered["mine"] = f"{__name__}:Current"
    assert plugins.load("benchmarks", "mine").__name__ == "Current"
    assert plugins.names("benchmarks") == ["mine"]


@pytest.mark.parametrize("name", ["Older", "Bare"])
def test_another_contract_version_is_refused(offered: dict[str, str], name: str) -> None:
    offered["mine"] = f"{__name__}:{name}"
    with pytest.raises(EngineError, match=r"contract version (0|None), this release 1"):
        plugins.load("benchmarks", "mine")


def test_an_unknown_name_gets_a_suggestion_and_the_list(offered: dict[str, str]) -> None:
    offered["synth"] = f"{__name__}:Current"
    wanted = r"unknown benchmark 'sinth', did you mean 'synth'\?; installed: synth"
    with pytest.raises(ConfigError, match=wanted):
        plugins.load("benchmarks", "sinth")


def test_a_missing_package_names_the_extra_to_install(
    offered: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_with_an_engine.py").write_text("import surely_not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    offered["harbor"] = "module_with_an_engine:Thing"
    with pytest.raises(MissingExtraError, match=r"pip install 'sipbench\[harbor\]'"):
        plugins.load("benchmarks", "harbor")


def test_a_plugin_that_breaks_on_import_is_one_line(offered: dict[str, str]) -> None:
    offered["mine"] = f"{__name__}:NoSuchThing"
    with pytest.raises(EngineError, match=r"'mine' .* cannot be imported"):
        plugins.load("benchmarks", "mine")


def test_two_packages_with_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "sipbench.benchmarks"
    points = [EntryPoint("x", f"{__name__}:Current", group), EntryPoint("x", f"{__name__}:Older", group)]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)
    with pytest.raises(ConfigError, match="several packages"):
        plugins.load("benchmarks", "x")


def test_a_module_of_the_plugin_itself_that_is_gone_is_no_missing_extra(offered: dict[str, str]) -> None:
    offered["mine"] = "sipbench.no_such_part:Thing"
    with pytest.raises(EngineError, match="registered but not there: install its package again"):
        plugins.load("benchmarks", "mine")

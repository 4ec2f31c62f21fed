"""What the command line replaces of a benchmark's options: where attempts run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sipbench.errors import ConfigError, StudyError
from sipbench.study.config import StudyConfig
from sipbench.study.load import LoadedStudy, load_study
from sipbench.study.machine import with_options
from tests.cli.command import sip
from tests.study.trial import Trial

OWN = {"sandbox": "box", "sandbox_options": {"base": "system", "network": "none"}}


def lock(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "study.lock.json").read_text(encoding="utf-8"))
    return found


def replaced(trial: Trial, **given: str | None) -> LoadedStudy:
    return with_options(load_study(trial.file, environment={}), given)


def test_the_command_line_replaces_the_file_and_what_lies_beside_it_stays(trial: Trial) -> None:
    trial.write(benchmark={**OWN, "heldout": 4})
    found = replaced(trial, sandbox="docker", sandbox_base="/srv/root")
    assert found.config.benchmark.options == {
        "sandbox": "docker",
        "sandbox_options": {"base": "/srv/root", "network": "none"},
        "heldout": 4,
    }
    assert found.config.benchmark.name == "trial"
    assert found.text == trial.file.read_bytes()


def test_what_is_not_given_replaces_nothing(trial: Trial) -> None:
    trial.write(benchmark=OWN)
    loaded = load_study(trial.file, environment={})
    assert with_options(loaded, {"sandbox": None, "sandbox_base": None}) is loaded
    assert (
        replaced(trial, sandbox="docker").config.benchmark.options["sandbox_options"]
        == OWN["sandbox_options"]
    )


def test_it_is_recorded_with_where_it_came_from(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.write(benchmark={"sandbox": "box"}, phases=["T0"])
    (trial.folder / "elsewhere").mkdir()
    monkeypatch.chdir(trial.folder / "elsewhere")
    ended = sip("run", trial.file, "--out", trial.out, "--sandbox", "docker", "--sandbox-base", "root")
    assert ended.code == 0, ended.err
    found = lock(trial.out)
    assert found["sources"]["benchmark"] == "study file"
    assert found["sources"]["benchmark.sandbox"] == "command line"
    assert found["sources"]["benchmark.sandbox_options.base"] == "command line"
    # A path on the command line starts from where the command is given.
    base = str(trial.folder / "elsewhere" / "root")
    assert found["identity"]["benchmark"]["options"]["sandbox"] == "docker"
    assert found["identity"]["benchmark"]["options"]["sandbox_options"] == {"base": base}
    assert found["config"]["benchmark"]["sandbox"] == "docker"
    assert (trial.out / "study.yaml").read_bytes() == trial.file.read_bytes()


def test_a_benchmark_without_a_sandbox_is_one_line_and_nothing_is_made(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    document = {
        "name": "none",
        "benchmark": {"name": "synth"},
        "agent": {"name": "enumerative-search"},
        "arms": {"frozen": {"path_type": "frozen"}},
        "analysis": {"sesoi": 0.05},
    }
    study.write_text(yaml.safe_dump(document), encoding="utf-8")
    for command in ("run", "plan", "screen"):
        for option in ("--sandbox", "--sandbox-base"):
            ended = sip(command, study, option, "docker")
            assert (ended.code, ended.out) == (2, "")
            assert ended.err == f"sip: {option}: the benchmark 'synth' has no such choice; leave it out\n"
    assert list(tmp_path.iterdir()) == [study]


def test_a_half_run_study_does_not_go_on_in_another_sandbox(trial: Trial) -> None:
    trial.write(caps={"tool_calls": 30}, concurrency=1)
    assert trial.run(options={"sandbox": "docker"}).recorded == 3
    trial.edit("tool_calls: 30", "tool_calls: 1000")
    for options, said in (
        ({"sandbox": "podman"}, 'benchmark.options.sandbox was "docker" and is "podman"'),
        ({}, 'benchmark.options.sandbox was "docker" and is "here"'),
        ({"sandbox": "docker", "sandbox_base": "/srv"}, 'sandbox_options.base was null and is "/srv"'),
    ):
        with pytest.raises(StudyError, match="the study changed since it was begun") as raised:
            trial.run(options=options)
        assert said in str(raised.value)
    assert trial.run(options={"sandbox": "docker"}).missing == 0


def test_what_auto_stood_for_may_be_named(trial: Trial) -> None:
    trial.write(caps={"tool_calls": 30}, concurrency=1)
    assert trial.run().recorded == 3
    assert lock(trial.out)["identity"]["benchmark"]["options"]["sandbox"] == "here"
    trial.edit("tool_calls: 30", "tool_calls: 1000")
    assert trial.run(options={"sandbox": "here"}).missing == 0
    assert len(trial.calls()) == len(set(trial.calls()))


def test_a_screening_run_takes_it_too(trial: Trial) -> None:
    ended = sip("screen", trial.file, "--attempts", 1, "--sandbox", "docker", "--out", trial.out)
    assert ended.code == 0, ended.err
    assert lock(trial.out)["identity"]["benchmark"]["options"]["sandbox"] == "docker"


def test_a_plan_says_where_it_came_from(trial: Trial) -> None:
    ended = sip("plan", trial.file, "--sandbox", "docker", "--json")
    assert json.loads(ended.out)["sources"]["benchmark.sandbox"] == "command line"


def test_what_is_wrong_names_the_option_or_the_line(trial: Trial) -> None:
    trial.write(benchmark={"sandbox_options": 3})
    with pytest.raises(
        ConfigError, match=r"study.yaml:4: benchmark.sandbox_options: expected keys and values"
    ):
        replaced(trial, sandbox_base="/srv")
    found = replaced(trial, sandbox="docker")
    assert found.where(("benchmark", "sandbox")) == "--sandbox"
    assert found.where(("benchmark", "sandbox_options")).endswith("study.yaml:4")
    trial.write(benchmark={"name": "trail"})
    with pytest.raises(ConfigError, match="did you mean 'trial'"):
        replaced(trial, sandbox="docker")


def test_every_field_that_was_replaced_is_one_of_the_study(trial: Trial) -> None:
    found = replaced(trial, sandbox="docker")
    assert set(found.sources) - set(StudyConfig.model_fields) == {"benchmark.sandbox"}

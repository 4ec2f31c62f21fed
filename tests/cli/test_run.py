"""``sip run``: what it prints where, and the status it leaves with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sipbench.protocol.summary import load_summary, parse_summary
from tests.cli.command import sip

STUDY: dict[str, Any] = {
    "name": "small",
    "benchmark": {"name": "synth", "adapt": 6, "heldout": 4, "replay": 4, "drift": 0},
    "agent": {"name": "enumerative-search"},
    "arms": {
        "frozen": {"path_type": "frozen"},
        "macros": {"path_type": "external", "adaptation": "synth-macros"},
    },
    "repeats": 1,
    "analysis": {"sesoi": 0.05, "cost_unit": "tool_calls"},
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump({**STUDY, **changes}, sort_keys=False), encoding="utf-8")
    return path


def test_it_prints_the_table_and_leaves_the_study_beside_the_file(study: Path) -> None:
    ended = sip("run", study)
    assert ended.code == 0, ended.err
    folder = study.parent / "small"
    assert ended.out.startswith("small · synth")
    assert ended.out == sip("show", folder).out
    assert "small: 38 of 38 attempts and 1 of 1 adaptations to do" in ended.err
    assert ended.err.endswith(f"Study: {folder}\n")
    assert "Traceback" not in ended.err
    assert sip("validate", folder).code == 0


def test_with_json_stdout_is_one_document(study: Path, tmp_path: Path) -> None:
    ended = sip("run", study, "--out", tmp_path / "here", "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert (document["planned"], document["recorded"], document["missing"]) == (38, 38, 0)
    assert (document["folder"], document["stopped"]) == (str(tmp_path / "here"), None)
    summary = parse_summary(json.dumps(document["summary"]).encode())
    assert summary == load_summary(tmp_path / "here" / "summary.json")


def test_the_same_command_again_runs_nothing(study: Path) -> None:
    sip("run", study)
    runs = (study.parent / "small" / "runs.jsonl").read_bytes()
    ended = sip("run", study)
    assert ended.code == 0
    assert (study.parent / "small" / "runs.jsonl").read_bytes() == runs
    assert "to do" not in ended.err


def test_quiet_says_nothing_that_is_no_error(study: Path) -> None:
    assert sip("-q", "run", study).err == ""


def test_missing_attempts_are_status_1_and_said(tmp_path: Path) -> None:
    path = written(tmp_path, caps={"tool_calls": 2000})
    ended = sip("run", path)
    assert ended.code == 1
    assert "stopped: caps.tool_calls: " in ended.err
    assert "of 38 attempts are missing; the same command goes on with them" in ended.err
    assert ended.out.startswith("small · synth")
    written(tmp_path)
    assert sip("run", path).code == 0


def test_options_replace_the_environment_which_replaces_the_file(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIPBENCH_CONCURRENCY", "7")
    monkeypatch.setenv("SIPBENCH_RETRIES", "4")
    assert sip("run", study, "--out", tmp_path / "out", "--concurrency", "1").code == 0
    lock = json.loads((tmp_path / "out" / "study.lock.json").read_text(encoding="utf-8"))
    assert (lock["config"]["concurrency"], lock["sources"]["concurrency"]) == (1, "command line")
    assert (lock["config"]["retries"], lock["sources"]["retries"]) == (4, "environment")
    assert lock["sources"]["repeats"] == "study file"


def test_a_file_that_is_no_study_is_one_line(tmp_path: Path) -> None:
    for text, said in (
        (None, "study.yaml"),
        ("a: [", "study.yaml:"),
        (yaml.safe_dump(STUDY | {"repeat": 3}), "did you mean 'repeats'?"),
        (yaml.safe_dump(STUDY | {"benchmark": {"name": "sinth"}}), "did you mean 'synth'?"),
        (yaml.safe_dump(STUDY | {"concurrency": 0}), "concurrency"),
    ):
        path = tmp_path / "study.yaml"
        if text is not None:
            path.write_text(text, encoding="utf-8")
        ended = sip("run", path)
        assert (ended.code, ended.out) == (2, "")
        assert len(ended.err.splitlines()) == 1
        assert said in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]


def test_bad_options_are_one_line(study: Path) -> None:
    for arguments, said in (
        (("--concurrency", "0"), "--concurrency"),
        (("--retries", "-1"), "--retries"),
        (("--allow", "everything"), "'everything' is no split rule"),
    ):
        ended = sip("run", study, *arguments)
        assert ended.code == 2
        assert said in ended.err
        assert len(ended.err.splitlines()) == 1


def test_two_studies_in_one_directory_are_one_line(study: Path, tmp_path: Path) -> None:
    sip("run", study)
    other = tmp_path / "other"
    other.mkdir()
    ended = sip("run", written(other, name="another"), "--out", tmp_path / "small")
    assert (ended.code, ended.out) == (2, "")
    said = "holds the study 'small', not 'another'; choose another folder with --out"
    assert ended.err == f"sip: {tmp_path / 'small'}: {said}\n"


def test_a_changed_study_is_one_line_that_says_what_changed(study: Path, tmp_path: Path) -> None:
    sip("run", study)
    ended = sip("run", written(tmp_path, seed=3))
    assert ended.code == 2
    assert len(ended.err.splitlines()) == 1
    assert "seed was 0 and is 3" in ended.err
    assert "start afresh with another --out" in ended.err


def test_a_missing_extra_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "site" / "needy-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: needy\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[sipbench.benchmarks]\nneedy = needy_plugin:Needy\n", encoding="utf-8"
    )
    (tmp_path / "site" / "needy_plugin.py").write_text(
        "import an_engine_that_is_not_there\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    ended = sip("run", written(tmp_path, benchmark={"name": "needy"}))
    assert ended.code == 2
    assert ended.err == (
        "sip: benchmark 'needy' (an_engine_that_is_not_there is not installed) needs the extra 'needy': "
        "pip install 'sipbench[needy]'\n"
    )

"""Only adapt attempts reach an adaptation; held-out, replay and drift tasks do not, nor their answers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sipbench.benchmarks.base import Task
from sipbench.protocol.vocabulary import Phase, Split
from sipbench.study.staging import staged
from tests.protocol.made import record
from tests.study.trial import LEARNER, Trial

FOREIGN = ("heldout", "replay", "drift")


def seen(trial: Trial, repeat: int = 0, phase: str = "T1") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((trial.folder / f"seen-{repeat}-{phase}.json").read_text())
    return document


@pytest.fixture(scope="module")
def study(installed: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """A study with all splits and two adaptations per repeat, run once for all tests here."""
    trial = Trial(tmp_path_factory.mktemp("staging"))
    arms = {"frozen": {"path_type": "frozen"}, "learner": LEARNER}
    trial.write(arms=arms, repeats=2, benchmark={"drift": 1, "adapt_t2": 1}, phases=["T0", "T1", "T2"])
    with pytest.MonkeyPatch.context() as patch:
        for folder in installed:
            patch.syspath_prepend(folder)
        assert trial.run().missing == 0
    return trial


def test_an_adaptation_is_handed_its_own_adapt_attempts_and_nothing_else(study: Trial) -> None:
    files = seen(study, repeat=1)["files"]
    assert sorted(files) == [
        "0000/attempt.json",
        "0000/output/answer.json",
        "0001/attempt.json",
        "0001/output/answer.json",
    ]
    first = json.loads(files["0000/attempt.json"])
    assert first["task"] == {
        "id": "adapt-0",
        "text": "secret text of adapt-0",
        "metadata": {"pool": "adapt"},
    }
    assert (first["record"]["repeat"], first["record"]["arm"]) == (1, "learner")
    (own,) = (
        r for r in study.records() if (r.repeat, r.task_id, r.benchmark_split) == (1, "adapt-0", Split.ADAPT)
    )
    assert first["record"] == own.model_dump(mode="json")


def test_no_text_of_another_split_is_in_what_it_is_handed(study: Trial) -> None:
    for repeat in (0, 1):
        for phase in ("T1", "T2"):
            text = json.dumps(seen(study, repeat, phase)["files"])
            assert not any(f"{pool}-" in text for pool in FOREIGN)


def test_the_second_adaptation_sees_the_second_attempts_only(study: Trial) -> None:
    assert sorted(seen(study, phase="T2")["files"]) == ["0000/attempt.json", "0000/output/answer.json"]


def test_what_is_handed_over_lies_outside_of_the_study_and_is_gone_afterwards(study: Trial) -> None:
    root = Path(seen(study)["root"])
    assert not root.is_relative_to(study.out)
    assert not root.exists()


def test_the_study_and_the_benchmark_s_own_files_are_named_as_hidden(study: Trial) -> None:
    assert seen(study)["hidden"] == [str(study.out), str(study.folder / "answers")]


def test_the_process_of_an_adaptation_never_made_the_benchmark(study: Trial) -> None:
    assert seen(study)["benchmark_made"] is False


def test_a_program_of_the_user_s_cannot_read_what_is_hidden(trial: Trial) -> None:
    """A program that looks for held-out tasks in the study directory, where the machine can hide it."""
    script = trial.folder / "learn.py"
    script.write_text(
        f"""
import json, os, pathlib
study = pathlib.Path({str(trial.out)!r})
found = []
for folder, _, names in os.walk(study):
    for name in names:
        try:
            found.append((name, pathlib.Path(folder, name).read_text(errors="replace")))
        except OSError:
            pass
state = pathlib.Path(os.environ["SIPBENCH_STATE"])
(state / "learned.json").write_text(json.dumps([name for name, text in found if "heldout-" in text]))
""",
        encoding="utf-8",
    )
    adaptation = {
        "kind": "command",
        "command": [sys.executable, str(script)],
        "path_type": "external",
        "isolation": "require",
    }
    trial.write(arms={"learner": {"path_type": "external", "adaptation": adaptation}})
    result = trial.run()
    if result.problems and "this machine cannot hide" in result.problems[0]:
        pytest.skip(result.problems[0])
    assert result.missing == 0
    assert json.loads((trial.state("learner") / "learned.json").read_text()) == []
    assert any("heldout-" in path.read_text() for path in trial.out.glob("*.json*"))


def test_links_in_an_output_are_left_out_and_not_followed(tmp_path: Path) -> None:
    output = tmp_path / "output"
    (output / "deep").mkdir(parents=True)
    (tmp_path / "runs.jsonl").write_text("heldout answers", encoding="utf-8")
    (output / "deep" / "kept.txt").write_text("mine", encoding="utf-8")
    (output / "leak").symlink_to(tmp_path / "runs.jsonl")
    (output / "deep" / "up").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(output / "pipe")
    task = Task(id="adapt-0", digest="sha256:0", text="x")
    made = record(phase=Phase.T1, benchmark_split="adapt", task_id="adapt-0")
    with staged([(task, made, output)]) as root:
        found = {path.relative_to(root).as_posix() for path in root.rglob("*") if not path.is_dir()}
        assert found == {"0000/attempt.json", "0000/output/deep/kept.txt"}
        assert root.stat().st_mode & 0o077 == 0


def test_an_attempt_without_output_is_handed_over_all_the_same(tmp_path: Path) -> None:
    task = Task(id="a", digest="sha256:0")
    with staged([(task, record(task_id="a"), tmp_path / "nothing")]) as root:
        assert (root / "0000" / "output").is_dir()

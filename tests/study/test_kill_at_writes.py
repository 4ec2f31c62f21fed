"""The runner is killed at the very moment at which it writes: what stands is the old file or the new one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from sipbench.protocol.validation import check_file, study_files
from sipbench.study.lock import StudyLock
from tests.study.trial import LEARNER, SIP, Trial, environment

# Interpreter hooks see what is about to be done to which file; the process then does it no more.
HOOK = """\
import os, signal, sys

kind, name, count = os.environ.pop("TRIAL_KILL").split(",")
left = int(count)

def hook(event, arguments):
    global left
    if event == kind and any(str(one).endswith(name) for one in arguments[:2]):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
"""
VOLATILE = {"started_at", "finished_at", "wall_clock_seconds", "tries"}
KILLS = [
    ("os.rename", ".study.yaml.partial", 1),
    ("os.rename", ".splits.json.partial", 1),
    ("open", ".study.lock.json.partial", 1),
    ("os.rename", ".study.lock.json.partial", 1),
    ("open", "adaptations.jsonl", 1),
    ("os.rename", "/T1", 1),
    ("open", ".summary.json.partial", 1),
    ("os.rename", ".summary.json.partial", 1),
]


def run(trial: Trial, installed: tuple[str, str], kill: tuple[str, str, int] | None = None) -> int:
    variables = environment(installed)
    if kill is not None:
        hook = trial.folder / "hook"
        hook.mkdir(exist_ok=True)
        (hook / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
        path = os.pathsep.join([str(hook), variables["PYTHONPATH"]])
        variables |= {"PYTHONPATH": path, "TRIAL_KILL": ",".join(map(str, kill))}
    command = [*SIP, "-q", "run", str(trial.file), "--out", str(trial.out)]
    return subprocess.run(command, env=variables, capture_output=True, check=False, timeout=120).returncode


def records(trial: Trial) -> dict[str, object]:
    return {r.run_id: r.model_dump(mode="json", exclude=VOLATILE) for r in trial.records()}


def check(out: Path) -> None:
    """Whatever stands there under its own name is whole."""
    for path in study_files(out) if (out / "runs.jsonl").exists() else ():
        found = check_file(path)
        assert not found.problems or path.stat().st_size == 0, found.problems
    if (out / "study.lock.json").exists():
        StudyLock.model_validate_json((out / "study.lock.json").read_bytes())
    if (out / "summary.json").exists():
        assert json.loads((out / "summary.json").read_bytes())["rows"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, installed: tuple[str, str]) -> dict[str, object]:
    """The records of the study where nobody ends it."""
    trial = Trial(tmp_path_factory.mktemp("whole")).write(arms={"learner": LEARNER}, concurrency=1)
    assert run(trial, installed) == 0
    return records(trial)


@pytest.mark.parametrize("kill", KILLS, ids=lambda kill: f"{kill[0]}-{kill[1].strip('/.')}")
def test_the_same_command_goes_on(
    tmp_path: Path, installed: tuple[str, str], whole: dict[str, object], kill: tuple[str, str, int]
) -> None:
    trial = Trial(tmp_path).write(arms={"learner": LEARNER}, concurrency=1)
    assert run(trial, installed, kill) == -signal.SIGKILL, "there is such a moment"
    check(trial.out)
    assert run(trial, installed) == 0
    check(trial.out)
    assert records(trial) == whole
    assert (trial.out / "summary.json").exists()


def test_a_summary_that_stands_is_replaced_as_a_whole(trial: Trial, installed: tuple[str, str]) -> None:
    trial.write(phases=["T0"], concurrency=1)
    assert run(trial, installed) == 0
    before = (trial.out / "summary.json").read_bytes()
    lock = (trial.out / "study.lock.json").read_bytes()
    trial.edit("retries: 1", "retries: 4")
    for name in ("study.lock.json", "summary.json"):
        assert run(trial, installed, ("os.rename", f".{name}.partial", 1)) == -signal.SIGKILL
        assert (trial.out / "summary.json").read_bytes() == before
        if name == "study.lock.json":
            assert (trial.out / name).read_bytes() == lock
    assert run(trial, installed) == 0
    assert json.loads((trial.out / "study.lock.json").read_bytes())["config"]["retries"] == 4
    assert (trial.out / "summary.json").read_bytes() != before

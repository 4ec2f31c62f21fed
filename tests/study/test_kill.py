"""The runner is killed at any moment, again and again: nothing is lost, nothing is made twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sipbench.protocol.validation import check_file, study_files
from tests.study.trial import SIP, environment

KILLS = 20
STUDY = {
    "name": "killed",
    "benchmark": {"name": "synth", "adapt": 8, "heldout": 10, "replay": 10, "drift": 0},
    "agent": {"name": "enumerative-search"},
    "arms": {
        "frozen": {"path_type": "frozen"},
        "macros": {"path_type": "external", "adaptation": "synth-macros"},
        "weights": {"path_type": "parameter", "adaptation": "synth-weights"},
    },
    "phases": ["T0", "T1"],
    "repeats": 2,
    "analysis": {"sesoi": 0.05, "cost_unit": "tool_calls"},
}
# What a kill may change of a record: when it was made, how long it took, and what was tried before.
VOLATILE = {"started_at", "finished_at", "wall_clock_seconds", "tries"}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def records(out: Path) -> dict[str, dict[str, Any]]:
    found = [
        {name: value for name, value in line.items() if name not in VOLATILE}
        for line in lines(out / "runs.jsonl")
    ]
    by_id = {record["run_id"]: record for record in found}
    assert len(by_id) == len(found), "an attempt is recorded twice"
    return by_id


def adaptations(out: Path) -> dict[tuple[str, int, str], tuple[str, list[str]]]:
    return {
        (line["arm"], line["repeat"], line["phase"]): (line["agent_state_digest"], sorted(line["attempts"]))
        for line in lines(out / "adaptations.jsonl")
    }


@pytest.fixture
def started(installed: tuple[str, str], tmp_path: Path) -> Iterator[Any]:
    """Starts ``sip run`` on the study; what still runs at the end of the test is ended."""
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY, sort_keys=False), encoding="utf-8")
    running: list[subprocess.Popen[str]] = []

    def start(out: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*SIP, "-q", "run", str(tmp_path / "study.yaml"), "--out", str(out)],
            env=environment(installed),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def size(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def wait_for(journal: Path, more: int, process: subprocess.Popen[str]) -> None:
    """Until the journal has grown by so many lines, however long a busy machine needs for that."""
    wanted = size(journal) + more
    while size(journal) < wanted and process.poll() is None:
        time.sleep(0.001)


@pytest.mark.slow
def test_a_study_that_is_killed_twenty_times_ends_like_one_that_is_not(started: Any, tmp_path: Path) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    assert started(undisturbed).wait() == 0
    draws = random.Random(20261201)
    for number in range(KILLS):
        process = started(killed)
        if number % 4 == 3:
            time.sleep(draws.uniform(0.0, 0.8))  # at its start: before, while or after it takes up the study
        else:
            wait_for(killed / "journal.jsonl", draws.randint(2, 24), process)
            time.sleep(draws.uniform(0.0, 0.01))
        assert process.poll() is None, f"the study was over before kill {number}"
        process.send_signal(signal.SIGKILL)
        process.wait()
    last = started(killed)
    _, said = last.communicate()
    assert last.returncode == 0, said
    assert records(killed) == records(undisturbed)
    assert adaptations(killed) == adaptations(undisturbed)
    assert [problem for path in study_files(killed) for problem in check_file(path).problems] == []
    events = lines(killed / "journal.jsonl")
    finished: set[str] = set()
    for event in events:
        assert event["event"] != "started" or event["run_id"] not in finished, "a finished attempt ran again"
        if event["event"] == "finished":
            finished.add(event["run_id"])
    interrupted = [tried for line in lines(killed / "runs.jsonl") for tried in line["tries"]]
    assert {tried["error_type"] for tried in interrupted} == {"interrupted"}
    assert all(tried["tool_calls_total"] is None for tried in interrupted)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that ended and that nobody waited for is no process any more.
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


HANGING = """
import os, subprocess, sys, time
from pathlib import Path
from sip_trial import TrialBenchmark

class Hanging(TrialBenchmark):
    def run(self, task, phase, path_type, seed, *, context):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        partial = self.base / "partial"
        partial.write_text(f"{os.getpid()} {child.pid}")
        partial.rename(self.base / "pids")
        WAIT
"""


@pytest.mark.parametrize(
    "wait",
    ["time.sleep(600)", "import re; re.match('(a+)+b', 'a' * 64)"],
    ids=["sleeping", "holding-the-lock"],
)
def test_workers_and_what_they_started_end_with_the_runner(
    installed: tuple[str, str], tmp_path: Path, wait: str
) -> None:
    site = tmp_path / "site"
    (site / "hanging-1.dist-info").mkdir(parents=True)
    (site / "hanging-1.dist-info" / "METADATA").write_text("Name: hanging\nVersion: 1\n", encoding="utf-8")
    points = "[sipbench.benchmarks]\nhanging = hanging:Hanging\n"
    (site / "hanging-1.dist-info" / "entry_points.txt").write_text(points, encoding="utf-8")
    (site / "hanging.py").write_text(HANGING.replace("WAIT", wait), encoding="utf-8")
    study = {
        **STUDY,
        "benchmark": {"name": "hanging", "heldout": 1, "replay": 1},
        "arms": {"f": {"path_type": "frozen"}},
        "concurrency": 1,
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    process = subprocess.Popen(
        [*SIP, "run", str(tmp_path / "study.yaml")],
        env=environment((*installed, str(site))),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (tmp_path / "pids").exists():
            assert process.poll() is None
            time.sleep(0.01)
        worker, child = map(int, (tmp_path / "pids").read_text().split())
    finally:
        process.kill()
        process.wait()
    mine = [worker] if "re.match" in wait else [worker, child]
    try:
        for _ in range(3000):
            if not any(alive(pid) for pid in mine):
                break
            time.sleep(0.01)
        assert [pid for pid in mine if alive(pid)] == []
    finally:
        if alive(child):
            os.kill(child, signal.SIGKILL)

"""Checking on several processors: no worker outlives whoever asked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.skills.made import skill, text

# Holds on after the first report, while the workers wait for more to do.
PROGRAM = """
import multiprocessing, pathlib, sys, time
from sipbench.skills import validate

def main():
    validate._WORTH_PROCESSES = 0
    validate.os.sched_getaffinity = lambda _: {0, 1}
    folders = sorted(pathlib.Path(sys.argv[1]).iterdir())
    reports = validate.check_skills(folders)
    assert next(reports).valid
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    main()
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this test reads /proc")
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        skill(tmp_path / "skills", name, text(name))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, str(program), str(tmp_path / "skills")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None
        workers = [int(word) for word in asking.stdout.readline().split()]
        asking.kill()
    assert workers
    patience = time.monotonic() + 60
    while any(_runs(pid) for pid in workers) and time.monotonic() < patience:
        time.sleep(0.05)
    left = [pid for pid in workers if _runs(pid)]
    for pid in left:
        os.kill(pid, 9)
    assert left == []


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

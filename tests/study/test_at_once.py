"""Runners that begin the same study in the same moment: one does the work, the others say who."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sipbench.protocol.validation import check_file, study_files
from tests.study.trial import SIP, Trial, environment


@pytest.mark.parametrize("fresh", [True, False])
def test_one_runs_and_the_others_leave_it_alone(
    tmp_path: Path, installed: tuple[str, str], fresh: bool
) -> None:
    # Longer than a start takes, so that all of them meet.
    does = {"benchmark": {"heldout": 30, "does": {"heldout": "wait"}}, "phases": ["T0"], "concurrency": 1}
    trial = Trial(tmp_path).write(**does)
    if not fresh:
        trial.out.mkdir()
    command = [*SIP, "run", str(trial.file), "--out", str(trial.out)]
    started = [
        subprocess.Popen(command, env=environment(installed), stderr=subprocess.PIPE, stdout=-3, text=True)
        for _ in range(4)
    ]
    said = [process.communicate(timeout=300)[1] for process in started]
    codes = sorted(process.returncode for process in started)
    assert codes[0] == 0
    assert set(codes) <= {0, 2}
    for process, text in zip(started, said, strict=True):
        assert "Traceback" not in text
        if process.returncode == 2:
            assert text.splitlines()[-1].startswith(f"sip: {trial.out}: another runner")
    assert len(trial.records()) == len(trial.calls()) == 32
    assert all(not check_file(path).problems for path in study_files(trial.out))

"""Where standard output and error go: closed, full, without a reader, or a terminal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sipbench.cli.output import console
from tests.cli.command import sip
from tests.study.conftest import installed, plugins, trial
from tests.study.trial import Trial, environment

__all__ = ["installed", "plugins", "trial"]

SIP = f"exec {sys.executable} -c 'from sipbench.cli.sip import main; main()'"

type Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def shell(trial: Trial, installed: tuple[str, str]) -> Shell:
    """Runs ``sip ARGUMENTS`` by a shell, with what follows them: redirections, a pipe."""

    def run(arguments: str, after: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"({SIP} {arguments}) {after}; exit ${{PIPESTATUS[0]}}"],
            cwd=trial.folder,
            env={**environment(installed), **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("after", [">&-", "2>&-", ">&- 2>&-", "2>/dev/full", "2>&1 | head -n 1"])
def test_a_study_is_carried_out_to_its_summary_whoever_reads(trial: Trial, shell: Shell, after: str) -> None:
    ended = shell("run study.yaml --out out", after)
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    assert (trial.out / "summary.json").exists()
    assert {len(line) > 2 for line in (trial.out / "runs.jsonl").read_bytes().splitlines()} == {True}


@pytest.mark.parametrize("after", ["| head -n 0", "2>&1 | head -n 0", ">&-"])
def test_missing_attempts_are_in_the_status_though_nobody_reads(
    trial: Trial, shell: Shell, after: str
) -> None:
    trial.write(benchmark={"does": {"heldout-0": "raise"}}, retries=0)
    assert shell("run study.yaml --out out", after).returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line(trial: Trial, shell: Shell) -> None:
    trial.run()
    for arguments in ("show out", "validate out", "run study.yaml --out out"):
        ended = shell(arguments, ">/dev/full")
        assert ended.returncode == 2
        assert "No space left on device" in ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_reader_that_is_gone_is_no_error(trial: Trial, shell: Shell) -> None:
    trial.run()
    ended = shell("show out", "| head -n 0")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_name_that_is_too_long_is_one_line(trial: Trial) -> None:
    ended = sip("run", trial.file, "--out", trial.folder / ("x" * 300))
    assert ended.code == 2
    assert ended.err.startswith("sip: ")
    assert "File name too long" in ended.err


def test_an_error_cannot_reach_into_the_terminal(trial: Trial) -> None:
    ended = sip("run", trial.folder / "\x1b[31mred\u202e.yaml")
    assert ended.code == 2
    assert "\x1b" not in ended.err
    assert "\u202e" not in ended.err


@pytest.mark.parametrize("command", ["plan study.yaml", "run study.yaml --out out", "plan study.yaml --json"])
def test_an_encoding_without_its_characters_is_no_failure(trial: Trial, shell: Shell, command: str) -> None:
    ended = shell(command, "", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii")
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr


def test_a_terminal_without_width_still_shows_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert console().width == 40


@pytest.mark.parametrize(("retries", "said"), [(0, "they are not tried again"), (1, "goes on with them")])
def test_what_is_missing_is_promised_only_where_it_is_tried_again(
    trial: Trial, retries: int, said: str
) -> None:
    trial.write(benchmark={"does": {"heldout-0": "raise"}}, phases=["T0"], retries=retries)
    ended = sip("run", trial.file, "--out", trial.out)
    assert ended.code == 1
    assert f"1 of 5 attempts are missing; {said}" in ended.err.replace("the same command ", "")

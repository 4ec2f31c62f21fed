"""Ctrl-C and SIGTERM: the first time what runs is let finish, the second time it is dropped."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sipbench.protocol.vocabulary import Status
from tests.study.trial import SIP, Trial, environment


@pytest.fixture
def start(trial: Trial, installed: tuple[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts ``sip run`` on the trial, and ends it with the test."""
    running: list[subprocess.Popen[str]] = []

    def run() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*SIP, "run", str(trial.file), "--out", str(trial.out)],
            env=environment(installed),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def wait_for_calls(trial: Trial, count: int, process: subprocess.Popen[str]) -> None:
    while len(trial.calls()) < count:
        assert process.poll() is None
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_time_what_runs_is_finished_and_recorded(
    trial: Trial, start: Callable[..., Any], number: signal.Signals
) -> None:
    trial.write(benchmark={"heldout": 40, "does": {"heldout": "wait"}}, phases=["T0"], concurrency=2)
    process = start()
    wait_for_calls(trial, 2, process)
    process.send_signal(number)
    out, said = process.communicate()
    assert process.returncode == 130, said
    assert re.search(r"\d+ of 42 attempts are missing; the same command goes on with them", said)
    assert "Traceback" not in said + out
    records = trial.records()
    assert len(records) == len(trial.calls()) >= 2
    assert {record.status for record in records} == {Status.GRADED}
    assert trial.journal("stopped")[-1]["reason"] == "interrupted"


def test_the_second_time_it_is_dropped_and_the_dropped_try_is_not_lost(
    trial: Trial, start: Callable[..., Any]
) -> None:
    trial.write(benchmark={"heldout": 1, "does": {"heldout-0": "hang-once"}}, phases=["T0"], concurrency=1)
    process = start()
    wait_for_calls(trial, 1, process)
    process.send_signal(signal.SIGINT)
    line = ""
    while "interrupt again to drop" not in line:
        line = process.stderr.readline()
        assert line or process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert trial.run().missing == 0
    (record,) = (record for record in trial.records() if record.task_id == "heldout-0")
    (tried,) = record.tries
    assert (tried.status, tried.error_type) == (Status.CANCELLED, "interrupted")


def test_the_python_function_raises_keyboard_interrupt(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    from sipbench.study import api

    done = trial.run()
    interrupted = api.StudyResult(done.folder, 1, 0, 0, interrupted=True)
    monkeypatch.setattr(api, "execute", lambda *_, **__: interrupted)
    with pytest.raises(KeyboardInterrupt):
        api.run_study(trial.file)

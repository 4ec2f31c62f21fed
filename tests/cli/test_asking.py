"""Before a command spends anything: what it prints, what it asks, and that no answer is a yes."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ended, sip
from tests.study.conftest import installed, plugins, trial  # noqa: F401 (fixtures)
from tests.study.trial import SIP, Trial, environment

COSTS: dict[str, Any] = {
    "agent": {"name": "somebody", "version": "1", "model": "provider/large"},
    "benchmark": {"usd": 1.0},
    "estimate": {"usd_per_attempt": 2},
    "analysis": {"sesoi": 0.05},
}
MONEY = (
    "10 attempts will take about 20.00 USD: more than 10.00 USD, which `estimate.ask_above_usd` lets pass."
)
MISSES = "It may well miss a gain of 5 points"


@pytest.fixture
def paid(trial: Trial) -> Trial:  # noqa: F811
    return trial.write(**COSTS)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def answered(monkeypatch: pytest.MonkeyPatch, answer: str, *arguments: object) -> tuple[Ended, str]:
    """``sip ARGUMENTS`` on a terminal on which ``answer`` is typed, and what that showed."""
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("tests.cli.command.redirect_stderr", lambda stream: _shown_on(shown))
    return sip(*arguments), shown.getvalue()


class _shown_on:
    def __init__(self, stream: io.StringIO) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        self.before, sys.stderr = sys.stderr, self.stream

    def __exit__(self, *_: object) -> None:
        sys.stderr = self.before


def test_without_a_terminal_it_is_refused_in_one_line_and_nothing_is_run(paid: Trial) -> None:
    for json_too in ((), ("--json",)):
        ended = sip("run", paid.file, "--out", paid.out, *json_too)
        assert (ended.code, ended.out) == (2, "")
        (line,) = ended.err.splitlines()
        assert line.startswith(f"sip: {MONEY} {MISSES}")
        assert line.endswith(" Nothing was started; --yes goes on without asking")
    assert paid.calls() == []
    assert not (paid.out / "runs.jsonl").exists()


def test_without_an_input_there_is_nobody_to_ask(paid: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    # What Python makes of an input that is closed when it starts.
    monkeypatch.setattr("sys.stdin", None)
    ended = sip("run", paid.file, "--out", paid.out)
    assert (ended.code, paid.calls()) == (2, [])
    assert ended.err.endswith(" Nothing was started; --yes goes on without asking\n")


def test_an_answer_that_is_no_text_is_a_no(paid: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    class Garbled(Terminal):
        def readline(self, *_: Any) -> str:
            return b"\xff\n".decode("utf-8")

    monkeypatch.setattr("tests.cli.test_asking.Terminal", Garbled)
    ended, _ = answered(monkeypatch, "", "run", paid.file, "--out", paid.out)
    assert (ended.code, paid.calls()) == (2, [])


def test_yes_goes_on_and_says_what_is_expected(paid: Trial) -> None:
    ended = sip("run", paid.file, "--out", paid.out, "--yes", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["missing"] == 0
    assert "Expected: 10 attempts, about 20.00 USD\n" in ended.err
    assert MONEY in ended.err
    assert ended.err.count(MISSES) == 1
    # And when nothing is left, nothing is expected.
    assert "Expected" not in sip("run", paid.file, "--out", paid.out).err


@pytest.mark.parametrize("answer", ["y\n", "YES\n"])
def test_on_a_terminal_it_asks(paid: Trial, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    ended, shown = answered(monkeypatch, answer, "run", paid.file, "--out", paid.out, "--json")
    assert ended.code == 0, shown
    assert shown.startswith("Expected: 10 attempts, about 20.00 USD\n" + MONEY)
    assert "Go on? [y/N] " in shown
    assert json.loads(ended.out)["recorded"] == 10


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "yesterday\n"])
def test_anything_but_yes_is_a_no(paid: Trial, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    ended, shown = answered(monkeypatch, answer, "run", paid.file, "--out", paid.out)
    assert ended.code == 2
    assert shown.endswith(f"sip: {paid.out}: not begun, as you answered; nothing was spent\n")
    assert paid.calls() == []


def test_quiet_asks_as_well(paid: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, shown = answered(monkeypatch, "n\n", "-q", "run", paid.file, "--out", paid.out)
    assert ended.code == 2
    assert shown.startswith(MONEY)
    assert "Go on? [y/N] " in shown


def test_what_costs_nothing_is_not_asked_about(trial: Trial) -> None:  # noqa: F811
    trial.write(benchmark={"charge": {"frozen": "free"}})
    ended = sip("run", trial.file, "--out", trial.out)
    assert ended.code == 0, ended.err
    assert ended.err.startswith("Expected: 10 attempts, no money\n" + MISSES)
    assert MISSES not in ended.out


def test_a_screening_run_asks_about_its_money(paid: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    # Seven tasks, thrice.
    ended = sip("screen", paid.file, "--out", paid.out)
    assert ended.code == 2
    money = MONEY.replace("10 attempts", "21 attempts").replace("20.00", "42.00")
    assert ended.err == f"sip: {money} Nothing was started; --yes goes on without asking\n"
    assert sip("screen", paid.file, "--out", paid.out, "--yes", "--attempts", 1).code == 0


def test_a_plan_says_what_a_run_will_ask(paid: Trial) -> None:
    ended = sip("plan", paid.file)
    assert ended.code == 0
    assert "Expected: 10 attempts, about 20.00 USD" in ended.out
    assert f"`sip run` asks first: {MONEY}" in ended.out
    # The plan ends with that sentence already.
    assert ended.out.count(MISSES) == 1
    assert ended.out.endswith("`sip run` asks first: that it may miss its effect\n")
    document = json.loads(sip("plan", paid.file, "--json").out)
    assert document["outlook"]["usd"] == 20
    assert document["asks"][0] == MONEY
    assert len(document["asks"]) == 2


def test_ctrl_c_at_the_question_ends_it_with_nothing_begun(
    paid: Trial,
    installed: tuple[str, str],  # noqa: F811
) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*SIP, "run", str(paid.file), "--out", str(paid.out)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(installed),
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = _until(ours, b"Go on? [y/N] ")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        shown += _rest(ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in shown
    assert b"Interrupted; nothing was started" in shown
    assert paid.calls() == []
    assert sip("run", paid.file, "--out", paid.out, "--yes").code == 0


def _until(descriptor: int, wanted: bytes) -> bytes:
    shown, deadline = b"", time.monotonic() + 120
    while wanted not in shown:
        assert time.monotonic() < deadline, shown
        shown += os.read(descriptor, 4096)
    return shown


def _rest(descriptor: int) -> bytes:
    shown = b""
    try:
        while piece := os.read(descriptor, 4096):
            shown += piece
    except OSError:  # how a terminal ends whose other side is closed
        pass
    return shown


def test_the_demo_never_asks(tmp_path: Path) -> None:
    # Its arms are free: whatever it could show, nobody is asked.
    plan = json.loads(sip("plan", _demo(), "--json").out)
    assert plan["asks"] == []
    assert plan["outlook"]["usd"] == 0


def _demo() -> Path:
    from sipbench.cli.commands.demo import STUDY

    return STUDY

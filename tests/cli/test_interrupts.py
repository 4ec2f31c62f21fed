"""Ctrl-C at any moment ends a command with 130 and without a traceback: while it loads, works, and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from sipbench.cli.interrupts import hear, leave_quietly
from sipbench.cli.main import make_app, run

INTERRUPT = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"


def started(script: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that finds modules in ``folder`` first."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]) if folder else None
    variables = {**os.environ, "PYTHONPATH": path} if path else os.environ
    return subprocess.run(
        [sys.executable, "-c", script],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        # A shell without job control ignores interruptions for what it starts in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.fixture
def quiet() -> Iterator[None]:
    """This process as a command begins in it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    leave_quietly()
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("command", ["sip", "asb"])
def test_while_a_command_is_loaded(tmp_path: Path, command: str) -> None:
    (tmp_path / "typer.py").write_text(f"{INTERRUPT}\n", encoding="utf-8")
    ended = started(f"from sipbench.cli.{command} import main; main()", tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_in_an_import_that_would_make_another_error_of_it(tmp_path: Path) -> None:
    lines = [
        "try:",
        f"    {INTERRUPT}; [0 for _ in range(9)]",
        "except BaseException:",
        "    raise ValueError(1)",
    ]
    (tmp_path / "polars.py").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "runs.jsonl").write_text("{}\n", encoding="utf-8")
    command = f"import sys; sys.argv = ['sip', 'summarize', {str(tmp_path / 'runs.jsonl')!r}]"
    ended = started(f"{command}; from sipbench.cli.sip import main; main()", tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_while_the_interpreter_ends() -> None:
    late = "import atexit, os, signal, sys; atexit.register(os.kill, os.getpid(), signal.SIGINT)"
    command = "sys.argv = ['sip', '--version']; from sipbench.cli.sip import main; main()"
    ended = started(f"{late}; {command}")
    assert (ended.returncode, ended.stderr) == (130, "")
    assert ended.stdout.startswith("sipbench ")


def test_one_that_is_ignored_stays_ignored() -> None:
    ignored = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    command = "sys.argv = ['sip', '--version']; from sipbench.cli.sip import main"
    ended = started(f"{ignored}; {command}; os.kill(os.getpid(), signal.SIGINT); main()")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_command_at_work_hears_it_and_can_clean_up(quiet: None, capsys: pytest.CaptureFixture[str]) -> None:
    app = make_app("try", "A command.")
    cleaned = []

    @app.command()
    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            typer.echo("not reached")
        finally:
            cleaned.append(True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["try", "work"])
        assert run(app, "try") == 130
    assert cleaned
    assert capsys.readouterr().out == ""
    assert hear(), "once it has ended, the process leaves quietly again"


def test_elsewhere_nothing_is_changed() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert not hear()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)

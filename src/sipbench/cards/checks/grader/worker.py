"""Each check in a process that may die: of a hostile file, of time, of memory.

One process takes checks, one line of JSON each, and gives verdicts back. When it dies or takes too
long, that check has failed and the next one gets a new process.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .kinds import Folders, evaluate
from .places import Place
from .verdicts import ERROR, FAIL, Verdict, reason_of, shown

__all__ = ["TIMEOUT", "decide", "serve"]

TIMEOUT = 120.0
"""Seconds for one check; a program of the submission gets its own time on top."""

MEMORY = 8 * 1024**3
_START = "import sys; sys.path.append({place!r}); from {package}.worker import serve; serve()"
_LONGEST_ANSWER = 64 * 1024


def decide(
    checks: Sequence[Mapping[str, Any]],
    submission: str,
    references: str | None,
    *,
    run_scripts: bool = False,
    timeout: float = TIMEOUT,
) -> Iterator[Verdict]:
    """Yield the verdict of each check, in order.

    Args:
        checks: Ready checks of ``EVALUATORS``.
        submission: The folder that is graded.
        references: The folder that references are relative to.
        run_scripts: Whether programs of the submission may be started.
        timeout: Seconds for one check.
    """
    setting = {"submission": submission, "references": references, "run_scripts": run_scripts}
    worker: _Worker | None = None
    try:
        for check in checks:
            if worker is None:
                worker = _Worker(setting)
            seconds = timeout + float(check.get("timeout_s") or 0.0)
            verdict = worker.ask(check, seconds)
            if verdict is None:
                worker.end()
                worker = None
                said = f"cannot be read within {seconds:g} s and {MEMORY >> 30} GiB"
                verdict = Verdict(FAIL, reason_of(f"{shown(check.get('path', 'the submission'))} {said}"))
            yield verdict
    finally:
        if worker is not None:
            worker.end()


class _Worker:
    def __init__(self, setting: Mapping[str, Any]) -> None:
        place, package = os.path.split(os.path.dirname(os.path.abspath(__file__)))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START.format(place=place, package=package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What a parser prints about a hostile file is nobody's business.
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "POLARS_MAX_THREADS": "2"},
        )
        self._rest = b""
        self._write(setting)

    def _write(self, value: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # seen when the answer does not come
            self._process.stdin.write(json.dumps(value).encode("ascii") + b"\n")
            self._process.stdin.flush()

    def ask(self, check: Mapping[str, Any], seconds: float) -> Verdict | None:
        """The verdict; None if the process died or took too long."""
        self._write(check)
        line = self._line(time.monotonic() + seconds)
        if line is None:
            return None
        answer = json.loads(line)
        return Verdict(answer["outcome"], answer["reason"])

    def _line(self, deadline: float) -> bytes | None:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                left = deadline - time.monotonic()
                if left <= 0 or not waiting.select(left):
                    return None
                block = os.read(self._process.stdout.fileno(), _LONGEST_ANSWER)
                if not block:
                    return None
                self._rest += block
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def serve() -> None:
    """Take checks from stdin and give verdicts to stdout until there are none."""
    for kind, value in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
    # Verdicts leave through a copy, so that nothing which is printed is taken for one.
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    lines = iter(sys.stdin.buffer.readline, b"")
    setting = json.loads(next(lines))
    references = setting["references"]
    folders = Folders(
        Place(setting["submission"]),
        Place(references) if references is not None else None,
        setting["run_scripts"],
    )
    for line in lines:
        try:
            verdict = evaluate(json.loads(line), folders)
        except ValueError as error:
            verdict = Verdict(ERROR, reason_of(str(error)))
        answers.write(json.dumps({"outcome": verdict.outcome, "reason": verdict.reason}) + "\n")
        answers.flush()

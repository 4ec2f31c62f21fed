"""Calls the command in this process: what it printed, what it said, how it ended."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from sipbench.cli.main import run
from sipbench.cli.sip import app


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def sip(*arguments: object) -> Ended:
    """``sip ARGUMENTS``."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["sip", *map(str, arguments)]
    with patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        code = run(app, "sip")
    return Ended(code, out.getvalue(), err.getvalue())

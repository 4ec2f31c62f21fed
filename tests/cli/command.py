"""Calls the command in this process: what it printed, what it said, how it ended."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

import typer

from sipbench.cli.asb_commands.app import app as asb_app
from sipbench.cli.commands.app import app as sip_app
from sipbench.cli.main import run


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def sip(*arguments: object) -> Ended:
    """``sip ARGUMENTS``."""
    return _ended(sip_app, "sip", arguments)


def asb(*arguments: object) -> Ended:
    """``asb ARGUMENTS``."""
    return _ended(asb_app, "asb", arguments)


def _ended(app: typer.Typer, name: str, arguments: tuple[object, ...]) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    argv = [name, *map(str, arguments)]
    with patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        code = run(app, name)
    return Ended(code, out.getvalue(), err.getvalue())

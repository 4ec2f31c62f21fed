"""What the two commands share: one line for an error, exit codes, an interrupted run."""

from __future__ import annotations

import os
import sys

import typer
from typer.exceptions import TyperException

from sipbench.errors import SipbenchError

__all__ = ["INTERRUPTED", "run"]

INTERRUPTED = 130


def run(app: typer.Typer, name: str) -> int:
    """Call ``app`` and turn what it raises into an exit status.

    Returns:
        The command's own status; 2 for bad input, with one line on stderr; 130 when interrupted.
    """
    try:
        return int(app(prog_name=name, standalone_mode=False) or 0)
    except SipbenchError as error:
        sys.stderr.write(f"{name}: {_one_line(str(error))}\n")
        return error.exit_code
    except TyperException as error:
        sys.stderr.write(f"{name}: {_one_line(error.format_message())}; see `{name} --help`\n")
        return 2
    except typer.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write(f"{name}: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone (`sip show | head`): nothing is left to say, and the
        # interpreter must not try to flush into the closed pipe when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")

"""How commands write: a console for tables, plain JSON for machines."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sipbench.errors import SipbenchError
from sipbench.files import replace_file, takes_replacement

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "counted", "print_json", "printable", "write_text"]


_NARROWEST = 40


def console() -> Console:
    """A console on stdout: plain text when that is no terminal, and never a failure to encode."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            # Whoever called decides what a reader that is gone means; rich would end the program.
            raise BrokenPipeError

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    found = Output(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if found.width < _NARROWEST:  # some environments say COLUMNS=0, and then nothing at all would be shown
        found.width = _NARROWEST
    return found


def print_json(value: Any) -> None:
    """Write one JSON document to stdout; it reads the same in any encoding."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def counted(number: int, noun: str) -> str:
    """``1 skill``, ``40 skills``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Text from a file, made harmless for a terminal: what is no printable character is replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole or not at all; to a device or a pipe, it is just written.

    Raises:
        SipbenchError: It cannot be written.
    """
    try:
        if not takes_replacement(path):
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        replace_file(path, text.encode("utf-8"))
    except OSError as error:
        raise SipbenchError(f"{path}: cannot be written: {error.strerror or error}") from None

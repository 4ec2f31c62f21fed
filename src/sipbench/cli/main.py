"""What the two commands share: their form, one line for an error, exit codes, an interrupted run."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import TyperException

from sipbench.cli.interrupts import INTERRUPTED, hear, leave_quietly
from sipbench.cli.output import printable
from sipbench.errors import SipbenchError
from sipbench.files import told

__all__ = ["INTERRUPTED", "make_app", "make_group", "run"]


def make_group(text: str, name: str | None = None) -> typer.Typer:
    """A command that has commands, with ``text`` as its help."""
    return typer.Typer(
        name=name,
        help=text,
        no_args_is_help=True,
        add_completion=False,
        # Rich help pages would cost more start-up time than the rest of the command.
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def make_app(name: str, text: str) -> typer.Typer:
    """The top command ``name``, with the options that both have."""
    app = make_group(text, name)
    app.callback()(_common)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"sipbench {version('sipbench')}")
        raise typer.Exit


def _common(
    verbose: Annotated[int, typer.Option("--verbose", "-v", count=True, help="Say more on stderr.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say only errors on stderr.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    from sipbench.logs import configure

    configure(verbose=verbose, quiet=quiet)


def run(app: typer.Typer, name: str) -> int:
    """Call ``app`` and turn what it raises into an exit status.

    Returns:
        The command's own status; 2 for bad input, with one line on stderr; 130 when interrupted.
    """
    _open_streams()
    return _flushed(_status(app, name), name)


def _status(app: typer.Typer, name: str) -> int:
    try:
        quiet = hear()
        try:
            return int(app(prog_name=name, standalone_mode=False) or 0)
        finally:
            if quiet:
                leave_quietly()
    except SipbenchError as error:
        _say(name, str(error))
        return error.exit_code
    except TyperException as error:
        if error.format_message().lstrip().startswith("Usage:"):
            # A command that has commands and was given none: its help is the answer.
            sys.stderr.write(f"{error.format_message().strip()}\n")
            return 2
        # An error in a command's arguments knows the command; its help, not that of all, is the answer.
        path = getattr(getattr(error, "ctx", None), "command_path", None) or name
        said = error.format_message().strip().rstrip(".").replace("Value error, ", "")
        _say(name, f"{said}; see `{path} --help`")
        return 2
    except typer.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _say(name, "interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone (`sip show | head`): nothing is left to say.
        _silence()
        return 0
    except OSError as error:  # a name that is too long, a disk that is full
        _say(name, told(error))
        return 2


def _open_streams() -> None:
    """Open the standard streams that are closed; any text can be written to them.

    A file that is opened later would get the number of one, and with it all that anybody prints.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        # As on stderr: what an encoding does not have is escaped rather than a failure.
        sys.stdout.reconfigure(errors="backslashreplace")


def _flushed(status: int, name: str) -> int:
    """The status, once what was written is out; the interpreter would fail at it with a traceback."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    except OSError as error:
        _silence()
        _say(name, f"standard output: {error.strerror or error}")
        return status or 2
    return status


def _silence() -> None:
    """Let what is still to be written to stdout go nowhere."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(name: str, text: str) -> None:
    """One line on stderr, if there is anybody to read it."""
    with suppress(OSError):
        sys.stderr.write(f"{name}: {printable(' '.join(text.split())).rstrip('.')}\n")

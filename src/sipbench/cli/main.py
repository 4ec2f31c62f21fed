"""What the two commands share: their form, one line for an error, exit codes, an interrupted run."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from sipbench.errors import SipbenchError

__all__ = ["INTERRUPTED", "make_app", "make_group", "run"]

INTERRUPTED = 130


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

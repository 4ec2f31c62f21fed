"""``asb``: make the tasks and skills that an agent is measured on."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sipbench.cli.asb_commands.draft_eval import draft_eval
from sipbench.cli.asb_commands.export_workflow import export_workflow
from sipbench.cli.asb_commands.leaks import leaks
from sipbench.cli.asb_commands.run_eval import run_eval
from sipbench.cli.asb_commands.show import show
from sipbench.cli.asb_commands.skills import app as skills
from sipbench.cli.asb_commands.validate import validate
from sipbench.cli.main import run

app = typer.Typer(
    name="asb",
    help="Turn paper-grounded cards and skills into tasks that can be trusted and skills that can be loaded.",
    no_args_is_help=True,
    add_completion=False,
    # Rich help pages would cost more start-up time than the rest of the command.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"sipbench {version('sipbench')}")
        raise typer.Exit


@app.callback()
def _common(
    verbose: Annotated[int, typer.Option("--verbose", "-v", count=True, help="Say more on stderr.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say only errors on stderr.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    from sipbench.logs import configure

    configure(verbose=verbose, quiet=quiet)


app.command()(validate)
app.command()(show)
app.command()(draft_eval)
app.command()(run_eval)
app.command()(leaks)
app.command()(export_workflow)
app.add_typer(skills, name="skills")


def main() -> None:
    """Entry point of the command."""
    sys.exit(run(app, "asb"))

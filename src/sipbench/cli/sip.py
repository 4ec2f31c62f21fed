"""``sip``: measure what an agent gained, kept and paid when it learned."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sipbench.cli.commands.clean import clean
from sipbench.cli.commands.demo import demo
from sipbench.cli.commands.import_ import import_command
from sipbench.cli.commands.plan import plan
from sipbench.cli.commands.run import run_command
from sipbench.cli.commands.screen import screen
from sipbench.cli.commands.show import show
from sipbench.cli.commands.splits import app as splits
from sipbench.cli.commands.summarize import summarize
from sipbench.cli.commands.validate import validate
from sipbench.cli.main import run

app = typer.Typer(
    name="sip",
    help="Measure what an agent gained (FG), kept (BR) and paid (IE) when it learned.",
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
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    from sipbench.logs import configure

    configure(verbose=verbose, quiet=quiet)


app.command("clean")(clean)
app.command("demo")(demo)
app.command("import")(import_command)
app.command("plan")(plan)
app.command("run")(run_command)
app.command("screen")(screen)
app.command("show")(show)
app.add_typer(splits, name="splits")
app.command("summarize")(summarize)
app.command("validate")(validate)


def main() -> None:
    """Entry point of the command."""
    sys.exit(run(app, "sip"))

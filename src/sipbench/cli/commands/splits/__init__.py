"""``sip splits build|check|show|flag``: one module each."""

from __future__ import annotations

import typer

from sipbench.cli.commands.splits.build import build
from sipbench.cli.commands.splits.check import check
from sipbench.cli.commands.splits.flag import flag
from sipbench.cli.commands.splits.show import show

__all__ = ["app"]

app = typer.Typer(
    help="Make, check and show splits: which task serves for what.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("build")(build)
app.command("check")(check)
app.command("show")(show)
app.command("flag")(flag)

"""``asb skills check|pin|verify|gate|pack|catalogue|find``: one module each."""

from __future__ import annotations

import typer

from sipbench.cli.asb_commands.skills.check import check

__all__ = ["app"]

app = typer.Typer(
    help="Check, pin, verify, release, pack and find skills.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("check")(check)

"""``sip splits build|check|show|flag``: one module each."""

from __future__ import annotations

from sipbench.cli.commands.splits.build import build
from sipbench.cli.commands.splits.check import check
from sipbench.cli.commands.splits.flag import flag
from sipbench.cli.commands.splits.show import show
from sipbench.cli.main import make_group

__all__ = ["app"]

app = make_group("Make, check and show splits: which task serves for what.")
app.command("build")(build)
app.command("check")(check)
app.command("show")(show)
app.command("flag")(flag)

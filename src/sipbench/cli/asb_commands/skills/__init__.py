"""``asb skills check|pin|verify|gate|pack|catalogue|find``: one module each."""

from __future__ import annotations

from sipbench.cli.asb_commands.skills.check import check
from sipbench.cli.asb_commands.skills.find import catalogue, find
from sipbench.cli.asb_commands.skills.gate import gate
from sipbench.cli.asb_commands.skills.pack import pack
from sipbench.cli.asb_commands.skills.pin import pin
from sipbench.cli.asb_commands.skills.verify import verify
from sipbench.cli.main import make_group

__all__ = ["app"]

app = make_group("Check, pin, verify, release, pack and find skills.")
app.command("check")(check)
app.command("pin")(pin)
app.command("verify")(verify)
app.command("gate")(gate)
app.command("pack")(pack)
app.command("catalogue")(catalogue)
app.command("find")(find)

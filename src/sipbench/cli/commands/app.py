"""The app of ``sip``: its commands by name."""

from __future__ import annotations

from sipbench.cli.commands.clean import clean
from sipbench.cli.commands.demo import demo
from sipbench.cli.commands.import_ import import_command
from sipbench.cli.commands.leaderboard import leaderboard
from sipbench.cli.commands.plan import plan
from sipbench.cli.commands.report import report
from sipbench.cli.commands.run import run_command
from sipbench.cli.commands.screen import screen
from sipbench.cli.commands.show import show
from sipbench.cli.commands.skill_report import skill_report
from sipbench.cli.commands.splits import app as splits
from sipbench.cli.commands.summarize import summarize
from sipbench.cli.commands.validate import validate
from sipbench.cli.commands.view import view
from sipbench.cli.main import make_app

__all__ = ["app"]

app = make_app("sip", "Measure what an agent gained (FG), kept (BR) and paid (IE) when it learned.")


app.command("clean")(clean)
app.command("demo")(demo)
app.command("import")(import_command)
app.command("leaderboard")(leaderboard)
app.command("plan")(plan)
app.command("report")(report)
app.command("run")(run_command)
app.command("screen")(screen)
app.command("show")(show)
app.command("skill-report")(skill_report)
app.add_typer(splits, name="splits")
app.command("summarize")(summarize)
app.command("validate")(validate)
app.command("view")(view)

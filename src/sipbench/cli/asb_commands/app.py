"""The app of ``asb``: its commands by name."""

from __future__ import annotations

from sipbench.cli.asb_commands.draft_eval import draft_eval
from sipbench.cli.asb_commands.export_skills import export_skills
from sipbench.cli.asb_commands.export_workflow import export_workflow
from sipbench.cli.asb_commands.judge_trials import judge_trials
from sipbench.cli.asb_commands.leaks import leaks
from sipbench.cli.asb_commands.run_eval import run_eval
from sipbench.cli.asb_commands.serve_skills import serve_skills
from sipbench.cli.asb_commands.show import show
from sipbench.cli.asb_commands.skills import app as skills
from sipbench.cli.asb_commands.validate import validate
from sipbench.cli.main import make_app

__all__ = ["app"]

app = make_app(
    "asb",
    "Turn paper-grounded cards and skills into tasks that can be trusted and skills that can be loaded.",
)


app.command()(validate)
app.command()(show)
app.command()(draft_eval)
app.command()(run_eval)
app.command()(leaks)
app.command()(export_workflow)
app.command()(judge_trials)
app.command()(export_skills)
app.command()(serve_skills)
app.add_typer(skills, name="skills")

"""``sip skill-report``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.stats.skill_effects import SkillEffect


def skill_report(
    study: Annotated[Path, typer.Argument(metavar="DIR", help="A study directory.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print, per skill, how often it was offered and opened, and the tasks that went better or worse with it.

    These are associations: which skill is opened is the agent's own choice.
    """
    from sipbench.cli.output import print_json
    from sipbench.errors import RecordError
    from sipbench.protocol.folder import RUNS
    from sipbench.protocol.jsonl import read_records
    from sipbench.stats.skill_effects import skill_effects

    path = study / RUNS
    if not path.is_file():
        raise RecordError(f"{study}: no {RUNS} in it; name a study directory")
    effects = skill_effects(read_records(path))
    if as_json:
        print_json([_document(effect) for effect in effects])
        return
    if not effects:
        typer.echo("no attempt of this study says which skills it was given")
        return
    _print(effects)


def _document(effect: SkillEffect) -> dict[str, object]:
    names = ("benchmark_name", "benchmark_version", "arm", "model_name", "agent_name")
    return dict(zip(names, effect.arm, strict=True)) | {
        key: value for key, value in asdict(effect).items() if key != "arm"
    }


def _print(effects: list[SkillEffect]) -> None:
    from rich.table import Table

    from sipbench.cli.output import console, printable

    # At 80 columns the names of skills and the interval take two lines; nothing is cut.
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    table.add_column("arm", overflow="fold")
    table.add_column("skill", overflow="fold")
    for name in ("offered", "opened", "tasks", "gained", "lost", "change", "shrunk"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right")
    for effect in effects:
        interval = (
            "-" if effect.low is None or effect.high is None else f"[{effect.low:+.3f}, {effect.high:+.3f}]"
        )
        opened = "unknown" if effect.opened is None else str(effect.opened)
        counts = (effect.given, opened, effect.tasks, effect.gained, effect.lost)
        table.add_row(
            printable(effect.arm[2]),
            printable(effect.name),
            *map(str, counts),
            _number(effect.change),
            _number(effect.shrunken),
            interval,
        )
    console().print(table)
    typer.echo("Associations: which skill is opened is the agent's own choice. A dash: not known.")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"

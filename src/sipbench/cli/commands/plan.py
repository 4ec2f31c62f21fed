"""``sip plan``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sipbench.cli.options import Sandbox, SandboxBase, chosen

if TYPE_CHECKING:
    from sipbench.study.design import Design


def plan(
    study: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study file.", show_default=False)],
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="RULE", help="Accept a broken split rule; it stays as a mark."),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="RUNS", help="Attempts made before: measures their noise, cost and duration."),
    ] = None,
    cost_per_attempt: Annotated[
        float | None, typer.Option(min=0, help="What an attempt costs, in the study's cost unit.")
    ] = None,
    seconds_per_attempt: Annotated[
        float | None, typer.Option(min=0, help="How long an attempt takes.")
    ] = None,
    sandbox: Sandbox = None,
    sandbox_base: SandboxBase = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show what a study would run and what it could show: attempts, splits, detectable effects.

    Runs nothing.

    Exits with 2 if a split rule is broken that is not allowed.
    """
    from sipbench.cli.output import print_json, printable
    from sipbench.study.consent import questions
    from sipbench.study.design import resolve
    from sipbench.study.forecast import planned_forecast, prices_for
    from sipbench.study.load import load_study
    from sipbench.study.machine import with_options

    loaded = with_options(load_study(study, overrides={"allow": allow}), chosen(sandbox, sandbox_base))
    design = resolve(loaded)
    prices = prices_for(design, pilot=pilot, cost=cost_per_attempt, seconds=seconds_per_attempt)
    forecast = planned_forecast(design, prices)
    asked = list(questions(forecast))
    if as_json:
        from sipbench.report.planning import outlook_document

        print_json({**_document(design), "outlook": outlook_document(forecast.outlook), "asks": asked})
    else:
        from sipbench.report.planning import outlook_lines

        _print(design)
        lines = list(outlook_lines(forecast.outlook, design.config.analysis))
        for line in lines:
            typer.echo(line)
        for question in asked:
            said = "that it may miss its effect" if question in lines else question
            typer.echo(printable(f"`sip run` asks first: {said}"))
    design.accepted()


def _document(design: Design) -> dict[str, Any]:
    config, manifest = design.config, design.manifest
    return {
        "study": config.name,
        "benchmark": {"name": design.benchmark.name, "version": design.benchmark.version},
        "repeats": config.repeats,
        "phases": list(config.phases),
        "attempts": len(design.plan.slots),
        "adaptations": len(design.plan.steps),
        "cells": [cell.model_dump(mode="json") for cell in design.plan.cells()],
        "splits": manifest.model_dump(mode="json"),
        "violations": [
            {"rule": found.rule, "message": found.message, "tasks": list(found.tasks)}
            for found in design.violations
        ],
        "allowed": list(config.allow),
        "order": design.order.document(),
        "t2_delay": config.t2.delay,
        "sources": dict(design.loaded.sources),
    }


def _print(design: Design) -> None:
    from sipbench.cli.output import console, counted

    config, manifest, plan = design.config, design.manifest, design.plan
    screen = console()
    screen.print(
        f"{config.name}: {counted(len(plan.slots), 'attempt')} and "
        f"{counted(len(plan.steps), 'adaptation')} on {design.benchmark.name} "
        f"{design.benchmark.version}, {counted(config.repeats, 'repeat')}, {' → '.join(config.phases)}",
        soft_wrap=True,
    )
    screen.print(_attempts(design))
    pools = {name: getattr(manifest, name) for name in ("heldout", "replay", "adapt", "adapt_t2", "drift")}
    tasks = ", ".join(f"{len(pool)} {name}" for name, pool in pools.items() if pool)
    screen.print(f"Tasks: {tasks}", soft_wrap=True)
    families = {task.family for _, task in manifest.entries()} - {None}
    screen.print(f"Families: {len(families) or 'none, each task is its own'}")
    selection = manifest.replay_selection
    if selection is not None:
        screen.print(f"Replay: {selection.method}")
    for found in design.violations:
        allowed = "allowed" if found.rule in config.allow else "broken"
        screen.print(f"Rule {found.rule}: {allowed}: {found}", soft_wrap=True)
    if not design.violations:
        screen.print("Split rules: all kept")
    screen.print(f"Order: {design.order.words()}", soft_wrap=True)
    delay = config.t2.waits
    if delay is not None and design.benchmark.recorded:
        screen.print("T2: recorded attempts have their own times; nothing is waited for")
    elif delay is not None:
        screen.print(
            f"T2: {delay.words()}; `sip run` ends before it, says when, and goes on then",
            soft_wrap=True,
        )


def _attempts(design: Design) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="", padding=(0, 3, 0, 0))
    table.add_column("phase")
    table.add_column("split")
    for arm in design.arms.values():
        table.add_column(f"{arm.name}\n{arm.path_type}", justify="right", overflow="fold")
    cells = design.plan.cells()
    counts = {(cell.arm, cell.phase, cell.split): cell.attempts for cell in cells}
    # Within a phase in the order in which it runs: what is learned from comes first.
    places = list(dict.fromkeys((cell.phase, cell.split) for cell in cells))
    for phase, split in sorted(places, key=lambda place: (place[0], place[1] != "adapt")):
        row = [str(counts.get((name, phase, split), "-")) for name in design.arms]
        table.add_row(phase, split, *row)
    return table

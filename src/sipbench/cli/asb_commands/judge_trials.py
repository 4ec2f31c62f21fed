"""``asb judge-trials``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sipbench.cli.options import SandboxBase

if TYPE_CHECKING:
    from sipbench.export.harbor.trials.run import Choice
    from sipbench.export.harbor.trials.verdicts import TaskVerdict


def judge_trials(
    tasks: Annotated[
        Path, typer.Argument(metavar="TASKS", help="A Harbor task, a folder of them, or an export.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Where trials are kept; default: TASKS-trials."),
    ] = None,
    repeats: Annotated[int, typer.Option("-k", min=1, max=100, help="Trials of the oracle and of nop.")] = 3,
    trick: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this trick; may be repeated.")
    ] = None,
    sandbox: Annotated[
        str, typer.Option(metavar="NAME", help="bwrap, docker, or another environment of Harbor's.")
    ] = "bwrap",
    sandbox_base: SandboxBase = None,
    at_once: Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Trials at a time.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Try each task: the oracle has to earn 1, doing nothing and every cheat 0, each time.

    Trials that were run are not run again until the task changes. Exits with 1 if any task fails.
    """
    from sipbench.cli.output import print_json, write_text
    from sipbench.export.harbor.trials.run import Choice, planned, run_trials, task_folders
    from sipbench.export.harbor.trials.verdicts import read_trial, verdicts

    choice = Choice(repeats, _tricks(trick or []), sandbox, at_once, sandbox_base)
    place = out or tasks.absolute().with_name(f"{tasks.absolute().name}-trials")
    trials = planned(task_folders(tasks), place, choice)
    run_trials(trials, choice, _progress(len(trials)))
    judged = verdicts([read_trial(trial) for trial in trials])
    document = _document(judged, choice)
    place.mkdir(parents=True, exist_ok=True)
    write_text(place / "judge.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    if as_json:
        print_json(document)
    else:
        _print(judged, place)
    if not all(verdict.holds for verdict in judged):
        raise typer.Exit(1)


def _progress(total: int) -> Callable[[object], None]:
    """Counts on stderr, where somebody watches."""
    ended = 0

    def count(_trial: object) -> None:
        nonlocal ended
        ended += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{ended} of {total} trials" + ("\n" if ended == total else ""))
            sys.stderr.flush()

    return count


def _tricks(chosen: list[str]) -> tuple[str, ...]:
    from sipbench.errors import ConfigError
    from sipbench.export.harbor.trials.tricks import TRICKS
    from sipbench.plugins import suggestion

    for name in chosen:
        if name not in TRICKS:
            raise ConfigError(
                f"--trick {name}: unknown{suggestion(name, list(TRICKS))}; known: {', '.join(TRICKS)}"
            )
    return tuple(chosen) or tuple(TRICKS)


def _document(judged: list[TaskVerdict], choice: Choice) -> dict[str, object]:
    return {
        "sandbox": choice.sandbox,
        "sandbox_base": None if choice.base is None else str(choice.base.absolute()),
        "repeats": choice.repeats,
        "tasks": [
            {
                "task": verdict.task.name,
                "holds": verdict.holds,
                "rewards": verdict.rewards,
                "failures": verdict.failures,
            }
            for verdict in judged
        ],
    }


def _print(judged: list[TaskVerdict], place: Path) -> None:
    from sipbench.cli.output import printable

    width = max(len(verdict.task.name) for verdict in judged)
    typer.echo(f"{'':{width}}  oracle   nop      cheats")
    for verdict in judged:
        cells = {kind: _cell(rewards) for kind, rewards in verdict.rewards.items()}
        cheats = [rewards for kind, rewards in verdict.rewards.items() if kind not in ("oracle", "nop")]
        zero = sum(rewards == [0.0] for rewards in cheats)
        row = (
            f"{verdict.task.name:{width}}  {cells['oracle']:8} {cells['nop']:8} {zero} of {len(cheats)} at 0"
        )
        typer.echo(printable(row + ("" if verdict.holds else "  FAILS")))
        for failure in verdict.failures:
            typer.echo(printable(f"  {failure}"))
    held = sum(verdict.holds for verdict in judged)
    typer.echo(printable(f"{held} of {len(judged)} tasks hold; the trials are in {place}"))


def _cell(rewards: list[float | None]) -> str:
    return ",".join("-" if reward is None else f"{reward:g}" for reward in rewards)

"""``sip import``: finished attempts of others, as run records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sipbench.errors import ConfigError

__all__ = ["import_command"]


def import_command(
    kind: Annotated[
        str, typer.Argument(help="What the files are: harbor, runs, sip-v0, tau, tau2, …", metavar="KIND")
    ],
    paths: Annotated[list[Path], typer.Argument(help="The files.", metavar="PATH...")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the records go.", metavar="FILE")],
    append: Annotated[bool, typer.Option("--append", help="Add to the file if it exists.")] = False,
    phase: Annotated[
        str | None,
        typer.Option(help="T0, T1 or T2. Selects attempts where the file states it; else default T0."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="heldout, replay, adapt, drift. Selects likewise; else default heldout."),
    ] = None,
    arm: Annotated[
        str | None, typer.Option(help="The arm. Replaces what the file states; else default 'imported'.")
    ] = None,
    path_type: Annotated[
        str | None, typer.Option(help="frozen (the default), external, parameter or oracle.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model, where the file does not say.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent, where the file does not say.")] = None,
    agent_version: Annotated[str | None, typer.Option(help="Its version, likewise.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the repeat, likewise.")] = None,
    repeat: Annotated[int | None, typer.Option(help="The repeat the attempts belong to; default 0.")] = None,
    first_attempt: Annotated[
        int | None, typer.Option(help="Index of the first attempt per task: for a second file of trials.")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="tau: airline or retail; default: as the file says.")
    ] = None,
    task_split: Annotated[
        str | None, typer.Option(help="tau: split the tasks are from; default test.")
    ] = None,
    trials: Annotated[
        str | None, typer.Option(help="tau, tau2: trials to read, as 0,1; default all.")
    ] = None,
    trials_as: Annotated[
        str | None, typer.Option(help="tau, tau2: what a trial becomes: attempts (default) or repeats.")
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another option of the kind, as NAME=VALUE; may be repeated."),
    ] = None,
) -> None:
    """Turn finished attempts of others into run records."""
    from sipbench.importers.job import make_importer, read_files, write_records

    own = {"domain": domain, "task_split": task_split, "trials": trials, "trials_as": trials_as}
    given = {name: value for name, value in own.items() if value is not None}
    importer = make_importer(kind, {**given, **dict(_assignment(text) for text in options or [])})
    place = {
        "phase": phase,
        "split": split,
        "arm": arm,
        "path_type": path_type,
        "model": model,
        "agent": agent,
        "agent_version": agent_version,
        "seed": seed,
        "repeat": repeat,
        "first_attempt": first_attempt,
    }
    defaults = {} if importer.states_place else {"phase": "T0", "split": "heldout", "arm": "imported"}
    open_ = {name: value for name, value in defaults.items() if place[name] is None}
    binding = _binding({**place, **open_})
    counts = write_records((item.record for item in read_files(importer, paths, binding)), out, append=append)
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    typer.echo(f"{counts.total()} records in {out}: {said}")
    if open_:
        taken = ", ".join(f"{name} {value}" for name, value in open_.items())
        typer.echo(f"taken for granted: {taken}; name another with --{', --'.join(open_)}")


def _assignment(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ConfigError(f"--set {text}: expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _binding(place: dict[str, Any]) -> Any:
    from pydantic import ValidationError

    from sipbench.importers.base import Binding

    try:
        return Binding.model_validate(place)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise ConfigError(f"--{option}: {first['msg']}, found {first['input']!r}") from None

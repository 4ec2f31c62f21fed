"""``sip splits check``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sipbench.cli.commands.splits.options import (
    Json,
    Keep,
    Measure,
    Option,
    Runs,
    Shingle,
    Splits,
    Tasks,
    Threshold,
    records,
    settings,
)

if TYPE_CHECKING:
    from sipbench.splits.base import TaskLike
    from sipbench.splits.check import Checked


def check(
    splits: Splits,
    tasks: Tasks = None,
    keep_together: Keep = None,
    shingle: Shingle = 5,
    threshold: Threshold = 0.5,
    measure: Measure = "jaccard",
    runs: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUNS", help="Attempts that are scored: runs.jsonl or a study directory."),
    ] = None,
    screen: Runs = None,
    diffs: Annotated[int, typer.Option(min=0, max=1000, help="Differences of so many pairs are shown.")] = 5,
    option: Option = None,
    as_json: Json = False,
) -> None:
    """Hold splits against the protocol's rules, and with --tasks against their texts.

    Exits with 1 if anything is wrong.

    With --runs: was everything fixed before the first attempt? With --screen as well: are the attempts
    that chose replay tasks never scored?
    """
    from sipbench.cli.output import print_json
    from sipbench.cli.task_sources import task_source
    from sipbench.splits.check import check_splits
    from sipbench.splits.files import read_manifest

    manifest = read_manifest(splits)
    found = task_source(tasks, option or ()) if tasks is not None else None
    checked = check_splits(
        manifest,
        tasks=found.tasks if found else None,
        settings=settings(shingle, threshold, measure),
        keep_together=keep_together,
        scored=records(runs),
        screened=records(screen),
    )
    if as_json:
        print_json({"file": str(splits), **_document(checked, found.tasks if found else (), diffs)})
    else:
        _print(splits, checked, found.tasks if found else (), diffs)
    if not checked.good:
        raise typer.Exit(1)


def _document(checked: Checked, tasks: Sequence[TaskLike], diffs: int) -> dict[str, Any]:
    texts = _texts(tasks)
    return {
        "good": checked.good,
        "violations": [
            {"rule": found.rule, "message": found.message, "tasks": list(found.tasks)}
            for found in checked.violations
        ],
        "problems": list(checked.problems),
        "pairs": [
            {
                "first": pair.first,
                "second": pair.second,
                "kind": pair.kind,
                "similarity": pair.similarity,
                "diff": _diff(texts, pair.first, pair.second) if number < diffs else None,
            }
            for number, pair in enumerate(checked.pairs)
        ],
        "near_duplicates": checked.duplicates.summary() if checked.duplicates else None,
        "notes": list(checked.notes),
    }


def _print(path: Path, checked: Checked, tasks: Sequence[TaskLike], diffs: int) -> None:
    from sipbench.cli.output import printable

    for found in checked.violations:
        typer.echo(printable(f"{found.rule}: {found}"))
    for problem in checked.problems:
        typer.echo(printable(problem))
    texts = _texts(tasks)
    for pair in checked.pairs[:diffs]:
        typer.echo(printable(f"  {pair.first} ~ {pair.second}: {pair.kind}, {pair.similarity:.3f}"))
        typer.echo(printable(f"    {_diff(texts, pair.first, pair.second)}"))
    if len(checked.pairs) > diffs:
        typer.echo(f"  and {len(checked.pairs) - diffs} more pairs: --diffs, --json")
    for note in checked.notes:
        typer.echo(printable(f"Note: {note}"))
    count = len(checked.violations) + len(checked.problems)
    noun = "finding" if count == 1 else "findings"
    typer.echo(printable(f"{path}: {'all rules kept' if checked.good else f'{count} {noun}'}"))


def _texts(tasks: Sequence[TaskLike]) -> dict[str, str]:
    return {task.id: task.text or "" for task in tasks}


def _diff(texts: dict[str, str], first: str, second: str) -> str:
    from sipbench.splits.diff import word_diff

    return word_diff(texts.get(first, ""), texts.get(second, ""))

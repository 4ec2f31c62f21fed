"""``sip screen``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sipbench.cli.asking import Asking, Yes
from sipbench.cli.main import INTERRUPTED
from sipbench.cli.options import Sandbox, SandboxBase, chosen

if TYPE_CHECKING:
    from sipbench.protocol.records import RunRecord
    from sipbench.study.api import StudyResult


def screen(
    study: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study file.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Directory; default: beside the file, NAME-screen."),
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, max=1000, help="Attempts per task.")] = 3,
    arm: Annotated[
        str | None, typer.Option(metavar="ARM", help="Whose agent screens; default: every frozen arm's.")
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only these tasks, one id a line.")
    ] = None,
    exclude: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Leave out the tasks of this exclusion list.")
    ] = None,
    sandbox: Sandbox = None,
    sandbox_base: SandboxBase = None,
    yes: Yes = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Attempt tasks at T0 before a study, to choose replay tasks by attempts that are never scored.

    Runs the frozen arms, and the oracle if the study has one, with a seed of their own. The same command
    goes on with what is missing. `sip splits build --replay screened --screen DIR` uses what came out.
    """
    from sipbench.cli.output import print_json
    from sipbench.cli.task_sources import ids_in
    from sipbench.splits.exclusions import read_exclusions
    from sipbench.study.api import execute_design
    from sipbench.study.directory import StudyDirectory
    from sipbench.study.load import load_study
    from sipbench.study.machine import with_options
    from sipbench.study.progress import progress_for
    from sipbench.study.screen import screening_design, screening_name
    from sipbench.study.session import declared_at

    loaded = with_options(load_study(study), chosen(sandbox, sandbox_base))
    folder = out if out is not None else loaded.base / screening_name(loaded.config.name)
    directory = StudyDirectory(folder)
    design = screening_design(
        loaded,
        attempts=attempts,
        arm=arm,
        candidates=ids_in(candidates) if candidates else None,
        excluded=[item.id for item in read_exclusions(exclude).tasks] if exclude else (),
        declared_at=declared_at(directory),
    )
    result = execute_design(design, directory, consent=Asking(yes), progress=progress_for())
    document = _document(result, attempts)
    if as_json:
        print_json(document)
    else:
        _print(document, study)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if result.missing:
        raise typer.Exit(1)


def _document(result: StudyResult, attempts: int) -> dict[str, Any]:
    from sipbench.protocol.folder import RUNS
    from sipbench.protocol.jsonl import read_records
    from sipbench.splits.screening import flag_tasks

    runs = result.folder / RUNS
    records = list(read_records(runs)) if runs.exists() else []
    flags = flag_tasks(records)
    return {
        "folder": str(result.folder),
        "planned": result.planned,
        "missing": result.missing,
        "problems": list(result.problems),
        "attempts_per_task": attempts,
        "solved": _solved(records, attempts),
        "passes_noop": flags.passes_noop,
        "oracle_fails": flags.oracle_fails,
        "oracle_unknown": list(flags.oracle_unknown),
    }


def _solved(records: list[RunRecord], attempts: int) -> dict[str, dict[str, int]]:
    """For each arm, how many tasks meet each rule."""
    from sipbench.protocol.vocabulary import PathType
    from sipbench.splits.screening import ScreenRule
    from sipbench.splits.screening import screen as judged

    arms = dict.fromkeys(record.arm for record in records if record.path_type is not PathType.ORACLE)
    rules = [ScreenRule(least, attempts) for least in range(1, attempts + 1)]
    return {arm: {str(rule): len(judged(records, rule, arm=arm).eligible) for rule in rules} for arm in arms}


def _print(document: dict[str, Any], study: Path) -> None:
    from sipbench.cli.output import printable

    for arm, rules in document["solved"].items():
        for rule, tasks in rules.items():
            typer.echo(f"{arm}: {tasks} tasks {rule}")
    for what, flagged in (
        ("pass when nothing is done", document["passes_noop"]),
        ("fail the oracle", document["oracle_fails"]),
    ):
        if flagged:
            typer.echo(printable(f"{len(flagged)} tasks {what}: {', '.join(list(flagged)[:5])}"))
    for problem in document["problems"]:
        typer.echo(printable(problem), err=True)
    folder, least = document["folder"], max(document["attempts_per_task"] - 1, 1)
    typer.echo(
        printable(
            f"Next: sip splits build {study} --replay screened --screen {folder} "
            f"--rule {least}/{document['attempts_per_task']} -o splits.json"
        ),
        err=True,
    )

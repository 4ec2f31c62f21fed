"""``sip run``."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sipbench.cli.asking import Asking, Yes
from sipbench.cli.main import INTERRUPTED
from sipbench.cli.options import Sandbox, SandboxBase, chosen

if TYPE_CHECKING:
    from sipbench.study.api import StudyResult

__all__ = ["carry_out", "run_command"]


def run_command(
    context: typer.Context,
    study: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The study file.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Study directory; default: beside the file, by its name."),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", metavar="N", help="Attempts at the same time.")
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(
            "--retries", metavar="N", help="Further tries after a verifier or infrastructure error."
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="RULE", help="Accept a broken split rule; it stays as a mark."),
    ] = None,
    sandbox: Sandbox = None,
    sandbox_base: SandboxBase = None,
    yes: Yes = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run a study, or what is left of it, and print the comparison table.

    Says what it will take, and asks before it spends more than the study file lets pass.

    Where T2 has a delay, it says when T2 is due and ends; the same command goes on then. It never waits.

    Exits with 0 when all is done, 1 when attempts are missing or T2 is not due, 130 when interrupted.
    """
    settings = {
        "concurrency": concurrency,
        "retries": retries,
        "allow": allow or (),
        "options": chosen(sandbox, sandbox_base),
    }
    carry_out(context, study, out, as_json=as_json, yes=yes, **settings)


def carry_out(
    context: typer.Context,
    study: Path,
    out: Path | None,
    *,
    as_json: bool,
    yes: bool = False,
    **settings: Any,
) -> None:
    """Run a study and print what came out; leaves with the command's status."""
    from sipbench.cli.output import console, print_json
    from sipbench.report.tables import print_summary
    from sipbench.study.api import execute
    from sipbench.study.progress import progress_for

    quiet = context.parent is not None and bool(context.parent.params.get("quiet"))
    consent, progress = Asking(yes, quiet), progress_for(quiet=quiet)
    result = execute(study, out, consent=consent, progress=progress, **settings)
    # How it ended is the status also where nobody reads what came out (`sip run ... | head`).
    with suppress(BrokenPipeError):
        if as_json:
            print_json(_document(result))
        elif result.summary is not None:
            print_summary(result.summary, console())
        sys.stdout.flush()
    if not as_json:
        with suppress(OSError):
            _say(result, quiet=quiet)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if result.missing:
        raise typer.Exit(1)


def _say(result: StudyResult, *, quiet: bool) -> None:
    from sipbench.cli.output import printable

    for problem in result.problems:
        sys.stderr.write(f"{printable(problem)}\n")
    missing = result.missing - result.waiting
    if missing:
        sys.stderr.write(f"{missing} of {result.planned} attempts are missing; {_what_next(result)}\n")
    if not quiet:
        sys.stderr.write(f"Study: {result.folder}\n")


def _what_next(result: StudyResult) -> str:
    if not result.settled:
        return "the same command goes on with them"
    why = "they are not tried again (no retries are wanted, or an adaptation learned from them)"
    if result.settled == result.missing - result.waiting:
        return why
    return f"{result.settled} stay so: {why}; the same command goes on with the others"


def _document(result: StudyResult) -> dict[str, Any]:
    return {
        "folder": str(result.folder),
        "planned": result.planned,
        "recorded": result.recorded,
        "missing": result.missing,
        "problems": list(result.problems),
        "stopped": result.stopped,
        "interrupted": result.interrupted,
        "due_at": result.due_at,
        "waiting": result.waiting,
        "summary": None if result.summary is None else result.summary.document(),
    }

"""``sip splits flag``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sipbench.cli.commands.splits.options import Json, Option, Tasks, records


def flag(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS...", help="Attempts of a do-nothing agent and of the oracle.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--out", "--output", "-o", metavar="FILE", help="Write a draft exclusion list."),
    ] = None,
    noop: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="An arm or agent that does nothing.")
    ] = None,
    tasks: Tasks = None,
    option: Option = None,
    as_json: Json = False,
) -> None:
    """Name the tasks that a do-nothing agent passes, and those that the oracle fails.

    The draft is to be read by a person, and fixed before the first T0 attempt. With --tasks it holds the
    digest of each task, so that it does not exclude what the task becomes later.
    """
    from sipbench.cli.output import print_json, printable, write_text
    from sipbench.cli.task_sources import task_source
    from sipbench.errors import RecordError
    from sipbench.protocol.records import timestamp
    from sipbench.splits.exclusions import draft_exclusions
    from sipbench.splits.screening import NOOP_NAMES, flag_tasks

    found = records(runs)
    benchmarks = sorted({record.benchmark_name for record in found})
    if len(benchmarks) != 1:
        what = f"attempts at several benchmarks ({', '.join(benchmarks)})" if benchmarks else "no attempts"
        raise RecordError(f"{runs[0]}: {what}; expected those of one benchmark")
    flags = flag_tasks(found, noop or NOOP_NAMES)
    if not flags.noop_tasks and not flags.oracle_tasks:
        raise RecordError(
            f"{runs[0]}: neither a do-nothing agent nor an oracle attempted anything; "
            "name the former with --noop"
        )
    if output is not None:
        known = {task.id: task.digest for task in task_source(tasks, option or ()).tasks} if tasks else {}
        versions = {record.benchmark_version for record in found}
        drafted = draft_exclusions(
            flags,
            benchmark_name=benchmarks[0],
            benchmark_version=versions.pop() if len(versions) == 1 else None,
            source=", ".join(path.name for path in runs),
            fixed_at=timestamp(),
            digests=known,
        )
        write_text(output, drafted.model_dump_json(indent=2, exclude_none=True) + "\n")
    if as_json:
        print_json(
            {
                "benchmark": benchmarks[0],
                "passes_noop": flags.passes_noop,
                "oracle_fails": flags.oracle_fails,
                "oracle_unknown": list(flags.oracle_unknown),
                "noop_tasks": flags.noop_tasks,
                "oracle_tasks": flags.oracle_tasks,
            }
        )
        return
    for what, times in (
        ("a do-nothing agent passes", flags.passes_noop),
        ("the oracle fails", flags.oracle_fails),
    ):
        for task, count in times.items():
            typer.echo(printable(f"{task}: {what} (passed {count})"))
    if flags.oracle_unknown:
        typer.echo(f"{len(flags.oracle_unknown)} tasks have no outcome of the oracle")
    passed = f"{len(flags.passes_noop)} of {flags.noop_tasks} tasks pass when nothing is done"
    failed = f"{len(flags.oracle_fails)} of {flags.oracle_tasks} fail the oracle"
    typer.echo(
        f"{passed if flags.noop_tasks else 'no attempt of a do-nothing agent (--noop names one)'}, "
        f"{failed if flags.oracle_tasks else 'no attempt of an oracle'}"
    )

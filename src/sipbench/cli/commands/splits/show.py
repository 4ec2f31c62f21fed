"""``sip splits show``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sipbench.cli.commands.splits.options import Json, Option, Splits, Tasks

if TYPE_CHECKING:
    from rich.table import Table

    from sipbench.protocol.manifest import SplitManifest
    from sipbench.splits.base import TaskLike

_FAMILIES = 20


def show(
    splits: Splits,
    tasks: Tasks = None,
    by: Annotated[
        str | None, typer.Option(metavar="KEY", help="Count by this metadata key of the --tasks too.")
    ] = None,
    option: Option = None,
    as_json: Json = False,
) -> None:
    """Print how many tasks of which families are in which split, and how they were chosen."""
    from sipbench.cli.output import print_json
    from sipbench.cli.task_sources import task_source
    from sipbench.errors import ConfigError
    from sipbench.splits.files import read_manifest

    manifest = read_manifest(splits)
    if by is not None and tasks is None:
        raise ConfigError("--by needs the tasks, which have the metadata: --tasks SOURCE")
    found = task_source(tasks, option or ()).tasks if tasks is not None else ()
    if as_json:
        print_json(_document(manifest, found, by))
    else:
        print_splits(manifest, found, by)


def _document(manifest: SplitManifest, tasks: Sequence[TaskLike], by: str | None) -> dict[str, Any]:
    from sipbench.splits.tally import families, notes, tally

    chosen = manifest.replay_selection
    return {
        "benchmark": {"name": manifest.benchmark_name, "version": manifest.benchmark_version},
        "seed": manifest.seed,
        "splits": [
            {"split": row.pool, "tasks": row.tasks, "families": row.families, "largest_family": row.largest}
            | ({"by": dict(row.strata)} if by else {})
            for row in tally(manifest, tasks, by)
        ],
        "families": {name: dict(counts) for name, counts in families(manifest)},
        "replay_selection": chosen.model_dump(mode="json") if chosen else None,
        "selection": manifest.selection,
        "notes": notes(manifest),
    }


def print_splits(manifest: SplitManifest, tasks: Sequence[TaskLike] = (), by: str | None = None) -> None:
    """Print the tables of a manifest."""
    from sipbench.cli.output import console, printable
    from sipbench.splits.tally import families, notes, pools, tally

    out = console()
    version = f" {manifest.benchmark_version}" if manifest.benchmark_version else ""
    out.print(printable(f"Splits of {manifest.benchmark_name}{version}, seed {manifest.seed}"))
    rows = tally(manifest, tasks, by)
    levels = sorted({level for row in rows for level in row.strata})
    table = _table("split", "tasks", "families", "largest", *levels)
    for row in rows:
        counts = (row.tasks, row.families, row.largest, *(row.strata.get(level, 0) for level in levels))
        table.add_row(row.pool, *map(str, counts))
    out.print(table)
    if named := families(manifest):
        names = [name for name, _ in pools(manifest)]
        table = _table("family", *names)
        shown = [(family, of) for family, of in named[:_FAMILIES] if of.total() > 1]
        for family, of in shown:
            table.add_row(printable(family), *(str(of.get(pool, "-")) for pool in names))
        if shown:
            out.print(table)
        alone = sum(of.total() == 1 for _, of in named)
        if more := len(named) - len(shown) - alone:
            out.print(f"and {more} more families: `sip splits show --json`")
        if alone:
            out.print(f"{alone} families of one task")
    if manifest.replay_selection is not None:
        fields = manifest.replay_selection.model_dump()
        method = fields.pop("method")
        how = ", ".join(f"{name} {value}" for name, value in fields.items())
        out.print(printable(f"Replay: {method} ({how})"))
    for note in notes(manifest):
        out.print(f"Note: {note}")


def _table(first: str, *headings: str) -> Table:
    from rich.table import Table

    from sipbench.cli.output import printable

    table = Table(box=None, pad_edge=False, header_style="", padding=(0, 3, 0, 0))
    table.add_column(first, overflow="fold")
    for heading in headings:
        table.add_column(printable(heading), justify="right")
    return table

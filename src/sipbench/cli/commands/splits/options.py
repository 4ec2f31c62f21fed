"""Options that several of the commands have, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sipbench.protocol.records import RunRecord
    from sipbench.splits.duplicates import DuplicateSettings

__all__ = [
    "Json",
    "Keep",
    "Measure",
    "Option",
    "Runs",
    "Shingle",
    "Splits",
    "Tasks",
    "Threshold",
    "records",
    "settings",
]

Splits = Annotated[Path, typer.Argument(metavar="SPLITS.json", help="A split manifest.", show_default=False)]
Tasks = Annotated[
    str | None,
    typer.Option(metavar="SOURCE", help="The tasks: a benchmark's name, a study file, or a list of tasks."),
]
Option = Annotated[
    list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="An option of the benchmark.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-together", metavar="KEY", help="Metadata key (user, repository) whose tasks stay on one side."
    ),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option("--screen", metavar="RUNS", help="Attempts of a screening run: runs.jsonl or its folder."),
]
Shingle = Annotated[int, typer.Option(min=1, max=100, help="Words in a row that are compared as one.")]
Threshold = Annotated[float, typer.Option(help="Similarity from which two texts are near-duplicates.")]
Measure = Annotated[str, typer.Option(help="jaccard, or containment: a text that quotes another one.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def settings(shingle: int, threshold: float, measure: str) -> DuplicateSettings:
    """Settings of a near-duplicate search.

    Raises:
        ConfigError: One of them makes no sense.
    """
    from pydantic import ValidationError

    from sipbench.errors import ConfigError
    from sipbench.splits.duplicates import DuplicateSettings

    try:
        return DuplicateSettings.model_validate(
            {"shingle": shingle, "threshold": threshold, "measure": measure}
        )
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        raise ConfigError(f"--{item['loc'][0]}: {item['msg']}") from None


def records(places: list[Path] | None) -> list[RunRecord]:
    """The records of files or study directories.

    Raises:
        RecordError: One cannot be read.
    """
    from sipbench.protocol.folder import RUNS
    from sipbench.protocol.jsonl import read_records

    return [
        record for place in places or () for record in read_records(place / RUNS if place.is_dir() else place)
    ]

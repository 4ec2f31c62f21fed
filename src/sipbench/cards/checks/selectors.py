"""Which numbers of a file a check is about."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from sipbench.cards.model import Model

__all__ = [
    "ByCell",
    "ByColumn",
    "ByImage",
    "ByLabel",
    "ByNumber",
    "ByPointer",
    "Container",
    "Filled",
    "Selector",
]

type Container = Literal["csv", "tsv", "json", "jsonl", "parquet", "xlsx"]
"""How a file holds a table; the suffix says it where a check does not."""
type Filled = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
type Pointer = Annotated[str, StringConstraints(pattern=r"^(/.*)?$", max_length=1_000)]


class ByNumber(Model):
    """The file holds one number and nothing else."""

    by: Literal["number"]


class ByLabel(Model):
    """The number that follows the first occurrence of a label, on its line."""

    by: Literal["after"]
    label: Filled


class ByPointer(Model):
    """The number at a JSON pointer (RFC 6901)."""

    by: Literal["pointer"]
    pointer: Pointer


class ByCell(Model):
    """The cell of one column in the one row that ``where`` (column: value) and ``row`` (from 0) leave."""

    by: Literal["cell"]
    column: Filled
    where: dict[str, str | int | float] = Field(default_factory=dict)
    row: int | None = Field(default=None, ge=0)
    container: Container | None = None


class ByColumn(Model):
    """Every cell of a column, or one number made of them."""

    by: Literal["column"]
    column: Filled
    take: Literal["all", "min", "max", "mean", "sum", "median"] = "all"
    container: Container | None = None


class ByImage(Model):
    """A side of an image, in pixels."""

    by: Literal["image"]
    take: Literal["width", "height"]


type Selector = Annotated[
    ByNumber | ByLabel | ByPointer | ByCell | ByColumn | ByImage, Field(discriminator="by")
]

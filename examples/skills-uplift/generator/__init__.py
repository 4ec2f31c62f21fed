"""Families of small tasks, and how they are written as a folder of Harbor tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from generator import files, innate, numbers, tables, texts
from generator.base import Made, write_task

__all__ = ["FAMILIES", "INNATE", "generate"]

FAMILIES: Mapping[str, tuple[str, Callable[[Random, int], Made]]] = {
    "checksum-manifest": ("files", files.checksum_manifest),
    "config-merge": ("files", files.config_merge),
    "csv-repair": ("tables", tables.csv_repair),
    "date-arithmetic": ("numbers", numbers.date_arithmetic),
    "json-transform": ("tables", tables.json_transform),
    "log-triage": ("texts", texts.log_triage),
    "path-globbing": ("texts", texts.path_globbing),
    "sqlite-query": ("tables", tables.sqlite_query),
    "text-extraction": ("texts", texts.text_extraction),
    "unit-conversion": ("numbers", numbers.unit_conversion),
}
"""Families by name: their concept, and what makes a task. Each has a skill of the same name."""

INNATE: Mapping[str, tuple[str, Callable[[Random, int], Made]]] = {
    "line-sorting": ("lines", innate.line_sorting),
    "word-counting": ("lines", innate.word_counting),
}
"""Families that the plumbing agent can do without a skill: what may be forgotten."""


def generate(folder: Path, skills: Path, *, seed: int, per_family: int) -> list[Path]:
    """Write ``per_family`` tasks of each family into ``folder``, which must be empty.

    Args:
        folder: Where they go, one folder each.
        skills: Folder of skills; a task ships the one of its family.
        seed: Decides every task; the same seed writes the same bytes.
        per_family: Number of tasks of each family.

    Returns:
        The folders, in order.
    """
    made = []
    for family, (concept, make) in sorted({**FAMILIES, **INNATE}.items()):
        for number in range(per_family):
            task = make(Random(f"{seed}/{family}/{number}"), number)
            target = folder / f"{family}-{number + 1:02d}"
            skill = skills / family if family in FAMILIES else None
            write_task(target, family, concept, task, skill)
            made.append(target)
    return made

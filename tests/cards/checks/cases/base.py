"""A case, and where cases are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sipbench.cards.checks.grader.kinds import Folders
from sipbench.cards.checks.grader.places import Place

__all__ = ["CASES", "Case", "add", "lay_out"]


@dataclass(frozen=True)
class Case:
    """A check, the files it looks at, and its outcome."""

    name: str
    outcome: str
    check: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)
    references: Mapping[str, bytes] = field(default_factory=dict)
    part: str = ""

    def __str__(self) -> str:
        return f"{self.check['kind']}: {self.name}"


def lay_out(case: Case, root: Path) -> Folders:
    """Write the files of a case."""
    for folder, files in (("submission", case.files), ("references", case.references)):
        (root / folder).mkdir()
        for name, data in files.items():
            path = root / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return Folders(Place(str(root / "submission")), Place(str(root / "references")))


CASES: list[Case] = []


def add(
    kind: str,
    name: str,
    outcome: str,
    files: Mapping[str, bytes],
    *,
    part: str = "",
    references: Mapping[str, bytes] | None = None,
    **check: Any,
) -> None:
    CASES.append(Case(name, outcome, {"kind": kind, **check}, files, references or {}, part))

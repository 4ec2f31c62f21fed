"""The documents lead to each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    broken = [name for name in targets if name and "://" not in name and not (path.parent / name).exists()]
    assert broken == []


def test_every_document_is_reachable_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    unseen = [path.name for path in (ROOT / "docs").glob("*.md") if f"docs/{path.name}" not in text]
    assert unseen == []

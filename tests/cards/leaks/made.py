"""What the tests of the leak guard share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sipbench.cards.leaks.guard import Guard, GuardReport
from tests.cards.made import loaded

RUN = "explains 62.5 percent of the yearly variance in lake"  # nine words of the finding


def guarded(root: Path, files: dict[str, str | bytes], **changes: Any) -> GuardReport:
    data = {path: text.encode("utf-8") if isinstance(text, str) else text for path, text in files.items()}
    return Guard(loaded(root, **changes)).files(data)


def rules(report: GuardReport) -> set[str]:
    return {leak.rule for leak in report.blocking}

"""Findings as SARIF 2.1.0, which code hosts show beside the lines."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sipbench.skills.rules import RULES, SKILL_FILE, Finding
from sipbench.skills.validate import SkillReport

__all__ = ["sarif"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(reports: Iterable[SkillReport], base: Path) -> dict[str, Any]:
    """One run with all findings; files are named relative to ``base`` where they stand below it."""
    ids = {id_: number for number, id_ in enumerate(RULES)}
    results = [
        _result(finding, ids[finding.rule], report.folder, base)
        for report in reports
        for finding in report.findings
    ]
    driver = {
        "name": "asb skills check",
        "version": version("sipbench"),
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.text},
                "defaultConfiguration": {"level": rule.level},
                "properties": {"tags": [rule.origin]},
            }
            for rule in RULES.values()
        ],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, index: int, folder: Path, base: Path) -> dict[str, Any]:
    said = f"{finding.field}: {finding.message}" if finding.field else finding.message
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(folder, finding.path, base)}}
    # A code host needs a line to show a finding at all.
    place["region"] = {"startLine": finding.line or 1}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.level,
        "message": {"text": said},
        "locations": [{"physicalLocation": place}],
    }


def _uri(folder: Path, path: str, base: Path) -> str:
    file = folder / (SKILL_FILE if path == "." else path)
    # Not resolved: a finding belongs to the path that was given.
    absolute, root = Path(os.path.normpath(Path.cwd() / file)), Path(os.path.normpath(Path.cwd() / base))
    if absolute.is_relative_to(root):
        return quote(os.fsencode(absolute.relative_to(root)), safe="/")
    return "file://" + quote(os.fsencode(absolute), safe="/")

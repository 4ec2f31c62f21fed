"""A study on disk, run in this process or in one of its own, and what it left behind."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml

from sipbench.protocol.jsonl import read_records
from sipbench.protocol.records import RunRecord
from sipbench.study.api import StudyResult, execute

__all__ = ["LEARNER", "SIP", "Trial", "environment"]

SIP = (sys.executable, "-c", "from sipbench.cli.sip import main; main()")
LEARNER = {"path_type": "external", "adaptation": {"kind": "trial-learner"}}


class Trial:
    """A study on disk, run in this process, and what it left behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "study.yaml"
        self.out = folder / "out"

    def write(self, **fields: Any) -> Trial:
        """Write the study file; what is not named has a small default."""
        benchmark = {"name": "trial", **fields.pop("benchmark", {})}
        arms = fields.pop("arms", None) or {"frozen": {"path_type": "frozen"}}
        document = {
            "name": "trial-study",
            "benchmark": benchmark,
            "agent": {"name": "somebody", "version": "1"},
            "arms": arms,
            "repeats": 1,
            "retries": 1,
            "analysis": {"sesoi": 0.05, "cost_unit": "tool_calls"},
            **fields,
        }
        self.file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        return self

    def run(self, **settings: Any) -> StudyResult:
        """Run it, or what is left of it."""
        return execute(self.file, self.out, pause_seconds=0.0, **settings)

    def records(self) -> list[RunRecord]:
        """What is recorded."""
        return list(read_records(self.out / "runs.jsonl"))

    def journal(self, *events: str) -> list[dict[str, Any]]:
        """The events of these kinds, in order."""
        lines = (self.out / "journal.jsonl").read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines]
        return [event for event in found if event["event"] in events]

    def calls(self) -> list[str]:
        """Every call of the benchmark's ``run``, in order: arm, repeat, phase, task, attempt."""
        path = self.folder / "calls.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def state(self, arm: str, repeat: int = 0, phase: str = "T1") -> Path:
        """The folder of an agent state."""
        return self.out / "states" / arm / str(repeat) / phase

    def edit(self, before: str, after: str) -> None:
        """Change the study file."""
        text = self.file.read_text(encoding="utf-8")
        assert before in text
        self.file.write_text(text.replace(before, after), encoding="utf-8")


def environment(installed: tuple[str, str]) -> dict[str, str]:
    """The environment of a process that sees the plug-ins."""
    path = os.pathsep.join([*installed, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}

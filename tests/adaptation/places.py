"""A study's folders as an adaptation meets them, and ways to run code as somebody else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sipbench.adaptation.base import AdaptationOutcome, AdaptationRequest
from sipbench.adaptation.command import CommandAdaptation, CommandOptions
from sipbench.protocol.vocabulary import Phase

SECRET = "held-out-answer-4711"
PYTHON = sys.executable


@dataclass(frozen=True)
class Place:
    """Folders for one adaptation, with a study beside them that holds a secret."""

    root: Path

    @property
    def study(self) -> Path:
        return self.root / "study"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @classmethod
    def make(cls, root: Path) -> Place:
        for name in ("attempts/0000/output", "previous", "state", "study/attempts/x"):
            (root / name).mkdir(parents=True)
        (root / "study" / "secret").write_text(SECRET, encoding="utf-8")
        (root / "study" / "attempts" / "x" / "task.json").write_text(SECRET, encoding="utf-8")
        (root / "private.json").write_text(SECRET, encoding="utf-8")
        (root / "attempts" / "0000" / "attempt.json").write_text('{"task": 1}', encoding="utf-8")
        (root / "attempts" / "0000" / "output" / "trajectory.json").write_text("[]", encoding="utf-8")
        return cls(root)

    def request(self, **changes: Any) -> AdaptationRequest:
        fields: dict[str, Any] = {
            "attempts": self.root / "attempts",
            "previous": self.root / "previous",
            "state": self.state,
            "phase": Phase.T1,
            "repeat": 2,
            "seed": 77,
            "hidden": (self.study, self.root / "private.json"),
        }
        return AdaptationRequest(**{**fields, **changes})

    def command(self, *argv: str, **options: Any) -> CommandAdaptation:
        given = {"command": argv, "path_type": "external", "timeout_seconds": 60, **options}
        return CommandAdaptation(CommandOptions.model_validate(given), base=self.root)

    def shell(self, script: str, **options: Any) -> AdaptationOutcome:
        """Run ``script`` as the adaptation's command."""
        return self.command("sh", "-c", script, **options).adapt(self.request())

    def left(self, name: str) -> str:
        return (self.state / name).read_text(encoding="utf-8", errors="replace")


def as_nobody(argv: Sequence[str]) -> list[str] | None:
    """``argv`` run by an unprivileged user; None where we cannot become one.

    The right to search folders is kept on the way, since the interpreter may lie in the home of root;
    it is not one in the namespaces that follow.
    """
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        return None
    only = "-all,+dac_read_search"
    user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"]
    rights = [f"--bounding-set={only}", f"--inh-caps={only}", f"--ambient-caps={only}"]
    return [setpriv, *user, *rights, *argv]

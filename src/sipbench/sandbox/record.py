"""What is written down about a box: of what it was made, what held, what happened."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sipbench.sandbox.bwrap import Binary, Machine
from sipbench.sandbox.image import Image
from sipbench.sandbox.limits import Held, Limits

__all__ = ["SCHEMA_VERSION", "BoxRecord"]

SCHEMA_VERSION = "1"


@dataclass
class BoxRecord:
    """One box, as `sandbox-<role>.json` in a trial's directory.

    Attributes:
        role: What the box was for (`env`, `verifier__...`).
        network: How it was connected and where connections could go.
        held: Which mechanism held each limit.
        outcome: What the limits saw; empty where the box could not be asked any more.
        notes: What was noted and not done, one line each.
    """

    role: str
    machine: Machine
    binary: Binary
    image: Image
    limits: Limits
    network: dict[str, Any] = field(default_factory=dict)
    held: Held = field(default_factory=Held)
    seccomp: bool = False
    mapped: bool = False
    outcome: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    start_sec: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the record with plain values only; durations in seconds, unknown values null."""
        return {
            "schema_version": SCHEMA_VERSION,
            "role": self.role,
            "kernel": os.uname().release,
            "bubblewrap": self.binary.version,
            "uids": "range of its own" if self.machine.root else "one, the caller's",
            "file_system": "overlay" if self.machine.overlay else "copy",
            "system_files": "of the box's users" if self.mapped else "of the host's users",
            "base": {"label": self.image.base.label, "digest": self.image.base.digest},
            "layers": list(self.image.layers),
            "network": self.network,
            "seccomp": self.seccomp,
            "limits": asdict(self.limits),
            "held": asdict(self.held),
            "outcome": self.outcome,
            "notes": self.notes,
            "start_sec": self.start_sec,
        }

    def write(self, directory: Path) -> None:
        """Write the record into a trial's directory, replacing an earlier one by rename."""
        name = "".join(char if char.isalnum() or char in "-_" else "-" for char in self.role) or "box"
        path = directory / f"sandbox-{name[:80]}.json"
        temporary = path.with_suffix(".tmp")
        text = json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n"
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)

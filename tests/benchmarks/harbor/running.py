"""The command, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def sip(*arguments: str, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    """Start ``sip``; both its streams are read as one."""
    path = f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"
    return subprocess.Popen(
        [sys.executable, "-c", "from sipbench.cli.sip import main; main()", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )

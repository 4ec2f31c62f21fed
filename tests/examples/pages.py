"""What a page shows: its commands, run as they stand, and its quotations of files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of ``language`` in a page, in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def uv() -> str:
    """The installer that the pages use: on PATH or in this environment."""
    beside = Path(sys.prefix) / "bin" / "uv"
    found = shutil.which("uv") or (str(beside) if beside.exists() else None)
    if found is None:
        pytest.skip("no uv on PATH or in this environment")
    return found


def shell(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run commands one after the other, as a person would who has this environment on PATH."""
    tools = [str(Path(sys.prefix) / "bin"), str(Path(uv()).parent), os.environ["PATH"]]
    env = {**os.environ, "PATH": os.pathsep.join(tools), "VIRTUAL_ENV": sys.prefix, "COLUMNS": "140"}
    command = ["sh", "-euc", script]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def network() -> None:
    """Skips unless commands that need the network are to be run, too."""
    if os.environ.get("SIPBENCH_NETWORK") != "1":
        pytest.skip("this command needs the network: SIPBENCH_NETWORK=1 runs it")

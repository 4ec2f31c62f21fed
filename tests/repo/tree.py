"""The repository as its own tests see it: where it is, and which files are part of it."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "sipbench"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def modules() -> tuple[Path, ...]:
    """The Python files of the package."""
    return tuple(sorted(PACKAGE.rglob("*.py")))


def own_files() -> tuple[Path, ...]:
    """The files that are, or are about to be, under version control; skips outside of a checkout."""
    listing = _listed()
    if listing is None:
        pytest.skip("not a git checkout (or no git): which files are the repository's is not known")
    return listing


@cache
def _listed() -> tuple[Path, ...] | None:
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return tuple(path for name in output.split("\0") if name and (path := ROOT / name).is_file())

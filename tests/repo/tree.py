"""The files of the repository, as git knows them, or as they lie where there is no git."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sipbench"

_SKIPPED = {".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}


@cache
def own_files() -> tuple[Path, ...]:
    """Every file of the repository: tracked ones and new ones that are not ignored."""
    asked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if asked.returncode == 0:
        found = [ROOT / name for name in asked.stdout.decode().split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not _SKIPPED & set(path.relative_to(ROOT).parts)]
    return tuple(sorted(path for path in found if path.is_file() and not path.is_symlink()))


def modules() -> tuple[Path, ...]:
    """The modules of the package."""
    return tuple(path for path in own_files() if path.is_relative_to(SOURCE) and path.suffix == ".py")


def module_name(path: Path) -> str:
    """The dotted name of a module of the package."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def named(path: Path, line: int | None = None) -> str:
    """A place as messages name it."""
    where = path.relative_to(ROOT).as_posix()
    return f"{where}:{line}" if line else where

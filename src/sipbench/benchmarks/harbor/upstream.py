"""Harbor's own digest of a task's folder, with the skills that it ships.

Harbor asks its ignore rules about every file, which takes longer than everything else that is read of a
task. Where a folder has nothing that a rule could leave out, the digest follows from names and contents
alone. Whether the installed Harbor agrees is asked once, at the first such folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from sipbench.benchmarks.harbor.engine import load_harbor
from sipbench.protocol.digests import file_digest

__all__ = ["upstream_digests"]

_FILES = ("task.toml", "instruction.md", "README.md", "trajectory.json")
_FOLDERS = ("environment", "tests", "solution", "steps")
_RULES = frozenset({".gitignore", ".harborignore"})
_IGNORED_NAMES = frozenset({"__pycache__", ".DS_Store"})
_IGNORED_ENDINGS = (".pyc", ".swp", ".swo", "~")


def upstream_digests(folders: list[Path]) -> Iterator[str | None]:
    """Yield Harbor's digest of each folder; None where it has none to give.

    Args:
        folders: Resolved folders of tasks.
    """
    agrees: bool | None = None
    for folder in folders:
        plain = None if agrees is False else _plain_digest(folder)
        if plain is not None and agrees:
            yield plain
            continue
        said = _asked(folder)
        if plain is not None:
            agrees = plain == said
        yield said


def _asked(folder: Path) -> str | None:
    load_harbor()
    from harbor.publisher.packager import Packager

    try:
        return f"sha256:{Packager.compute_content_hash(folder)[0]}"
    except (OSError, ValueError):
        return None


def _plain_digest(folder: Path) -> str | None:
    """The digest of a folder without links and without anything that a rule may leave out, else None."""
    try:
        names = _plain_files(folder)
        if names is None:
            return None
        outer = hashlib.sha256()
        for name in sorted(names):
            content = file_digest(folder / name).removeprefix("sha256:")
            outer.update(f"{name}\0{content}\n".encode())
    except (OSError, UnicodeEncodeError):
        return None
    return f"sha256:{outer.hexdigest()}"


def _plain_files(folder: Path) -> list[str] | None:
    names = []
    with os.scandir(folder) as entries:
        top = {entry.name: entry for entry in entries}
    if any(_may_be_ignored(name) or top[name].is_symlink() for name in top):
        return None
    names += [name for name in _FILES if name in top]
    waiting = [name for name in _FOLDERS if name in top]
    while waiting:
        inner = waiting.pop()
        with os.scandir(folder / inner) as entries:
            for entry in entries:
                if _may_be_ignored(entry.name) or entry.is_symlink():
                    return None
                name = f"{inner}/{entry.name}"
                if entry.is_dir():
                    waiting.append(name)
                elif entry.is_file():
                    names.append(name)
    return names


def _may_be_ignored(name: str) -> bool:
    return name in _RULES or name in _IGNORED_NAMES or name.endswith(_IGNORED_ENDINGS)

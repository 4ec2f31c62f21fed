"""Where the files of a submission are: a folder, or the artifacts of a Harbor trial."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

from sipbench.cards.files import read_bytes
from sipbench.errors import CardError

__all__ = ["OUTPUT", "submission_folder"]

OUTPUT = PurePosixPath("/app/output")
"""Where an exported task asks for its outputs."""


def submission_folder(path: Path) -> Path:
    """The folder that check paths are relative to.

    Args:
        path: A folder, or the directory of a finished Harbor trial.

    Raises:
        CardError: It is neither, or the trial kept no outputs.
    """
    if path.is_symlink() or not path.is_dir():
        raise CardError(f"{path}: no folder; name the folder of the outputs or a Harbor trial's directory")
    artifacts = path / "artifacts"
    if not ((path / "result.json").is_file() and (path / "config.json").is_file()):
        return path
    if not artifacts.is_dir():
        raise CardError(f"{path}: a Harbor trial that kept no artifacts, so there is nothing to grade")
    inside = _collected(artifacts)
    folder = artifacts.joinpath(*inside.parts[1:]) if inside.is_absolute() else artifacts
    if folder.is_symlink() or not folder.is_dir():
        raise CardError(f"{path}: a Harbor trial without {inside} among its artifacts")
    return folder


def _collected(artifacts: Path) -> PurePosixPath:
    """The directory of the environment that the outputs came from, as the manifest names it."""
    manifest = artifacts / "manifest.json"
    if not manifest.is_file():
        return OUTPUT
    try:
        entries: Any = json.loads(read_bytes(manifest))
    except (ValueError, RecursionError):
        raise CardError(f"{manifest}: not JSON") from None
    listed = entries if isinstance(entries, list) else []
    sources = [
        PurePosixPath(source)
        for entry in listed
        if isinstance(entry, dict) and entry.get("type") == "directory" and entry.get("status") == "ok"
        if isinstance(source := entry.get("source"), str) and source.startswith("/")
    ]
    named = [source for source in sources if ".." not in source.parts]
    if OUTPUT in named or len(named) != 1:
        return OUTPUT
    return named[0]

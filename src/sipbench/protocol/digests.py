"""Digests: SHA-256 over canonical JSON, over files, and over directories."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from sipbench.errors import SipbenchError
from sipbench.files import open_file

__all__ = [
    "EMPTY_TREE",
    "canonical_json",
    "file_digest",
    "json_digest",
    "seed_from",
    "skill_digest",
    "tree_digest",
]

_PREFIX = "sha256:"
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> bytes:
    """Serialise ``value`` to the one byte string that equal values share.

    Keys are sorted, no white space, UTF-8, no NaN or infinity. Floats are written in their
    shortest form that reads back to the same number.

    Raises:
        ValueError: ``value`` holds NaN, an infinity or something JSON cannot express.
    """
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except (TypeError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"no canonical JSON: {error}") from None


def json_digest(value: Any) -> str:
    """Digest of a JSON value, as ``sha256:<64 hex>``."""
    return _PREFIX + hashlib.sha256(canonical_json(value)).hexdigest()


def seed_from(*parts: Any) -> int:
    """A 63-bit seed derived from ``parts``: the same on every machine and in every process."""
    return int.from_bytes(hashlib.sha256(canonical_json(list(parts))).digest()[:8], "big") >> 1


def file_digest(path: Path) -> str:
    """Digest of a file's bytes, as ``sha256:<64 hex>``."""
    with open_file(path) as handle:
        return _PREFIX + hashlib.file_digest(handle, "sha256").hexdigest()


def tree_digest(root: Path) -> str:
    """Digest of a directory: sorted (path, mode, size, hash) of every file below it.

    The mode is reduced to ``x`` (executable by its owner) or ``-``, since the rest of the bits
    differs between machines without meaning. Empty directories do not count. A missing directory
    has the digest of an empty one.

    Raises:
        SipbenchError: The tree holds a symbolic link or a special file, whose meaning depends on
            the machine, a name that is not valid UTF-8, or a folder that cannot be read.
    """
    lines = []
    for path in _files(root):
        info = path.lstat()
        name = path.relative_to(root).as_posix()
        mode = "x" if info.st_mode & stat.S_IXUSR else "-"
        lines.append([name, mode, info.st_size, file_digest(path)])
    try:
        return json_digest(sorted(lines))
    except ValueError:
        raise SipbenchError(f"{root}: a file name is not valid UTF-8; rename it") from None


def skill_digest(files: Iterable[tuple[str, str]]) -> str:
    """Digest of all files of a skill, as Harbor computes it, so that its jobs and ours are comparable.

    SHA-256 over path, NUL, SHA-256 of the content in hexadecimal, NUL of each file, in the order of
    their paths (``harbor.skills.compute_skill_digest``).

    Args:
        files: (path relative to the folder, hexadecimal SHA-256 of the content) of every file.
    """
    digest = hashlib.sha256()
    for path, content in sorted((PurePosixPath(path), content) for path, content in files):
        digest.update(f"{path}\0{content}\0".encode())
    return f"{_PREFIX}{digest.hexdigest()}"


def _files(root: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        # What is silently left out could be changed without anybody noticing.
        if not isinstance(error, FileNotFoundError) or Path(error.filename) != root:
            raise SipbenchError(f"{error.filename}: cannot be read: {error.strerror}")

    for folder, folders, names in os.walk(root, onerror=refuse):
        for name in [*folders, *names]:
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                yield path
                continue
            if stat.S_ISDIR(mode):
                continue
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "a special file"
            raise SipbenchError(f"{path}: {kind} cannot be part of a digest; replace it by a regular file")


EMPTY_TREE = json_digest([])
"""The digest of an empty directory: the agent state of every arm at T0."""

"""Folders that an author gives, read; folders that an export makes, written and replaced as a whole."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from sipbench.errors import CardError
from sipbench.export.base import File

__all__ = ["MAX_TREE_BYTES", "digests", "files_below", "found", "remove_made", "staged"]

MAX_TREE_BYTES = 512 * 1024**2
MAX_TREE_FILES = 20_000
_LITTER = frozenset({"__pycache__", ".DS_Store", ".git"})


def files_below(root: Path, *, what: str) -> dict[str, File]:
    """The regular files below ``root`` by their paths, in a stable order; litter is left out.

    Raises:
        CardError: There is a link or something that is no file, a name is not UTF-8, or there is more
            than ``MAX_TREE_BYTES``.
    """
    files: dict[str, File] = {}
    size = 0
    for folder, folders, names in os.walk(root, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if name not in _LITTER)
        for name in sorted([*folders, *names]):
            path = Path(folder, name)
            info = path.lstat()
            if stat.S_ISDIR(info.st_mode) or name in _LITTER:
                continue
            if not stat.S_ISREG(info.st_mode):
                kind = "a symbolic link" if stat.S_ISLNK(info.st_mode) else "no regular file"
                raise CardError(f"{path}: is {kind}; {what} are copied, so put the file itself there")
            size += info.st_size
            if size > MAX_TREE_BYTES or len(files) >= MAX_TREE_FILES:
                limit = f"{MAX_TREE_FILES} files or {MAX_TREE_BYTES >> 20} MiB"
                raise CardError(f"{root}: more than {limit}; {what} have to be smaller")
            files[_name(path, root)] = File(path.read_bytes(), bool(info.st_mode & stat.S_IXUSR))
    return files


def _name(path: Path, root: Path) -> str:
    name = path.relative_to(root).as_posix()
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise CardError(f"{root}: a file name is not valid UTF-8: {name!r}; rename it") from None
    if any(not c.isprintable() for c in name) or "\\" in name:
        raise CardError(f"{root}: {name!r}: a file name with such characters cannot be exported; rename it")
    return name


def _unreadable(error: OSError) -> None:
    raise CardError(f"{error.filename}: cannot be read: {error.strerror or error}")


def digests(files: Mapping[str, File]) -> dict[str, str]:
    """For each path, a digest of content and mode."""
    return {
        path: f"{'x' if file.executable else '-'}:{hashlib.sha256(file.data).hexdigest()}"
        for path, file in sorted(files.items())
    }


def found(root: Path) -> dict[str, str]:
    """The digests of what stands below ``root`` now; a link has the digest of none.

    Raises:
        CardError: A folder cannot be read.
    """
    listed: dict[str, str] = {}
    for folder, folders, names in os.walk(root, onerror=_unreadable):
        folders.sort()
        for name in [*folders, *names]:
            path = Path(folder, name)
            info = path.lstat()
            if stat.S_ISREG(info.st_mode):
                mode = "x" if info.st_mode & stat.S_IXUSR else "-"
                listed[path.relative_to(root).as_posix()] = (
                    f"{mode}:{hashlib.sha256(path.read_bytes()).hexdigest()}"
                )
            elif not stat.S_ISDIR(info.st_mode):
                listed[path.relative_to(root).as_posix()] = "no file"
    return dict(sorted(listed.items()))


def staged(parent: Path, files: Mapping[str, File]) -> Path:
    """Write files into a new folder in ``parent``, to be renamed to its place.

    Raises:
        CardError: It cannot be written; nothing is left behind then.
    """
    parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=parent))
    try:
        for name, file in sorted(files.items()):
            path = making.joinpath(*PurePosixPath(name).parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
            # Modes are the same under every umask.
            path.chmod(0o755 if file.executable else 0o644)
        for folder, _, _ in os.walk(making):
            Path(folder).chmod(0o755)
    except OSError as error:
        remove_made(making, files)
        raise CardError(f"{parent}: cannot be written: {error.strerror or error}") from None
    return making


def remove_made(target: Path, files: Iterable[str]) -> None:
    """Remove the files that an export made, and the folders that are empty then; nothing else.

    Args:
        target: The folder that the export made.
        files: The paths that it wrote.
    """
    folders = {target}
    for name in files:
        path = target.joinpath(*PurePosixPath(name).parts)
        path.unlink(missing_ok=True)
        folders |= {parent for parent in path.parents if parent.is_relative_to(target)}
    for folder in sorted(folders, key=lambda path: -len(path.parts)):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

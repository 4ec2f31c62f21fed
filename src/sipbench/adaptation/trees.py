"""Folders that are not to be trusted: copying regular files out of them, bounded, and removing them."""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from sipbench.errors import AdaptationError
from sipbench.files import here

__all__ = ["Bounds", "copy_tree", "remove_tree", "scratch_folder"]

_log = logging.getLogger(__name__)

_CHUNK = 1024 * 1024
_MOVED = f"moved-{uuid4().hex}-"  # a name that nobody can have taken


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a copied tree may hold.

    Attributes:
        bytes: All files together.
        files: Number of files and folders.
        depth: Folders in each other.
        shared: Whether a file may have another name elsewhere (a hard link), through which somebody
            could change it later, or by which it was taken from somewhere else.
        skip: Whether links, special files and names that are not UTF-8 are left out instead of refused.
    """

    bytes: int
    files: int = 100_000
    depth: int = 64
    shared: bool = True
    skip: bool = False


def copy_tree(source: Path, target: Path, bounds: Bounds) -> int:
    """Copy what is in ``source`` into the folder ``target``.

    Every file is opened without following links and checked once it is open, so that a name that is
    exchanged meanwhile changes nothing. Owners, times and all mode bits but "executable" are dropped.

    Returns:
        The number of files that were copied.

    Raises:
        AdaptationError: ``source`` holds something else than files and folders, a name that is not
            UTF-8, or more than ``bounds`` allows; or it cannot be read.
    """
    copied = seen = size = 0
    try:
        for folder, folders, files, handle in os.fwalk(source, follow_symlinks=False, onerror=_raise):
            inner = Path(folder).relative_to(source)
            seen += len(folders) + len(files)
            if seen > bounds.files:
                raise AdaptationError(f"{source}: more than {bounds.files} files")
            if len(inner.parts) > bounds.depth:
                raise AdaptationError(f"{source}: folders in each other to more than {bounds.depth} levels")
            if bounds.skip:
                # Those that stay in the list are walked into.
                folders[:] = [name for name in folders if _is_plain(handle, name, stat.S_ISDIR)]
                files = [name for name in files if _is_plain(handle, name, stat.S_ISREG)]
            for name in folders:
                _copy_folder(handle, source / inner / name, target / inner / name)
            for name in files:
                size += _copy_file(handle, source / inner / name, target / inner / name, bounds, size)
                copied += 1
    except OSError as error:
        raise AdaptationError(f"{source}: cannot be copied: {error.strerror or error}") from None
    except RecursionError:
        raise AdaptationError(f"{source}: folders in each other without end") from None
    return copied


def _raise(error: OSError) -> None:
    raise error


def _is_plain(folder: int, name: str, kind: Callable[[int], bool]) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _check_name(path: Path) -> None:
    try:
        path.name.encode("utf-8")
    except UnicodeEncodeError:
        raise AdaptationError(f"{os.fsencode(path)!r}: a name that is not valid UTF-8; rename it") from None


def _refusal(path: Path, mode: int) -> AdaptationError:
    kind = "a symbolic link" if stat.S_ISLNK(mode) else "a special file"
    return AdaptationError(f"{path}: {kind}; only regular files may be part of an agent state")


def _copy_folder(folder: int, source: Path, target: Path) -> None:
    _check_name(source)
    mode = os.stat(source.name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISDIR(mode):
        raise _refusal(source, mode)
    target.mkdir()


def _copy_file(folder: int, source: Path, target: Path, bounds: Bounds, before: int) -> int:
    """Copy one file, given that ``before`` bytes were copied already; its size."""
    _check_name(source)
    found = os.stat(source.name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        raise _refusal(source, found.st_mode)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    size = 0
    with os.fdopen(os.open(source.name, flags, dir_fd=folder), "rb") as reader, target.open("xb") as writer:
        info = os.fstat(reader.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise _refusal(source, info.st_mode)
        if info.st_nlink > 1 and not bounds.shared:
            raise AdaptationError(
                f"{source}: a hard link; only files of its own may be part of an agent state"
            )
        while chunk := reader.read(_CHUNK):
            size += len(chunk)
            if before + size > bounds.bytes:
                raise AdaptationError(f"{source.parent}: more than {bounds.bytes // 2**20} MiB of files")
            writer.write(chunk)
    target.chmod(0o755 if info.st_mode & stat.S_IXUSR else 0o644)
    return size


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A new folder for somebody who may leave anything in it; removed afterwards, whatever that is."""
    folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    try:
        yield folder
    finally:
        try:
            remove_tree(folder)
        except OSError as error:
            _log.warning("%s cannot be removed: %s", folder, error.strerror or error)


def remove_tree(folder: Path) -> None:
    """Remove ``folder``, however deep it is and whatever modes its folders have.

    Folders of the second level are moved to the first until there are none, since a path to a
    folder deep below may be longer than a path can be, and a recursion than a stack.

    Only for a folder that was made here: nothing that the caller stands in is removed.
    """
    if not folder.is_absolute() or here().is_relative_to(folder):
        raise OSError(f"{folder} is in use")
    moved = 0
    folder.chmod(0o700)
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
                continue
            Path(entry.path).chmod(0o700)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    Path(inner.path).chmod(0o700)
                    moved += 1
                    Path(inner.path).rename(folder / f"{_MOVED}{moved}")
                else:
                    Path(inner.path).unlink()
            Path(entry.path).rmdir()
    folder.rmdir()

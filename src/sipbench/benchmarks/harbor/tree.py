"""Walking a task folder that nobody has checked yet.

A downloaded folder is hostile until shown otherwise: a link may point at the host's files, a file
may be a device, there may be more of it than a disk holds.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sipbench.errors import EngineError
from sipbench.files import TooLargeError, here, read_file
from sipbench.protocol.digests import file_digest, json_digest

__all__ = [
    "MAX_TREE_BYTES",
    "MAX_TREE_FILES",
    "Entry",
    "digest_of",
    "is_litter",
    "made_folder",
    "read_text",
    "walk",
]

_log = logging.getLogger(__name__)

MAX_TREE_FILES = 100_000
MAX_TREE_BYTES = 8 * 1024**3

_LITTER = frozenset({"__pycache__", ".DS_Store", ".pytest_cache"})


def is_litter(name: str) -> bool:
    """Whether tools leave such a file behind: no part of a task, so no reason for a new digest."""
    return name in _LITTER or name.endswith(".pyc")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or link of a tree.

    Attributes:
        path: Relative to the tree's root.
        executable: Whether its owner may run it.
        size: Bytes; 0 for a link.
        target: Where a link points, as written; None for a file.
    """

    path: PurePosixPath
    executable: bool
    size: int
    target: str | None = None


def walk(root: Path) -> Iterator[Entry]:
    """Yield every file and link below ``root``, following none.

    Raises:
        EngineError: A link leads out of the tree, something is neither file, folder nor link, a
            name is not UTF-8, or there is more of it than ``MAX_TREE_FILES`` or ``MAX_TREE_BYTES``.
    """
    home = root.resolve()
    files = size = 0
    for folder, folders, names in os.walk(root, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not is_litter(name))
        for name in sorted([*folders, *names]):
            path = Path(folder, name)
            info = path.lstat()
            if stat.S_ISDIR(info.st_mode) or is_litter(name):
                continue
            entry = _entry(path, root, home, info)
            files += 1
            size += entry.size
            if files > MAX_TREE_FILES or size > MAX_TREE_BYTES:
                limit = f"{MAX_TREE_FILES} files or {MAX_TREE_BYTES // 1024**3} GiB"
                raise EngineError(f"{root}: more than {limit}; this is no task folder")
            yield entry


def _unreadable(error: OSError) -> None:
    raise EngineError(f"{error.filename}: cannot be read: {error.strerror or error}")


def _entry(path: Path, root: Path, home: Path, info: os.stat_result) -> Entry:
    relative = PurePosixPath(path.relative_to(root).as_posix())
    try:
        str(relative).encode("utf-8")
    except UnicodeEncodeError:
        raise EngineError(f"{root}: a file name is not valid UTF-8: {str(relative)!r}; rename it") from None
    executable = bool(info.st_mode & stat.S_IXUSR)
    if stat.S_ISREG(info.st_mode):
        return Entry(relative, executable, info.st_size)
    if not stat.S_ISLNK(info.st_mode):
        raise EngineError(f"{path}: neither file, folder nor link; a task cannot hold it")
    target = path.readlink()
    if target.is_absolute() or not _inside(path, home):
        raise EngineError(f"{path}: a link that leads out of the task ({target}); copy the file instead")
    return Entry(relative, False, 0, str(target))


def _inside(link: Path, home: Path) -> bool:
    try:
        return link.resolve().is_relative_to(home)
    except (OSError, RuntimeError):  # a loop
        return False


def digest_of(root: Path, entries: Sequence[Entry]) -> str:
    """Digest of ``entries`` of the tree ``root``: sorted (path, mode, size, content)."""
    lines = []
    for entry in entries:
        if entry.target is not None:
            lines.append([str(entry.path), "l", 0, entry.target])
            continue
        mode = "x" if entry.executable else "-"
        lines.append([str(entry.path), mode, entry.size, file_digest(root / entry.path)])
    return json_digest(sorted(lines))


def read_text(path: Path, *, limit: int = 1024 * 1024) -> str:
    """Read a UTF-8 text of at most ``limit`` bytes.

    Raises:
        EngineError: It is missing, not a regular file, larger, or not UTF-8.
    """
    try:
        data = read_file(path, limit=limit)
    except TooLargeError as error:
        raise EngineError(f"{path}: {error.strerror}") from None
    except OSError as error:
        raise EngineError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EngineError(f"{path}: not UTF-8 at byte {error.start}; convert it") from None


@contextmanager
def made_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder in ``parent``, removed with all that is in it when it is left.

    What is removed is the very folder that was made here, known by its device and inode: a path that
    means another one meanwhile is left alone.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent.absolute()))
    made = folder.lstat()
    try:
        yield folder
    finally:
        _remove(folder, made)


def _remove(folder: Path, made: os.stat_result) -> None:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    same = (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino) and stat.S_ISDIR(found.st_mode)
    if not same or not folder.is_absolute() or here().is_relative_to(folder):
        _log.warning("%s is not the folder that was made there; it is left alone", folder)
        return
    shutil.rmtree(folder, ignore_errors=True)

"""A file of a submission: inside of it, regular, and not too large.

A submission is hostile. No part of a path may be a link: each folder is opened by its descriptor, so
that nothing can be exchanged between the look and the reading.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Iterator

from .verdicts import Failed, Impossible, shown

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "Place", "matches", "read"]

MAX_BYTES = 256 * 1024 * 1024
"""A larger file is not read: the check fails."""

MAX_ENTRIES = 100_000
MAX_DEPTH = 64
_GLOB = frozenset("*?[")


class Place:
    """A folder that files are read from.

    Args:
        root: The folder. It may itself be reached through links; nothing below it may.
    """

    def __init__(self, root: str) -> None:
        self.root = root

    def open(self, path: str) -> int:
        """A descriptor of the regular file ``path``.

        Raises:
            Failed: There is no such file, or it is a link, a folder or a device.
            Impossible: The folder itself cannot be opened.
        """
        parts = _parts(path)
        try:
            folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise Impossible(f"the submission cannot be opened: {error.strerror}") from None
        try:
            for part in parts[:-1]:
                inner = _open(part, folder, path, os.O_DIRECTORY)
                os.close(folder)
                folder = inner
            handle = _open(parts[-1], folder, path, os.O_NONBLOCK)
        finally:
            os.close(folder)
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            os.close(handle)
            what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
            raise Failed(f"{shown(path)} is {what}")
        return handle

    def size(self, path: str) -> int:
        """Bytes of the regular file ``path``."""
        handle = self.open(path)
        try:
            return os.fstat(handle).st_size
        finally:
            os.close(handle)

    def read(self, path: str, limit: int = MAX_BYTES) -> bytes:
        """The bytes of the regular file ``path``.

        Raises:
            Failed: As :meth:`open`, or it is larger than ``limit``.
        """
        with os.fdopen(self.open(path), "rb") as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise Failed(f"{shown(path)} is larger than {limit} bytes")
        return data

    def text(self, path: str) -> str:
        """The text of the UTF-8 file ``path``, without a byte-order mark.

        Raises:
            Failed: As :meth:`read`, or it is not UTF-8.
        """
        try:
            return self.read(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Failed(f"{shown(path)} is not UTF-8 at byte {error.start + 1}") from None

    def files(self) -> Iterator[str]:
        """Yield the paths of all regular files, sorted by folder; links are not followed.

        Raises:
            Failed: There are more than ``MAX_ENTRIES`` entries.
        """
        count = 0
        for folder, folders, names in os.walk(self.root):
            folders.sort()
            count += len(folders) + len(names)
            if count > MAX_ENTRIES:
                raise Failed(f"the submission has more than {MAX_ENTRIES} entries")
            inside = os.path.relpath(folder, self.root)
            for name in sorted(names):
                path = name if inside == "." else f"{inside}/{name}"
                if stat.S_ISREG(os.lstat(os.path.join(folder, name)).st_mode):
                    yield path


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not parts or "\0" in path or len(parts) > MAX_DEPTH:
        raise Failed(f"{shown(path)} is no path inside of a submission")
    return parts


def _open(name: str, folder: int, path: str, flags: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _is_link(name, folder)):
            raise Failed(f"{shown(path)} leads through a symbolic link") from None
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise Failed(f"there is no {shown(path)}") from None
        raise Failed(f"{shown(path)} cannot be read: {error.strerror}") from None


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def matches(place: Place, pattern: str) -> Iterator[str]:
    """Yield the regular files that ``pattern`` names; ``*`` stays inside of a folder, ``**`` does not."""
    if not _GLOB & set(pattern):
        place.size(pattern)  # raises where it is none
        yield pattern
        return
    parts = _parts(pattern)
    for path in place.files():
        if _matches(path.split("/"), parts):
            yield path


def _matches(path: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_matches(path[start:], pattern[1:]) for start in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])


def read(place: Place, path: str) -> bytes:
    """The bytes of a file that must have some.

    Raises:
        Failed: As :meth:`Place.read`, or it is empty.
    """
    data = place.read(path)
    if not data:
        raise Failed(f"{shown(path)} is empty")
    return data

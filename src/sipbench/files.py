"""Opening what somebody named: files, and nothing that only looks like one.

A device has no end, a pipe waits for somebody to write, and reading a socket fails with a riddle. What is
no regular file is refused before it is opened, as an ``OSError`` like any other reason why a file cannot be
read, so that whoever names the file in an error names this too.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

__all__ = ["NoFileError", "TooLargeError", "kind_of_mode", "open_file", "read_file", "takes_replacement"]

_KINDS = (
    (stat.S_ISDIR, "it is a folder; name a file"),
    (stat.S_ISFIFO, "it is a pipe, and files are read more than once; write it to a file first"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISLNK, "it is a symbolic link; name the file itself"),
    (stat.S_ISCHR, "it is a device, not a file"),
    (stat.S_ISBLK, "it is a device, not a file"),
)


class NoFileError(OSError):
    """What was named is there, and is no regular file."""


class TooLargeError(OSError):
    """A file is larger than what it is read as can be."""


def kind_of_mode(mode: int) -> str | None:
    """What something with this ``st_mode`` is instead of a regular file, in words; None if it is one."""
    if stat.S_ISREG(mode):
        return None
    return next((said for is_kind, said in _KINDS if is_kind(mode)), "it is not a regular file")


def open_file(path: Path, *, follow: bool = True) -> BufferedReader:
    """Open a regular file to read its bytes.

    Args:
        path: The file.
        follow: Whether it may be a symbolic link.

    Raises:
        NoFileError: It is a folder, pipe, socket or device, or a link that is not to be followed.
        OSError: It cannot be opened.
    """
    if "\0" in os.fspath(path):
        raise NoFileError(errno.EINVAL, "no file has a name with a NUL in it", str(path))
    # To open some devices does something, so they are told by their entry first.
    _refuse(path, os.stat(path, follow_symlinks=follow).st_mode)  # noqa: PTH116
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    try:
        _refuse(path, os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_file(path: Path, *, limit: int, follow: bool = True) -> bytes:
    """The bytes of a regular file.

    Raises:
        TooLargeError: It holds more than ``limit`` bytes.
        OSError: As :func:`open_file`, or it cannot be read.
    """
    with open_file(path, follow=follow) as handle:
        data = handle.read(limit + 1)
    if len(data) > limit:
        raise TooLargeError(errno.EFBIG, f"larger than {limit} bytes", str(path))
    return data


def takes_replacement(path: Path) -> bool:
    """Whether a new file may take the place of ``path``: of a device or a pipe it would make a file.

    Raises:
        OSError: It cannot be told.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


def _refuse(path: Path, mode: int) -> None:
    said = kind_of_mode(mode)
    if said is not None:
        raise NoFileError(errno.EINVAL, said, str(path))

"""Opening what somebody named: files, and nothing that only looks like one.

A device has no end, a pipe waits for somebody to write, and reading a socket fails with a riddle. What is
no regular file is refused before it is opened, as an ``OSError`` like any other reason why a file cannot be
read, so that whoever names the file in an error names this too. :func:`os_errors_as` is for where nobody
does: what the system refuses is the surroundings' doing, and no reason for a traceback.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from sipbench.errors import SipbenchError

__all__ = [
    "NoFileError",
    "TooLargeError",
    "here",
    "kind_of_mode",
    "open_file",
    "os_errors_as",
    "read_file",
    "replace_file",
    "takes_replacement",
    "told",
]

_KINDS = (
    (stat.S_ISDIR, "it is a folder; name a file"),
    (stat.S_ISFIFO, "it is a pipe, and files are read more than once; write it to a file first"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISLNK, "it is a symbolic link; name the file itself"),
    (stat.S_ISCHR, "it is a device, not a file"),
    (stat.S_ISBLK, "it is a device, not a file"),
)


_ROOM = "make room, then do it again"
_RIGHT = "give the right to it, or name another place"
_ADVICE = {
    errno.EACCES: _RIGHT,
    errno.EDQUOT: _ROOM,
    errno.EMFILE: "allow more open files (`ulimit -n`)",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: "name one that exists",
    errno.ENOSPC: _ROOM,
    errno.ENOTDIR: "name a place below a folder",
    errno.EPERM: _RIGHT,
    errno.EROFS: "name a place that can be written",
}


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


def replace_file(path: Path, data: bytes) -> None:
    """Put a file with these bytes in the place of ``path``: as a whole or not at all.

    Whatever lies where it is prepared (``.<name>.partial`` beside it) goes first: a link there, which
    somebody may have left in a folder that was got from elsewhere, would lead the bytes to another file.

    Raises:
        OSError: It cannot be written.
    """
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    partial.replace(path)


def told(error: OSError) -> str:
    """What the system refused, in one line: the path, the reason and what to do, as far as they are known."""
    said = str(error.strerror or error) or type(error).__name__
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    advice = _ADVICE.get(error.errno or 0)
    return f"{where}{said}; {advice}" if advice else f"{where}{said}"


@contextmanager
def os_errors_as(kind: type[SipbenchError]) -> Iterator[None]:
    """Raise what the system refuses as ``kind``, but for a reader who is gone.

    It may decorate a function.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise kind(told(error)) from error


def here() -> Path:
    """The working directory; the root where it was removed, since it is in no other folder then."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/")


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

"""What of this machine's system a box must not be shown, and how an overlay is told to hide it.

Over files whose ids are mapped a box's root is root, so that what only the host's root may read has to be
hidden. What lies under another mount is hidden too: a box is shown the file system itself, without what is
mounted on it, and nobody outside sees what is below that.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from sipbench.errors import EngineError

__all__ = ["hidden_below", "hidden_once", "hide", "is_emptied", "look_ahead", "mounts_below"]

_MOUNTS = Path("/proc/self/mountinfo")
_LOOKING = threading.Lock()
_OPAQUE = "user.overlay.opaque"
_ESCAPED = re.compile(rb"\\([0-7]{3})")


def hidden_below(tops: Sequence[str]) -> tuple[Path, ...]:
    """Find what is kept from users other than root, and what other mounts cover; sorted.

    Args:
        tops: Directories of this machine.

    Raises:
        EngineError: It cannot be found out.
    """
    closed_directory = ["-type", "d", "!", "-perm", "-005", "-print0", "-prune"]
    closed_file = ["!", "-type", "d", "!", "-type", "l", "!", "-perm", "-004", "-print0"]
    words = ["find", *tops, "-xdev", *closed_directory, "-o", *closed_file]
    try:
        # Its status is no guide: a file that goes away meanwhile is counted as an error.
        done = subprocess.run(words, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise EngineError("the sandbox needs the program 'find' (package findutils)") from error
    found = {Path(os.fsdecode(name)) for name in done.stdout.split(b"\0") if name}
    mounts = mounts_below(tops)
    # Below a mount nothing is left to hide, and an empty directory would show what hides it.
    return tuple(sorted(place for place in found | mounts if mounts.isdisjoint(place.parents)))


def hidden_once(tops: tuple[str, ...]) -> tuple[Path, ...]:
    """As :func:`hidden_below`, found once in a process, also where several ask at the same time."""
    with _LOOKING:
        return _found(tops)


def look_ahead(tops: tuple[str, ...]) -> None:
    """Begin to look while something else is done: a system of usual size takes a third of a second."""

    def look() -> None:
        # Whoever asks for it is told.
        with contextlib.suppress(EngineError):
            hidden_once(tops)

    threading.Thread(target=look, name="sandbox", daemon=True).start()


@functools.cache
def _found(tops: tuple[str, ...]) -> tuple[Path, ...]:
    return hidden_below(tops)


def mounts_below(tops: Sequence[str]) -> set[Path]:
    """The places below directories of this machine that something else is mounted on.

    Raises:
        EngineError: They cannot be found out.
    """
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError as error:
        raise EngineError(f"the sandbox cannot read which mounts there are: {error.strerror}") from error
    names = (_ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), line.split(b" ")[4]) for line in lines)
    places = {Path(os.fsdecode(name)) for name in names}
    return {place for place in places if any(Path(top) in place.parents for top in tops)}


def hide(place: Path, own: Callable[[Path | str], None], *, directory: bool = False) -> None:
    """Let an overlay show nothing of what lies below a place of one of its layers.

    Args:
        place: In the layer; nothing is done where a directory above it is hidden.
        own: Gives a path to the box.
        directory: Whether an empty directory is to be left there.
    """
    if not place.parent.is_dir():
        return
    if directory:
        with contextlib.suppress(OSError):  # a file system without attributes: then it is gone as well
            place.mkdir(mode=0o755, exist_ok=True)
            own(place)
            os.setxattr(place, _OPAQUE, b"y")
            return
        shutil.rmtree(place)
    # An overlay reads this device as "what is below is gone".
    os.mknod(place, stat.S_IFCHR, os.makedev(0, 0))


def is_emptied(place: Path) -> bool:
    """Whether an overlay shows nothing of what lies below this directory of one of its layers."""
    try:
        return os.getxattr(place, _OPAQUE) == b"y"
    except OSError:
        return False

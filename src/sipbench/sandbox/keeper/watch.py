# Descriptors and flags that pathlib does not have, and less to load in a keeper.
# ruff: noqa: PTH115, PTH116, PTH117, PTH119, PTH208
"""The watchdog: limits that the kernel does not hold over a whole box.

It sums the memory of all processes of the box where no control group does, and
what the box has written to disk; the one that is over ends the box. Between two
looks a fast writer can overshoot; the limit on a single file bounds that. What the
kernel keeps for a box beside that (pipes, sockets, System V segments that nobody has
attached) is counted by a control group alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from sipbench.sandbox.limits import Limits

__all__ = ["Watchdog", "box_processes", "is_running", "remove_tree", "session_members"]

_KIB, _MIB = 1024, 1024 * 1024
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Kilobytes, then files: an empty one takes no block, but a place in the file system's table.
_DU = 'du -skx -- "$0"; du -sx --inodes -- "$0"'
_PATH = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def _pids() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def box_processes(space: int) -> list[int]:
    """List host process ids in the process namespace open at `space`."""
    wanted = os.fstat(space)
    found = []
    for pid in _pids():
        with contextlib.suppress(OSError):
            here = os.stat(f"/proc/{pid}/ns/pid")
            if (here.st_dev, here.st_ino) == (wanted.st_dev, wanted.st_ino):
                found.append(pid)
    return found


def is_running(pid: int) -> bool:
    """Tell whether a process still has memory: one that is only being cleared away has none."""
    try:
        return not _read(f"/proc/{pid}/statm").startswith(b"0 ")
    except OSError:
        return False


def session_members(leader: int) -> list[int]:
    """List host process ids whose session was begun by `leader`."""
    found = []
    for pid in _pids():
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            if int(fields[3]) == leader and fields[0] != b"Z":
                found.append(pid)
    return found


def _field(text: bytes, name: bytes) -> int:
    """Bytes in a line `name:  N kB` of a file of `/proc`; 0 where there is none."""
    _, found, rest = text.partition(b"\n" + name + b":")
    return int(rest.split(None, 1)[0]) * _KIB if found else 0


def _mapped_memory(pid: int) -> int:
    """Bytes of memory without a file that a process shares, each page divided among those that map it."""
    # The exact number takes the kernel a walk through all pages.
    if _field(_read(f"/proc/{pid}/status"), b"RssShmem") < _MIB:
        return 0
    return _field(_read(f"/proc/{pid}/smaps_rollup"), b"Pss_Shmem")


def _hidden_files(space: int) -> tuple[int, int]:
    """Bytes of (memory, disk) in files that processes hold open and that have no name, each file once."""
    memory: dict[tuple[int, int], int] = {}
    disk: dict[tuple[int, int], int] = {}
    for pid in box_processes(space):
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    path = f"/proc/{pid}/fd/{name}"
                    found = os.stat(path)
                    if found.st_nlink == 0 and stat.S_ISREG(found.st_mode):
                        kind = memory if os.readlink(path).startswith("/memfd:") else disk
                        kind[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(memory.values()), sum(disk.values())


def remove_tree(directory: str) -> None:
    """Remove the directory of a box, which somebody hostile filled.

    `rm` copes with depth, links and names. Nothing but a box's directory in a store is removed.
    """
    remove = ["rm", "-rf", "--one-file-system", "--", directory]
    for command in (remove, ["chmod", "-R", "u+rwX", "--", directory], remove):
        place, name = os.path.split(directory)
        mine = os.path.isabs(directory) and name not in ("", ".", "..") and os.path.basename(place) == "boxes"
        if not mine or not os.path.lexists(directory):
            return
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                null = os.open("/dev/null", os.O_RDWR)
                os.dup2(null, 2)
                os.execvpe(command[0], command, _PATH)
            os._exit(127)
        os.waitpid(pid, 0)


@dataclass
class Watchdog:
    """Looks at a box at intervals that grow with what a look costs.

    Attributes:
        limits: What is asked.
        directory: Where the box writes.
        space: Descriptor of the box's process namespace.
        watch_memory: Whether memory is ours to hold.
    """

    limits: Limits
    directory: str
    space: int
    watch_memory: bool
    born: float = field(default_factory=time.monotonic)
    disk_used: int = 0
    _next_memory: float = 0.0
    _next_disk: float = 0.0
    _free_at_look: int = -1
    _du: tuple[int, int, float] | None = None

    def look(self) -> str | None:
        """Return the name of the limit that is exceeded, or None."""
        now = time.monotonic()
        if self.limits.lifetime_sec is not None and now - self.born > self.limits.lifetime_sec:
            return "lifetime"
        if self.watch_memory and self.limits.memory_mb is not None and now >= self._next_memory:
            used = self._memory()
            self._next_memory = now + max(0.2, 20 * (time.monotonic() - now))
            if used > self.limits.memory_mb * _MIB:
                return "memory"
        if self.limits.disk_mb is not None and self._disk(now) > self.limits.disk_mb * _MIB:
            return "disk"
        return None

    def _memory(self) -> int:
        """Bytes of memory that is in no file of a disk."""
        private = mapped = 0
        for pid in box_processes(self.space):
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = _read(f"/proc/{pid}/statm").split()
                private += (int(fields[1]) - int(fields[2])) * _PAGE
                mapped += _mapped_memory(pid)
        # A file of memory may be mapped, open, or both.
        return private + max(mapped, _hidden_files(self.space)[0])

    def _disk(self, now: float) -> int:
        """Measure with `du` in the background; at once when the disk's free space falls fast."""
        if self._du is not None:
            self._collect()
            return self.disk_used
        state = os.statvfs(self.directory)
        free = state.f_bavail * state.f_frsize
        fell = self._free_at_look >= 0 and self._free_at_look - free > 64 * _MIB
        if now >= self._next_disk or fell:
            self._free_at_look = free
            self._begin(now)
        return self.disk_used

    def _begin(self, now: float) -> None:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                null = os.open("/dev/null", os.O_RDWR)
                for target, fd in enumerate((null, write, null)):
                    os.dup2(fd, target)
                # `du` sees no file that was removed while it is open.
                os.write(1, b"%d\n" % (_hidden_files(self.space)[1] // _KIB))
                os.closerange(3, 4096)
                os.execvpe("sh", ["sh", "-c", _DU, self.directory], _PATH)
            os._exit(127)
        os.close(write)
        os.set_blocking(read, False)
        self._du = (pid, read, now)

    def _collect(self) -> None:
        assert self._du is not None
        pid, read, begun = self._du
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            return
        with contextlib.suppress(OSError, ValueError, IndexError):
            lines = os.read(read, 4096).splitlines()
            self.disk_used = sum(int(line.split()[0]) for line in lines) * _KIB
        os.close(read)
        self._du = None
        now = time.monotonic()
        self._next_disk = now + max(2.0, 20 * (now - begun))

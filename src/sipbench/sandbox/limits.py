"""Limits on processor, memory, processes and disk: what is asked, and which mechanism held.

Each limit is held by the strongest mechanism that this machine lets us use:

1. a control group, version 2 where its controllers are usable, else version 1;
2. resource limits of the kernel (``setrlimit``), and a watchdog in the keeper that
   ends the box when the sum over its processes or files is too large.

`Held` records which. It is never assumed: a group counts as holding only after the
kernel accepted the number. This module uses the standard library alone.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "GROUP_PREFIX",
    "Group",
    "Held",
    "Limits",
    "apply_rlimits",
    "fill_fallbacks",
    "find_parents",
    "make_group",
]

GROUP_PREFIX = "sipbench-"
_MIB = 1024 * 1024
_PERIOD_US = 100_000
_CONTROLLERS = ("cpu", "memory", "pids")
Parents = list[tuple[int, dict[str, Path]]]


@dataclass(frozen=True)
class Limits:
    """What a box may use; None means no limit.

    Attributes:
        cpus: Processors, fractions allowed.
        memory_mb: Memory of all processes and of files in memory, MiB.
        processes: Processes and threads.
        disk_mb: What the box may write to disk, MiB.
        lifetime_sec: Age at which the box is ended, seconds.
    """

    cpus: float | None = None
    memory_mb: int | None = None
    processes: int | None = 4096
    disk_mb: int | None = 10240
    lifetime_sec: float | None = 86400.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"sandbox limit {name} = {value!r} is not a positive number")


@dataclass
class Held:
    """Which mechanism holds each limit; "none" where none was asked or none could be had."""

    cpu: str = "none"
    memory: str = "none"
    processes: str = "none"
    disk: str = "none"
    lifetime: str = "none"

    def count(self) -> int:
        """How many limits something holds."""
        return sum(value != "none" for value in vars(self).values())


@dataclass
class Group:
    """One control group of a box: a directory in version 2, one for each controller in version 1."""

    version: int
    paths: dict[str, Path] = field(default_factory=dict)

    def join(self) -> None:
        """Move the calling process in; what it starts stays inside."""
        for path in set(self.paths.values()):
            (path / "cgroup.procs").write_text("0", encoding="ascii")

    def out_of_memory_kills(self) -> int:
        """How many processes the kernel has ended for want of memory."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return self._counter("memory", name, "oom_kill")

    def processes_refused(self) -> int:
        """How often a new process was refused because of the limit."""
        return self._counter("pids", "pids.events", "max")

    def _counter(self, controller: str, file: str, key: str) -> int:
        path = self.paths.get(controller)
        if path is not None:
            with contextlib.suppress(OSError, ValueError):
                for line in (path / file).read_text(encoding="ascii").splitlines():
                    name, _, value = line.partition(" ")
                    if name == key:
                        return int(value)
        return 0

    def remove(self, patience_sec: float = 5.0) -> None:
        """Remove the empty directories; wait while the kernel is still ending processes."""
        deadline = time.monotonic() + patience_sec
        for path in set(self.paths.values()):
            while True:
                try:
                    path.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        break
                    time.sleep(0.01)
                else:
                    break


def _own_groups() -> dict[str, str]:
    """Read the calling process's group by controller; the key of version 2 is the empty string."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            for name in controllers.split(","):
                found[name] = path
    return found


def _mounts() -> list[tuple[str, str, set[str], str]]:
    """List control group mounts as (type, mount point, options, root of the mount)."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            left, _, right = line.partition(" - ")
            kind, options = right.split()[0], right.split()[-1]
            if kind in ("cgroup", "cgroup2"):
                fields = left.split()
                found.append((kind, fields[4], set(options.split(",")), fields[3]))
    return found


def find_parents() -> Parents:
    """Find directories under which groups could be made, best first, as (version, by controller)."""
    own = _own_groups()
    candidates: Parents = []
    first: dict[str, Path] = {}
    for kind, point, options, root in _mounts():
        if kind == "cgroup2":
            here = Path(point) / os.path.relpath(own.get("", "/"), root)
            for parent in dict.fromkeys((here, Path(point))):
                usable = {
                    name: parent for name in _CONTROLLERS if name in _words(parent / "cgroup.controllers")
                }
                if usable and os.access(parent, os.W_OK):
                    candidates.append((2, usable))
            continue
        for name in _CONTROLLERS:
            parent = Path(point) / os.path.relpath(own.get(name, "/"), root)
            if name in options and os.access(parent, os.W_OK):
                first[name] = parent
    if first:
        candidates.append((1, first))
    return candidates


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:
        return []


def make_group(limits: Limits, name: str, parents: Parents) -> tuple[Group | None, Held]:
    """Make a control group that holds as many of the limits as this machine allows.

    Args:
        limits: What is asked.
        name: Directory name of the group, unique to the box.
        parents: Where a group may be made (`find_parents`).

    Returns:
        The group (None if none could be made) and what it holds.
    """
    best: tuple[Group | None, Held] = (None, Held())
    for version, where in parents:
        group, held = Group(version), Held()
        for controller, parent in where.items():
            _try_controller(group, held, limits, controller, parent / name)
        if held.count() > best[1].count():
            best, group = (group, held), best[0] or Group(version)
        group.remove(0.0)
    return best


def _settings(version: int, controller: str, limits: Limits) -> tuple[str, list[tuple[str, str]]]:
    """Return the name of the limit and the (file, value) pairs that set it."""
    if controller == "memory" and limits.memory_mb is not None:
        size = str(limits.memory_mb * _MIB)
        return "memory", [("memory.max" if version == 2 else "memory.limit_in_bytes", size)]
    if controller == "pids" and limits.processes is not None:
        return "processes", [("pids.max", str(limits.processes))]
    if controller == "cpu" and limits.cpus is not None:
        quota = str(max(1000, int(limits.cpus * _PERIOD_US)))
        if version == 2:
            return "cpu", [("cpu.max", f"{quota} {_PERIOD_US}")]
        return "cpu", [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", quota)]
    return "", []


def _try_controller(group: Group, held: Held, limits: Limits, controller: str, path: Path) -> None:
    limit, writes = _settings(group.version, controller, limits)
    if not writes:
        return
    try:
        if group.version == 2 and controller not in _words(path.parent / "cgroup.subtree_control"):
            (path.parent / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")
        path.mkdir(exist_ok=True)
        group.paths[controller] = path
        for file, value in writes:
            (path / file).write_text(value, encoding="ascii")
    except OSError:
        # In version 2 the directory is shared; it goes only if no other controller holds it.
        group.paths.pop(controller, None)
        if path not in group.paths.values():
            with contextlib.suppress(OSError):
                path.rmdir()
        return
    setattr(held, limit, f"cgroup v{group.version}")
    if controller == "memory":
        # No swap beside the limit; the file is absent where swap is not counted.
        swap = (
            ("memory.swap.max", "0") if group.version == 2 else ("memory.memsw.limit_in_bytes", writes[0][1])
        )
        with contextlib.suppress(OSError):
            (path / swap[0]).write_text(swap[1], encoding="ascii")


def apply_rlimits(limits: Limits, held: Held) -> None:
    """Set the calling process's resource limits; they follow into all it starts.

    A limit that a group holds is not set again; the size of one file and of core dumps always are.
    """
    _set(resource.RLIMIT_CORE, 0)
    if limits.disk_mb is not None:
        _set(resource.RLIMIT_FSIZE, limits.disk_mb * _MIB)
    if limits.memory_mb is not None and not held.memory.startswith("cgroup"):
        _set(resource.RLIMIT_DATA, limits.memory_mb * _MIB)
    if limits.processes is not None and not held.processes.startswith("cgroup"):
        _set(resource.RLIMIT_NPROC, limits.processes)
    if limits.cpus is not None and not held.cpu.startswith("cgroup"):
        have = sorted(os.sched_getaffinity(0))
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, have[: max(1, math.ceil(limits.cpus))])


def _set(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (ceiling, ceiling))


def fill_fallbacks(limits: Limits, held: Held) -> Held:
    """Name the fallback for each limit that is asked and that no group holds."""
    if limits.memory_mb is not None and held.memory == "none":
        held.memory = "rlimit per process and watchdog over the box"
    if limits.processes is not None and held.processes == "none":
        held.processes = "rlimit"
    if limits.cpus is not None and held.cpu == "none":
        held.cpu = "affinity, which a process may widen"
    if limits.disk_mb is not None:
        held.disk = "rlimit per file and watchdog over the box"
    if limits.lifetime_sec is not None:
        held.lifetime = "watchdog"
    return held

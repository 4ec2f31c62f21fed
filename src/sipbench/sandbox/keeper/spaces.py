# Descriptors and flags that pathlib does not have, and less to load in a keeper.
# ruff: noqa: PTH102, PTH112
"""Make the namespaces of a box and start bubblewrap in them.

Two cases, one shape. As root, the keeper takes a private mount namespace and the
box gets a user namespace over a range of uids that belongs to nobody. As anyone
else, the keeper first takes a user namespace in which it is root over its one uid,
and the box's is nested in it. In both, the directories that bubblewrap needs are
bound below one neutral mount point: a parent with mode 0700 stops nobody, the
mount options that are visible inside name no path of the host, and what need not
be written is mounted read-only.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import Any

from sipbench.sandbox.keeper import kernel
from sipbench.sandbox.keeper.enter import Box, close_all_but, default_signals, drop
from sipbench.sandbox.limits import apply_rlimits

__all__ = ["StartError", "Started", "private_mounts", "start", "user_namespace"]

# Only for the first process: it cannot be traced by one that lacks it, and it allows nothing here.
_MARK = "CAP_WAKE_ALARM"
# Signals from inside never end it, and ignoring the end of children lets the kernel reap orphans.
_FIRST = (
    "echo ready; exec >/dev/null 2>&1; "
    "env --ignore-signal=CHLD true && exec env --ignore-signal=CHLD sleep infinity; exec sleep infinity"
)
_FIRST_ENDS_AS = b"sleep\n"
_SETTLE_SEC = 30.0


class StartError(RuntimeError):
    """The box could not be started; the message is for the person."""


@dataclass(frozen=True)
class Started:
    """A running bubblewrap.

    Attributes:
        outer: Its process id, child of the keeper.
        first: Host process id of the first process inside.
    """

    outer: int
    first: int


def private_mounts(
    root: bool, point: str, binds: list[dict[str, Any]], user_space: int | None = None
) -> bool:
    """Enter the keeper's own mount namespace and bind what bubblewrap will read.

    Args:
        root: Whether the keeper is the host's root.
        point: Directory to bind below.
        binds: Sources as {name, source, writable, mapped}.
        user_space: The box's user namespace, if it exists already; sources to be mapped need it.

    Returns:
        Whether all sources to be mapped are.

    Raises:
        StartError: Namespaces are refused, or a source is missing.
    """
    try:
        if root:
            os.unshare(os.CLONE_NEWNS)
        else:
            uid, gid = os.geteuid(), os.getegid()
            os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNS)
            _write_maps("self", f"0 {uid} 1", f"0 {gid} 1", deny_groups=True)
        # Some systems give the namespace and then refuse what it is for.
        kernel.make_private()
    except OSError as error:
        raise StartError(
            f"this machine refuses user namespaces ({error.strerror}); allow them "
            "(sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns) or use Docker"
        ) from error
    # Opened in the new namespace, since a mount of another cannot be bound, and before the mount
    # point covers anything.
    opened = []
    for bind in binds:
        try:
            opened.append(os.open(bind["source"], os.O_PATH | os.O_CLOEXEC))
        except OSError as error:
            raise StartError(f"cannot open {bind['source']} for the sandbox: {error.strerror}") from error
    kernel.mount_tmpfs(point)
    all_mapped = True
    for bind, fd in zip(binds, opened, strict=True):
        target = f"{point}/{bind['name']}"
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            os.mkdir(target, 0o755)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        if not (bind["mapped"] and _map(fd, target, user_space)):
            all_mapped = all_mapped and not bind["mapped"]
            kernel.bind(fd, target, writable=bind["writable"])
        os.close(fd)
    return all_mapped


def _map(fd: int, target: str, user_space: int | None) -> bool:
    """Bind with ids that exist in the box; False where kernel or file system cannot."""
    if user_space is None:
        return False
    try:
        kernel.bind_mapped(fd, target, user_space)
    except OSError:
        return False
    return True


def _write_maps(pid: str, uids: str, gids: str, *, deny_groups: bool) -> None:
    files = [("setgroups", "deny")] if deny_groups else []
    for name, text in [*files, ("uid_map", uids), ("gid_map", gids)]:
        fd = os.open(f"/proc/{pid}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode("ascii"))
        finally:
            os.close(fd)


def user_namespace(box: Box, count: int) -> int:
    """Make the box's user namespace, owned by the box's own uid.

    Args:
        box: The box; its `uid` says whose namespace it is.
        count: How many uids are mapped.

    Returns:
        A descriptor that keeps it alive.
    """
    made_r, made_w = os.pipe()
    done_r, done_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            drop(box)
            # Becoming another uid made this process unreadable; its maps must be writable from outside.
            kernel.set_dumpable(True)
            os.unshare(os.CLONE_NEWUSER)
            os.write(made_w, b".")
            os.close(done_w)
            os.read(done_r, 1)
        finally:
            os._exit(0)
    os.close(made_w)
    os.close(done_r)
    try:
        if not os.read(made_r, 1):
            raise StartError("this machine refuses the sandbox's user namespace")
        outside = box.uid if box.uid is not None else 0
        line = f"0 {outside} {count}"
        _write_maps(str(pid), line, line, deny_groups=False)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(done_w)
        os.close(made_r)
        os.waitpid(pid, 0)


def _arguments_fd(arguments: list[str]) -> int:
    fd = os.memfd_create("arguments", 0)
    os.write(fd, b"".join(os.fsencode(word) + b"\0" for word in arguments))
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def start(box: Box, bwrap: str, arguments: list[str]) -> Started:
    """Start bubblewrap and wait until the first process of the box runs.

    Args:
        box: The box; its `spaces` must hold the user namespace and are completed here.
        bwrap: Path of the binary as seen in the keeper's mount namespace.
        arguments: Its arguments, without those about users, descriptors and the command.

    Raises:
        StartError: With bubblewrap's own message.
    """
    info_r, info_w = os.pipe()
    ready_r, ready_w = os.pipe()
    error_r, error_w = os.pipe()
    user = box.spaces["user"]
    words = [
        *("--userns", str(user), "--uid", "0", "--gid", "0", "--info-fd", str(info_w)),
        *("--die-with-parent", "--new-session", "--as-pid-1", "--cap-add", _MARK, "--clearenv"),
        *("--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"),
        *arguments,
    ]
    given = _arguments_fd(words)
    pid = os.fork()
    if pid == 0:
        _exec_bwrap(box, bwrap, given, {info_w, user, given}, (ready_w, error_w))
    for fd in (info_w, ready_w, error_w, given):
        os.close(fd)
    try:
        if b"ready" not in _drain(ready_r, stop=b"ready"):
            os.waitpid(pid, 0)
            text = _drain(error_r).decode("utf-8", "replace").strip().splitlines()
            raise StartError(f"bubblewrap could not start the box: {text[-1] if text else 'no message'}")
        first = int(json.loads(_drain(info_r))["child-pid"])
        _settle(first)
    finally:
        for fd in (info_r, ready_r, error_r):
            os.close(fd)
    for name in ("mnt", "ipc", "uts", "net", "cgroup", "pid"):
        if name != "net" or "--unshare-net" in arguments:
            box.spaces[name] = os.open(f"/proc/{first}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
    return Started(pid, first)


def _settle(first: int) -> None:
    """Wait until the first process is the one that stays.

    Until then it looks up programs of the box's system, and a command that removes one of them would
    end the whole box.

    Raises:
        StartError: It ended, or is not there after half a minute.
    """
    deadline = time.monotonic() + _SETTLE_SEC
    while time.monotonic() < deadline:
        try:
            fd = os.open(f"/proc/{first}/comm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            break
        try:
            if os.read(fd, 64) == _FIRST_ENDS_AS:
                return
        finally:
            os.close(fd)
        time.sleep(0.001)
    raise StartError("the box's first process does not stay: its system needs the program 'sleep'")


def _exec_bwrap(box: Box, bwrap: str, arguments: int, keep: set[int], output: tuple[int, int]) -> None:
    try:
        if box.group is not None:
            box.group.join()
        apply_rlimits(box.limits, box.held)
        drop(box)
        null = os.open("/dev/null", os.O_RDONLY)
        for target, fd in enumerate((null, *output)):
            os.dup2(fd, target)
        close_all_but(keep)
        for fd in keep:
            os.set_inheritable(fd, True)
        default_signals()
        os.chdir("/")
        os.umask(0o022)
        os.execve(bwrap, ["bwrap", "--args", str(arguments), "--", "/bin/sh", "-c", _FIRST], {})
    except BaseException as error:
        os.write(2, f"cannot run bubblewrap: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(125)


def _drain(fd: int, stop: bytes | None = None) -> bytes:
    data = b""
    while block := os.read(fd, 65536):
        data += block
        if stop is not None and stop in data:
            break
    return data

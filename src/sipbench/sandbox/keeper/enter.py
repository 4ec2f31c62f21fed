# Descriptors and flags that pathlib does not have, and less to load in a keeper.
# ruff: noqa: PTH103
"""Go into a running box: what a forked child of the keeper does.

Order matters. Control group and resource limits first, while still privileged;
then the box's uid; then its user namespace, which gives full capabilities
*there*; then the others; then the bounding set and no-new-privileges, before
anything of the box's file system is executed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
from collections.abc import Set
from dataclasses import dataclass, field

from sipbench.sandbox.keeper import kernel
from sipbench.sandbox.limits import Group, Held, Limits, apply_rlimits

__all__ = [
    "CAPABILITIES",
    "Box",
    "Command",
    "close_all_but",
    "default_signals",
    "drop",
    "enter",
    "execute",
    "find_user",
    "seal_imports",
    "signal_all",
]

# chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service: what a root user of a
# distribution needs over its own files and users. A subset of Docker's default fourteen.
CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 10})
_SPACES = {
    "user": os.CLONE_NEWUSER,
    "mnt": os.CLONE_NEWNS,
    "ipc": os.CLONE_NEWIPC,
    "uts": os.CLONE_NEWUTS,
    "net": os.CLONE_NEWNET,
    "cgroup": os.CLONE_NEWCGROUP,
    "pid": os.CLONE_NEWPID,
}
_MAX_TABLE = 1024 * 1024
_MAX_FD = 65536


@dataclass
class Box:
    """What the keeper knows of its box.

    Attributes:
        uid: Host uid that is root inside, or None where the keeper's own is.
        many: Whether the box has a whole range of uids rather than one.
        limits: What it may use.
        held: Which mechanism holds each limit.
        group: Its control group, if there is one.
        spaces: Open namespace descriptors by name.
        seccomp: The system call filter, or None.
    """

    uid: int | None
    many: bool
    limits: Limits
    held: Held = field(default_factory=Held)
    group: Group | None = None
    spaces: dict[str, int] = field(default_factory=dict)
    seccomp: bytes | None = None


@dataclass(frozen=True)
class Command:
    """One command to run in the box."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    user: str | None
    make_cwd: bool = False


def drop(box: Box) -> None:
    """Become the box's uid on the host, without groups; nothing to do where the keeper is that uid."""
    if box.uid is not None:
        os.setgroups([])
        os.setresgid(box.uid, box.uid, box.uid)
        os.setresuid(box.uid, box.uid, box.uid)


def enter(box: Box, *names: str, limited: bool = True) -> None:
    """Join the control group, take the limits, and join the named namespaces."""
    if limited:
        if box.group is not None:
            box.group.join()
        apply_rlimits(box.limits, box.held)
    drop(box)
    # Not traceable while memory and descriptors of the host are still here.
    kernel.set_dumpable(False)
    for name, flag in _SPACES.items():
        if name in names and name in box.spaces:
            os.setns(box.spaces[name], flag)
    if "user" in names:
        if box.many:
            os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    kernel.set_dumpable(False)


def seal_imports() -> None:
    """No module is ever loaded from here on: the paths would be the box's."""
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()


def close_all_but(keep: Set[int]) -> None:
    """Close every descriptor except 0, 1, 2 and `keep`."""
    low = 3
    for fd in sorted(keep):
        if fd >= low:
            os.closerange(low, fd)
            low = fd + 1
    os.closerange(low, _MAX_FD)


def default_signals() -> None:
    """Undo what Python and the keeper changed, so that the command starts as from a shell."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _table(path: str) -> list[list[str]]:
    """Read a colon-separated table of the box; a hostile one yields nothing worse than no rows."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return []
            text = os.read(fd, _MAX_TABLE).decode("utf-8", "replace")
        finally:
            os.close(fd)
    except OSError:
        return []
    return [line.split(":") for line in text.splitlines() if line.count(":") >= 3]


@dataclass(frozen=True)
class Person:
    """A user of the box."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def find_user(user: str) -> Person:
    """Look a user up as Docker does: a name or number, optionally with `:group`.

    Raises:
        LookupError: No such user or group in the box.
    """
    name, _, group = user.partition(":")
    people, groups = _table("/etc/passwd"), _table("/etc/group")
    numeric = [row for row in people if len(row) >= 6 and row[2].isdigit() and row[3].isdigit()]
    row = next((row for row in numeric if name in (row[0], row[2])), None)
    if row is None and not name.isdigit():
        raise LookupError(f"no user '{name}' in the sandbox")
    uid = int(row[2]) if row is not None else int(name)
    gid = int(row[3]) if row is not None else 0
    more = [int(g[2]) for g in groups if row is not None and row[0] in g[3].split(",") and g[2].isdigit()]
    if group:
        found = next((g for g in groups if group in (g[0], g[2]) and g[2].isdigit()), None)
        if found is None and not group.isdigit():
            raise LookupError(f"no group '{group}' in the sandbox")
        gid = int(found[2]) if found is not None else int(group)
    return Person(uid, gid, (gid, *more), row[5] if row is not None else "/")


def _become(box: Box, user: str | None) -> Person:
    """Take the user's ids inside the box.

    Raises:
        LookupError: The user does not exist, or the box has one uid only.
    """
    if user in (None, "", "root", "0"):
        row = next((row for row in _table("/etc/passwd") if len(row) >= 6 and row[2] == "0"), None)
        return Person(0, 0, (0,), row[5] if row is not None else "/root")
    assert user is not None
    person = find_user(user)
    if not box.many:
        if person.uid == 0 and person.gid == 0:
            return person
        raise LookupError(
            f"user '{user}' is not available: an unprivileged sandbox has one user, root; "
            "start it as root, or use the task's default user"
        )
    os.setgroups(list(person.groups))
    os.setresgid(person.gid, person.gid, person.gid)
    os.setresuid(person.uid, person.uid, person.uid)
    return person


def execute(box: Box, command: Command) -> None:
    """Give up what is left of privilege and run the command; does not return.

    Exits 126 if the directory or user is wrong and 127 if the program is missing, with one line on
    standard error.
    """
    code = 126
    try:
        os.setsid()
        default_signals()
        os.umask(0o022)
        kernel.bounding_drop(CAPABILITIES)
        person = _become(box, command.user)
        kernel.no_new_privileges()
        kernel.set_death_signal(signal.SIGKILL)
        if person.uid == 0:
            kernel.capabilities_clear(CAPABILITIES)
        if command.make_cwd:
            os.makedirs(command.cwd, exist_ok=True)
        os.chdir(command.cwd)
        environment = {"HOME": person.home, **command.env}
        if box.seccomp is not None:
            kernel.seccomp_install(box.seccomp)
        code = 127
        os.execvpe(command.argv[0], command.argv, environment)
    except LookupError as error:
        message = str(error)
    except OSError as error:
        name = command.argv[0] if code == 127 else error.filename or command.cwd
        message = f"{name}: {error.strerror}"
        code = 126 if isinstance(error, PermissionError) else code
    except ValueError as error:
        message = str(error)
    with contextlib.suppress(OSError):
        os.write(2, f"sandbox: {message}\n".encode("utf-8", "replace"))
    os._exit(code)


def signal_all() -> None:
    """End every process of the box but its first; called inside its process namespace.

    One `kill(-1)` holds off all forks while it runs, so that nothing escapes it.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)

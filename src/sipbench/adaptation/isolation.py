"""Starting a program that must not read certain files, as far as the machine can hide them.

On Linux the program gets namespaces of its own: mounts, in which an empty read-only folder lies over
every hidden one, and processes, so that ``/proc`` shows nobody through whose eyes (``/proc/PID/root``,
``cwd``, ``fd``, ``environ``) it could look. It has no capability and cannot gain one, so that nothing can
be unmounted. Raw disks are hidden too, and the sockets of services that start programs for others.
This needs root or unprivileged user namespaces. Elsewhere the program is started as it is, and nothing
but not being told keeps it away (``omission``): that is said, and recorded.

This hides files; it confines nothing. The program has the network, and may write where its user may.
A hard link to a hidden file that lies outside of the hidden folders stays readable.

The file is also the program that enters the namespaces: it runs alone, in a fresh interpreter, and
imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

__all__ = ["Isolation", "Launched", "aliases", "launch"]

type Isolation = Literal["namespaces", "omission"]

_SERVICES = (
    "/run/user",
    "/run/dbus",
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd",
    "/run/systemd/private",
    "/run/snapd.socket",
)
"""Whoever can talk to these has programs started for it, outside of its namespaces."""

_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_PDEATHSIG, _BOUNDING_DROP, _NO_NEW_PRIVS, _AMBIENT, _AMBIENT_CLEAR = 1, 24, 38, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522


@dataclass(frozen=True, slots=True)
class Launched:
    """A started program.

    Attributes:
        process: With its output in pipes, in a session of its own.
        isolation: How the hidden files are kept from it.
        note: Why not better, if it is by omission.
    """

    process: subprocess.Popen[bytes]
    isolation: Isolation
    note: str | None = None


def launch(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], hidden: Sequence[Path]) -> Launched:
    """Start ``argv`` so that it cannot read what is in ``hidden``, if the machine can do that.

    Args:
        argv: The program and its arguments; never a shell.
        cwd: Its working directory; must not be hidden.
        env: Its whole environment.
        hidden: Files and folders to hide. What does not exist is not hidden.

    Raises:
        OSError: The program cannot be started.
    """
    if sys.platform != "linux":
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        return Launched(process, "omission", f"{sys.platform} has no namespaces")
    paths = [str(path.resolve()) for path in hidden]
    process, said = _start(argv, cwd, env, paths)
    if not said.startswith("refused"):
        return Launched(_running(process, said), "namespaces")
    process.communicate()
    note = said.removeprefix("refused").strip()
    process, said = _start(argv, cwd, env, None)
    return Launched(_running(process, said), "omission", note)


def _start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], hidden: Sequence[str] | None
) -> tuple[subprocess.Popen[bytes], str]:
    """Run this file as the program that starts ``argv``, and read what it says before it does so."""
    spec = {"argv": list(argv), "cwd": str(cwd), "hidden": hidden, "parent": os.getpid()}
    spec_read, spec_write = os.pipe()
    said_read, said_write = os.pipe()
    try:
        process = subprocess.Popen(
            # -I and -S: nothing of the environment or of site-packages runs before the doors are shut.
            [sys.executable, "-I", "-S", __file__, str(spec_read), str(said_write)],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(spec_read, said_write),
            start_new_session=True,
        )
    except BaseException:
        os.close(spec_write)
        os.close(said_read)
        raise
    finally:
        os.close(spec_read)
        os.close(said_write)
    try:
        with os.fdopen(spec_write, "wb") as writer:
            writer.write(json.dumps(spec).encode("ascii"))
        with os.fdopen(said_read, "rb") as reader:
            said = reader.read().decode("utf-8", errors="replace")
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return process, said


def _running(process: subprocess.Popen[bytes], said: str) -> subprocess.Popen[bytes]:
    """The process, unless ``said`` is that it could not start the program."""
    if said == "ready":
        return process
    _, stderr = process.communicate()
    match = re.fullmatch(r"(?:ready)?exec (\d+) (.*)", said, re.DOTALL)
    if match:
        number = int(match.group(1))
        raise OSError(number, os.strerror(number), match.group(2))
    detail = (said + " " + stderr.decode("utf-8", errors="replace")).strip()
    raise OSError(errno.EIO, f"the launcher ended early: {detail}")


def aliases(path: str, mountinfo: str) -> list[str]:
    """Other places where (a part of) ``path`` is mounted, as ``/proc/self/mountinfo`` tells.

    A folder that is bind-mounted twice is two paths to the same files.
    """
    mounts = []
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        mounts.append((fields[2], _unescaped(fields[3]), _unescaped(fields[4])))
    holding = [mount for mount in mounts if _is_within(path, mount[2])]
    if not holding:
        return []
    # Of mounts at one place the last lies on top.
    device, root, point = max(enumerate(holding), key=lambda item: (len(item[1][2]), item[0]))[1]
    inner = os.path.normpath(os.path.join(root, os.path.relpath(path, point)))  # noqa: PTH118
    found = []
    for other in mounts:
        if other[0] != device or other == (device, root, point):
            continue
        if _is_within(inner, other[1]):
            below = os.path.relpath(inner, other[1])
            found.append(os.path.normpath(os.path.join(other[2], below)))  # noqa: PTH118
        elif _is_within(other[1], inner):
            found.append(other[2])
    return [each for each in dict.fromkeys(found) if not _is_within(each, path)]


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)


# What follows runs in the fresh interpreter.


def _main() -> NoReturn:
    spec_fd, said = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(said, False)
    with os.fdopen(spec_fd, "rb") as reader:
        spec = json.loads(reader.read().decode("ascii"))
    _die_with_parent(spec["parent"])
    if spec["hidden"] is None:
        _prctl(_NO_NEW_PRIVS, 1)
        _execute(spec, said)
    try:
        _unshare()
    except OSError as error:
        _refuse(said, f"no new namespaces: {error.strerror}")
    inside = os.fork()
    if inside:
        os.close(said)
        os._exit(_status(os.waitpid(inside, 0)[1]))
    _die_with_parent(None)
    try:
        _hide(spec["hidden"])
        _drop_privileges()
    except OSError as error:
        _refuse(said, f"{error.strerror}{': ' + str(error.filename) if error.filename else ''}")
    _be_first_process(spec, said)


def _say(said: int, text: str) -> None:
    os.write(said, text.encode("utf-8", errors="replace")[:4000])


def _refuse(said: int, why: str) -> NoReturn:
    _say(said, f"refused {why}")
    os._exit(0)


def _be_first_process(spec: Mapping[str, Any], said: int) -> NoReturn:
    """Start the program, wait for it, collect orphans; when this process ends, all inside end with it."""
    program = os.fork()
    if not program:
        _execute(spec, said)
    os.close(said)
    while True:
        ended, status = os.wait()
        if ended == program:
            os._exit(_status(status))


def _status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _execute(spec: Mapping[str, Any], said: int) -> NoReturn:
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, programs do not expect that
        signal.signal(ignored, signal.SIG_DFL)
    try:
        # By its path, once all is hidden: the folder that was inherited would still be the one beneath.
        os.chdir(spec["cwd"])
        _say(said, "ready")
        os.execvp(spec["argv"][0], spec["argv"])
    except OSError as error:
        _say(said, f"exec {error.errno} {error.filename or spec['argv'][0]}")  # follows "ready", or not
    os._exit(127)


def _die_with_parent(parent: int | None) -> None:
    _prctl(_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:  # it was gone before we asked
        os._exit(125)


def _unshare() -> None:
    flags = os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWIPC
    try:
        os.unshare(flags)
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        os.unshare(flags | os.CLONE_NEWUSER)
        maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
        for name, text in maps.items():
            # As bytes: the interpreter's own files may be out of reach from here on, codecs included.
            Path("/proc/self", name).write_bytes(text.encode())


def _hide(hidden: Sequence[str]) -> None:
    _mount(None, "/", None, _REC | _PRIVATE)
    mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    masked: list[str] = []
    for path in sorted(hidden):
        for place in [path, *aliases(path, mountinfo)]:
            if not any(_is_within(place, other) for other in masked) and _mask(place):
                masked.append(place)
    for path in (*_SERVICES, *_disks("/dev")):
        _mask(path)
    _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)


def _mask(path: str) -> bool:
    """Lay something empty over ``path``; False if nobody can see it anyway."""
    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    if stat.S_ISDIR(mode):
        _mount("none", path, "tmpfs", _RDONLY | _NOSUID | _NODEV | _NOEXEC, "size=4k,mode=555")
    else:
        _mount("/dev/null", path, None, _BIND)
    return True


def _disks(folder: str) -> Iterator[str]:
    """Device nodes through which files can be read past the file system."""
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except OSError:
                continue
            if stat.S_ISDIR(mode) and entry.name not in ("pts", "shm", "mqueue", "hugepages"):
                yield from _disks(entry.path)
            generic = stat.S_ISCHR(mode) and (folder.endswith("/bsg") or re.fullmatch(r"sg\d+", entry.name))
            if (stat.S_ISBLK(mode) or generic) and os.access(entry.path, os.R_OK):
                yield entry.path


def _drop_privileges() -> None:
    for capability in range(64):  # until one that the kernel does not know
        if _libc().prctl(_BOUNDING_DROP, ctypes.c_ulong(capability), 0, 0, 0):
            break
    _libc().prctl(_AMBIENT, ctypes.c_ulong(_AMBIENT_CLEAR), 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if _libc().capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")
    _prctl(_NO_NEW_PRIVS, 1)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    if _libc().mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot mount: {os.strerror(number)}", target)


def _prctl(option: int, value: int) -> None:
    if _libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    _main()

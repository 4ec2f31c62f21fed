"""Running a program of a submission, shut in.

It runs in a copy, without network and environment, as a user that owns nothing, and everything it
started is dead before its verdict counts. Where a machine offers none of the ways to do that, the
check is not decided.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from .places import Place
from .verdicts import Failed, Impossible, shown

__all__ = ["run_script", "shut_in"]

NOBODY = 65534
_MAX_COPY = 1024 * 1024 * 1024
_MAX_OUTPUT = 64 * 1024
_MEMORY = 8 * 1024**3
_PROCESSES = 256
_NAMESPACES = ["--pid", "--fork", "--kill-child", "--net", "--ipc", "--mount-proc"]
# The first process of a namespace is deaf to signals, so the program must not be it.
_INIT = ["sh", "-c", '"$@"; exit $?', "sh"]
_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]


@cache
def shut_in() -> tuple[str, ...]:
    """The command that shuts a program in on this machine.

    Raises:
        Impossible: There is none.
    """
    as_root = [["unshare", *_NAMESPACES, *_NOBODY], _NOBODY]
    as_user = [["unshare", "--user", "--map-root-user", *_NAMESPACES]]
    for command in as_root + as_user if os.geteuid() == 0 else as_user:
        if shutil.which(command[0]) and _works(command):
            return tuple(command)
    raise Impossible("this machine offers no way to shut a program in (unshare, setpriv)")


def _works(command: list[str]) -> bool:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([*command, "true"], capture_output=True, timeout=20, env=_environment("/"))
        return done.returncode == 0
    return False


def _environment(home: str) -> dict[str, str]:
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"}


def run_script(submission: str, check: Mapping[str, Any]) -> str:
    """Run the command of a check in a copy of the submission.

    Raises:
        Failed: It cannot be started, ends with another status than 0, or takes too long.
        Impossible: It cannot be shut in here.
    """
    command = [*shut_in(), *_INIT, *check["cmd"]]
    with tempfile.TemporaryDirectory(prefix="grader-", ignore_cleanup_errors=True) as home:
        _copy(Place(submission), home)
        inside = check.get("cwd") or "."
        folder = os.path.realpath(os.path.join(home, inside))
        if os.path.commonpath([folder, os.path.realpath(home)]) != os.path.realpath(home):
            raise Failed(f"{shown(inside)} is outside of the submission")
        if not os.path.isdir(folder):
            raise Failed(f"there is no folder {shown(inside)}")
        return _ended(command, folder, float(check.get("timeout_s") or 60.0), check["cmd"][0])


def _ended(command: list[str], folder: str, timeout: float, name: str) -> str:
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=_environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_limited,
            )
        except OSError as error:
            raise Failed(f"{shown(name)} cannot be started: {error.strerror}") from None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"{shown(name)} takes longer than {timeout:g} s") from None
        finally:
            _end(process)
        if status != 0:
            size = output.seek(0, os.SEEK_END)
            output.seek(max(0, size - _MAX_OUTPUT))
            lines = output.read(_MAX_OUTPUT).decode("utf-8", "replace").strip().splitlines()
            raise Failed(f"{shown(name)} ends with status {status}: {shown(lines[-1] if lines else '', 120)}")
    return f"{shown(name)} ends with status 0"


def _limited() -> None:
    for kind, value in (
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_FSIZE, _MAX_COPY),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, _PROCESSES),
    ):
        with contextlib.suppress(OSError, ValueError):
            _, hard = resource.getrlimit(kind)
            limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (limit, limit))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and all it left behind, whether or not it went into another session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if os.geteuid() == 0 and process.args[0] == _NOBODY[0]:  # type: ignore[index]
        for pid in _of_nobody():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _of_nobody() -> Iterator[int]:
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == NOBODY:
                yield int(name)


def _copy(place: Place, home: str) -> None:
    """Copy the submission's regular files, and hand them to the user that the program runs as."""
    size = 0
    os.chmod(home, 0o755)
    for path in place.files():
        target = os.path.join(home, *path.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with os.fdopen(place.open(path), "rb") as source, open(target, "xb") as copy:
            info = os.fstat(source.fileno())
            size += info.st_size
            if size > _MAX_COPY:
                raise Failed(f"the submission is larger than {_MAX_COPY} bytes, too large to be run")
            shutil.copyfileobj(source, copy)
            os.fchmod(copy.fileno(), 0o755 if info.st_mode & 0o100 else 0o644)
    if os.geteuid() == 0:
        for folder, _, names in os.walk(home):
            for entry in (folder, *(os.path.join(folder, name) for name in names)):
                os.chown(entry, NOBODY, NOBODY, follow_symlinks=False)

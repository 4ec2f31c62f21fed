"""The keeper's loop: one socket, one box.

Requests: ``start`` once; then ``run``, ``put``, ``get``, ``sweep``, ``listen``,
``kill``, ``state`` and ``stop``. Each job is a forked child; its end is told as
``{"id", "code"}``. The end of the socket is the end of the box.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sipbench.sandbox.keeper import enter, jobs, kernel, spaces, watch, wire
from sipbench.sandbox.limits import Limits, fill_fallbacks, find_parents, make_group

__all__ = ["main"]

_TICK_MS = 250
_WORK: dict[str, Callable[[enter.Box, dict[str, Any], int], int]] = {
    "run": jobs.run,
    "put": jobs.put,
    "get": jobs.get,
    "sweep": jobs.sweep,
}


@dataclass
class _Job:
    """A forked child; what it started inside is told on `report`."""

    number: int
    report: int


class Keeper:
    """One box and the jobs in it."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.box: enter.Box | None = None
        self.started: spaces.Started | None = None
        self.watchdog: watch.Watchdog | None = None
        self.jobs: dict[int, _Job] = {}
        self.exceeded: str | None = None
        self.locks: list[int] = []
        self.remove: list[str] = []
        self.stopping = False

    # -- life ---------------------------------------------------------------------------------

    def start(self, spec: dict[str, Any], locks: list[int]) -> dict[str, Any]:
        """Make the box; `sipbench.sandbox.layout` writes the fields.

        Args:
            spec: What to make.
            locks: Descriptors whose locks say that the box and its layers are in use.
        """
        self.locks = [os.dup(fd) for fd in locks]
        self.remove = list(spec["remove"])
        limits = Limits(**spec["limits"])
        parents = find_parents() if spec["groups"] else []
        box = self.box = enter.Box(spec["uid"], spec["count"] > 1, limits)
        if spec["root"]:
            # Before the mounts, whose ids it maps; without privilege it is made inside the keeper's own.
            box.spaces["user"] = spaces.user_namespace(box, spec["count"])
        mapped = spaces.private_mounts(
            spec["root"], spec["mount_point"], spec["binds"], box.spaces.get("user")
        )
        kernel.keyring_new()
        box.group, held = make_group(limits, spec["group"], parents)
        box.held = fill_fallbacks(limits, held)
        box.seccomp = kernel.seccomp_filter() if spec["seccomp"] else None
        if not spec["root"]:
            box.spaces["user"] = spaces.user_namespace(box, spec["count"])
        self.started = spaces.start(box, spec["bwrap"], spec["arguments"])
        space, by_group = box.spaces["pid"], box.held.memory.startswith("cgroup")
        self.watchdog = watch.Watchdog(limits, spec["directory"], space, not by_group)
        return {"held": asdict(box.held), "seccomp": box.seccomp is not None, "mapped": mapped}

    def end(self) -> None:
        """End every process of the box and wait until none of them runs any more."""
        for pid in self.jobs:
            _kill(pid)
        if self.started is not None:
            # Not bubblewrap outside: it is the one that reaps the first process.
            _kill(self.started.first)
            self._wait(watch.is_running)

    def clear(self) -> None:
        """Remove what the box wrote, wait for its mounts to go, and remove its group."""
        # The files first: the kernel writes out all that is dirty when an overlay is unmounted.
        for directory in self.remove:
            watch.remove_tree(directory)
        if self.started is not None:
            self._wait(lambda pid: True)
            _kill(self.started.outer)
            with contextlib.suppress(OSError):
                os.waitpid(self.started.outer, 0)
        for directory in self.remove:
            watch.remove_tree(directory)
        if self.box is not None and self.box.group is not None:
            self.box.group.remove()

    def _wait(self, counts: Callable[[int], bool]) -> None:
        assert self.box is not None
        deadline = time.monotonic() + 60
        space = self.box.spaces.get("pid")
        while space is not None and time.monotonic() < deadline:
            if not any(counts(pid) for pid in watch.box_processes(space)):
                return
            time.sleep(0.002)

    # -- jobs ---------------------------------------------------------------------------------

    def work(self, message: dict[str, Any], fds: list[int]) -> None:
        """Fork a child that does one job with `fds` as 0, 1 and 2."""
        box, task = self._running(), _WORK[message["op"]]
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 125
            try:
                enter.default_signals()
                for target, fd in enumerate(fds[:3]):
                    os.dup2(fd, target)
                enter.close_all_but({write, *box.spaces.values()})
                code = task(box, message, write)
            except BaseException as error:
                with contextlib.suppress(BaseException):
                    os.write(2, f"sandbox: {_line(error)}\n".encode("utf-8", "replace"))
            finally:
                os._exit(code)
        os.close(write)
        os.set_blocking(read, False)
        self.jobs[pid] = _Job(message["id"], read)

    def kill(self, number: int) -> None:
        """End a job with all of its session; what made a session of its own is spared."""
        for pid, job in self.jobs.items():
            if job.number != number:
                continue
            leader = 0
            with contextlib.suppress(OSError, ValueError):
                leader = int(os.read(job.report, 32))
            for _ in range(100 if leader else 0):
                members = watch.session_members(leader)
                if not members:
                    break
                for member in members:
                    _kill(member)
            _kill(pid)

    def reap(self) -> None:
        """Report the end of the box first, then the jobs that have ended."""
        if self.started is not None and self.exceeded is None:
            pid, _ = os.waitpid(self.started.outer, os.WNOHANG)
            if pid:
                self._over("ended")
        for pid in list(self.jobs):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                job = self.jobs.pop(pid)
                os.close(job.report)
                wire.send(self.sock, {"id": job.number, "code": jobs.exit_code(status)})

    def tick(self) -> None:
        """Let the watchdog look; end the box if a limit is exceeded."""
        if self.watchdog is None or self.started is None or self.exceeded is not None:
            return
        exceeded = self.watchdog.look()
        if exceeded is not None:
            _kill(self.started.first)
            self._over(exceeded)

    def _over(self, why: str) -> None:
        self.exceeded = why
        wire.send(self.sock, {"ended": why})

    def state(self) -> dict[str, Any]:
        """Report what the limits saw."""
        group = self.box.group if self.box is not None else None
        return {
            "exceeded": self.exceeded,
            "out_of_memory_kills": group.out_of_memory_kills() if group else None,
            "processes_refused": group.processes_refused() if group else None,
            "disk_used": self.watchdog.disk_used if self.watchdog else None,
        }

    def _running(self) -> enter.Box:
        if self.box is None or self.started is None:
            raise spaces.StartError("the box is not started")
        if self.exceeded is not None:
            raise spaces.StartError(f"the box has ended: {self.exceeded}")
        return self.box

    # -- loop ---------------------------------------------------------------------------------

    def answer(self, message: dict[str, Any], fds: list[int]) -> tuple[dict[str, Any] | None, list[int]]:
        """Carry out one request; None where the answer comes later."""
        op, done = message["op"], {"id": message["id"], "code": 0}
        if op == "start":
            return {**done, **self.start(message["spec"], fds)}, []
        if op in _WORK:
            self.work(message, fds)
            return None, []
        if op == "listen":
            fd = jobs.listen(self._running(), message["port"])
            if fd is None:
                raise spaces.StartError(f"cannot listen on port {message['port']} inside the sandbox")
            return done, [fd]
        if op == "state":
            return {**done, **self.state()}, []
        if op == "kill":
            self.kill(message["job"])
            return None, []
        if op == "stop":
            if message["keep"]:
                self.remove = []
            self.end()
            self.stopping = True
        return done, []

    def handle(self, message: dict[str, Any], fds: list[int]) -> None:
        """Answer one request; its failure is an answer too, never the keeper's end."""
        out: list[int] = []
        try:
            answer, out = self.answer(message, fds)
        except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
            answer = {"id": message.get("id"), "code": 125, "error": _line(error)}
        finally:
            for fd in fds:
                os.close(fd)
        if answer is not None:
            wire.send(self.sock, answer, out)
        for fd in out:
            os.close(fd)

    def run(self) -> None:
        """Serve until asked to stop, or until the socket ends."""
        wake_r, wake_w = os.pipe()
        for fd in (wake_r, wake_w):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_w)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poller = select.poll()
        poller.register(self.sock, select.POLLIN)
        poller.register(wake_r, select.POLLIN)
        while not self.stopping:
            events = dict(poller.poll(_TICK_MS))
            if wake_r in events:
                with contextlib.suppress(OSError):
                    os.read(wake_r, 4096)
            if self.sock.fileno() in events:
                request = wire.receive(self.sock)
                if request is None:
                    return
                self.handle(*request)
            self.reap()
            self.tick()


def _kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _serve(sock: socket.socket) -> None:
    """Keep one box until its end."""
    keeper = Keeper(sock)
    try:
        with contextlib.suppress(OSError):
            keeper.run()
    finally:
        keeper.end()
        keeper.clear()


def main() -> None:
    """Fork a keeper for each box asked for over the socket on descriptor 0, until that ends."""
    kernel.hide_arguments("sandbox")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kernel.set_dumpable(True)
    os.chdir("/")
    requests = socket.socket(fileno=os.dup(0))
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        try:
            data, fds, _, _ = socket.recv_fds(requests, 1, 4)
        except OSError:
            return
        if not data:
            return
        for fd in fds:
            if os.fork() == 0:
                requests.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                try:
                    _serve(socket.socket(fileno=fd))
                finally:
                    os._exit(0)
            os.close(fd)

"""One running sandbox.

A box is a keeper process with bubblewrap under it. Commands enter it one by one;
what they leave running stays until the box stops, and nothing outlives the box.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from dataclasses import dataclass
from typing import Any

from sipbench.errors import EngineError
from sipbench.sandbox import launcher
from sipbench.sandbox.bwrap import Binary, Machine
from sipbench.sandbox.endings import BoxEndedError, TimedOutError
from sipbench.sandbox.keeper import wire
from sipbench.sandbox.layout import Layout, keeper_spec
from sipbench.sandbox.limits import Held, Limits
from sipbench.sandbox.policy import DEFAULT_ENV
from sipbench.sandbox.streams import OUTPUT_LIMIT, Capture, OutputHandler, Streams
from sipbench.sandbox.threads import in_thread

__all__ = ["Box", "Done"]

_Answer = tuple[dict[str, Any], list[int]]
_KILL_PATIENCE = 30.0


@dataclass(frozen=True)
class Done:
    """The end of a command.

    Attributes:
        code: Exit code; 128 + n when signal n ended it, 126 or 127 when it could not be started.
        stdout: Standard output as bytes, shortened in the middle beyond the limit.
        stderr: Standard error, likewise.
    """

    code: int
    stdout: bytes = b""
    stderr: bytes = b""

    def text(self) -> tuple[str, str]:
        """Both streams as text; what is not UTF-8 is replaced."""
        return self.stdout.decode("utf-8", "replace"), self.stderr.decode("utf-8", "replace")

    def error_line(self) -> str:
        """Return the last line of standard error, for a message."""
        lines = self.text()[1].strip().splitlines()
        return lines[-1].removeprefix("sandbox: ") if lines else f"exit code {self.code}"


class Box:
    """A running sandbox; made by `Box.start`, ended by `stop`.

    Attributes:
        layout: What it is made of.
        held: Which mechanism holds each limit.
        seccomp: Whether the system call filter is in place.
        mapped: Whether the system's files belong to users of the box and so can be changed in place.
        ended: Why the box is no longer running, or None.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.held = Held()
        self.seccomp = self.mapped = False
        self.ended: str | None = None
        self._loop = asyncio.get_running_loop()
        self._streams = Streams()
        self._sock: socket.socket | None = None
        self._gone = asyncio.Event()
        self._count = 0
        self._waiting: dict[int, asyncio.Future[_Answer]] = {}

    # -- life ---------------------------------------------------------------------------------

    @classmethod
    async def start(
        cls, layout: Layout, machine: Machine, binary: Binary, limits: Limits, *, groups: bool = True
    ) -> Box:
        """Start a box.

        Args:
            layout: What it is made of.
            machine: What this machine allows.
            binary: Which bubblewrap.
            limits: What it may use.
            groups: Use control groups where they can be had.

        Raises:
            EngineError: It could not be started; the message says why.
        """
        box = cls(layout)
        try:
            box._sock = await in_thread(launcher.new_keeper)
            box._loop.add_reader(box._sock.fileno(), box._readable)
            spec = keeper_spec(layout, machine, binary, limits, groups)
            answer, _ = await box._ask({"op": "start", "spec": spec}, list(layout.locks))
            box.held, box.seccomp = Held(**answer["held"]), bool(answer["seccomp"])
            box.mapped = bool(answer["mapped"])
        except BaseException:
            await box.stop()
            raise
        finally:
            for fd in layout.locks:
                os.close(fd)
        return box

    async def stop(self, *, keep: bool = False, wait: bool = False) -> None:
        """End the box with everything in it.

        When this returns no process of the box runs. Its files are removed in the background.

        Args:
            keep: Keep what it wrote.
            wait: Return only when its mounts are gone too.
        """
        if self._sock is None:
            return
        with contextlib.suppress(EngineError, OSError):
            await self._ask({"op": "stop", "keep": keep})
            if wait:
                await self._gone.wait()
        self.ended = self.ended or "it was stopped"
        self._hang_up()
        await self._streams.stop()

    def _hang_up(self) -> None:
        if self._sock is None:
            return
        self._loop.remove_reader(self._sock.fileno())
        self._sock.close()
        self._sock = None
        self._gone.set()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._over())
        self._waiting.clear()

    def _over(self) -> BoxEndedError:
        return BoxEndedError(f"the sandbox has ended: {self.ended or 'its keeper is gone'}")

    # -- messages -----------------------------------------------------------------------------

    def _readable(self) -> None:
        assert self._sock is not None
        try:
            received = wire.receive(self._sock)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            received = None
        if received is None:
            self._hang_up()
            return
        message, fds = received
        if "ended" in message:
            self.ended = _why(message["ended"])
            return
        future = self._waiting.pop(message.get("id", -1), None)
        if future is not None and not future.done():
            future.set_result((message, fds))
        else:
            for fd in fds:
                os.close(fd)

    def _post(self, message: dict[str, Any], fds: list[int]) -> tuple[int, asyncio.Future[_Answer]]:
        if self._sock is None:
            raise self._over()
        self._count += 1
        future: asyncio.Future[_Answer] = self._loop.create_future()
        self._waiting[self._count] = future
        try:
            wire.send(self._sock, {**message, "id": self._count}, fds)
        except ValueError as error:
            self._waiting.pop(self._count, None)
            raise EngineError(f"sandbox: {error}") from error
        except OSError as error:
            self._waiting.pop(self._count, None)
            raise self._over() from error
        return self._count, future

    async def _ask(self, message: dict[str, Any], fds: list[int] | None = None) -> _Answer:
        _, future = self._post(message, fds or [])
        answer, out = await future
        if answer.get("error"):
            raise EngineError(f"sandbox: {answer['error']}")
        return answer, out

    # -- work ---------------------------------------------------------------------------------

    async def request(
        self,
        op: str,
        message: dict[str, Any],
        *,
        stdin: int | None = None,
        stdout: int | None = None,
        timeout_sec: float | None = None,
        limit: int = OUTPUT_LIMIT,
        handler: OutputHandler | None = None,
    ) -> Done:
        """Start one job in the keeper and wait for its end.

        Args:
            op: `run`, `put`, `get` or `sweep`.
            message: Its fields.
            stdin: Descriptor for its input, closed here; None gives it none.
            stdout: Descriptor for its output, closed here; None collects it.
            timeout_sec: Seconds after which the job is ended.
            limit: Bytes kept of each collected stream.
            handler: Called with each piece of text and "stdout" or "stderr" as it arrives.

        Raises:
            TimedOutError: The time is over.
            BoxEndedError: The box ended meanwhile.
        """
        given = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) if stdin is None else stdin]
        pipes: list[tuple[int, str, Capture]] = []
        for name, end in (("stdout", stdout), ("stderr", None)):
            if end is None:
                read, end = os.pipe2(os.O_CLOEXEC)
                pipes.append((read, name, Capture(limit)))
            given.append(end)
        try:
            number, future = self._post({"op": op, **message}, given)
        except BaseException:
            for read, _, _ in pipes:
                os.close(read)
            raise
        finally:
            for fd in given:
                os.close(fd)
        over = asyncio.Event()
        readers = [asyncio.create_task(self._streams.collect(*pipe, over, handler)) for pipe in pipes]
        try:
            code = await self._finish(number, future, timeout_sec)
        finally:
            over.set()
            await asyncio.gather(*readers, return_exceptions=True)
        output = {name: capture.value() for _, name, capture in pipes}
        return Done(code, output.get("stdout", b""), output["stderr"])

    async def _finish(self, number: int, future: asyncio.Future[_Answer], timeout_sec: float | None) -> int:
        try:
            answer, _ = await asyncio.wait_for(asyncio.shield(future), timeout_sec)
        except TimeoutError:
            await self._kill(number, future)
            raise TimedOutError(f"the command took longer than {timeout_sec:g} seconds") from None
        except asyncio.CancelledError:
            await asyncio.shield(self._kill(number, future))
            raise
        if self.ended is not None:
            raise self._over()
        if answer.get("error"):
            raise EngineError(f"sandbox: {answer['error']}")
        return int(answer["code"])

    async def _kill(self, number: int, future: asyncio.Future[_Answer]) -> None:
        if self._sock is None:
            return
        with contextlib.suppress(OSError):
            wire.send(self._sock, {"op": "kill", "job": number, "id": 0})
        with contextlib.suppress(EngineError, TimeoutError):
            await asyncio.wait_for(asyncio.shield(future), _KILL_PATIENCE)

    async def exec(
        self,
        argv: list[str],
        *,
        env: dict[str, str] | None = None,
        cwd: str = "/",
        user: str | None = None,
        make_cwd: bool = False,
        timeout_sec: float | None = None,
        stdin: int | None = None,
        limit: int = OUTPUT_LIMIT,
        handler: OutputHandler | None = None,
    ) -> Done:
        """Run a command in the box.

        The environment is the default one and `env`, nothing of the host. The command has no
        terminal and a session of its own.

        Args:
            argv: Program and arguments; the program is looked up in the box.
            env: Variables; they win over the defaults.
            cwd: Absolute path inside.
            user: Name or number, optionally with `:group`; None is root.
            make_cwd: Make `cwd` if it is missing.
            timeout_sec: Seconds after which it is ended with all of its session.
            stdin: Descriptor for its input, closed here.
            limit: Bytes kept of each output stream.
            handler: Called with each piece of output as it arrives.

        Raises:
            TimedOutError: The time is over.
            BoxEndedError: The box ended meanwhile, for instance by a limit.
            EngineError: A word or variable cannot be passed to a program.
        """
        variables = {**DEFAULT_ENV, **(env or {})}
        for name, value in variables.items():
            if not name or "=" in name or "\0" in name + value:
                raise EngineError(f"sandbox variable {name!r}: a name without '=' and no NUL are needed")
        if any("\0" in word for word in (*argv, cwd)):
            raise EngineError("a sandbox command with a NUL character")
        message = {
            "command": {"argv": argv, "env": variables, "cwd": cwd, "user": user, "make_cwd": make_cwd}
        }
        return await self.request(
            "run", message, stdin=stdin, timeout_sec=timeout_sec, limit=limit, handler=handler
        )

    async def sweep(self) -> None:
        """End every process in the box but its first; files stay.

        Raises:
            EngineError: Some could not be ended within ten seconds.
        """
        done = await self.request("sweep", {})
        if done.code != 0:
            raise EngineError(f"processes of the sandbox could not be ended: {done.error_line()}")

    async def listen(self, port: int) -> socket.socket:
        """Open a listening socket on the box's own loopback, for the host to serve."""
        _, fds = await self._ask({"op": "listen", "port": port})
        return socket.socket(fileno=fds[0])

    async def state(self) -> dict[str, Any]:
        """What the limits saw: kills for want of memory, refused processes, bytes on disk."""
        answer, _ = await self._ask({"op": "state"})
        return {key: value for key, value in answer.items() if key not in ("id", "code")}


def _why(name: str) -> str:
    return {
        "lifetime": "it was older than allowed (limit lifetime_sec)",
        "memory": "its processes used more memory than allowed (limit memory_mb)",
        "disk": "it wrote more to disk than allowed (limit disk_mb)",
        "ended": "its first process is gone",
    }.get(name, name)

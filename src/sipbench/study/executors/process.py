"""One worker process as the runner sees it: started, given a job, listened to, ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from typing import Any

from sipbench.errors import EngineError
from sipbench.study.executors.base import Recipe
from sipbench.study.executors.worker import HEADER, Failure, Ready, Setup, pack
from sipbench.study.guard import describe

__all__ = ["WorkerDiedError", "WorkerProcess"]

_log = logging.getLogger("sipbench.worker")

_PROGRAM = "import sys; sys.path[:] = {path!r}; from sipbench.study.executors.worker import main; main({fds})"
_START_SECONDS = 600.0
_END_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_LONGEST_LINE = 4096
_LARGEST_FRAME = 1 << 32


class WorkerDiedError(Exception):
    """The process ended before it answered; the message says how, and its last words."""


class _Channel(asyncio.Protocol):
    """Puts frames together; at most one answer is awaited at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._waiter: asyncio.Future[Any] | None = None
        self.lost = False

    def expect(self) -> asyncio.Future[Any]:
        self._waiter = asyncio.get_running_loop().create_future()
        if self.lost:
            self._waiter.set_exception(WorkerDiedError())
        return self._waiter

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) < HEADER.size:
            return
        (size,) = HEADER.unpack_from(self._buffer)
        if size > _LARGEST_FRAME:
            self._settle(error=ValueError(f"an answer of {size} bytes"))
        elif len(self._buffer) >= HEADER.size + size:
            text = bytes(self._buffer[HEADER.size : HEADER.size + size])
            del self._buffer[: HEADER.size + size]
            try:
                self._settle(pickle.loads(text))
            except Exception as error:
                self._settle(error=error)
            except SystemExit as error:
                self._settle(error=pickle.UnpicklingError(describe(error)))

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost = True
        self._settle(error=WorkerDiedError())

    def _settle(self, message: Any = None, error: BaseException | None = None) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done():
            return
        if error is None:
            waiter.set_result(message)
        else:
            waiter.set_exception(error)


class _Output(asyncio.Protocol):
    """What the worker prints: to the log, line by line, whatever its bytes are; the last lines kept."""

    def __init__(self) -> None:
        self._rest = b""
        self.last: deque[str] = deque(maxlen=20)

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            lines, rest = [*lines, rest], b""
        self._rest = rest
        for line in lines:
            self._take(line)

    def connection_lost(self, _error: Exception | None) -> None:
        if self._rest:
            self._take(self._rest)

    def _take(self, line: bytes) -> None:
        text = line[:_LONGEST_LINE].decode("utf-8", errors="replace").rstrip()
        if text:
            self.last.append(text)
            _log.debug("%s", text)


class WorkerProcess:
    """A process that carries out one job at a time."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        transport: asyncio.Transport,
        channel: _Channel,
        output: _Output,
        lifeline: int,
    ) -> None:
        self._process = process
        self._transport = transport
        self._channel = channel
        self._output = output
        self._lifeline = lifeline
        self._outputs: asyncio.BaseTransport | None = None
        self._ended = False
        self._look = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look_after)

    @classmethod
    async def start(cls, recipe: Recipe | None) -> WorkerProcess:
        """Start one and wait until it can take jobs.

        Args:
            recipe: The benchmark it makes; None for one that is to adapt.

        Raises:
            EngineError: It cannot be started, or the benchmark cannot be made in it.
        """
        worker = await cls._spawn()
        try:
            answer = await asyncio.wait_for(worker.ask(Setup(recipe)), _START_SECONDS)
        except WorkerDiedError as error:
            await worker.kill()
            raise EngineError(f"a worker process could not start: {error}") from None
        except TimeoutError:
            await worker.kill()
            raise EngineError(f"a worker process was not ready after {_START_SECONDS:g} s") from None
        except BaseException:
            await worker.kill()
            raise
        if isinstance(answer, Failure):
            await worker.kill()
            raise EngineError(answer.message)
        assert isinstance(answer, Ready)
        return worker

    @classmethod
    async def _spawn(cls) -> WorkerProcess:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        hold_read, hold_write = os.pipe()
        fds = f"{theirs.fileno()}, {hold_read}"
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(path=sys.path, fds=fds)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(), hold_read),
                # A group of its own: Ctrl-C is the runner's to hear, and what it starts ends with it.
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            os.close(hold_write)
            raise EngineError(f"a worker process cannot be started: {error.strerror or error}") from None
        finally:
            theirs.close()
            os.close(hold_read)
        ours.setblocking(False)
        transport, channel = await loop.create_connection(_Channel, sock=ours)
        worker = cls(process, transport, channel, output := _Output(), hold_write)
        worker._outputs, _ = await loop.connect_read_pipe(lambda: output, process.stdout)
        return worker

    @property
    def alive(self) -> bool:
        """Whether it can be given a job."""
        return not self._channel.lost

    async def ask(self, message: Any) -> Any:
        """Send a job and wait for the answer.

        Raises:
            WorkerDiedError: It ended before it answered.
        """
        waiter = self._channel.expect()
        self._transport.write(pack(message))
        try:
            return await waiter
        except WorkerDiedError:
            raise WorkerDiedError(await self._obituary()) from None

    async def kill(self) -> None:
        """End it now, with all that it started."""
        self._kill_group()
        await self._exited(_END_SECONDS)
        self._release()

    async def close(self) -> None:
        """Let it end by itself, then end what is left of its group."""
        self._transport.close()
        await self._exited(_END_SECONDS)
        await self.kill()

    def _look_after(self) -> None:
        """Notice an end that the channel does not: what the worker forked may hold the other end open."""
        if self._ended:  # at the last look already, and its last answer would have arrived since
            self._channel.connection_lost(None)
            return
        self._ended = self._has_exited()
        self._look = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look_after)

    async def _obituary(self) -> str:
        await self._exited(_END_SECONDS)
        self._kill_group()
        code = self._process.wait()
        await asyncio.sleep(0)  # lets its last output arrive
        how = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with status {code}"
        last = f": {self._output.last[-1]}" if self._output.last else ""
        return f"the worker process {how}{last}"

    async def _exited(self, seconds: float) -> bool:
        """Wait until the process has ended; where the system can, without giving up its number."""
        end = time.monotonic() + seconds
        while not self._has_exited():
            if time.monotonic() > end:
                return False
            await asyncio.sleep(0.002)
        return True

    def _has_exited(self) -> bool:
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _kill_group(self) -> None:
        # Once the process was reaped its number may be somebody else's.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _release(self) -> None:
        self._look.cancel()
        self._process.poll()
        self._transport.close()
        if self._outputs is not None:
            self._outputs.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return str(number)

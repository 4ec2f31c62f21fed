"""The output of a command: collected as bytes, bounded, decoded once."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

__all__ = ["OUTPUT_LIMIT", "Capture", "OutputHandler", "Streams"]

#: Bytes kept of each output stream unless told otherwise: the first half and the last half.
OUTPUT_LIMIT = 32 * 1024 * 1024
OutputHandler = Callable[[str, str], Awaitable[None]]
_BLOCK = 1 << 16


@dataclass
class Capture:
    """Collects bytes up to a limit, keeping the beginning and the end."""

    limit: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def add(self, block: bytes) -> None:
        """Add a piece."""
        room = self.limit // 2 - len(self.head)
        if room > 0:
            self.head += block[:room]
            block = block[room:]
        self.tail += block
        over = len(self.tail) - self.limit // 2
        # Trimmed in steps: moving the end for every small piece would cost the square of the output.
        if over > max(self.limit // 2, _BLOCK):
            self._trim(over)

    def _trim(self, over: int) -> None:
        del self.tail[:over]
        self.dropped += over

    def value(self) -> bytes:
        """What was collected, with a note where something was left out."""
        over = len(self.tail) - self.limit // 2
        if over > 0:
            self._trim(over)
        if not self.dropped:
            return bytes(self.head + self.tail)
        note = f"\n[... {self.dropped} bytes left out ...]\n".encode()
        return bytes(self.head) + note + bytes(self.tail)


class Streams:
    """Reads the pipes of one command, and goes on draining those that something left running holds."""

    def __init__(self) -> None:
        self._draining: set[asyncio.Task[None]] = set()

    async def collect(
        self, fd: int, name: str, capture: Capture, over: asyncio.Event, handler: OutputHandler | None
    ) -> None:
        """Read until the end, or until the command is over and the pipe is empty.

        What it left running may go on writing: the pipe is then drained and dropped in the
        background, so that a service does not die of its own log.
        """
        os.set_blocking(fd, False)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        at_end = False
        try:
            while not at_end:
                try:
                    block = os.read(fd, _BLOCK)
                except BlockingIOError:
                    if over.is_set():
                        break
                    await _readable(fd, over)
                    continue
                at_end = not block
                capture.add(block)
                if handler is not None and (text := decoder.decode(block, final=at_end)):
                    await handler(text, name)
        finally:
            if at_end:
                os.close(fd)
            else:
                task = asyncio.create_task(_drop(fd))
                self._draining.add(task)
                task.add_done_callback(self._draining.discard)

    async def stop(self) -> None:
        """Stop draining and close what is left."""
        tasks = list(self._draining)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _readable(fd: int, over: asyncio.Event | None) -> None:
    """Wait until `fd` can be read or `over` is set."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    waits = {asyncio.ensure_future(event.wait()) for event in (ready, over) if event is not None}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(fd)
        for wait in waits:
            wait.cancel()


async def _drop(fd: int) -> None:
    try:
        while True:
            with contextlib.suppress(BlockingIOError):
                if not os.read(fd, _BLOCK):
                    return
                continue
            await _readable(fd, None)
    finally:
        os.close(fd)

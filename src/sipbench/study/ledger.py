"""Writes what happens in a study: lines are there at once, and durable a moment later, many at a time.

Whatever is appended outlives the runner at once. That it outlives the machine takes a sync, which may
take longer than an attempt: a thread syncs whatever was appended since its last sync, and says so.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from pydantic import BaseModel

from sipbench.errors import StudyError
from sipbench.protocol.adaptations import AdaptationRecord
from sipbench.protocol.jsonl import LineWriter
from sipbench.protocol.records import RunRecord
from sipbench.study.directory import StudyDirectory
from sipbench.study.journal import Event, Finished

__all__ = ["Ledger"]

_GATHER_SECONDS = 0.01


class Ledger:
    """The three files that only ever grow: ``runs.jsonl``, ``adaptations.jsonl``, ``journal.jsonl``."""

    def __init__(self, directory: StudyDirectory) -> None:
        self._directory = directory
        self._loop = asyncio.get_running_loop()
        try:
            self._runs = LineWriter(directory.runs)
            self._adaptations = LineWriter(directory.adaptations)
            self._journal = LineWriter(directory.journal)
        except OSError as error:
            raise self._failure(error) from None
        self._wanted = threading.Condition()
        self._pending: list[asyncio.Future[None]] = []
        self._dirty: set[LineWriter] = set()
        self._closing = False
        self._thread = threading.Thread(target=self._sync_forever, name="ledger", daemon=True)
        self._thread.start()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def note(self, event: Event) -> None:
        """Append an event to the journal.

        Raises:
            StudyError: It cannot be written.
        """
        self._append((self._journal, event))

    def record(self, record: RunRecord) -> asyncio.Future[None]:
        """Append a finished attempt, then the event; done when both are durable.

        Raises:
            StudyError: It cannot be written.
        """
        finished = Finished(run_id=record.run_id, status=record.status)
        return self._append((self._runs, record), (self._journal, finished))

    def adapted(self, record: AdaptationRecord, event: Event) -> asyncio.Future[None]:
        """Append a finished adaptation, then its event; done when both are durable.

        Raises:
            StudyError: It cannot be written.
        """
        return self._append((self._adaptations, record), (self._journal, event))

    async def close(self) -> None:
        """Make everything durable and close the files.

        Raises:
            StudyError: What was appended cannot be written.
        """
        with self._wanted:
            self._closing = True
            self._wanted.notify()
        await asyncio.to_thread(self._thread.join)
        failed: OSError | None = None
        for writer in (self._runs, self._adaptations, self._journal):
            try:
                writer.close()
            except OSError as error:
                failed = error
        if failed is not None:
            raise self._failure(failed)

    def _append(self, *lines: tuple[LineWriter, BaseModel]) -> asyncio.Future[None]:
        durable: asyncio.Future[None] = self._loop.create_future()
        try:
            for writer, model in lines:
                writer.append([_document(model)])
        except OSError as error:
            raise self._failure(error) from None
        with self._wanted:
            self._dirty.update(writer for writer, _ in lines)
            self._pending.append(durable)
            self._wanted.notify()
        return durable

    def _sync_forever(self) -> None:
        while True:
            with self._wanted:
                while not self._pending and not self._closing:
                    self._wanted.wait()
                if not self._pending:
                    return
            # Little depends on one attempt, and a sync costs the same for many.
            time.sleep(_GATHER_SECONDS)
            with self._wanted:
                pending, self._pending = self._pending, []
                dirty, self._dirty = self._dirty, set()
            error: StudyError | None = None
            try:
                for writer in dirty:
                    writer.sync()
            except OSError as failed:
                error = self._failure(failed)
            self._loop.call_soon_threadsafe(_settle(pending, error))

    def _failure(self, error: OSError) -> StudyError:
        return StudyError(
            f"{self._directory.root}: cannot be written: {error.strerror or error}; make room or give the "
            "right to write, then run it again: what is finished stays finished"
        )


def _document(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json")


def _settle(pending: list[asyncio.Future[None]], error: StudyError | None) -> Callable[[], None]:
    def settle() -> None:
        for future in pending:
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
                future.exception()  # nobody may be waiting for the sync of a mere note

    return settle

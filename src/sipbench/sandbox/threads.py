"""Blocking work beside an event loop, each piece in a thread of its own.

The loop's default pool has few threads. Transfers that wait for a box, and boxes
that wait for a layer, would fill it, and what they wait for would find no thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

__all__ = ["in_thread"]


async def in_thread[**P, T](function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a new thread and wait for its result.

    Cancelling the wait does not stop the function.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, result, failure)

    threading.Thread(target=work, name="sandbox", daemon=True).start()
    return await future

"""Calls into plug-ins: what they raise reaches the person as one line, not as a traceback."""

from __future__ import annotations

import logging
from collections.abc import Callable

from sipbench.errors import EngineError, SipbenchError

__all__ = ["describe", "guarded", "said_by"]

log = logging.getLogger(__name__)


def guarded[Result](who: str, call: Callable[[], Result]) -> Result:
    """Call a plug-in.

    Args:
        who: The plug-in, as the message names it.
        call: What to call.

    Raises:
        SipbenchError: What the plug-in itself says of its input.
        EngineError: Anything else that it raised; the traceback is in the log.
    """
    try:
        return call()
    except SipbenchError:
        raise
    except (Exception, SystemExit) as error:
        log.debug("%s failed", who, exc_info=True)
        raise EngineError(f"{who} failed: {describe(error)}; `-vv` shows where") from error


def describe(error: BaseException) -> str:
    """The kind of an exception and what it says, in text that can be encoded; never fails itself."""
    said = said_by(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def said_by(error: BaseException) -> str:
    """What an exception says, in text that can be encoded; nothing if it cannot even say it."""
    try:
        return str(error).encode("utf-8", "replace").decode("utf-8")
    except Exception:
        return ""

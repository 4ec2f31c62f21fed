"""Calls into plug-ins: what they raise reaches the person as one line, not as a traceback."""

from __future__ import annotations

import logging
from collections.abc import Callable

from sipbench.errors import EngineError, SipbenchError

__all__ = ["guarded"]

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
    except Exception as error:
        log.debug("%s failed", who, exc_info=True)
        kind = type(error).__name__
        raise EngineError(f"{who} failed: {kind}: {error}; `-vv` shows where") from error

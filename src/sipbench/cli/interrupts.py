"""Ctrl-C before a command is there to hear it, and after it is done: the process ends with 130, silently.

Imports take most of a command's first tenth of a second, and an exception that is raised in the middle of
one is a traceback, or is lost. So this module, and whatever is loaded before it, must be next to nothing.
"""

from __future__ import annotations

# The module `signal` takes a tenth of a start-up to give its numbers names.
import _signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

__all__ = ["INTERRUPTED", "hear", "leave_quietly"]

INTERRUPTED = 130
_IMPORTING = "<frozen importlib."


def leave_quietly() -> None:
    """From now on end the process at once when it is interrupted. An ignored Ctrl-C stays ignored."""
    if _signal.getsignal(_signal.SIGINT) in (_signal.default_int_handler, _interrupt):
        _signal.signal(_signal.SIGINT, _leave)


def hear() -> bool:
    """Make an interruption a ``KeyboardInterrupt`` again, but not inside of an import; whether it was not."""
    quiet = _signal.getsignal(_signal.SIGINT) is _leave
    if quiet:
        _signal.signal(_signal.SIGINT, _interrupt)
    return bool(quiet)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        # Modules of C and Rust make another error of the exception, and callbacks of imports drop it.
        if frame.f_code.co_filename.startswith(_IMPORTING):
            _leave(number, frame)
        frame = frame.f_back
    raise KeyboardInterrupt


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)

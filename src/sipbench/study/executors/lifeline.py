"""A worker ends with the runner, however that ends, and takes with it what it started.

A pipe whose one end only the runner holds is read by a thread of the worker: when the runner is gone,
even by SIGKILL, the read ends, and the thread kills the worker's process group. Code that never gives
up the interpreter lock would keep the thread from doing so: on Linux the kernel sends a signal when
the parent ends, whose handler is libc's own ``alarm``, which needs no lock; a moment later the kernel
ends the worker.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading

__all__ = ["hold"]

_PR_SET_PDEATHSIG = 1


def hold(descriptor: int) -> None:
    """Tie this process to whoever holds the other end of the pipe ``descriptor``."""
    os.set_inheritable(descriptor, False)
    if sys.platform == "linux":
        _arm()
    threading.Thread(target=_watch, args=(descriptor,), daemon=True, name="lifeline").start()


def _watch(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(descriptor, 1):
            pass
    # The worker leads a group of its own, so this reaches its children and nobody else.
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _arm() -> None:
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        # As a signal's handler, alarm is called with the signal's number: SIGHUP, one second.
        libc.signal(signal.SIGHUP, ctypes.cast(libc.alarm, ctypes.c_void_p))
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)

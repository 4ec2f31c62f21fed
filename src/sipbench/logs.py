"""Logging: to stderr by ``-v`` and ``-q``, to a file beside a study, and never with a key in it."""

from __future__ import annotations

import logging
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["configure", "log_to", "redact"]

_KEY_NAME = re.compile(r"(key|token|secret|password|passwd|credential|authorization)s?$", re.IGNORECASE)
_SECRET = re.compile(
    r"\b(sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{20,})"
    r"|(?i:\b(bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}"
)
_SHORTEST_SECRET = 8
_REDACTED = "[redacted]"


def redact(text: str) -> str:
    """Replace what looks like a key, and the values of environment variables named like one."""
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST_SECRET and _KEY_NAME.search(name):
            text = text.replace(value, _REDACTED)
    return _SECRET.sub(_REDACTED, text)


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def configure(*, verbose: int = 0, quiet: bool = False) -> None:
    """Send the package's log to stderr: warnings by default, ``-v`` steps, ``-vv`` details."""
    level = logging.ERROR if quiet else (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(level)
    handler.setFormatter(_Redacting("%(levelname)s: %(message)s"))
    logger = logging.getLogger("sipbench")
    logger.setLevel(logging.DEBUG)
    logger.handlers[:] = [handler]
    logger.propagate = False


class _Log(logging.FileHandler):
    """A log that a full disk leaves incomplete: what cannot be written elsewhere is said there."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        pass

    def close(self) -> None:
        with suppress(OSError):
            super().close()


def log_to(path: Path) -> logging.Handler:
    """Append the package's log to ``path`` as well; remove the handler that is returned when done."""
    handler = _Log(path, encoding="utf-8", errors="replace")
    handler.setLevel(logging.DEBUG)
    handler.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("sipbench").addHandler(handler)
    return handler

"""Loading Harbor: quietly, without telemetry, and only when something is to be run.

Nothing of Harbor is imported by the rest of the package at load time; what needs it calls
:func:`load_harbor` first.
"""

from __future__ import annotations

import codecs
import locale
import logging
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from sipbench.errors import EngineError, MissingExtraError

__all__ = ["harbor_version", "load_harbor"]

_SETTINGS = {
    # Harbor sends usage statistics unless it is told not to.
    "HARBOR_TELEMETRY": "off",
    # litellm fetches a table of prices when it is imported, and waits for it.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


@cache
def harbor_version() -> str:
    """The version of Harbor that is installed.

    Raises:
        MissingExtraError: It is not.
    """
    try:
        return version("harbor")
    except PackageNotFoundError:
        raise MissingExtraError("benchmark 'harbor'", "harbor") from None


@cache
def load_harbor() -> None:
    """Make Harbor ready to be imported; what the user set in the environment stays as it is.

    Raises:
        MissingExtraError: It is not installed.
        EngineError: It is installed and cannot be imported, or would misread texts here.
    """
    harbor_version()
    encoding = locale.getpreferredencoding(False)
    if codecs.lookup(encoding).name != "utf-8":
        # It opens files without naming an encoding: an instruction would reach the agent garbled.
        raise EngineError(
            f"Harbor reads instructions and results as {encoding} here, which they are not: set PYTHONUTF8=1"
        )
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import harbor.trial.trial  # noqa: F401
    except ImportError as error:
        raise EngineError(f"Harbor {harbor_version()} cannot be imported: {error}") from error
    logger = logging.getLogger("harbor")
    if not logger.handlers:
        # Each trial's own log holds everything; on the terminal it would tear the progress apart.
        logger.addHandler(logging.NullHandler())
        logger.propagate = False

"""Reading result files of others: whole JSON documents, hostile until shown otherwise."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sipbench.errors import RecordError
from sipbench.files import TooLargeError, read_file
from sipbench.logs import redact

__all__ = ["MAX_BYTES", "integer", "number", "read_json", "shortened", "unit_reward"]

MAX_BYTES = 512 * 1024 * 1024
"""A larger document is refused: parsed, it takes about eight times its size of memory."""

_ERROR_TEXT = 500


def read_json(path: Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """The JSON document in ``path``; ``NaN`` and infinities are let through, for the caller to judge.

    Raises:
        RecordError: It is missing, no regular file, too large, not UTF-8 or not JSON.
    """
    try:
        data = read_file(path, limit=max_bytes)
    except TooLargeError:
        raise RecordError(
            f"{path}: larger than {max_bytes // 2**20} MiB; split it into several files"
        ) from None
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        document = json.loads(data.decode("utf-8-sig"))
        return _mended(document) if rb"\ud" in data.lower() else document
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: not UTF-8 at byte {error.start + 1}; convert the file") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise RecordError(f"{path}: not JSON: {error.msg} at {where}") from None
    except RecursionError:
        raise RecordError(f"{path}: not a result file: nested too deeply") from None
    except ValueError:  # the interpreter's limit on the digits of an integer
        raise RecordError(f"{path}: a number has too many digits") from None


def _mended(value: Any) -> Any:
    """``value`` with each half of a surrogate pair replaced: an escape can name one, no file can hold it."""
    if isinstance(value, str):
        return value.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


def shortened(value: Any) -> str | None:
    """Foreign error text as a record keeps it: one line, without keys, at most 500 characters."""
    if value is None:
        return None
    text = " ".join(redact(str(value)).split())
    return text if len(text) <= _ERROR_TEXT else text[: _ERROR_TEXT - 1] + "…"


def number(value: Any) -> float | None:
    """``value`` as a finite float; None for anything else, a boolean included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def integer(value: Any) -> int | None:
    """``value`` as a non-negative integer of at most 63 bits; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        return None
    return value


def unit_reward(value: Any) -> tuple[float | None, str | None]:
    """A reward in [0, 1], or None and what is wrong with it."""
    reward = number(value)
    if reward is None:
        return None, f"reward: expected a number, found {shortened(json.dumps(value))}"
    if not 0 <= reward <= 1:
        return None, f"reward: expected a number in [0, 1], found {reward:g}"
    return reward, None

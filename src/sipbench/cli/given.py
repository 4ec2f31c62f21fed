"""Files that a person names on the command line, what comes through a pipe among them."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISFIFO
from typing import BinaryIO

from sipbench.errors import RecordError

__all__ = ["MAX_PIPED_BYTES", "given_files"]

MAX_PIPED_BYTES = 1024**3
"""More than this does not come through a pipe: it may never end."""

_STDIN = "-"
# A shell's `<(…)`: somebody writes to it already. A named pipe may wait for ever.
_OPEN_ALREADY = re.compile(r"/dev/stdin|(/dev|/proc/self)/fd/\d+")
_PIECE = 1024 * 1024


@contextmanager
def given_files(paths: Sequence[Path]) -> Iterator[list[tuple[Path, str]]]:
    """The files to read, each with the name to show for it.

    ``-`` is the standard input. It and a pipe are copied to a file first, since files are read more than
    once; the copy is gone afterwards.

    Raises:
        RecordError: A pipe yields a line longer than any record, or more than ``MAX_PIPED_BYTES``.
    """
    with tempfile.TemporaryDirectory(prefix="sip-") as folder:
        found: list[tuple[Path, str]] = []
        for path in paths:
            if str(path) == _STDIN or _is_open_pipe(path):
                copy = Path(folder, str(len(found)), "stdin")
                copy.parent.mkdir()
                with _source(path) as source, copy.open("wb") as target:
                    _copy(source, target, str(path))
                found.append((copy, str(path)))
            else:
                found.append((path, str(path)))
        try:
            yield found
        except RecordError as error:
            said = str(error)
            for path, shown in found:
                said = said.replace(str(path), shown)
            raise RecordError(said) from None


def _is_open_pipe(path: Path) -> bool:
    try:
        return _OPEN_ALREADY.fullmatch(str(path)) is not None and S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


def _source(path: Path) -> BinaryIO:
    if str(path) == _STDIN:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    return path.open("rb")


def _copy(source: BinaryIO, target: BinaryIO, shown: str) -> None:
    from sipbench.protocol.jsonl import MAX_LINE_BYTES

    total = line = 0
    while piece := source.read(_PIECE):
        total += len(piece)
        last = piece.rfind(b"\n")
        line = line + len(piece) if last < 0 else len(piece) - last - 1
        if line > MAX_LINE_BYTES:
            raise RecordError(f"{shown}: a line is longer than {MAX_LINE_BYTES} bytes; not a record")
        if total > MAX_PIPED_BYTES:
            raise RecordError(f"{shown}: more than {MAX_PIPED_BYTES} bytes; write it to a file and name that")
        target.write(piece)

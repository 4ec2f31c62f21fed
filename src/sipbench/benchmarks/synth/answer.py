"""What an attempt leaves behind: ``answer.json``, one file: file operations cost more than the search."""

from __future__ import annotations

import json
from pathlib import Path

from sipbench.benchmarks.synth.language import PRIMITIVES, Program
from sipbench.benchmarks.synth.search import Found

__all__ = ["ANSWER_FILE", "read_program", "write_answer"]

ANSWER_FILE = "answer.json"
_LARGEST_BYTES = 65_536


def write_answer(folder: Path, found: Found) -> None:
    """Write the found program (null if none) and how many candidates were evaluated."""
    program = None if found.program is None else list(found.program)
    document = {"schema_version": "1.0.0", "program": program, "candidates": found.candidates}
    text = json.dumps(document, separators=(",", ":")) + "\n"
    (folder / ANSWER_FILE).write_text(text, encoding="utf-8", newline="\n")


def read_program(folder: Path) -> Program | None:
    """The program in ``folder/answer.json``; None if the attempt found none.

    Raises:
        ValueError: The file is not what :func:`write_answer` writes.
        OSError: It cannot be read.
    """
    with (folder / ANSWER_FILE).open("rb") as handle:
        data = handle.read(_LARGEST_BYTES + 1)
    if len(data) > _LARGEST_BYTES:
        raise ValueError(f"larger than {_LARGEST_BYTES} bytes")
    try:
        document = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(document, dict) or "program" not in document:
        raise ValueError("no field 'program'")
    program = document["program"]
    if program is None:
        return None
    if not isinstance(program, list) or not all(isinstance(name, str) for name in program):
        raise ValueError("program: expected a list of primitives or null")
    unknown = [name for name in program if name not in PRIMITIVES]
    if unknown:
        raise ValueError(f"program: {unknown[0][:40]!r} is not a primitive")
    return tuple(program)

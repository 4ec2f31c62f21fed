"""Writing a front matter that every loader reads alike: block style, one line a value, double quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["emit", "quoted"]

# What YAML does not print, what it takes for a line break, and what only looks like nothing.
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    """``text`` as a double-quoted scalar on one line, without three hyphens in a row."""
    written = _ESCAPED.sub(_escape, text)
    # Again and again: four hyphens leave three.
    while "---" in written:
        written = written.replace("---", "-\\x2D-")
    return f'"{written}"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02X}" if code < 256 else f"\\u{code:04X}")


def emit(front: Mapping[str, str | Mapping[str, str]]) -> str:
    """A front matter with its two fences, in the order of ``front``."""
    lines = ["---"]
    for key, value in front.items():
        if isinstance(value, str):
            lines.append(f"{key}: {quoted(value)}")
        elif value:
            lines.append(f"{key}:")
            lines += [f"  {name}: {quoted(item)}" for name, item in value.items()]
    return "\n".join([*lines, "---", ""])

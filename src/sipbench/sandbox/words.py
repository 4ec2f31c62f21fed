"""Words of a Dockerfile: quotes, escapes and variables, as BuildKit treats them."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["expand", "fill"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Substitute variables and remove quotes.

    ``$A``, ``${A}``, ``${A:-default}``, ``${A-default}``, ``${A:+other}``, ``${A+other}``; a
    backslash keeps the next character; nothing is substituted between single quotes.

    Raises:
        ValueError: A quote or brace is not closed, or the modifier is unknown.
    """
    out: list[str] = []
    position, quote = 0, ""
    while position < len(text):
        char = text[position]
        if quote == "'":
            quote = "" if char == "'" else quote
            out.append("" if char == "'" else char)
        elif char == "\\" and position + 1 < len(text):
            following = text[position + 1]
            out.append(following if not quote or following in '"$\\' else char + following)
            position += 1
        elif char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        elif char == "$":
            value, position = _variable(text, position, variables)
            out.append(value)
            continue
        else:
            out.append(char)
        position += 1
    if quote:
        raise ValueError(f"unclosed quote in {text!r}")
    return "".join(out)


def fill(text: str, variables: Mapping[str, str]) -> str:
    """Substitute variables where quotes are ordinary characters: heredocs and JSON words.

    Raises:
        ValueError: A brace is not closed, or the modifier is unknown.
    """
    out: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == "\\" and text[position + 1 : position + 2] in ("$", "\\"):
            out.append(text[position + 1])
            position += 2
        elif text[position] == "$":
            value, position = _variable(text, position, variables)
            out.append(value)
        else:
            out.append(text[position])
            position += 1
    return "".join(out)


def _variable(text: str, position: int, variables: Mapping[str, str]) -> tuple[str, int]:
    """Read a variable at `position`; return its value and the position after it."""
    if not text.startswith("${", position):
        name = _NAME.match(text, position + 1)
        if name is None:
            return "$", position + 1
        return variables.get(name.group(), ""), name.end()
    name = _NAME.match(text, position + 2)
    if name is None:
        raise ValueError(f"bad substitution in {text!r}")
    depth, end = 1, name.end()
    while end < len(text):
        depth += text.startswith("${", end) - (text[end] == "}")
        if depth == 0:
            break
        end += 1
    if depth:
        raise ValueError(f"unclosed brace in {text!r}")
    return _modified(name.group(), text[name.end() : end], variables), end + 1


def _modified(name: str, modifier: str, variables: Mapping[str, str]) -> str:
    value, present = variables.get(name, ""), name in variables
    if not modifier:
        return value
    colon = modifier.startswith(":")
    kind, word = modifier[colon : colon + 1], modifier[colon + 1 :]
    there = bool(value) if colon else present
    if kind == "-":
        return value if there else expand(word, variables)
    if kind == "+":
        return expand(word, variables) if there else ""
    raise ValueError(f"substitution ${{{name}{modifier}}} is not understood")

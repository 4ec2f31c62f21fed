"""YAML as data and as places: what a study file says, and on which line.

A study file is input like any other: its size, depth and number of nodes are bounded before it is
composed (the C parser recurses), aliases cannot multiply it, and a key that stands twice is refused
instead of silently losing one value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sipbench.errors import ConfigError
from sipbench.files import TooLargeError, read_file

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

__all__ = ["Document", "Place", "read_yaml"]

type Place = tuple[str | int, ...]
"""A path of keys and indices into the document."""

LARGEST = 4 * 1024 * 1024
DEEPEST = 40
MOST_NODES = 200_000
_LONGEST_INTEGER = 1024  # bits; one of thousands of digits cannot even be printed


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document and the line of each of its values."""

    file: str
    text: bytes
    data: Any
    lines: Mapping[Place, int]

    def line(self, place: Sequence[str | int]) -> int | None:
        """The line, from 1, of ``place`` or of the nearest thing around it that is in the file."""
        known = tuple(place)
        while known and known not in self.lines:
            known = known[:-1]
        return self.lines.get(known)


def read_yaml(path: Path) -> Document:
    """Read a YAML file of one document.

    Raises:
        ConfigError: It cannot be read, is no YAML, or is larger or deeper than any study file.
    """
    try:
        text = read_file(path, limit=LARGEST)
    except TooLargeError as error:
        raise ConfigError(f"{path}: {error.strerror}; not a study file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: not UTF-8 (byte {error.object[error.start]:#04x}); save it as UTF-8"
        ) from None
    try:
        _check_size(path, decoded)
        root = yaml.compose(decoded, Loader=Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}{_where(error)}: not YAML: {_what(error)}") from None
    if root is None:
        raise ConfigError(f"{path}: empty; a study needs at least name, benchmark, arms and analysis")
    reader = _Reader(path)
    return Document(str(path), text, reader.read(root, ()), reader.lines)


def _check_size(path: Path, text: str) -> None:
    """Refuse what would exhaust the composer, by events, which do not recurse."""
    depth = documents = 0
    for count, event in enumerate(yaml.parse(text, Loader=Loader), start=1):
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else 1
        if depth > DEEPEST:
            raise ConfigError(f"{path}:{line}: nested more than {DEEPEST} levels deep")
        if count > MOST_NODES:
            raise ConfigError(f"{path}:{line}: more than {MOST_NODES} values")
        if documents > 1:
            raise ConfigError(f"{path}:{line}: a second document; a study file holds one")


class _Reader:
    """Turns nodes into plain data and notes each value's line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scalars = yaml.SafeLoader("")
        self._count = 0
        self.lines: dict[Place, int] = {}

    def read(self, node: yaml.Node, place: Place) -> Any:
        self._count += 1
        line = node.start_mark.line + 1
        # Aliases and cycles are followed, so what they multiply to is bounded here.
        if self._count > MOST_NODES or len(place) > DEEPEST:
            raise ConfigError(f"{self._path}:{line}: aliases multiply the file to more than it may hold")
        self.lines.setdefault(place, line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*place, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, line, place)

    def _scalar(self, node: yaml.Node, line: int, place: Place) -> Any:
        try:
            value = self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise ConfigError(f"{self._path}:{line}: {_what(error)}") from None
        if not isinstance(value, str | int | float | bool | None):
            # A date or a time: the fields that hold one want its text.
            return node.value
        if isinstance(value, int | float) and not _is_plain(value):
            name = ".".join(map(str, place))
            raise ConfigError(f"{self._path}:{line}: {name}: {node.value:.40} is not a finite number")
        return value

    def _mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise ConfigError(f"{self._path}:{line}: merge keys (<<) are not read; write the keys out")
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{self._path}:{line}: a key must be a word")
            key = str(key_node.value)
            if key in found:
                first = self.lines[(*place, key)]
                raise ConfigError(f"{self._path}:{line}: '{key}' stands twice (first on line {first})")
            self.lines[(*place, key)] = line
            found[key] = self.read(value_node, (*place, key))
        return found


def _is_plain(value: float) -> bool:
    """Whether JSON has the number: what is asked is written down in study.lock.json."""
    return value.bit_length() <= _LONGEST_INTEGER if isinstance(value, int) else math.isfinite(value)


def _where(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f":{mark.line + 1}" if mark is not None else ""


def _what(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error) or type(error).__name__
    return " ".join(str(problem).split())

"""Reading the files of a collection that nobody has checked yet.

A collection is downloaded, so each file is hostile until shown otherwise: it may be a link to a file
of this machine, a device, larger than the memory, in another encoding, or JSON that says a thing twice.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sipbench.errors import CardError, RecordError
from sipbench.files import TooLargeError, read_file
from sipbench.protocol.jsonl import parse_object

__all__ = [
    "MAX_BYTES",
    "Document",
    "Problem",
    "read_bytes",
    "read_json",
    "read_json_lines",
    "read_text",
    "read_yaml",
    "walk",
]

MAX_BYTES = 16 * 1024 * 1024
"""A larger file is refused: the largest of a known collection has 300 kB."""

MAX_FILES = 500_000
_MAX_YAML_NODES = 1_000_000


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a file.

    Attributes:
        file: The path as it was given.
        reason: What is wrong and, where that is not plain, what to do.
        field: Where in the document; None for the file as a whole.
        line: Where in a file of lines; None in a document.
    """

    file: str
    reason: str
    field: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line is not None else self.file
        return f"{where}: {self.field}: {self.reason}" if self.field else f"{where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON object as read, with the digest of the bytes it was read from.

    Attributes:
        value: The object.
        sha256: ``sha256:<64 hex>`` of the file's bytes.
    """

    value: dict[str, Any]
    sha256: str


def read_bytes(path: Path, *, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file.

    Raises:
        CardError: It is missing, a link, no regular file, or larger than ``limit`` bytes.
    """
    try:
        # A link is refused rather than followed: it may lead to any file of this machine.
        return read_file(path, limit=limit, follow=False)
    except TooLargeError as error:
        raise CardError(f"{path}: {error.strerror}") from None
    except OSError as error:
        if path.is_symlink():
            raise CardError(f"{path}: is a symbolic link; put the file itself there") from None
        raise CardError(f"{path}: cannot be read: {error.strerror or error}") from None


def read_text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """The text of a UTF-8 file; a byte-order mark is not part of it.

    Raises:
        CardError: As :func:`read_bytes`, or it is not UTF-8.
    """
    try:
        return read_bytes(path, limit=limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CardError(f"{path}: not UTF-8 at byte {error.start + 1}; convert it") from None


def read_json(path: Path) -> Document:
    """Read one JSON object, strictly: UTF-8, no key twice, no NaN.

    Raises:
        CardError: It is something else.
    """
    data = read_bytes(path)
    try:
        return Document(parse_object(data), "sha256:" + hashlib.sha256(data).hexdigest())
    except RecordError as error:
        raise CardError(f"{path}: {_said(error)}") from None


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    """Yield (line number from 1, object or what is wrong with the line); blank lines are skipped.

    Raises:
        CardError: The file cannot be read.
    """
    for number, line in enumerate(read_bytes(path).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, parse_object(line.strip())
        except RecordError as error:
            yield number, Problem(str(path), _said(error), line=number)


def _said(error: RecordError) -> str:
    return str(error).removeprefix("not a record: ")


def read_yaml(path: Path) -> dict[str, Any]:
    """Read one YAML mapping with the safe loader: no key twice, no loop, no explosion of aliases.

    Raises:
        CardError: It is something else.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(read_text(path))
    try:
        node = loader.get_single_node()
        _expanded(node, {}, set(), path)
        value = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise CardError(f"{path}: not YAML: {error.problem or error}{where}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise CardError(f"{path}: not YAML: {error}") from None
    except RecursionError:
        raise CardError(f"{path}: nested too deeply") from None
    finally:
        loader.dispose()
    if not isinstance(value, dict):
        raise CardError(f"{path}: not a YAML mapping but {type(value).__name__}")
    return value


def _expanded(node: Any, sizes: dict[int, int], above: set[int], path: Path) -> int:
    """The number of nodes that ``node`` stands for once its aliases are followed."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    known = sizes.get(id(node))
    if known is not None:
        return known
    if id(node) in above:
        raise CardError(f"{path}: an alias in line {node.start_mark.line + 1} contains itself")
    above.add(id(node))
    children: list[Any] = node.value
    if isinstance(node, yaml.MappingNode):
        _refuse_twins(node, path)
        children = [child for pair in node.value for child in pair]
    size = 1 + sum(_expanded(child, sizes, above, path) for child in children)
    above.discard(id(node))
    if size > _MAX_YAML_NODES:
        raise CardError(f"{path}: stands for more than {_MAX_YAML_NODES} values; not a manifest")
    sizes[id(node)] = size
    return size


def _refuse_twins(node: yaml.MappingNode, path: Path) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                line = key.start_mark.line + 1
                raise CardError(f"{path}: line {line}: {key.value[:80]}: the key stands twice in one mapping")
            seen.add(key.value)


def walk(root: Path) -> Iterator[Path]:
    """Yield every file below ``root`` in a stable order; links to folders are not followed.

    Raises:
        CardError: A folder cannot be read, or there are more than ``MAX_FILES`` files.
    """
    count = 0
    for folder, folders, names in os.walk(root, onerror=_unreadable):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > MAX_FILES:
                raise CardError(f"{root}: more than {MAX_FILES} files; name the collection itself")
            yield Path(folder, name)


def _unreadable(error: OSError) -> None:
    raise CardError(f"{error.filename}: cannot be read: {error.strerror or error}")

"""The front matter of a SKILL.md: where it stands, what it says, and with which line.

YAML is read event by event with libyaml, so that neither depth nor an explosion of aliases costs
anything, an error leaves what stood before it, and anchors, tags and styles are still seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from sipbench.skills.rules import Finding

__all__ = ["CONTROL", "FrontMatter", "Node", "Split", "read_front_matter", "split"]

_BOM = b"\xef\xbb\xbf"
_FENCE = b"---"
_MAX_NODES = 100_000
_MAX_DEPTH = 64
# What YAML 1.2 takes for another type where 1.1 sees a string (`1e3`, `0o17`); the opposite is PyYAML's own.
_OTHER_IN_YAML_12 = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
"""A control character other than a tab or a line break."""
_ODD_BREAK = re.compile(r"[\x85\u2028\u2029]")
_STR = "tag:yaml.org,2002:str"
_RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = yaml.SafeLoader.yaml_implicit_resolvers
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Split:
    """A SKILL.md cut at its fences.

    Attributes:
        front: The text between the fences, line ends normalised to LF; None where there is none.
        body: The bytes after the line of the closing fence, as they are.
        findings: What was wrong on the way.
    """

    front: str | None
    body: bytes
    findings: tuple[Finding, ...] = ()


def split(data: bytes) -> Split:
    """Cut the bytes of a SKILL.md at the first two lines that are exactly ``---``. Never fails."""
    found: list[Finding] = []
    if data.startswith(_BOM):
        found.append(Finding("bom", "begins with a byte-order mark; save it without", 1))
        data = data[len(_BOM) :]
    end = data.find(b"\n")
    if (data if end < 0 else data[:end]).rstrip(b"\r") != _FENCE:
        found.append(Finding("fence-open", "the first line is not exactly ---", 1))
        return Split(None, data, (*found, *_encoding(data)))
    start = position = len(data) if end < 0 else end + 1
    while position < len(data):
        end = data.find(b"\n", position)
        line_end = len(data) if end < 0 else end
        after = len(data) if end < 0 else end + 1
        if data[position:line_end].rstrip(b"\r") == _FENCE:
            front, said = _front_text(data[start:position])
            return Split(front, data[after:], (*found, *said, *_encoding(data, after)))
        position = after
    found.append(Finding("fence-close", "no line that is exactly --- ends the front matter"))
    return Split(None, b"", (*found, *_encoding(data)))


def _encoding(data: bytes, front: int | None = None) -> Iterator[Finding]:
    """What is wrong with the bytes of a whole file, whose front matter ends at ``front``."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        yield Finding("not-utf8", f"not UTF-8 at byte {error.start + 1}; convert it", line)
    if (at := data.find(b"\x00")) >= 0:
        yield Finding("control-character", "holds a NUL character", data.count(b"\n", 0, at) + 1)
    if (at := data.find(b"\r", 0, front)) >= 0:
        line = data.count(b"\n", 0, at) + 1
        yield Finding("line-end", "a carriage return; end lines with LF alone", line)


def _front_text(raw: bytes) -> tuple[str, list[Finding]]:
    # Bytes that are no UTF-8 are said where the whole file is looked at.
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    found = []
    for match in CONTROL.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        if match.group() != "\x00":
            found.append(Finding("control-character", f"holds U+{ord(match.group()):04X}", line))
    for match in _ODD_BREAK.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        said = f"holds U+{ord(match.group()):04X}, which only some YAML readers take for a line break"
        found.append(Finding("line-end", said, line))
    if (at := text.find("\t")) >= 0:
        said = "a tab; write spaces, or \\t in double quotes"
        found.append(Finding("tab", said, text.count("\n", 0, at) + 2))
    start = 0
    while (at := text.find("---", start)) >= 0:
        line = text.count("\n", 0, at) + 2
        said = "--- inside the front matter, where some loaders cut it; write -\\x2D- in double quotes"
        found.append(Finding("fence-inside", said, line))
        # One finding a line is enough.
        start = text.find("\n", at)
        if start < 0:
            break
    return text, found


@dataclass(slots=True)
class Node:
    """One YAML node.

    Attributes:
        kind: What it is.
        line: Where it begins, from 1, in SKILL.md.
        text: The text of a scalar.
        plain: Whether it is a scalar without quotes or block style.
        items: The nodes of a list, or keys and values of a map in turn.
    """

    kind: Literal["scalar", "list", "map"]
    line: int
    text: str = ""
    plain: bool = False
    items: list[Node] = field(default_factory=list)

    @property
    def string(self) -> bool:
        """Whether it is a scalar that every reader takes for a string."""
        return self.kind == "scalar" and (not self.plain or _is_string(self.text))

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Keys and values of a map."""
        yield from zip(self.items[::2], self.items[1::2], strict=False)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What YAML made of a front matter.

    Attributes:
        root: The mapping at the top; None where there is none.
        complete: Whether all of it was read.
        findings: What was wrong on the way.
    """

    root: Node | None
    complete: bool
    findings: tuple[Finding, ...]


class _TooMuchError(Exception):
    """The front matter stands for more than is read."""


class _Reader:
    """Builds nodes from events."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.root: Node | None = None
        self._open: list[Node] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._sizes: list[int] = []
        self._names: list[str | None] = []
        self._said: set[tuple[str, int]] = set()
        self._size = 0

    def read(self, text: str) -> bool:
        loader = None
        try:
            loader = _LOADER(text)
            while loader.check_event():
                self._take(loader.get_event())
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self.findings.append(Finding("yaml-syntax", _said(error), mark.line + 2 if mark else None))
            return False
        except (yaml.YAMLError, _TooMuchError, ValueError) as error:
            self.findings.append(Finding("yaml-syntax", " ".join(str(error).split())[:200]))
            return False
        finally:
            if loader is not None:
                loader.dispose()
        return True

    def _say(self, rule: str, message: str, line: int) -> None:
        if (rule, line) not in self._said:
            self._said.add((rule, line))
            self.findings.append(Finding(rule, message, line))

    def _take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._put(self._scalar(event))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._begin(event, "map" if kind is yaml.MappingStartEvent else "list")
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end()
        elif kind is yaml.AliasEvent:
            self._alias(event)

    def _marked(self, event: Any, line: int) -> None:
        if event.anchor is not None:
            self._say("yaml-anchor", f"an anchor (&{event.anchor[:40]}); write the value out", line)
        if event.tag is not None:
            self._say("yaml-tag", f"a tag ({event.tag[:60]}); quote the value instead", line)

    def _scalar(self, event: Any) -> Node:
        line = event.start_mark.line + 2
        if event.anchor is not None or event.tag is not None:
            self._marked(event, line)
        plain = not event.style and event.tag is None
        node = Node("scalar", line, event.value, plain)
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, 1)
        return node

    def _begin(self, event: Any, kind: Literal["list", "map"]) -> None:
        line = event.start_mark.line + 2
        self._marked(event, line)
        if event.flow_style:
            self._say("yaml-flow", "a flow collection ([…] or {…}); write one item a line", line)
        node = Node(kind, line)
        self._put(node)
        self._open.append(node)
        self._sizes.append(self._size)
        self._names.append(event.anchor)
        if len(self._open) > _MAX_DEPTH:
            raise _TooMuchError(f"line {line}: nested to more than {_MAX_DEPTH} levels")

    def _end(self) -> None:
        node, before, name = self._open.pop(), self._sizes.pop(), self._names.pop()
        if name is not None:
            self._anchors[name] = (node, self._size - before + 1)

    def _alias(self, event: Any) -> None:
        line = event.start_mark.line + 2
        self._say("yaml-anchor", f"an alias (*{event.anchor[:40]}); write the value out", line)
        if event.anchor in self._names:
            raise _TooMuchError(f"line {line}: an alias contains itself")
        if event.anchor not in self._anchors:
            raise _TooMuchError(f"line {line}: no anchor &{event.anchor[:40]}")
        node, size = self._anchors[event.anchor]
        self._size += size - 1
        self._put(node)

    def _put(self, node: Node) -> None:
        self._size += 1
        if self._size > _MAX_NODES:
            raise _TooMuchError(f"line {node.line}: stands for more than {_MAX_NODES} values")
        if self._open:
            self._open[-1].items.append(node)
        elif self.root is None:
            self.root = node
        else:
            self._say("yaml-mapping", "a second YAML document in the front matter", node.line)


def _is_string(text: str) -> bool:
    """Whether a plain scalar is a string for YAML 1.1 (as PyYAML reads it) and 1.2 (core schema)."""
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return tag == _STR
    return _OTHER_IN_YAML_12.fullmatch(text) is None


def _said(error: yaml.MarkedYAMLError) -> str:
    said = " ".join((error.problem or str(error)).split())[:200]
    hint = "; a value with ': ' or a leading special character needs quotes"
    return said + (hint if "mapping values" in said or "cannot start any token" in said else "")


def read_front_matter(text: str) -> FrontMatter:
    """Read what stands between the fences. Never fails: what is wrong is a finding."""
    reader = _Reader()
    complete = reader.read(text)
    root = reader.root
    if root is None or root.kind != "map":
        if complete:
            said = "is empty" if root is None else "is no mapping of keys to values"
            reader.findings.append(Finding("yaml-mapping", f"the front matter {said}", 1))
        root = None
    return FrontMatter(root, complete, tuple(reader.findings))

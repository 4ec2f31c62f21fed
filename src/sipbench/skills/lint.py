"""Advice about a skill that conforms: looked at only when asked for, and never a reason to refuse it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from sipbench.errors import SkillError
from sipbench.skills.frontmatter import read_front_matter, split
from sipbench.skills.rules import SKILL_FILE, Finding
from sipbench.skills.tree import TreeFile, on_line, read_inside

__all__ = ["lint_skill"]

_MAX_LINES = 500
_MAX_TOKENS = 5000
_CHARACTERS_A_TOKEN = 4
_MAX_TEXT = 1024 * 1024

_LINK = re.compile(r"!?\[[^\]\n]{0,300}\]\(\s*<?([^)>\s]{1,500})>?[^)\n]{0,200}\)")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#")
_USE_WHEN = re.compile(
    r"\b(?:use|used|useful|apply|invoke|trigger)\w*\b.{0,80}\b(?:when|for|if|to)\b|\bwhen\b", re.I | re.S
)
_SECRET = re.compile(
    r"AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{40,}|glpat-[\w-]{20}|xox[abprs]-[\w-]{10,}"
    r"|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}|hf_[A-Za-z0-9]{30,}|AIza[\w-]{35}"
    r"|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"
    r"|(?i:\b(?:password|passwd|secret|api[_-]?key|token)\s*[:=]\s*[\"'][^\"'\s$<{]{12,}[\"'])"
)
_ABSOLUTE = re.compile(
    r"(?<![\w.:/])(?:/(?:home|Users|root|mnt|scratch)/[\w.-]+|[A-Za-z]:\\(?:Users|Documents)\\\S+)"
)
_INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|system)\b.{0,40}"
    r"\b(?:instruction|prompt|rule|message)s?\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|mention|reveal|show)\b.{0,40}\b(?:user|human|anyone)\b"
    r"|\bwithout (?:telling|informing|asking) the user\b"
    r"|\byou are now (?:in )?(?:developer|admin|root|jailbroken|dan)\b"
    r"|\b(?:exfiltrate|upload|send|post)\b.{0,60}"
    r"\b(?:credentials?|secrets?|api keys?|tokens?|\.env|ssh key)\b",
    re.I,
)
_HIDDEN = re.compile(
    # Soft hyphens, zero width, directions, fillers, a byte-order mark inside the text; then tag characters
    # and the selectors of variants that no font has, which can carry any bytes.
    r"[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufeff\uffa0]|[\U000e0000-\U000e01ef]"
)


def lint_skill(folder: Path, files: Sequence[TreeFile], data: bytes) -> Iterator[Finding]:
    """What could be better about a skill, by rules of origin ``advice``. Never fails.

    Args:
        folder: That of the skill, resolved.
        files: What is in it.
        data: The bytes of its ``SKILL.md``.
    """
    text = data.decode("utf-8", "replace")
    yield from _description(data)
    yield from _size(data, text)
    yield from _links(files, text)
    said = list(_phrases(text, SKILL_FILE))
    yield from said
    yield from _escaped(data, {item.rule for item in said})
    for file in files:
        if file.path != SKILL_FILE and file.size <= _MAX_TEXT:
            yield from _other(folder, file)


def _description(data: bytes) -> Iterator[Finding]:
    front = split(data).front
    root = read_front_matter(front).root if front is not None else None
    for key, value in root.pairs() if root is not None else ():
        if key.text == "description" and value.text and not _USE_WHEN.search(value.text):
            said = "does not say when to use the skill ('Use when …')"
            yield Finding("lint-use-when", said, value.line, "description")


def _size(data: bytes, text: str) -> Iterator[Finding]:
    lines = text.count("\n") + (not text.endswith("\n"))
    if lines > _MAX_LINES:
        said = f"{lines} lines; move what is not always needed to references/ ({_MAX_LINES} are advised)"
        yield Finding("lint-long-file", said)
    body = split(data).body
    if (at := body.find(b"\r")) >= 0:
        line = data.count(b"\n", 0, len(data) - len(body) + at) + 1
        yield Finding("lint-line-end", "a carriage return; end lines with LF alone", line)
    tokens = len(body.decode("utf-8", "replace")) // _CHARACTERS_A_TOKEN
    if tokens > _MAX_TOKENS:
        said = f"a body of about {tokens} tokens; {_MAX_TOKENS} are advised"
        yield Finding("lint-long-body", said)


def _links(files: Sequence[TreeFile], text: str) -> Iterator[Finding]:
    known = {file.path for file in files} | {"/".join(file.parts[:-1]) for file in files}
    fenced = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if fenced or len(line) > 20_000:
            continue
        for match in _LINK.finditer(line):
            target = match.group(1)
            if _SCHEME.match(target):
                continue
            path = unquote(target.partition("#")[0].partition("?")[0]).removeprefix("./").rstrip("/")
            if path not in known:
                yield Finding("lint-broken-link", f"{target[:80]} leads to no file of the skill", number)


def _phrases(text: str, path: str) -> Iterator[Finding]:
    searches = (
        ("lint-secret", _SECRET, "looks like a key or password; take it out and revoke it"),
        ("lint-absolute-path", _ABSOLUTE, "a path of one machine: {}"),
        ("lint-injection", _INJECTION, "a phrase that is used to turn agents against their users: {}"),
        ("lint-hidden-text", _HIDDEN, "an invisible character: {}"),
    )
    for number, line in enumerate(text.split("\n"), start=1):
        # A line that long is data; a search in it could take long too.
        shown = line[:20_000]
        for rule, pattern, said in searches:
            match = pattern.search(shown)
            if match is None:
                continue
            what = f"U+{ord(match.group()):04X}" if rule == "lint-hidden-text" else match.group()[:80]
            yield Finding(rule, said.format(what), number, path=path)


def _escaped(data: bytes, said: Set[str]) -> Iterator[Finding]:
    """What stands in the values of the front matter by escapes alone: agents are shown the values."""
    front = split(data).front
    nodes = [read_front_matter(front).root] if front is not None else []
    seen: set[int] = set()
    while nodes:
        node = nodes.pop()
        # An alias stands for a node that was looked at, however often it is named.
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        nodes += node.items
        for item in _phrases(" ".join(node.text.split()), SKILL_FILE):
            if item.rule not in said:
                yield replace(item, line=node.line)


def _other(folder: Path, file: TreeFile) -> Iterator[Finding]:
    try:
        data, _ = read_inside(folder, file.parts, limit=_MAX_TEXT)
        text = data.decode("utf-8")
    except (SkillError, UnicodeDecodeError):
        return
    path = on_line(file.path)
    if text.startswith("#!") and not file.executable:
        yield Finding("lint-run-bit", "begins with #! and may not be run; chmod +x", 1, path=path)
    yield from _phrases(text, path)

"""A conforming copy of one skill: what loaders take stays, the rest moves to a sidecar, the body is kept.

What a collection's builder wrote at the top level (where it comes from, its evidence, claims, credit)
moves to ``provenance.json``, whose digest stands in the metadata. Front matter and sidecar together hold
every value of the original.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sipbench.errors import SkillError
from sipbench.skills.emit import emit
from sipbench.skills.frontmatter import Node, read_front_matter, split
from sipbench.skills.rules import MAX_COMPATIBILITY, MAX_DESCRIPTION, SKILL_FILE

__all__ = ["SIDECAR", "SIDECAR_VERSION", "Original", "Rewritten", "read_original", "rewrite"]

SIDECAR = "provenance.json"
SIDECAR_VERSION = "1.0.0"
_MAX_VALUE = 1000
_USE_WHEN = re.compile(r"\AUse when(?: when)+\b", re.I)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_SPACED = ("edam-topics", "techniques", "derived-from")
_ORDER = (
    "edam-operation", "edam-topics", "techniques", "tools", "derived-from", "license-tier", "tool-license",
    "collection", "asb-schema-version",
)  # fmt: skip
_KEY = re.compile(r"[a-z0-9]+(?:[-._][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Original:
    """A SKILL.md as it was found.

    Attributes:
        front: Its front matter as JSON values, in its order.
        texts: The scalars at the top level as they are written.
        body: The bytes after the front matter.
        sha256: ``sha256:<64 hex>`` of the file.
    """

    front: dict[str, Any]
    texts: dict[str, str]
    body: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What a skill becomes.

    Attributes:
        skill: The bytes of the new ``SKILL.md``.
        sidecar: The bytes of the file that holds what moved.
        sidecar_name: Its name.
        notes: What a person may want to look at: a description that was cut, keys that were left out.
    """

    skill: bytes
    sidecar: bytes
    sidecar_name: str
    notes: tuple[str, ...] = ()


def read_original(data: bytes) -> Original:
    """Read a SKILL.md leniently: whatever YAML says, in JSON's types.

    Raises:
        SkillError: It has no front matter, or one that is not readable YAML or says a key twice.
    """
    parts = split(data)
    if parts.front is None:
        raise SkillError(f"{parts.findings[0].message}; there is no front matter to rewrite")
    unreadable = [item for item in parts.findings if item.rule in ("not-utf8", "control-character")]
    read = read_front_matter(parts.front)
    wrong = [*unreadable, *(item for item in read.findings if item.rule.startswith("yaml-s"))]
    if wrong or read.root is None:
        first = wrong[0] if wrong else read.findings[0]
        raise SkillError(f"line {first.line}: {first.message}" if first.line else first.message)
    texts = {key.text: value.text for key, value in read.root.pairs() if value.kind == "scalar"}
    front = _value(read.root)
    return Original(front, texts, parts.body, "sha256:" + hashlib.sha256(data).hexdigest())


def _value(node: Node) -> Any:
    if node.kind == "list":
        return [_value(item) for item in node.items]
    if node.kind == "map":
        found: dict[str, Any] = {}
        for key, value in node.pairs():
            if key.kind != "scalar":
                raise SkillError(f"line {key.line}: a key that is a list or a mapping")
            if key.text in found:
                raise SkillError(f"line {key.line}: {key.text[:60]}: the key stands twice")
            found[key.text] = _value(value)
        return found
    if node.plain and node.text.lower() in _WORDS and node.text in (*_WORDS, "Null", "NULL", "True", "False"):
        return _WORDS[node.text.lower()]
    # Where JSON would write the number in another way, the text is kept: no digit may be lost.
    if node.plain and _NUMBER.fullmatch(node.text) and json.dumps(json.loads(node.text)) == node.text:
        return json.loads(node.text)
    return node.text


def rewrite(original: Original, *, name: str, folder: str, others: frozenset[str] = frozenset()) -> Rewritten:
    """Write a skill anew so that every strict loader takes it.

    Args:
        original: The skill.
        name: Its new name, which is to be that of its folder.
        folder: The name its folder had.
        others: Names of its other files, in lower case.

    Raises:
        SkillError: It has no description, which nobody can make up.
    """
    notes: list[str] = []
    description = _description(original, notes)
    sidecar_name = _free(SIDECAR, others)
    sidecar = _sidecar(original, folder, description)
    metadata = _metadata(original, notes)
    metadata["provenance-file"] = sidecar_name
    metadata["provenance-digest"] = "sha256:" + hashlib.sha256(sidecar).hexdigest()
    front: dict[str, str | Mapping[str, str]] = {"name": name, "description": description}
    for key in ("license", "compatibility", "allowed-tools"):
        text = _text(original.front.get(key), " " if key == "allowed-tools" else "; ")
        if key in original.texts and original.front.get(key) is not None:
            text = original.texts[key]
        if text.strip() and not (key == "compatibility" and len(text) > MAX_COMPATIBILITY):
            front[key] = text
        elif text.strip():
            notes.append(f"compatibility has more than {MAX_COMPATIBILITY} characters; see {sidecar_name}")
    front["metadata"] = metadata
    return Rewritten(emit(front).encode("utf-8") + original.body, sidecar, sidecar_name, tuple(notes))


def _free(name: str, others: frozenset[str]) -> str:
    stem, _, end = name.rpartition(".")
    number = 1
    while name in others:
        number += 1
        name = f"{stem}-{number}.{end}"
    return name


def _description(original: Original, notes: list[str]) -> str:
    given = original.texts.get("description")
    if given is None or original.front.get("description") is None or not given.strip():
        raise SkillError(f"{SKILL_FILE} has no description; write one, nobody else can")
    text = _USE_WHEN.sub("Use when", given.strip())
    if len(text) <= MAX_DESCRIPTION:
        return text
    notes.append(f"the description had {len(text)} characters and was cut; the sidecar holds all of it")
    at = text.lower().find("use when")
    if at > MAX_DESCRIPTION // 2:
        # When to use it is what a description is for: it stays, whatever stands before it.
        tail = _cut(text[at:], MAX_DESCRIPTION // 2)
        return f"{_cut(text[:at].strip(), MAX_DESCRIPTION - len(tail) - 1)} {tail}"
    return _cut(text, MAX_DESCRIPTION)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip() + "…"


def _sidecar(original: Original, folder: str, description: str) -> bytes:
    kept = ("name", "description", "metadata")
    document: dict[str, Any] = {
        "schema_version": SIDECAR_VERSION,
        "original_name": original.front.get("name"),
        "original_folder": folder,
        "source_sha256": original.sha256,
        "moved": {key: value for key, value in original.front.items() if key not in kept},
        "metadata": original.front.get("metadata"),
    }
    if original.front.get("description") != description:
        document["original_description"] = original.front.get("description")
    return (json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode(
        "utf-8", "surrogatepass"
    )


def _metadata(original: Original, notes: list[str]) -> dict[str, str]:
    given = original.front.get("metadata")
    values: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    front = original.front
    sources = front.get("derived_from")
    if isinstance(sources, list):
        dois = [item.get("doi") for item in sources if isinstance(item, dict)]
        values.setdefault("derived-from", list(dict.fromkeys(doi for doi in dois if isinstance(doi, str))))
    provenance = front.get("provenance")
    if isinstance(provenance, dict) and isinstance(provenance.get("collection"), str):
        values.setdefault("collection", provenance["collection"])
    if "schema_version" in front:
        values.setdefault("asb-schema-version", original.texts.get("schema_version"))
    texts: dict[str, str] = {}
    for key, value in values.items():
        name = key.lower().replace("_", "-")
        text = _text(value, " " if name in _SPACED and _joinable(value) else "; ")
        if name in _SPACED and isinstance(value, list) and len(value) == 1 and not _joinable(value):
            text += ";"  # one item with a space in it, which would be read as two
        if not text or name in texts or name.startswith("provenance-"):
            continue
        if _KEY.fullmatch(name) is None:
            notes.append(f"metadata.{key[:40]!r} is only in the sidecar: not a plain key")
            continue
        texts[name] = text
    order = {name: number for number, name in enumerate(_ORDER)}
    return {name: texts[name] for name in sorted(texts, key=lambda item: (order.get(item, len(order)), item))}


def _joinable(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(item, str) and " " in item for item in value)


def _text(value: Any, joint: str) -> str:
    """A value as one string; of a list that is too long its beginning, the sidecar has the rest."""
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        items = [item if isinstance(item, str) else json.dumps(item) for item in value]
        kept = list(items)
        while len(kept) > 1 and len(joint.join(kept)) > _MAX_VALUE:
            kept.pop()
        return joint.join(kept)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE else ""

"""Collections: their manifest, what is in them, and pins that say which bytes were released.

A pin is ``https://w3id.org/holobiomicslab/asb-skill/<slug>@sha256:<hash>`` with the SHA-256 of the bytes of
the skill's ``SKILL.md`` (which is the digest that the Skills extension of MCP gives for that file), and
``asb-tool`` with that of ``tools/<slug>.yaml``. Files beside a ``SKILL.md`` are listed in ``pins.json``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection as Names
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sipbench.cards.base import read_bytes, read_json, read_yaml, schema_problems
from sipbench.errors import CardError, SkillError
from sipbench.files import replace_file
from sipbench.skills.export import dump_yaml, json_bytes
from sipbench.skills.frontmatter import read_front_matter, split
from sipbench.skills.layout import MANIFEST, TOOLS, Located
from sipbench.skills.rules import SKILL_FILE
from sipbench.skills.tree import on_line, read_inside, skill_files

__all__ = [
    "PINS", "Trouble", "check_manifest", "pin_collection", "pin_of", "read_manifest", "slug_of", "verify",
]  # fmt: skip

PINS = "pins.json"
PINS_VERSION = "1.0.0"
_BASE = "https://w3id.org/holobiomicslab"
_SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_PIN = re.compile(rf"{re.escape(_BASE)}/asb-(skill|tool)/({_SLUG})@(sha256:[0-9a-f]{{64}})")
_BARE = re.compile(_SLUG)
_ZENODO = re.compile(r"10\.5281/zenodo\.[0-9]+")

type Kind = Literal["skill", "tool"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is not as a collection says.

    Attributes:
        rule: Stable id: ``schema``, ``doi``, ``count``, ``member``, ``pin``, ``changed``, ``missing`` or
            ``added``.
        file: Where, relative to the collection.
        reason: What is wrong, and what to do where that is not plain.
        warning: Whether it is only to be looked at.
    """

    rule: str
    file: str
    reason: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {'warning: ' if self.warning else ''}{self.reason} [{self.rule}]"


def digest_of(data: bytes) -> str:
    """``sha256:<64 hex>`` of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def pin_of(kind: Kind, slug: str, data: bytes) -> str:
    """The pin of a skill (bytes of its ``SKILL.md``) or tool (of its YAML file)."""
    return f"{_BASE}/asb-{kind}/{slug}@{digest_of(data)}"


def slug_of(entry: str) -> str:
    """The slug of an entry of ``skills`` or ``tools``: of a pin, or the bare slug itself."""
    match = _PIN.fullmatch(entry)
    return match.group(2) if match else entry


def read_manifest(located: Located) -> dict[str, Any]:
    """The manifest as JSON values (a date is its text).

    Raises:
        SkillError: There is none, or it cannot be read.
    """
    if located.manifest is None:
        raise SkillError(
            f"{on_line(located.root)}: no {MANIFEST}; a folder of skills is no collection without"
        )
    try:
        value: dict[str, Any] = json.loads(
            json.dumps(read_yaml(located.manifest), default=str, allow_nan=False)
        )
    except CardError as error:
        raise SkillError(str(error)) from None
    except (TypeError, ValueError) as error:
        raise SkillError(f"{on_line(located.manifest)}: cannot be said in JSON: {error}") from None
    return value


def _members(located: Located, kind: Kind) -> dict[str, Path]:
    """The files that pins are of, by slug."""
    if kind == "tool":
        return {on_line(path.stem): path for path in located.tools}
    return {on_line(folder.name): folder / SKILL_FILE for folder in located.skills}


def _listed(manifest: dict[str, Any], kind: Kind) -> list[str] | None:
    value = manifest.get(f"{kind}s")
    return [str(item) for item in value] if isinstance(value, list) else None


def check_manifest(located: Located, *, meta: Names[str] = ()) -> list[Trouble]:
    """Compare a manifest with its schema and with what is there.

    Args:
        located: The collection.
        meta: Folders that need not be listed: skills about the collection itself.

    Raises:
        SkillError: There is no manifest, or it cannot be read.
        MissingExtraError: The schema of asb-schema is not installed.
    """
    manifest = read_manifest(located)
    found = [
        Trouble("schema", MANIFEST, f"{field}: {reason}" if field else reason)
        for field, reason in schema_problems(manifest, "asb_skill_collection.schema.json", "SkillCollection")
    ]
    for key in ("doi", "zenodo_doi"):
        doi = manifest.get(key)
        if isinstance(doi, str) and not _ZENODO.fullmatch(doi) and not doi.startswith("10."):
            found.append(Trouble("doi", MANIFEST, f"{key}: {doi[:60]} is no DOI yet", warning=True))
    for kind in ("skill", "tool"):
        found += _check_members(located, manifest, kind, meta)
    return found


def _check_members(
    located: Located, manifest: dict[str, Any], kind: Kind, meta: Names[str]
) -> Iterator[Trouble]:
    there = _members(located, kind)
    listed = _listed(manifest, kind)
    count = manifest.get(f"{kind}s_count")
    expected = [slug for slug in there if slug not in meta]
    if isinstance(count, int) and count != len(expected):
        yield Trouble("count", MANIFEST, f"{kind}s_count is {count}; {len(expected)} are there")
    if listed is None:
        return
    if isinstance(count, int) and count != len(listed):
        yield Trouble("count", MANIFEST, f"{kind}s_count is {count}; {len(listed)} are listed")
    slugs = [slug_of(entry) for entry in listed]
    for slug, times in Counter(slugs).items():
        if times > 1:
            yield Trouble("member", MANIFEST, f"{kind} {slug[:80]} is listed {times} times")
        if slug not in there:
            yield Trouble("member", MANIFEST, f"{kind} {slug[:80]} is listed and not there")
    for slug in sorted(set(expected) - set(slugs)):
        yield Trouble("member", MANIFEST, f"{kind} {slug[:80]} is there and not listed")
    for entry in listed:
        match = _PIN.fullmatch(entry)
        if (match is None or match.group(1) != kind) and not _BARE.fullmatch(entry):
            yield Trouble("pin", MANIFEST, f"{entry[:120]!r} is neither a slug nor a pin of a {kind}")


def pin_collection(located: Located, *, meta: Names[str] = ()) -> tuple[int, int]:
    """Write the pins of all skills and tools into the manifest, and of all other files into ``pins.json``.

    Returns:
        How many skills and tools were pinned.

    Raises:
        SkillError: There is no manifest, a name cannot be pinned, or a file cannot be read or written.
    """
    manifest = read_manifest(located)
    for kind in ("skill", "tool"):
        files = {slug: path for slug, path in sorted(_members(located, kind).items()) if slug not in meta}
        for slug in files:
            if not _BARE.fullmatch(slug):
                raise SkillError(f"{kind} {slug[:80]!r} cannot be pinned: run asb export-skills first")
        pins = [pin_of(kind, slug, _bytes(path)) for slug, path in files.items()]
        if pins or f"{kind}s" in manifest:
            manifest |= {f"{kind}s": pins, f"{kind}s_count": len(pins)}
    _write(located.root / PINS, json_bytes(_files(located, meta)))
    _write(located.root / MANIFEST, dump_yaml(manifest))
    return len(_listed(manifest, "skill") or []), len(_listed(manifest, "tool") or [])


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except CardError as error:
        raise SkillError(str(error)) from None


def _write(path: Path, data: bytes) -> None:
    try:
        replace_file(path, data)
    except OSError as error:
        raise SkillError(f"{on_line(path)}: cannot be written: {error.strerror or error}") from None


def _files(located: Located, meta: Names[str]) -> dict[str, Any]:
    """``pins.json``: path, digest and size of every file of every skill, and one digest over them."""
    skills = {}
    for folder in located.skills:
        if folder.name in meta:
            continue
        files, found = skill_files(folder)
        if found:
            raise SkillError(f"{on_line(folder)}: {found[0].path}: {found[0].message}")
        listed = {}
        for file in files:
            data, _ = read_inside(folder, file.parts)
            listed[on_line(file.path)] = {"digest": digest_of(data), "size": len(data)}
        lines = "".join(
            f"{path}\t{item['size']}\t{item['digest']}\n" for path, item in sorted(listed.items())
        )
        skills[on_line(folder.name)] = {"files": listed, "digest": digest_of(lines.encode("utf-8"))}
    return {"schema_version": PINS_VERSION, "skills": skills}


def verify(located: Located, *, meta: Names[str] = ()) -> list[Trouble]:
    """Compare every byte that is pinned with what is there.

    Raises:
        SkillError: There is no manifest, nothing in it is pinned, or a file cannot be read.
    """
    manifest = read_manifest(located)
    found: list[Trouble] = []
    pinned = 0
    for kind in ("skill", "tool"):
        there = _members(located, kind)
        for entry in _listed(manifest, kind) or []:
            match = _PIN.fullmatch(entry)
            if match is None or match.group(1) != kind:
                found.append(Trouble("pin", MANIFEST, f"{entry[:120]} is not pinned; run asb skills pin"))
                continue
            pinned += 1
            found += _compared(located, kind, match.group(2), match.group(3), there)
        listed = {slug_of(entry) for entry in _listed(manifest, kind) or []}
        for slug in sorted(set(there) - listed - set(meta)):
            place = on_line(there[slug].relative_to(located.root))
            found.append(Trouble("added", place, f"a {kind} that is not pinned"))
    if not pinned:
        raise SkillError(f"{on_line(located.root / MANIFEST)}: nothing is pinned; run asb skills pin")
    found += _verify_files(located, meta)
    return list(dict.fromkeys(found))


def _compared(
    located: Located, kind: Kind, slug: str, digest: str, there: dict[str, Path]
) -> Iterator[Trouble]:
    if slug not in there:
        place = f"{TOOLS}/{slug}.yaml" if kind == "tool" else f"{slug}/{SKILL_FILE}"
        yield Trouble("missing", place, "pinned and not there")
        return
    place = on_line(there[slug].relative_to(located.root))
    data = _bytes(there[slug])
    if digest_of(data) != digest:
        yield Trouble("changed", place, f"pinned as {digest[:19]}…, found {digest_of(data)[:19]}…")
    if kind == "skill":
        yield from _check_sidecar(there[slug].parent, data, located)


def _sidecar(data: bytes) -> tuple[str, str] | None:
    """Name and digest of the file that the metadata of a ``SKILL.md`` pins; None where it names none."""
    front = split(data).front
    root = read_front_matter(front).root if front is not None else None
    metadata = next((value for key, value in root.pairs() if key.text == "metadata"), None) if root else None
    values = {key.text: value.text for key, value in metadata.pairs()} if metadata else {}
    name, digest = values.get("provenance-file"), values.get("provenance-digest")
    return (name, digest) if name and digest else None


def _check_sidecar(folder: Path, data: bytes, located: Located) -> Iterator[Trouble]:
    pinned = _sidecar(data)
    if pinned is None:
        return
    name, digest = pinned
    place = f"{on_line(folder.relative_to(located.root))}/{name[:80]}"
    try:
        found = digest_of(read_inside(folder, name.split("/"))[0])
    except SkillError:
        yield Trouble("missing", place, "named in the metadata and not there")
        return
    if found != digest:
        yield Trouble("changed", place, f"the metadata says {digest[:19]}…, found {found[:19]}…")


def _verify_files(located: Located, meta: Names[str]) -> Iterator[Trouble]:
    path = located.root / PINS
    try:
        skills = read_json(path).value.get("skills") if path.is_file() else None
    except CardError as error:
        raise SkillError(str(error)) from None
    pinned = skills if isinstance(skills, dict) else {}
    folders = {on_line(folder.name): folder for folder in located.skills}
    for slug, now in _files(located, meta)["skills"].items():
        entry = pinned.get(slug)
        listed = entry.get("files") if isinstance(entry, dict) else None
        before = listed if isinstance(listed, dict) else {}
        after = now["files"]
        known = {SKILL_FILE}
        if not before and (sidecar := _sidecar(_bytes(folders[slug] / SKILL_FILE))) is not None:
            known.add(sidecar[0])
        # Where the list was taken away, the files that it would name are pinned by nothing.
        for name in sorted((before.keys() | after.keys()) - known):
            place = f"{on_line(folders[slug].relative_to(located.root))}/{name}"
            if name not in after:
                yield Trouble("missing", place, "pinned and not there")
            elif name not in before:
                yield Trouble("added", place, "a file that is not pinned")
            elif before[name] != after[name]:
                yield Trouble("changed", place, "not the bytes that were pinned")

"""What a collection offers, as data, found by words, and cut down to a part."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sipbench.cards.base import read_json
from sipbench.errors import MissingExtraError, SkillError
from sipbench.skills.collection import slug_of
from sipbench.skills.export import Plan, dump_yaml, json_bytes
from sipbench.skills.layout import LEAVES, LINKS, MANIFEST, TOOLS, Located, linked_skills
from sipbench.skills.tree import on_line, read_inside, skill_files
from sipbench.skills.validate import SkillReport, check_skills

__all__ = [
    "CATALOGUE_VERSION",
    "Entry",
    "Filters",
    "Hit",
    "Index",
    "catalogue",
    "catalogue_document",
    "find",
    "plan_pack",
]

CATALOGUE_VERSION = "1.0.0"
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One skill of a catalogue.

    Attributes:
        name: Its name.
        collection: The slug or folder of its collection.
        folder: Where it is.
        description: What it does and when to use it.
        digest: That of its ``SKILL.md``, which is in its pin.
        tools: Names of software.
        techniques: Names of methods.
        topics: EDAM topics.
        tasks: Keys of the cards that the collection links with it.
        valid: Whether it conforms.
    """

    name: str
    collection: str
    folder: Path
    description: str
    digest: str | None
    tools: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    valid: bool = True

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "collection": self.collection,
            "description": self.description,
            "digest": self.digest,
            "tools": list(self.tools),
            "techniques": list(self.techniques),
            "topics": list(self.topics),
            "tasks": list(self.tasks),
            "valid": self.valid,
        }


def catalogue(located: Sequence[Located]) -> list[Entry]:
    """All skills of collections, in their order."""
    entries = []
    reports = check_skills([folder for item in located for folder in item.skills])
    for item in located:
        tasks = _tasks(item)
        for _ in item.skills:
            entries.append(_entry(next(reports), item, tasks))
    return entries


def _entry(report: SkillReport, located: Located, tasks: Mapping[str, list[str]]) -> Entry:
    metadata = report.front.get("metadata")
    values = metadata if isinstance(metadata, dict) else {}
    description = report.front.get("description")
    return Entry(
        name=report.name,
        collection=on_line(located.root.name),
        folder=report.folder,
        description=description if isinstance(description, str) else "",
        digest=report.digest,
        tools=_items(values.get("tools", ""), ";"),
        techniques=_items(values.get("techniques", ""), ";" if ";" in values.get("techniques", "") else " "),
        topics=_items(values.get("edam-topics", ""), " "),
        tasks=tuple(tasks.get(report.name, ())),
        valid=report.valid,
    )


def _items(text: str, joint: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(joint) if item.strip())


def _tasks(located: Located) -> dict[str, list[str]]:
    """Keys of the linked cards by skill."""
    found: dict[str, list[str]] = {}
    for key, names in linked_skills(located.root).items():
        for name in names:
            found.setdefault(name, []).append(key)
    return found


def catalogue_document(entries: Sequence[Entry]) -> dict[str, Any]:
    """A catalogue as JSON."""
    return {"schema_version": CATALOGUE_VERSION, "skills": [entry.document() for entry in entries]}


@dataclass(frozen=True, slots=True)
class Hit:
    """A skill that was found, with its BM25 score (Lucene's variant, k1 1.5, b 0.75)."""

    entry: Entry
    score: float


class Index:
    """A catalogue that can be searched.

    Args:
        entries: The catalogue.

    Raises:
        MissingExtraError: ``bm25s`` is not installed.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        try:
            import bm25s
        except ModuleNotFoundError:
            raise MissingExtraError("searching skills", "skills") from None
        self._entries = entries
        corpus = [_words(entry) for entry in entries]
        self._known = {word for words in corpus for word in words}
        self._index = bm25s.BM25()
        if self._known:
            self._index.index(corpus, show_progress=False)

    def find(self, query: str, *, top: int = 10) -> list[Hit]:
        """The skills whose words fit best, best first; those without any word of the query are left out.

        Of equal scores the name decides.

        Args:
            query: Words.
            top: At most this many.
        """
        asked = [word for word in dict.fromkeys(_WORD.findall(query.lower())) if word in self._known]
        if not asked:
            return []
        scores = self._index.get_scores(asked)
        order = sorted(
            range(len(self._entries)), key=lambda at: (-float(scores[at]), self._entries[at].name, at)
        )
        return [Hit(self._entries[at], float(scores[at])) for at in order[:top] if scores[at] > 0]


def find(query: str, entries: Sequence[Entry], *, top: int = 10) -> list[Hit]:
    """One search in a catalogue; see :class:`Index`."""
    return Index(entries).find(query, top=top)


def _words(entry: Entry) -> list[str]:
    text = " ".join([entry.name, entry.description, *entry.tools, *entry.techniques])
    return _WORD.findall(text.lower())


@dataclass(frozen=True, slots=True)
class Filters:
    """What a pack holds: skills that every kind of filter that is given lets through.

    Attributes:
        tools: Any of these tools, in any case.
        techniques: Any of these techniques.
        topics: Any of these EDAM topics: the address, or its end (``topic_3169``).
        keywords: All of these words in name or description.
    """

    tools: tuple[str, ...] = ()
    techniques: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()

    def takes(self, entry: Entry) -> bool:
        """Whether a skill is let through."""
        text = f"{entry.name} {entry.description}".lower()
        return (
            _any(self.tools, entry.tools)
            and _any(self.techniques, entry.techniques)
            and (
                not self.topics
                or any(t == w or t.endswith(f"/{w}") for t in entry.topics for w in self.topics)
            )
            and all(word.lower() in text for word in self.keywords)
        )


def _any(wanted: Sequence[str], there: Sequence[str]) -> bool:
    lower = {item.lower() for item in there}
    return not wanted or any(item.lower() in lower for item in wanted)


def plan_pack(
    located: Located, manifest: Mapping[str, Any], filters: Filters, *, slug: str, title: str
) -> Plan:
    """Plan a subset of a collection: the skills that ``filters`` take, byte for byte, and what they need.

    Raises:
        SkillError: No skill is taken, or a file cannot be read.
    """
    plan = Plan()
    taken = [entry for entry in catalogue([located]) if filters.takes(entry)]
    if not taken:
        raise SkillError(f"{on_line(located.root)}: no skill fits; `asb skills find` shows what there is")
    names = {on_line(entry.folder.name) for entry in taken}
    for entry in taken:
        for file in skill_files(entry.folder)[0]:
            data, _ = read_inside(entry.folder, file.parts)
            plan.files[f"{LEAVES}/{on_line(entry.folder.name)}/{file.path}"] = (data, file.executable)
    plan.skills = len(taken)
    tools = _pack_tools(located, taken, plan)
    plan.files[MANIFEST] = (dump_yaml(_pack_manifest(manifest, names, tools, slug, title)), False)
    plan.files[".gitattributes"] = (b"* -text\n", False)
    links = located.root / LINKS
    if links.is_file():
        document = read_json(links).value
        kept = _pack_links(document.get("links"), names)
        plan.files[LINKS] = (json_bytes(document | {"links": kept}), False)
    return plan


def _pack_links(links: Any, names: set[str]) -> dict[str, Any]:
    kept = {}
    for key, link in links.items() if isinstance(links, dict) else ():
        listed = link.get("skills") if isinstance(link, dict) else None
        there = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        if names.intersection(there):
            kept[key] = link | {"skills": [name for name in there if name in names]}
    return kept


def _pack_tools(located: Located, taken: Sequence[Entry], plan: Plan) -> set[str]:
    wanted = {"-".join(_WORD.findall(tool.lower())) for entry in taken for tool in entry.tools}
    kept = set()
    for path in located.tools:
        if path.stem in wanted:
            kept.add(path.stem)
            plan.files[f"{TOOLS}/{path.name}"] = (read_inside(located.root, [TOOLS, path.name])[0], False)
    return kept


def _pack_manifest(
    manifest: Mapping[str, Any], names: set[str], tools: set[str], slug: str, title: str
) -> dict[str, Any]:
    iri = str(manifest.get("iri", "")).rstrip("/")
    made = dict(manifest) | {"slug": slug, "title": title, "iri": f"{iri}/pack/{slug}"}
    if "@id" in made:
        made["@id"] = made["iri"]
    for kind, kept in (("skills", names), ("tools", tools)):
        if isinstance(made.get(kind), list):
            made[kind] = [entry for entry in made[kind] if slug_of(str(entry)) in kept]
        if kind in made or f"{kind}_count" in made:
            made[f"{kind}_count"] = len(kept)
    # They are of the whole, and of another release.
    for key in ("doi", "zenodo_doi", "released_at", "ro_crate_path"):
        made.pop(key, None)
    return made

"""How collections lie on disk: ``leaves/`` or ``skills/`` with a folder a skill, and files beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sipbench.cards.base import read_json
from sipbench.errors import CardError, SkillError
from sipbench.skills.tree import find_skills, on_line

__all__ = [
    "LAYOUTS",
    "LEAVES",
    "LINKS",
    "MANIFEST",
    "TOOLS",
    "Located",
    "linked_skills",
    "locate",
    "locate_one",
]

LEAVES = "leaves"
LAYOUTS = (LEAVES, "skills")
MANIFEST = "collection.yaml"
LINKS = "links.json"
TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class Located:
    """A collection that was found.

    Attributes:
        root: Its folder.
        skills: Those of its skills, sorted.
    """

    root: Path
    skills: list[Path] = field(default_factory=list)

    @property
    def manifest(self) -> Path | None:
        """Its manifest, where there is one."""
        path = self.root / MANIFEST
        return path if path.is_file() and not path.is_symlink() else None

    @property
    def tools(self) -> list[Path]:
        """The files of its tools, sorted."""
        folder = self.root / TOOLS
        if not folder.is_dir() or folder.is_symlink():
            return []
        return sorted(path for path in folder.glob("*.yaml") if path.is_file() and not path.is_symlink())


def locate(path: Path) -> list[Located]:
    """The collections below ``path``, or ``path`` itself as one.

    Raises:
        SkillError: There is no skill.
    """
    found: dict[Path, list[Path]] = {}
    for skill in find_skills([path]):
        found.setdefault(_root(skill, path), []).append(skill)
    return [Located(root, sorted(skills)) for root, skills in sorted(found.items())]


def _root(skill: Path, path: Path) -> Path:
    if skill == path:
        return path.parent if path.parent.name not in LAYOUTS else path.parent.parent
    above: Iterable[Path] = skill.parents
    for folder in above:
        if folder.name in LAYOUTS:
            return folder.parent
        if folder == path:
            break
    return path


def locate_one(path: Path) -> Located:
    """The collection at ``path``.

    Raises:
        SkillError: There is none, or several are below.
    """
    found = locate(path)
    if len(found) > 1:
        names = ", ".join(on_line(item.root) for item in found[:3])
        raise SkillError(f"{on_line(path)} holds {len(found)} collections ({names}, …); name one")
    return found[0]


def linked_skills(root: Path) -> dict[str, list[str]]:
    """Names of the skills that ``links.json`` links with each card, by ``<paper>/<task_id>``.

    In its order, each once.

    Raises:
        SkillError: The file cannot be read.
    """
    path = root / LINKS
    if not path.is_file():
        return {}
    try:
        links = read_json(path).value.get("links")
    except CardError as error:
        raise SkillError(str(error)) from None
    return {
        key: list(dict.fromkeys(name for name in link["skills"] if isinstance(name, str)))
        for key, link in (links.items() if isinstance(links, dict) else ())
        if isinstance(link, dict) and isinstance(link.get("skills"), list)
    }

"""What is served: conforming skills under ``skill://`` addresses, with digests that are computed when needed.

Addresses are looked up, never joined to a path: what one walk without following links did not find does
not exist. A skill whose files changed is checked again before it is described, and left out if it no longer
conforms.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sipbench.errors import SkillError
from sipbench.skills.layout import LAYOUTS
from sipbench.skills.rules import SKILL_FILE
from sipbench.skills.tree import TreeFile, find_skills, on_line, read_inside, skill_files
from sipbench.skills.validate import SkillReport, check_skill, check_skills

__all__ = ["SCHEME", "ServedSkills"]

SCHEME = "skill://"
_FRESH_SECONDS = 1.0
_SHOWN = 20

_log = logging.getLogger(__name__)

type Entry = dict[str, Any]


@dataclass(slots=True)
class _Skill:
    folder: Path
    address: str
    report: SkillReport
    entry: Entry | None = None
    checked: float = 0.0
    bad: str | None = None
    digests: dict[tuple[str, ...], tuple[tuple[int, int, int], str, int]] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        return f"{self.address}/{SKILL_FILE}"


class ServedSkills:
    """The conforming skills below a folder, by address. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        """Find the skills; :meth:`load` checks them.

        Args:
            root: A folder of skills, or a collection, whose ``leaves`` or ``skills`` are served.

        Raises:
            SkillError: It is no folder, or there is no skill in it.
        """
        resolved = root.resolve()
        if not resolved.is_dir():
            raise SkillError(f"{on_line(root)} is no folder of skills")
        inner = [resolved / name for name in LAYOUTS if (resolved / name).is_dir()]
        self.root = inner[0] if inner and not (resolved / SKILL_FILE).exists() else resolved
        self._found = find_skills([self.root])
        self.left_out: dict[str, str] = {}
        self._lock = threading.RLock()
        self._skills: dict[str, _Skill] = {}
        self._files: dict[str, tuple[Path, tuple[str, ...]]] = {}
        self._folders: dict[str, set[str]] = {}
        self._order: list[str] = []
        self._loaded = False

    def load(self) -> None:
        """Check all skills, once; those that do not conform are reported and left out."""
        with self._lock:
            if self._loaded:
                return
            for report in check_skills(self._found):
                self._admit(report)
            self._order = sorted(self._skills)
            self._loaded = True
        _log.info("%d skills served, %d left out", len(self._order), len(self.left_out))
        for number, (folder, reason) in enumerate(self.left_out.items()):
            if number == _SHOWN:
                _log.warning(
                    "… and %d more left out; `asb skills check` names all", len(self.left_out) - number
                )
                break
            _log.warning("%s is left out: %s", folder, reason)

    def warm(self) -> None:
        """Compute all digests, so that the first listing need not."""
        self.load()
        for uri in self.uris():
            self.entry(uri)

    def _admit(self, report: SkillReport) -> None:
        inner = report.folder.relative_to(self.root).as_posix()
        if not report.valid:
            first = next(item for item in report.findings if item.level == "error")
            self.left_out[on_line(inner)] = f"{first.message} [{first.rule}]"
            return
        # Conforming names are ASCII; a folder above may still have any name.
        path = report.folder.name if inner == "." else inner
        try:
            address = SCHEME + quote(path.encode("utf-8"), safe="/")
        except UnicodeEncodeError:
            self.left_out[on_line(inner)] = "a folder above has a name that is not UTF-8"
            return
        skill = _Skill(report.folder, address, report)
        self._skills[skill.uri] = skill
        self._index(skill)

    def _index(self, skill: _Skill) -> None:
        for file in skill.report.files:
            uri = _address(skill, file)
            self._files[uri] = (skill.folder, file.parts)
            above = uri.removeprefix(SCHEME).split("/")
            for depth in range(len(above) - 1, 0, -1):
                children = self._folders.setdefault(SCHEME + "/".join(above[:depth]), set())
                children.add(SCHEME + "/".join(above[: depth + 1]))

    def _drop(self, skill: _Skill) -> None:
        for file in skill.report.files:
            uri = _address(skill, file)
            if self._files.get(uri, (None,))[0] == skill.folder:
                del self._files[uri]
                for children in self._folders.values():
                    children.discard(uri)

    def uris(self) -> list[str]:
        """Addresses of all served skills (of their ``SKILL.md``), sorted."""
        self.load()
        return self._order

    def entry(self, uri: str, *, fresh: bool = False) -> Entry | None:
        """What the extension says about a skill: address, front matter, every file with digest and size.

        Args:
            uri: Of its ``SKILL.md``.
            fresh: Whether to look at the files even if that was done a moment ago.

        Returns:
            The entry; None where no skill is served, or no longer.
        """
        self.load()
        with self._lock:
            skill = self._skills.get(uri)
            if skill is None:
                return None
            now = time.monotonic()
            if skill.entry is not None and not fresh and now - skill.checked < _FRESH_SECONDS:
                return skill.entry
            try:
                return self._described(skill, now)
            except SkillError as error:
                self._suspend(skill, str(error))
                return None

    def _described(self, skill: _Skill, now: float) -> Entry:
        files, found = skill_files(skill.folder)
        if found or skill.bad or files != list(skill.report.files):
            report = check_skill(skill.folder)
            if not report.valid:
                first = next(item for item in report.findings if item.level == "error")
                raise SkillError(f"{first.message} [{first.rule}]")
            self._drop(skill)
            skill.report, skill.entry = report, None
            self._index(skill)
        if skill.entry is None:
            resources = list(self._resources(skill))
            if next(item["digest"] for item in resources if item["uri"] == skill.uri) != skill.report.digest:
                raise SkillError("changed while it was read")
            skill.entry = {"uri": skill.uri, "frontmatter": skill.report.front, "resources": resources}
        skill.checked = now
        if skill.bad:
            skill.bad = None
            del self.left_out[self._place(skill)]
        return skill.entry

    def _place(self, skill: _Skill) -> str:
        return on_line(skill.folder.relative_to(self.root))

    def _resources(self, skill: _Skill) -> Iterator[dict[str, Any]]:
        for file in skill.report.files:
            known = skill.digests.get(file.parts)
            if known is None or known[0] != file.stamp:
                data, info = self._bytes(skill.folder, file.parts)
                stamp = (info.st_ino, info.st_size, info.st_mtime_ns)
                known = (stamp, "sha256:" + hashlib.sha256(data).hexdigest(), len(data))
                skill.digests[file.parts] = known
            yield {"uri": _address(skill, file), "digest": known[1], "size": known[2]}

    def _suspend(self, skill: _Skill, reason: str) -> None:
        """Serve nothing of a skill until it conforms again: somebody may be in the middle of writing it."""
        if skill.bad != reason:
            _log.warning("%s is left out while this is so: %s", self._place(skill), reason)
        skill.bad, skill.entry = reason, None
        self.left_out[self._place(skill)] = reason
        self._drop(skill)
        for other in self._skills.values():
            # A skill inside of it shares addresses with it, and may be sound.
            if other.bad is None and other.address.startswith(f"{skill.address}/"):
                self._index(other)

    def read(self, uri: str) -> bytes | None:
        """The bytes of a served file; None where there is none of that address.

        Raises:
            SkillError: It is there no longer, or is no regular file of the skill any more.
        """
        self.load()
        with self._lock:
            place = self._files.get(uri)
        return None if place is None else self._bytes(*place)[0]

    def _bytes(self, folder: Path, parts: tuple[str, ...]) -> tuple[bytes, os.stat_result]:
        # From the root on: the skill's own folder, or one above, may have been exchanged for a link too.
        return read_inside(self.root, (*folder.relative_to(self.root).parts, *parts))

    def owner(self, uri: str) -> str | None:
        """The address of the skill that a file belongs to, the innermost; None where there is none."""
        above = uri.rpartition("/")[0]
        while above.startswith(SCHEME):
            if f"{above}/{SKILL_FILE}" in self._skills:
                return f"{above}/{SKILL_FILE}"
            above = above.rpartition("/")[0]
        return None

    def children(self, uri: str) -> list[tuple[str, bool]] | None:
        """(address, whether it is a folder) of what is directly in a folder, sorted; None for no folder."""
        self.load()
        with self._lock:
            children = self._folders.get(uri)
            if not children:
                return None
            return [(child, child not in self._files) for child in sorted(children)]


def _address(skill: _Skill, file: TreeFile) -> str:
    return f"{skill.address}/{quote(file.path, safe='/')}"

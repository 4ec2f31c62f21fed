"""``asb export-skills``: conforming copies of collections, planned whole before anything is written."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sipbench.cards.base import read_bytes, read_json, read_yaml
from sipbench.errors import CardError, SkillError
from sipbench.skills.layout import LEAVES, LINKS, MANIFEST, TOOLS, Located, locate
from sipbench.skills.naming import conforming_names
from sipbench.skills.rewrite import Original, read_original, rewrite
from sipbench.skills.rules import SKILL_FILE
from sipbench.skills.tree import TreeFile, on_line, read_inside, skill_files
from sipbench.skills.validate import check_text

__all__ = ["NAMES", "Plan", "Refused", "compare", "plan_export", "write_export"]

NAMES = "names.json"
NAMES_VERSION = "1.0.0"
_BESIDE = ("CITATION.cff", "LICENSE", "LICENSE.md", "LICENSE.txt", "README.md")


@dataclass(frozen=True, slots=True)
class Refused:
    """A skill that cannot be brought to conform, and why."""

    folder: Path
    reason: str


@dataclass(slots=True)
class Plan:
    """What an export writes.

    Attributes:
        files: The bytes of each file by its path in the target; and whether it may be run.
        skills: How many skills.
        rewritten: How many of them did not conform.
        renamed: Old name to new name, by place.
        notes: What a person may want to look at: (folder, note).
        refused: Skills that are left out.
    """

    files: dict[str, tuple[bytes, bool]] = field(default_factory=dict)
    skills: int = 0
    rewritten: int = 0
    renamed: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: list[tuple[Path, str]] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


@dataclass(slots=True)
class _Skill:
    folder: Path
    place: str
    name: str
    data: bytes
    files: list[TreeFile]
    original: Original
    conforms: bool


def plan_export(path: Path) -> Plan:
    """Plan the conforming copy of every collection in ``path``; reads everything, writes nothing.

    A skill that conforms already, and whose name no other has, is copied as it is.

    Raises:
        SkillError: There is no skill, or a manifest cannot be read.
    """
    plan = Plan()
    for located in locate(path):
        inner = located.root.relative_to(path).as_posix() if located.root.is_relative_to(path) else "."
        _plan_collection(located, "" if inner == "." else f"{inner}/", plan)
    return plan


def _plan_collection(located: Located, prefix: str, plan: Plan) -> None:
    skills = list(_readable(located, plan))
    names = conforming_names({skill.place: skill.name for skill in skills})
    folders = {skill.folder for skill in skills}
    renamed: dict[str, str] = {}
    for skill in skills:
        name = names[skill.place]
        if name != skill.name or name != skill.folder.name:
            plan.renamed[prefix + skill.place] = (skill.name, name)
            renamed.setdefault(skill.name, name)
            renamed.setdefault(skill.folder.name, name)
        try:
            _plan_skill(skill, name, f"{prefix}{LEAVES}/{name}", folders, plan)
        except SkillError as error:
            plan.refused.append(Refused(skill.folder, str(error)))
    _plan_beside(located, prefix, renamed, plan)
    if renamed:
        _plan_names(prefix, plan)
    # Digests are of bytes: version control must not change line ends.
    plan.files[f"{prefix}.gitattributes"] = (b"* -text\n", False)


def _readable(located: Located, plan: Plan) -> Iterator[_Skill]:
    folders = set(located.skills)
    for folder in located.skills:
        files, found = skill_files(folder)
        inner = [item for item in found if not _of_another(item.path.split("/"), folder, folders)]
        try:
            if inner:
                raise SkillError(f"{inner[0].path}: {inner[0].message}")
            name = next((file.path for file in files if file.path.lower() == SKILL_FILE.lower()), SKILL_FILE)
            data, _ = read_inside(folder, [name])
            original = read_original(data)
        except SkillError as error:
            plan.refused.append(Refused(folder, str(error)))
            continue
        given = original.texts.get("name") or on_line(folder.name)
        _, problems = check_text(data, folder.name)
        place = on_line(folder.relative_to(located.root))
        conforms = not problems and name == SKILL_FILE
        yield _Skill(folder, place, given, data, files, original, conforms)


def _of_another(parts: Sequence[str], folder: Path, folders: Collection[Path]) -> bool:
    """Whether a file of ``folder`` belongs to a skill inside of it, which is looked at by itself."""
    return any(folder.joinpath(*parts[:depth]) in folders for depth in range(1, len(parts)))


def _plan_skill(skill: _Skill, name: str, target: str, folders: set[Path], plan: Plan) -> None:
    own = [file for file in skill.files if not _of_another(file.parts, skill.folder, folders)]
    if len(own) < len(skill.files):
        plan.notes.append((skill.folder, "skills inside of it became skills beside it"))
    others = [file for file in own if file.path.lower() != SKILL_FILE.lower()]
    files: dict[str, tuple[bytes, bool]] = {}
    for file in others:
        files[f"{target}/{file.path}"] = (read_inside(skill.folder, file.parts)[0], file.executable)
    if skill.conforms and name == skill.name:
        files[f"{target}/{SKILL_FILE}"] = (skill.data, False)
    else:
        taken = frozenset(file.path.lower() for file in others)
        made = rewrite(skill.original, name=name, folder=on_line(skill.folder.name), others=taken)
        files[f"{target}/{SKILL_FILE}"] = (made.skill, False)
        files[f"{target}/{made.sidecar_name}"] = (made.sidecar, False)
        left = check_text(made.skill, name)[1]
        if left:
            raise SkillError(f"cannot be brought to conform: {left[0].message} [{left[0].rule}]")
        plan.rewritten += 1
        plan.notes += [(skill.folder, note) for note in made.notes]
    plan.files |= files
    plan.skills += 1


def _plan_beside(located: Located, prefix: str, renamed: Mapping[str, str], plan: Plan) -> None:
    try:
        if located.manifest is not None:
            data = read_bytes(located.manifest)
            manifest = read_yaml(located.manifest)
            if renamed and isinstance(manifest.get("skills"), list):
                listed = [
                    renamed.get(item, item) if isinstance(item, str) else item for item in manifest["skills"]
                ]
                data = dump_yaml(manifest | {"skills": listed})
            plan.files[f"{prefix}{MANIFEST}"] = (data, False)
        links = located.root / LINKS
        if links.is_file():
            data = read_bytes(links)
            if renamed:
                data = json_bytes(_renamed_links(read_json(links).value, renamed))
            plan.files[f"{prefix}{LINKS}"] = (data, False)
        for tool in located.tools:
            plan.files[f"{prefix}{TOOLS}/{on_line(tool.name)}"] = (read_bytes(tool), False)
        for name in _BESIDE:
            if (located.root / name).is_file():
                plan.files[f"{prefix}{name}"] = (read_bytes(located.root / name), False)
    except CardError as error:
        raise SkillError(str(error)) from None


def _renamed_links(document: dict[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    links = document.get("links")
    for link in links.values() if isinstance(links, dict) else ():
        if isinstance(link, dict) and isinstance(link.get("skills"), list):
            link["skills"] = [
                renamed.get(item, item) if isinstance(item, str) else item for item in link["skills"]
            ]
    return document


def _plan_names(prefix: str, plan: Plan) -> None:
    renamed = {
        place.removeprefix(prefix): {"from": old, "to": new}
        for place, (old, new) in sorted(plan.renamed.items())
        if place.startswith(prefix)
    }
    document = {"schema_version": NAMES_VERSION, "renamed": renamed}
    plan.files[f"{prefix}{NAMES}"] = (json_bytes(document), False)


def json_bytes(document: Any) -> bytes:
    """JSON as files hold it here: sorted, indented, a line feed at the end."""
    return (json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def dump_yaml(document: dict[str, Any]) -> bytes:
    """A manifest as YAML, in its order."""
    text = yaml.dump(
        document,
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        sort_keys=False,
        allow_unicode=True,
        width=1_000_000,
    )
    return text.encode("utf-8")


def compare(plan: Plan, target: Path) -> list[str]:
    """What differs in ``target``: one line for each file, sorted; nothing where all is as planned."""
    said = []
    for name, (data, executable) in plan.files.items():
        try:
            found, info = read_inside(target, name.split("/"), limit=max(len(data), 1))
        except SkillError:
            there = os.path.lexists(target / name)
            said.append(f"{name}: {'differs' if there else 'missing'}")
            continue
        if found != data or bool(info.st_mode & 0o100) != executable:
            said.append(f"{name}: differs")
    said += [f"{name}: not part of the export" for name in _found(target) if name not in plan.files]
    return sorted(said)


def _found(target: Path) -> Iterator[str]:
    for folder, _, files in os.walk(target):
        for name in files:
            yield on_line(Path(folder, name).relative_to(target))


def write_export(plan: Plan, target: Path) -> bool:
    """Write what was planned: all of it or nothing.

    Args:
        plan: The plan.
        target: A folder that does not exist or is empty, or holds just this export already.

    Returns:
        Whether anything was written; False where ``target`` is what would be written.

    Raises:
        SkillError: ``target`` holds something else, or cannot be written.
    """
    if target.is_symlink() or (os.path.lexists(target) and not target.is_dir()):
        raise SkillError(f"{on_line(target)} is not a folder; name another place")
    try:
        occupied = target.is_dir() and any(target.iterdir())
        if occupied:
            different = compare(plan, target)
            if not different:
                return False
            raise SkillError(
                f"{on_line(target)} holds something else ({different[0]}"
                f"{f' and {len(different) - 1} more' if len(different) > 1 else ''}); name a new folder"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target, so that it comes into being in one step; left where that fails.
        staged = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
        for name, (data, executable) in plan.files.items():
            path = staged / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755 if executable else 0o644)
        staged.chmod(0o755)
        staged.replace(target)
    except OSError as error:
        raise SkillError(f"{on_line(target)}: cannot be written: {error.strerror or error}") from None
    return True

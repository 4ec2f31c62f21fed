"""The strict check of a skill: the whole specification, everything that is wrong at once, with its line.

Loaders are told to be lenient; a release is not. What is stricter than the specification here
(:mod:`sipbench.skills.rules` says which) is what real loaders are known to disagree about.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sipbench.errors import SkillError
from sipbench.skills.frontmatter import CONTROL, Node, read_front_matter, split
from sipbench.skills.rules import (
    MAX_COMPATIBILITY,
    MAX_DESCRIPTION,
    MAX_NAME,
    MAX_TREE_BYTES,
    SKILL_FILE,
    Finding,
)
from sipbench.skills.tree import TreeFile, on_line, read_inside, skill_files

__all__ = ["KEYS", "NAME", "SkillReport", "check_skill", "check_skills", "check_text"]

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""What a whole name looks like, its length aside."""
KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The keys that a front matter may have."""
_STRINGS = tuple(key for key in KEYS if key != "metadata")
_WORTH_PROCESSES = 1500
_CHUNK = 100


@dataclass(frozen=True, slots=True)
class SkillReport:
    """What is known about a skill after it was checked.

    Attributes:
        folder: As it was given.
        findings: Everything that is wrong, by file and line.
        front: The front matter as loaders hand it on; only what is well formed is in it.
        digest: ``sha256:<64 hex>`` of the bytes of ``SKILL.md``; None where it cannot be read.
        files: Its files, sorted.
    """

    folder: Path
    findings: tuple[Finding, ...]
    front: dict[str, str | dict[str, str]] = field(default_factory=dict)
    digest: str | None = None
    files: tuple[TreeFile, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether no rule but advice was broken."""
        return all(finding.level != "error" for finding in self.findings)

    @property
    def name(self) -> str:
        """The name in the front matter, else that of the folder."""
        name = self.front.get("name")
        return name if isinstance(name, str) else on_line(self.folder.name)


def check_skill(folder: Path, *, lint: bool = False) -> SkillReport:
    """Check one folder. Never fails: what cannot be read is a finding.

    Args:
        folder: That of the skill; links in the path to it are followed.
        lint: Whether to look at the rules of origin ``advice`` too.
    """
    try:
        resolved = folder.resolve()
    except (OSError, RuntimeError):
        said = "the folder cannot be found"
        return SkillReport(folder, (Finding("file-missing", said, path="."),))
    files, found = skill_files(resolved)
    data = _skill_file(resolved, files, found)
    if data is None:
        return SkillReport(folder, _in_order(found), files=tuple(files))
    front, more = check_text(data, resolved.name)
    found += more
    if lint:
        from sipbench.skills.lint import lint_skill

        found += lint_skill(resolved, files, data)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return SkillReport(folder, _in_order(found), front, digest, tuple(files))


def _skill_file(folder: Path, files: Sequence[TreeFile], found: list[Finding]) -> bytes | None:
    name = SKILL_FILE
    top = {file.parts[0] for file in files if len(file.parts) == 1}
    if SKILL_FILE not in top:
        other = next((name for name in sorted(top) if name.lower() == SKILL_FILE.lower()), None)
        if other is None:
            if not any(item.path == SKILL_FILE or item.path.startswith(f"{SKILL_FILE}/") for item in found):
                found.append(Finding("file-missing", f"no file {SKILL_FILE}", path="."))
            return None
        found.append(
            Finding("file-case", f"is called {other}; rename it to {SKILL_FILE}", path=on_line(other))
        )
        name = other
    try:
        return read_inside(folder, [name], limit=MAX_TREE_BYTES)[0]
    except SkillError as error:
        found.append(Finding("file-unreadable", str(error).partition(f"{name}: ")[2] or str(error)))
        return None


def _in_order(found: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(
        sorted(found, key=lambda item: (item.path != SKILL_FILE, item.path, item.line or 0, item.rule))
    )


def check_text(data: bytes, folder_name: str) -> tuple[dict[str, str | dict[str, str]], list[Finding]]:
    """Check the bytes of a ``SKILL.md`` that stands in a folder called ``folder_name``.

    Returns:
        The front matter, as far as it is well formed, and everything that is wrong. Never fails.
    """
    parts = split(data)
    found = list(parts.findings)
    if parts.front is None:
        return {}, found
    read = read_front_matter(parts.front)
    found += read.findings
    front: dict[str, str | dict[str, str]] = {}
    if read.root is not None:
        lines: dict[str, int] = {}
        for key, value in _entries(read.root, found, lines):
            _check_value(key, lines[key], value, front, found)
        _check_front(front, lines, folder_name, found)
        if read.complete:
            for key in ("name", "description"):
                if key not in lines:
                    found.append(Finding(f"{key}-missing", f"no key {key}", 1, key))
    return front, found


def _entries(
    root: Node, found: list[Finding], lines: dict[str, int], within: str = ""
) -> Iterator[tuple[str, Node]]:
    """Keys and values of a map, each key once; what is wrong with a key is said on the way."""
    for key, value in root.pairs():
        if key.kind != "scalar":
            found.append(Finding("not-a-string", "a key that is a list or a mapping", key.line))
            continue
        name = f"{within}{_short(key.text)}"
        if key.text in lines:
            said = f"the key stands in line {lines[key.text]} already; loaders keep one of the two"
            found.append(Finding("duplicate-key", said, key.line, name))
            continue
        lines[key.text] = key.line
        if not key.string:
            said = f"the key {_short(key.text)} is not a string; put it in quotes"
            found.append(Finding("not-a-string", said, key.line, name))
        yield key.text, value


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "…"


def _check_value(
    key: str, line: int, value: Node, front: dict[str, str | dict[str, str]], found: list[Finding]
) -> None:
    if key == "metadata":
        _check_metadata(value, front, found)
    elif key in _STRINGS:
        if _is_string(value, key, found):
            front[key] = value.text
    else:
        said = f"not a key of the specification ({', '.join(KEYS)}); move it to metadata"
        found.append(Finding("unknown-key", said, line, _short(key)))


def _is_string(value: Node, name: str, found: list[Finding]) -> bool:
    if value.kind != "scalar":
        kind = "a list" if value.kind == "list" else "a mapping"
        found.append(Finding("not-a-string", f"{kind} where a string is expected", value.line, name))
        return False
    if not value.string:
        said = (
            f"{_short(value.text)} is not a string in YAML; put it in quotes"
            if value.text
            else "has no value"
        )
        found.append(Finding("not-a-string", said, value.line, name))
    if not value.plain and (match := CONTROL.search(value.text)) is not None:
        said = f"stands for U+{ord(match.group()):04X}; take the escape out"
        found.append(Finding("control-character", said, value.line, name))
    return value.string


def _check_metadata(value: Node, front: dict[str, str | dict[str, str]], found: list[Finding]) -> None:
    if value.kind != "map":
        said = "a list" if value.kind == "list" else "a single value" if value.text else "empty"
        found.append(Finding("metadata-map", f"{said} where a mapping is expected", value.line, "metadata"))
        return
    kept: dict[str, str] = {}
    for key, item in _entries(value, found, {}, "metadata."):
        if _is_string(item, f"metadata.{_short(key)}", found):
            kept[key] = item.text
    front["metadata"] = kept


def _check_front(
    front: dict[str, str | dict[str, str]], lines: dict[str, int], folder_name: str, found: list[Finding]
) -> None:
    name, description = front.get("name"), front.get("description")
    compatibility = front.get("compatibility")
    if isinstance(name, str):
        _check_name(name, lines["name"], folder_name, found)
    if isinstance(description, str):
        line = lines["description"]
        if not description.strip():
            found.append(Finding("description-blank", "is blank", line, "description"))
        if len(description) > MAX_DESCRIPTION:
            said = f"{len(description)} characters; {MAX_DESCRIPTION} are allowed"
            found.append(Finding("description-length", said, line, "description"))
    if isinstance(compatibility, str) and not 1 <= len(compatibility) <= MAX_COMPATIBILITY:
        said = f"{len(compatibility)} characters; 1 to {MAX_COMPATIBILITY} are allowed"
        found.append(Finding("compatibility-length", said, lines["compatibility"], "compatibility"))


def _check_name(name: str, line: int, folder_name: str, found: list[Finding]) -> None:
    if not 1 <= len(name) <= MAX_NAME:
        said = f"{len(name)} characters; 1 to {MAX_NAME} are allowed"
        found.append(Finding("name-length", said, line, "name"))
    if name and NAME.fullmatch(name) is None:
        said = f"{_short(name)!r}: only a-z, 0-9 and single hyphens, none at either end"
        found.append(Finding("name-format", said, line, "name"))
    if name != folder_name:
        said = f"{_short(name)!r} where the folder is called {_short(on_line(folder_name))!r}"
        found.append(Finding("name-directory", said, line, "name"))


def check_skills(folders: Sequence[Path], *, lint: bool = False) -> Iterator[SkillReport]:
    """Check many folders, in their order; on all processors where there are very many.

    Args:
        folders: Those of the skills.
        lint: As for :func:`check_skill`.
    """
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(folders) < _WORTH_PROCESSES or workers < 2:
        for folder in folders:
            yield check_skill(folder, lint=lint)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from functools import partial

    # Not `fork`: a server that checks its skills has threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, 8), mp_context=context, initializer=_end_with_parent) as pool:
        yield from pool.map(partial(check_skill, lint=lint), folders, chunksize=_CHUNK)


def _end_with_parent() -> None:
    """End this worker when the process that it works for is gone, even killed: it would wait for ever."""
    import multiprocessing
    import threading

    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

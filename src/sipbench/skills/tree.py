"""The files of a skill, walked and read without leaving its folder, whatever somebody does meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sipbench.errors import SkillError
from sipbench.skills.rules import MAX_FILES, MAX_TREE_BYTES, SKILL_FILE, Finding

__all__ = ["TreeFile", "find_skills", "on_line", "read_inside", "skill_files"]

_MAX_DEPTH = 32
_MAX_FOLDERS = 500_000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A regular file of a skill.

    Attributes:
        parts: Its path inside of the skill's folder.
        size: In bytes.
        executable: Whether its owner may run it.
        stamp: (inode, size, time of the last change in ns): the same as long as nobody writes to it.
    """

    parts: tuple[str, ...]
    size: int
    executable: bool
    stamp: tuple[int, int, int] = (0, 0, 0)

    @property
    def path(self) -> str:
        """The path with slashes."""
        return "/".join(self.parts)


def on_line(path: str | Path) -> str:
    """A path as text that any encoding can write: what is not UTF-8 in it is escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def skill_files(folder: Path) -> tuple[list[TreeFile], list[Finding]]:
    """The files of a skill, sorted by path, and what a skill must not hold. Links are not followed."""
    files: list[TreeFile] = []
    found: list[Finding] = []
    for parts, entry in _entries(folder, (), found):
        path = on_line("/".join(parts))
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError as error:
            found.append(Finding("folder-unreadable", error.strerror or "cannot be seen", path=path))
            continue
        if stat.S_ISLNK(info.st_mode):
            found.append(Finding("link", "a symbolic link; put the file itself there", path=path))
        elif not stat.S_ISREG(info.st_mode):
            found.append(Finding("special-file", "neither a regular file nor a folder", path=path))
        else:
            if "\\" in path and path != "/".join(parts):
                found.append(Finding("file-name", "a name that is not UTF-8; rename it", path=path))
            stamp = (info.st_ino, info.st_size, info.st_mtime_ns)
            files.append(TreeFile(parts, info.st_size, bool(info.st_mode & stat.S_IXUSR), stamp))
        if len(files) > MAX_FILES:
            said = f"more than {MAX_FILES} files, which is what a skill may have"
            found.append(Finding("too-many-files", said, path="."))
            break
    if sum(file.size for file in files) > MAX_TREE_BYTES:
        said = f"more than {MAX_TREE_BYTES} bytes, which is what a skill may have"
        found.append(Finding("too-large", said, path="."))
    return sorted(files, key=lambda file: file.parts), found


def _entries(
    folder: Path, above: tuple[str, ...], found: list[Finding]
) -> Iterator[tuple[tuple[str, ...], os.DirEntry[str]]]:
    where = on_line("/".join(above)) or "."
    if len(above) > _MAX_DEPTH:
        said = f"folders in each other to more than {_MAX_DEPTH} levels"
        found.append(Finding("too-many-files", said, path=where))
        return
    try:
        with os.scandir(folder.joinpath(*above)) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        said = f"cannot be read: {error.strerror or error}"
        found.append(Finding("folder-unreadable", said, path=where))
        return
    for entry in entries:
        parts = (*above, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(folder, parts, found)
        else:
            yield parts, entry


def read_inside(
    folder: Path, parts: Sequence[str], *, limit: int = MAX_TREE_BYTES
) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file below ``folder`` and what the system said about them once it was open.

    Each step is opened without following links from the one before, so that a folder that is exchanged
    for a link meanwhile leads nowhere.

    Raises:
        SkillError: It is missing, a link or behind one, no regular file, or larger than ``limit`` bytes.
    """
    shown = on_line(folder.joinpath(*parts))
    if not parts or any(part in ("", ".", "..") or "/" in part or "\x00" in part for part in parts):
        raise SkillError(f"{shown}: no path inside of a skill")
    handle = -1
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for step, part in enumerate(parts, start=1):
            last = step == len(parts)
            inner = os.open(part, _READ if last else _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise SkillError(f"{shown}: not a regular file")
        with os.fdopen(handle, "rb") as stream:
            handle = -1
            data = stream.read(limit + 1)
    except OSError as error:
        raise SkillError(f"{shown}: cannot be read: {error.strerror or error}") from None
    finally:
        if handle >= 0:
            os.close(handle)
    if len(data) > limit:
        raise SkillError(f"{shown}: larger than {limit} bytes")
    return data, info


def find_skills(paths: Iterable[Path]) -> list[Path]:
    """The folders of the skills in ``paths``, each once, sorted: those with a ``SKILL.md`` in any case.

    A path that is a file ``SKILL.md`` stands for its folder. Links are followed for a path that is named,
    and not below it. A skill may hold others.

    Raises:
        SkillError: A path does not exist, or there is no skill in it.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.name.lower() == SKILL_FILE.lower() and not path.is_dir() and os.path.lexists(path):
            found[path.parent] = None
            continue
        if not path.is_dir():
            said = "is no folder of skills" if os.path.lexists(path) else "does not exist"
            raise SkillError(f"{on_line(path)} {said}; name a SKILL.md, a skill or a folder of them")
        before = len(found)
        found.update(dict.fromkeys(_below(path)))
        if len(found) == before and path not in found:
            raise SkillError(f"{on_line(path)}: no skill here: no folder with a {SKILL_FILE}")
    return list(found)


def _below(path: Path) -> Iterator[Path]:
    root_depth = len(path.parts)
    for seen, (folder, folders, files) in enumerate(os.walk(path, onerror=_unreadable), start=1):
        folders.sort()
        if seen > _MAX_FOLDERS:
            raise SkillError(f"{on_line(path)}: more than {_MAX_FOLDERS} folders; name the collection itself")
        here = Path(folder)
        if len(here.parts) - root_depth >= _MAX_DEPTH:
            folders.clear()
        if SKILL_FILE in files or any(name.lower() == "skill.md" for name in files) or SKILL_FILE in folders:
            yield here


def _unreadable(error: OSError) -> None:
    raise SkillError(f"{on_line(error.filename)}: cannot be read: {error.strerror or error}")

# Descriptors and flags that pathlib does not have, and less to load in a keeper.
# ruff: noqa: PTH208
"""Archives in and out of a directory that somebody hostile may have filled.

The same two functions serve both sides: the host packs what it trusts and the
keeper unpacks it in the box; the keeper packs in the box and the host unpacks.
No name, symbolic link or hard link in an archive or already on disk can lead a
write outside: every component is opened by descriptor without following links.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import stat
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

__all__ = ["Skipped", "TooLargeError", "Unpacked", "excluded", "open_inside", "pack", "unpack"]

MAX_DEPTH = 200
_CHUNK = 1024 * 1024
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TooLargeError(ValueError):
    """A tree has more bytes, entries or levels than allowed."""


@dataclass(frozen=True)
class Skipped:
    """An archive member that was left out, and why."""

    name: str
    reason: str


@dataclass
class Unpacked:
    """What an extraction wrote."""

    files: int = 0
    size: int = 0
    skipped: list[Skipped] = field(default_factory=list)


def _parts(name: str) -> list[str] | None:
    """Split an archive name; None if it is absolute, climbs, or is too deep."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or len(parts) > MAX_DEPTH:
        return None
    if any("\0" in part or len(os.fsencode(part)) > 255 for part in parts):
        return None
    return parts


def open_inside(root_fd: int, parts: Sequence[str], *, owner: tuple[int, int] | None = None) -> int:
    """Open the directory `parts` below `root_fd`, making it; anything else in the way is removed.

    Args:
        root_fd: Open directory.
        parts: Plain component names.
        owner: Owner (uid, gid) of directories made here; None leaves it.

    Returns:
        A descriptor that the caller closes.
    """
    here = os.dup(root_fd)
    try:
        for part in parts:
            try:
                there = os.open(part, _DIRECTORY, dir_fd=here)
            except OSError as error:
                if error.errno in (errno.ENOTDIR, errno.ELOOP):
                    os.unlink(part, dir_fd=here)
                elif error.errno != errno.ENOENT:
                    raise
                os.mkdir(part, 0o755, dir_fd=here)
                there = os.open(part, _DIRECTORY, dir_fd=here)
                if owner is not None:
                    os.fchown(there, *owner)
            os.close(here)
            here = there
        return here
    except BaseException:
        os.close(here)
        raise


def _unlink(name: str, dir_fd: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=dir_fd)


def _stays_inside(parts: list[str], target: str) -> bool:
    """Tell whether a link at `parts` can only lead below the root.

    Leading ``..`` count from real directories; one further on could climb out of
    another link, so it is refused.
    """
    if target.startswith("/") or not target:
        return False
    steps = [part for part in target.split("/") if part not in ("", ".")]
    ups = next((index for index, part in enumerate(steps) if part != ".."), len(steps))
    return ".." not in steps[ups:] and ups <= len(parts) - 1


@dataclass
class _Writer:
    """State of one extraction."""

    root_fd: int
    owner: tuple[int, int] | None
    fixed_mode: int | None
    links_inside_only: bool
    max_bytes: int
    done: Unpacked = field(default_factory=Unpacked)
    written: set[tuple[str, ...]] = field(default_factory=set)

    def skip(self, name: str, reason: str) -> None:
        if len(self.done.skipped) < 1000:
            self.done.skipped.append(Skipped(name, reason))

    def directory(self, parts: list[str], mode: int) -> None:
        fd = open_inside(self.root_fd, parts, owner=self.owner)
        try:
            if parts:
                os.fchmod(fd, self.fixed_mode or (mode & 0o777) | 0o700)
                if self.owner is not None:
                    os.fchown(fd, *self.owner)
        finally:
            os.close(fd)

    def file(self, parts: list[str], mode: int, size: int, source: IO[bytes], mtime: float) -> None:
        if self.done.size + size > self.max_bytes:
            raise TooLargeError(f"more than {self.max_bytes} bytes, at {'/'.join(parts)}")
        parent = open_inside(self.root_fd, parts[:-1], owner=self.owner)
        try:
            _unlink(parts[-1], parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(parts[-1], flags, 0o600, dir_fd=parent)
        finally:
            os.close(parent)
        with os.fdopen(fd, "wb") as sink:
            left = size
            while left > 0 and (block := source.read(min(left, _CHUNK))):
                sink.write(block)
                left -= len(block)
            sink.flush()
            if self.owner is not None:
                os.fchown(fd, *self.owner)
            os.fchmod(fd, self.fixed_mode or mode & 0o777)
            with contextlib.suppress(OSError, OverflowError, ValueError):
                os.utime(fd, (mtime, mtime))
        self.done.files += 1
        self.done.size += size
        self.written.add(tuple(parts))

    def hard_link(self, parts: list[str], target: str, mode: int, mtime: float) -> None:
        source = _parts(target)
        if source is None or tuple(source) not in self.written:
            self.skip("/".join(parts), "hard link to a file that is not in the archive")
            return
        parent = open_inside(self.root_fd, source[:-1])
        try:
            fd = os.open(source[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        finally:
            os.close(parent)
        with os.fdopen(fd, "rb") as original:
            self.file(parts, mode, os.fstat(fd).st_size, original, mtime)

    def symbolic_link(self, parts: list[str], target: str) -> None:
        name = "/".join(parts)
        if self.links_inside_only and not _stays_inside(parts, target):
            self.skip(name, "symbolic link that leads outside")
            return
        parent = open_inside(self.root_fd, parts[:-1], owner=self.owner)
        try:
            _unlink(parts[-1], parent)
            os.symlink(target, parts[-1], dir_fd=parent)
            if self.owner is not None:
                os.chown(parts[-1], *self.owner, dir_fd=parent, follow_symlinks=False)
        except (OSError, ValueError) as error:
            self.skip(name, f"symbolic link could not be made: {error}")
        finally:
            os.close(parent)


def unpack(
    stream: IO[bytes],
    root_fd: int,
    *,
    owner: tuple[int, int] | None = None,
    mode: int | None = None,
    links_inside_only: bool = True,
    max_bytes: int = 1 << 40,
    max_entries: int = 1_000_000,
) -> Unpacked:
    """Extract an uncompressed tar stream below an open directory, merging with what is there.

    Args:
        stream: The archive.
        root_fd: Open directory; nothing outside it is touched.
        owner: Owner (uid, gid) of all that is written; None leaves the caller.
        mode: Permissions of all that is written; None takes them from the archive.
        links_inside_only: Leave out symbolic links that could lead out of the directory.
        max_bytes: Bytes of content at most.
        max_entries: Members at most.

    Returns:
        What was written and what was left out: names that climb, links that lead outside,
        devices, pipes and sockets.

    Raises:
        TooLargeError: A bound was met.
        tarfile.TarError: The archive is broken.
        OSError: The disk refused.
    """
    writer = _Writer(root_fd, owner, mode, links_inside_only, max_bytes)
    # Links come last: no member is ever written through one.
    links: list[tuple[list[str], str]] = []
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as archive:
        for count, member in enumerate(archive):
            if count >= max_entries:
                raise TooLargeError(f"more than {max_entries} entries")
            _member(archive, member, writer, links)
            archive.members.clear()  # type: ignore[attr-defined]  # else memory grows with the archive
    for parts, target in links:
        writer.symbolic_link(parts, target)
    return writer.done


def _member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, writer: _Writer, links: list[tuple[list[str], str]]
) -> None:
    parts = _parts(member.name)
    if parts is None:
        writer.skip(member.name, "name that leads outside")
    elif member.isdir():
        writer.directory(parts, member.mode)
    elif not parts:
        writer.skip(member.name, "empty name")
    elif member.isreg():
        source = archive.extractfile(member)
        if source is not None:
            writer.file(parts, member.mode, member.size, source, member.mtime)
    elif member.issym():
        links.append((parts, member.linkname))
    elif member.islnk():
        writer.hard_link(parts, member.linkname, member.mode, member.mtime)
    else:
        writer.skip(member.name, "neither file, directory nor link")


class _Exactly:
    """A file read as exactly `size` bytes: cut if it grows, filled with zeros if it shrinks."""

    def __init__(self, source: IO[bytes], size: int) -> None:
        self._source, self._left = source, size

    def read(self, count: int = -1) -> bytes:
        want = self._left if count < 0 else min(count, self._left)
        block = self._source.read(want)
        self._left -= want
        return block + b"\0" * (want - len(block))


def excluded(path: str, patterns: Sequence[str]) -> bool:
    """Match as `tar --exclude` does: at any component, wildcards cross slashes."""
    names = ["./" + path, path]
    names += [path[index + 1 :] for index, char in enumerate(path) if char == "/"]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _walk(dir_fd: int, exclude: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Yield (path, name, parent descriptor) below a directory, parents first."""
    stack: list[tuple[int, str, list[str]]] = [(os.dup(dir_fd), "", sorted(os.listdir(dir_fd), reverse=True))]
    try:
        while stack:
            here, prefix, names = stack[-1]
            if not names:
                os.close(here)
                stack.pop()
                continue
            name = names.pop()
            path = prefix + name
            if exclude and excluded(path, exclude):
                continue
            yield path, name, here
            with contextlib.suppress(OSError):
                there = os.open(name, _DIRECTORY, dir_fd=here)
                if len(stack) >= MAX_DEPTH:
                    os.close(there)
                    raise TooLargeError(f"more than {MAX_DEPTH} levels, at {path[:100]}...")
                stack.append((there, path + "/", sorted(os.listdir(there), reverse=True)))
    finally:
        for here, _, _ in stack:
            os.close(here)


def _add(
    archive: tarfile.TarFile, path: str, name: str, parent: int, owner: tuple[int, int] | None, room: int
) -> int:
    """Add one entry with at most `room` bytes of content; return the bytes of content."""
    info = tarfile.TarInfo(path)
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    info.mode, info.mtime = stat.S_IMODE(found.st_mode), int(found.st_mtime)
    info.uid, info.gid = owner if owner is not None else (found.st_uid, found.st_gid)
    if stat.S_ISDIR(found.st_mode):
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
    elif stat.S_ISLNK(found.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=parent)
        archive.addfile(info)
    elif stat.S_ISREG(found.st_mode):
        # O_NONBLOCK: the entry may have become a pipe since it was looked at.
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        with os.fdopen(fd, "rb") as source:
            now = os.fstat(fd)
            if stat.S_ISREG(now.st_mode):
                if now.st_size > room:
                    raise TooLargeError(f"more bytes than allowed, at {path}")
                info.size = now.st_size
                archive.addfile(info, _Exactly(source, info.size))
                return info.size
    return 0


def pack(
    stream: IO[bytes],
    root_fd: int,
    *,
    only: str | None = None,
    exclude: Sequence[str] = (),
    owner: tuple[int, int] | None = None,
    max_bytes: int = 1 << 40,
    max_entries: int = 1_000_000,
) -> None:
    """Write a directory, or one file of it, as an uncompressed tar stream.

    Hard links become files; pipes, sockets and devices are left out; unreadable
    entries are left out; links are never followed.

    Args:
        stream: Where the archive goes.
        root_fd: Open directory.
        only: Name of the single regular file to write instead of the whole directory.
        exclude: Patterns as of `tar --exclude`.
        owner: Owner (uid, gid) to record; None records the file's own.
        max_bytes: Bytes of content at most.
        max_entries: Entries at most.

    Raises:
        FileNotFoundError: `only` is missing or no regular file.
        TooLargeError: A bound was met.
    """
    with tarfile.open(
        fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, errors="surrogateescape", bufsize=_CHUNK
    ) as archive:
        if only is not None:
            kind = os.stat(only, dir_fd=root_fd, follow_symlinks=False).st_mode
            if not stat.S_ISREG(kind):
                what = "symbolic link" if stat.S_ISLNK(kind) else "special file or directory"
                raise FileNotFoundError(errno.ENOENT, f"not a regular file but a {what}", only)
            _add(archive, only, only, root_fd, owner, max_bytes)
            return
        left = max_bytes
        for count, (path, name, parent) in enumerate(_walk(root_fd, exclude)):
            if count >= max_entries:
                raise TooLargeError(f"more than {max_entries} entries")
            with contextlib.suppress(PermissionError, FileNotFoundError):
                left -= _add(archive, path, name, parent, owner, left)
            archive.members.clear()  # type: ignore[attr-defined]

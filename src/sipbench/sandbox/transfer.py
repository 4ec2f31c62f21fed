"""Files between the host and a box.

The host packs what it trusts and the box's keeper unpacks it inside, and the other
way round; both by `keeper.files`, so that neither a name nor a link can lead out.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tarfile
import tempfile
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sipbench.errors import EngineError
from sipbench.sandbox.box import Box
from sipbench.sandbox.keeper.files import TooLargeError, Unpacked, open_inside, pack, unpack
from sipbench.sandbox.threads import in_thread

__all__ = [
    "DOWNLOAD_LIMIT",
    "As",
    "download_dir",
    "download_file",
    "download_selected",
    "upload_dir",
    "upload_file",
]

#: Bytes that one download may bring to the host unless told otherwise.
DOWNLOAD_LIMIT = 4 * 1024**3
_MISSING = ("No such file", "not a regular file", "Not a directory")


@dataclass(frozen=True)
class As:
    """How uploaded files look inside.

    Attributes:
        owner: User of the box, optionally with `:group`; None is root.
        mode: Permissions of files and directories; None keeps the source's.
        exclude: Patterns as of `tar --exclude`.
    """

    owner: str | None = None
    mode: int | None = None
    exclude: tuple[str, ...] = ()


def _pack_to(fd: int, directory: Path, only: str | None, exclude: Sequence[str]) -> None:
    with os.fdopen(fd, "wb") as stream:
        root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            pack(stream, root, only=only, exclude=exclude, owner=(0, 0))
        finally:
            os.close(root)


async def upload_dir(box: Box, source: Path, target: str, how: As | None = None) -> None:
    """Copy the contents of a host directory into a directory of the box, merging.

    Links in `source` are copied as links. Files already there are replaced, never written through.

    Args:
        box: A running box.
        source: Host directory.
        target: Absolute path inside; made if missing.
        how: Owner, permissions, what to leave out.

    Raises:
        EngineError: The box refused, or has ended.
        NotADirectoryError: `source` is no directory.
    """
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is not a directory")
    await _upload(box, source, None, target, how or As())


async def upload_file(box: Box, source: Path, target: str, how: As | None = None) -> None:
    """Copy one host file to an absolute path of the box; its directory is made if missing.

    Raises:
        EngineError: The box refused, or has ended.
        FileNotFoundError: `source` is no regular file.
    """
    source = source.resolve()
    if not source.is_file():
        raise FileNotFoundError(f"{source} is not a regular file")
    place = PurePosixPath(target)
    if source.name == place.name:
        await _upload(box, source.parent, source.name, str(place.parent), how or As())
        return
    with tempfile.TemporaryDirectory() as staging:
        staged = Path(staging) / place.name
        await in_thread(_stage, source, staged)
        await _upload(box, Path(staging), place.name, str(place.parent), how or As())


def _stage(source: Path, staged: Path) -> None:
    staged.write_bytes(source.read_bytes())
    staged.chmod(source.stat().st_mode & 0o777)


async def _upload(box: Box, directory: Path, only: str | None, target: str, how: As) -> None:
    read, write = os.pipe2(os.O_CLOEXEC)
    packing = asyncio.create_task(in_thread(_pack_to, write, directory, only, how.exclude))
    request = {"target": target, "owner": how.owner, "mode": how.mode}
    try:
        done = await box.request("put", request, stdin=read)
    finally:
        # Where the box stopped reading, its own message counts; a failure to read here is ours.
        with contextlib.suppress(BrokenPipeError):
            await packing
    if done.code != 0:
        raise EngineError(f"cannot copy into the sandbox at {target}: {done.error_line()}")


async def download_dir(
    box: Box,
    source: str,
    target: Path,
    *,
    exclude: Sequence[str] = (),
    max_bytes: int = DOWNLOAD_LIMIT,
) -> Unpacked:
    """Copy the contents of a box's directory into a host directory, merging.

    Pipes, sockets, devices and links that could lead out of `target` are left out; hard links
    become files.

    Args:
        box: A running box.
        source: Absolute path inside.
        target: Host directory; made if missing.
        exclude: Patterns as of `tar --exclude`.
        max_bytes: Bytes at most.

    Returns:
        What was written and what was left out.

    Raises:
        FileNotFoundError: No such directory in the box.
        EngineError: The tree is too large, or the box has ended.
    """
    target.mkdir(parents=True, exist_ok=True)
    return await _download(box, source, None, target, exclude, max_bytes)


async def download_file(box: Box, source: str, target: Path, *, max_bytes: int = DOWNLOAD_LIMIT) -> None:
    """Copy one regular file of the box to a host path; a link is not followed.

    Raises:
        FileNotFoundError: It is missing, or no regular file.
        EngineError: It is too large, or the box has ended.
    """
    place = PurePosixPath(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as staging:
        await _download(box, str(place.parent), place.name, Path(staging), (), max_bytes)
        staged = Path(staging) / place.name
        if not staged.is_file() or staged.is_symlink():
            raise FileNotFoundError(f"{source} is not a regular file in the sandbox")
        staged.replace(target)


async def download_selected(
    box: Box, source: str, target: Path, select: Callable[[list[str]], Set[str]]
) -> None:
    """Copy some regular files of a box's directory into a host directory, merging.

    Args:
        box: A running box.
        source: Absolute path inside.
        target: Host directory; made if missing.
        select: Given all relative paths, returns those wanted.

    Raises:
        FileNotFoundError: No such directory in the box.
        EngineError: The tree is too large, or the box has ended.
    """
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as staging:
        staged = Path(staging)
        await _download(box, source, None, staged, (), DOWNLOAD_LIMIT)
        files = [path for path in sorted(staged.rglob("*")) if path.is_file() and not path.is_symlink()]
        names = [path.relative_to(staged).as_posix() for path in files]
        wanted = select(names)
        await in_thread(_move_into, staged, [name for name in names if name in wanted], target)


def _move_into(staged: Path, names: list[str], target: Path) -> None:
    """Move staged files under a directory of the host, through real directories only."""
    root = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            *parents, last = name.split("/")
            place = open_inside(root, parents)
            try:
                os.rename(staged / name, last, dst_dir_fd=place)
            finally:
                os.close(place)
    finally:
        os.close(root)


async def _download(
    box: Box, directory: str, only: str | None, target: Path, exclude: Sequence[str], max_bytes: int
) -> Unpacked:
    read, write = os.pipe2(os.O_CLOEXEC)
    unpacking = asyncio.create_task(in_thread(_unpack_from, read, target, max_bytes))
    request = {"source": directory, "only": only, "exclude": list(exclude), "max_bytes": max_bytes}
    try:
        done = await box.request("get", request, stdout=write)
    finally:
        result = (await asyncio.gather(unpacking, return_exceptions=True))[0]
    if done.code != 0:
        line = done.error_line()
        if any(words in line for words in _MISSING):
            raise FileNotFoundError(f"{directory}{'/' + only if only else ''}: {line}")
        raise EngineError(f"cannot copy {directory} out of the sandbox: {line}")
    if isinstance(result, tarfile.TarError | TooLargeError | OSError):
        raise EngineError(f"cannot copy {directory} out of the sandbox: {result}") from result
    if isinstance(result, BaseException):
        raise result
    return result


def _unpack_from(fd: int, target: Path, max_bytes: int) -> Unpacked:
    with os.fdopen(fd, "rb") as stream:
        root = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return unpack(stream, root, links_inside_only=True, max_bytes=max_bytes)
        finally:
            os.close(root)
            # The other side must not be stopped by a full pipe: its own message counts.
            while stream.read(1 << 20):
                pass

"""The build context of a Dockerfile: which files it holds, and their digest."""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sipbench.errors import EngineError, MissingExtraError

__all__ = ["Context"]

_SPECIAL = "*?["
_digests: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Context:
    """A directory whose files a Dockerfile may copy.

    Attributes:
        root: The directory, resolved.
        ignored: Paths below it, relative, that `.dockerignore` leaves out.
    """

    root: Path
    ignored: frozenset[str] = frozenset()

    @classmethod
    def open(cls, root: Path) -> Context:
        """Read a context's `.dockerignore`.

        Raises:
            EngineError: The directory is missing, or the ignore file is malformed.
        """
        if not root.is_dir():
            raise EngineError(f"{root} is not a directory")
        path = root / ".dockerignore"
        if not path.is_file():
            return cls(root.resolve())
        try:
            from pathspec import GitIgnoreSpec
        except ImportError as error:
            raise MissingExtraError("reading .dockerignore", "harbor") from error
        lines = [_anchored(line) for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
        try:
            spec = GitIgnoreSpec.from_lines([line for line in lines if line])
        except ValueError as error:
            raise EngineError(f"{path}: {error}") from error
        whole = cls(root.resolve())
        return cls(whole.root, frozenset(name for name, _ in whole._entries() if spec.match_file(name)))

    def _entries(self) -> Iterator[tuple[str, os.stat_result]]:
        for place, names, files in self.root.walk(follow_symlinks=False):
            names.sort()
            for name in sorted((*names, *files)):
                relative = (place / name).relative_to(self.root).as_posix()
                if relative not in self.ignored:
                    yield relative, (place / name).lstat()

    def digest(self) -> str:
        """Digest of names, kinds, permissions and contents; remembered while no file's stamp changes."""
        entries = list(self._entries())
        stamp = hashlib.sha256()
        for name, found in entries:
            line = f"{name}\0{found.st_mode}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ino}\n"
            stamp.update(line.encode("utf-8", "surrogateescape"))
        key = (str(self.root), stamp.hexdigest())
        if key not in _digests:
            _digests[key] = self._digest(entries)
        return _digests[key]

    def _digest(self, entries: list[tuple[str, os.stat_result]]) -> str:
        sha = hashlib.sha256()
        for name, found in entries:
            path, mode = self.root / name, found.st_mode
            if stat.S_ISLNK(mode):
                body = b"link " + os.fsencode(path.readlink())
            elif stat.S_ISDIR(mode):
                body = b"directory"
            elif stat.S_ISREG(mode):
                with path.open("rb") as handle:
                    body = b"file " + hashlib.file_digest(handle, "sha256").digest()
            else:
                continue
            head = f"{name}\0{stat.S_IMODE(mode) & 0o777:o}\0"
            sha.update(head.encode("utf-8", "surrogateescape") + body + b"\n")
        return sha.hexdigest()

    def find(self, source: str) -> list[Path]:
        """Resolve a COPY source, wildcards included, to existing paths inside the context.

        Raises:
            ValueError: Nothing matches, or a link leads out of the context.
        """
        special = any(char in source for char in _SPECIAL)
        found = sorted(self.root.glob(source)) if special else [self.root / source]
        result = []
        for path in found:
            relative = path.relative_to(self.root).as_posix()
            if not path.exists() or any(part in self.ignored for part in _prefixes(relative)):
                continue
            if not path.resolve().is_relative_to(self.root):
                raise ValueError(f"{source} is a link that leads out of the build context")
            result.append(path)
        if not result:
            raise ValueError(f"{source} is not in the build context {self.root}")
        return result

    def left_out(self, directory: Path) -> tuple[str, ...]:
        """Patterns for `tar --exclude` that leave out what is ignored below a directory of the context."""
        prefix = directory.relative_to(self.root).as_posix()
        prefix = "" if prefix == "." else prefix + "/"
        names = sorted(name.removeprefix(prefix) for name in self.ignored if name.startswith(prefix))
        return tuple("./" + "".join(f"[{c}]" if c in _SPECIAL else c for c in name) for name in names)


def _anchored(line: str) -> str:
    """Turn a line of `.dockerignore` into one of `.gitignore`: Docker anchors every pattern at the root."""
    line = line.strip()
    if not line or line.startswith("#"):
        return ""
    bang = "!" if line.startswith("!") else ""
    return f"{bang}/{posixpath.normpath(line.removeprefix('!').strip()).lstrip('/')}"


def _prefixes(relative: str) -> Iterator[str]:
    parts = relative.split("/")
    for end in range(1, len(parts) + 1):
        yield "/".join(parts[:end])

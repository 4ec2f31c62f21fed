"""The directories of layers and boxes on disk.

::

    STORE/
      base/<digest>/      what this machine's system, or a given root file system, is covered with
      layers/<digest>/    what a task's Dockerfile added, one directory for each mount, and layer.json
      boxes/<id>/         what a running box writes
      locks/<name>        one lock for each of them; held while in use, by processes that are alive

A directory under `base` or `layers` is complete: it is made under `boxes` and
moved in by one rename. A process that dies, even by `kill -9`, leaves at most a
box whose lock nobody holds; `reap` removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sipbench.errors import EngineError
from sipbench.sandbox.limits import GROUP_PREFIX, find_parents

__all__ = ["Cleaned", "Store", "clean", "default_root"]

_KINDS = ("base", "layers", "boxes", "locks")
_RM = ("rm", "-rf", "--one-file-system", "--")


def default_root() -> Path:
    """Directory of the store unless told otherwise: `SIPBENCH_SANDBOX`, else the user's cache."""
    given = os.environ.get("SIPBENCH_SANDBOX")
    if given:
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path("~/.cache").expanduser()) / "sipbench" / "sandbox"


@dataclass
class Cleaned:
    """What cleaning did: names removed, and names kept because they are in use."""

    removed: list[str] = field(default_factory=list)
    in_use: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Store:
    """A store on disk.

    Attributes:
        root: Its directory, absolute.
    """

    root: Path

    @classmethod
    def open(cls, root: Path | None = None) -> Store:
        """Open a store, making it if need be.

        Raises:
            EngineError: The directory cannot be made or written.
        """
        store = cls((root or default_root()).absolute())
        try:
            # Others on the machine have no business here; a box is reached by descriptor.
            store.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            for name in _KINDS:
                (store.root / name).mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise EngineError(
                f"sandbox store {store.root}: {error.strerror}; set SIPBENCH_SANDBOX"
            ) from error
        return store

    def base(self, digest: str) -> Path:
        """Directory of a base."""
        return self.root / "base" / digest

    def layer(self, digest: str) -> Path:
        """Directory of a layer."""
        return self.root / "layers" / digest

    def box(self, name: str) -> Path:
        """Directory of a box."""
        return self.root / "boxes" / name

    def lock_path(self, name: str) -> Path:
        """File whose lock says that `name` is in use (shared) or being made (exclusive)."""
        return self.root / "locks" / name

    def new_box(self) -> str:
        """Name a new box, unique on this machine."""
        return secrets.token_hex(6)

    def hold(self, name: str, *, shared: bool = False) -> int:
        """Wait for a lock and hold it; the descriptor, passed on, carries it to another process."""
        fd = os.open(self.lock_path(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        except BaseException:
            os.close(fd)
            raise
        return fd

    @contextlib.contextmanager
    def try_lock(self, name: str) -> Iterator[bool]:
        """Try to take a lock without waiting; yields whether it is held."""
        fd = os.open(self.lock_path(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(fd)

    def publish(self, made: Path, place: Path) -> None:
        """Move a finished directory into place by one rename; keep what is already there."""
        with contextlib.suppress(OSError):
            made.rename(place)
        if not place.is_dir():
            raise EngineError(f"sandbox store: cannot move {made} to {place}")
        fd = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def remove_tree(self, path: Path) -> None:
        """Remove a tree that somebody hostile may have filled; links in it are not followed.

        Raises:
            ValueError: `path` is not a directory of a base, layer or box of this store.
        """
        if path.parent not in (self.root / "boxes", self.root / "layers", self.root / "base"):
            raise ValueError(f"{path} is no box, layer or base of {self.root}")
        for command in (_RM, ("chmod", "-R", "u+rwX", "--"), _RM):
            if not os.path.lexists(path):
                return
            subprocess.run([*command, str(path)], check=False, capture_output=True)

    def reap(self) -> list[str]:
        """Remove boxes whose keeper is gone, and their control groups; return their names."""
        gone = []
        for path in sorted((self.root / "boxes").iterdir()):
            with self.try_lock(path.name) as held:
                if held:
                    _remove_groups(path.name)
                    self.remove_tree(path)
                    self.lock_path(path.name).unlink(missing_ok=True)
                    gone.append(path.name)
        return gone

    def size(self) -> int:
        """Bytes on disk that layers and bases take."""
        paths = [str(self.root / name) for name in ("layers", "base")]
        run = subprocess.run(["du", "-sk", *paths], capture_output=True, text=True, check=False)
        return sum(int(line.split()[0]) * 1024 for line in run.stdout.splitlines())


def _remove_groups(name: str) -> None:
    for _, where in find_parents():
        for parent in set(where.values()):
            with contextlib.suppress(OSError):
                (parent / f"{GROUP_PREFIX}{name}").rmdir()


def clean(root: Path | None = None, *, dry_run: bool = False) -> Cleaned:
    """Remove every layer, base and left-over box of a store that nothing running uses.

    Args:
        root: The store's directory; None for the default one.
        dry_run: Only say which layers and bases would be removed.
    """
    store = Store.open(root)
    done = Cleaned(removed=[] if dry_run else [f"boxes/{name}" for name in store.reap()])
    for kind in ("layers", "base"):
        for path in sorted((store.root / kind).iterdir()):
            name = f"{kind}/{path.name}"
            with store.try_lock(path.name) as held:
                if not held:
                    done.in_use.append(name)
                    continue
                if dry_run:
                    done.removed.append(name)
                    continue
                # Out of its place by one rename first: a half-removed layer is never used.
                gone = store.box(f"gone-{store.new_box()}")
                path.rename(gone)
                store.remove_tree(gone)
                done.removed.append(name)
    return done

"""What a box starts from: a base, the layers over it, and how they are mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from sipbench.errors import EngineError
from sipbench.sandbox.base import Base, Part
from sipbench.sandbox.bwrap import Machine, Mount, Plan
from sipbench.sandbox.hidden import is_emptied
from sipbench.sandbox.layout import Bind, Layout
from sipbench.sandbox.policy import Policy
from sipbench.sandbox.store import Store

__all__ = ["Image", "ImageConfig", "lay_out"]

# The kernel takes the options of one mount as one page.
_MAX_OPTIONS = 4000


@dataclass(frozen=True)
class ImageConfig:
    """What a Dockerfile says beside files.

    Attributes:
        env: Variables of every command.
        workdir: Working directory.
        user: User of commands, or None for root.
        notes: What was noted and not done, one line each.
    """

    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Image:
    """A base with the layers of a task over it.

    Attributes:
        base: The lowest layer.
        layers: Digests of the layers, lowest first.
        config: Variables, directory, user.
        copied: Parts that are whole copies rather than overlays, by name (no overlay here).
    """

    base: Base
    layers: tuple[str, ...] = ()
    config: ImageConfig = field(default_factory=ImageConfig)
    copied: tuple[str, ...] = ()


def lay_out(
    store: Store,
    machine: Machine,
    image: Image,
    policy: Policy,
    *,
    own_network: bool = True,
    host_resolver: bool = False,
) -> Layout:
    """Make the directories of a new box over an image, and say how they are mounted.

    Args:
        store: Where it is made.
        machine: What this machine allows.
        image: What it starts from.
        policy: What else it sees.
        own_network: Whether it has a network namespace of its own.
        host_resolver: Whether it gets the host's name servers.

    Returns:
        The layout; its locks are held from before the first directory is made.

    Raises:
        EngineError: A layer is gone, a path to show is missing, or a copy failed.
    """
    name = store.new_box()
    locks = [store.hold(name)]
    directory = store.box(name)
    try:
        locks += [store.hold(used, shared=True) for used in (image.base.digest, *image.layers)]
        missing = [used for used in image.layers if not store.layer(used).is_dir()]
        if missing or not store.base(image.base.digest).is_dir():
            raise EngineError("sandbox layers were removed while a box was starting; start again")
        _own_directory(directory, machine)
        work = _Mounting(store, machine, image, directory)
        for part in image.base.parts:
            work.part(part)
        if host_resolver:
            _write_resolver(work.root_directory(), machine)
        for path in policy.read_only:
            work.read_only(path)
        plan = Plan(tuple(work.mounts), policy, own_network)
        return Layout(name, directory, plan, tuple(work.binds), tuple(locks))
    except BaseException:
        store.remove_tree(directory)
        for fd in locks:
            os.close(fd)
        raise


def _own_directory(path: Path, machine: Machine, mode: int = 0o755) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    if machine.uid is not None:
        os.chown(path, machine.uid, machine.uid)
    path.chmod(mode)


class _Mounting:
    """Collects the mounts of one box and the sources that the keeper binds for them."""

    def __init__(self, store: Store, machine: Machine, image: Image, directory: Path) -> None:
        self.store, self.machine, self.image, self.directory = store, machine, image, directory
        self.binds = [Bind("box", str(directory), writable=True)]
        self.mounts: list[Mount] = []

    def bind(self, name: str, source: Path, *, mapped: bool = False) -> str:
        self.binds.append(Bind(name, str(source), mapped=mapped))
        return f"{self.machine.mount_point}/{name}"

    def root_directory(self) -> Path:
        """Directory of the host that takes the writes of the box's root."""
        return self.directory / "root" / "upper" if self.machine.overlay else self.directory / "root"

    def read_only(self, path: str) -> None:
        bad = not path.startswith("/") or ".." in path.split("/")
        if bad or path.rstrip("/") in ("", "/proc", "/dev", "/sys"):
            raise EngineError(f"sandbox read-only path {path!r}: an absolute path below the root is needed")
        if not Path(path).exists():
            raise EngineError(f"sandbox read-only path {path} does not exist")
        source = self.bind(f"read{len(self.binds)}", Path(path))
        self.mounts.append(Mount(path, source, writable=False))

    def part(self, part: Part) -> None:
        self.mounts.append(self._overlay(part) if self.machine.overlay else self._copy(part))

    def _above(self, part: Part) -> list[Path]:
        """Trees of the layers for this part, topmost first."""
        trees = [self.store.layer(digest) / part.name for digest in reversed(self.image.layers)]
        return [tree for tree in trees if tree.is_dir()]

    def _overlay(self, part: Part) -> Mount:
        cover = self.store.base(self.image.base.digest) / part.name
        trees = [*self._above(part), cover]
        lowers = [self.bind(f"{part.name}{number}", tree) for number, tree in enumerate(trees)]
        if part.below is not None:
            lowers.append(self.bind(f"{part.name}-host", part.below, mapped=self.machine.root))
        if sum(len(name) + 10 for name in lowers) > _MAX_OPTIONS:
            raise EngineError(f"{len(lowers)} sandbox layers are more than one mount can take")
        _own_directory(self.directory / part.name, self.machine)
        _own_directory(self.directory / part.name / "work", self.machine)
        # An overlay shows the mode of its topmost directory.
        _own_directory(self.directory / part.name / "upper", self.machine, trees[0].stat().st_mode & 0o1777)
        here = f"{self.machine.mount_point}/box/{part.name}"
        return Mount(part.target, f"{here}/upper", tuple(lowers), f"{here}/work")

    def _copy(self, part: Part) -> Mount:
        """Without overlays: a whole copy of what must be writable, the host's own tree for the rest."""
        above = self._above(part)
        must = part.below is None or part.target == "/" or part.name in self.image.copied
        if not must:
            assert part.below is not None
            return Mount(part.target, self.bind(f"{part.name}-host", part.below), writable=False)
        cover = self.store.base(self.image.base.digest) / part.name
        target = self.directory / part.name
        _copy_tree(above[0] if above else part.below or cover, target)
        if not above and part.below is not None:
            _apply_cover(cover, target)
            if self.machine.uid is not None:
                owner = f"{self.machine.uid}:{self.machine.uid}"
                subprocess.run(["chown", "-RhP", owner, str(target)], check=True, capture_output=True)
        return Mount(part.target, f"{self.machine.mount_point}/box/{part.name}", writable=True)


def _copy_tree(source: Path, target: Path) -> None:
    """Copy a tree, sharing blocks where the file system can; what may not be read is left out."""
    target.mkdir(mode=0o755)
    words = ["cp", "-a", "--reflink=auto", "--one-file-system", f"{source}/.", str(target)]
    done = subprocess.run(words, capture_output=True, check=False)
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    serious = [line for line in lines if "Permission denied" not in line and "not permitted" not in line]
    if done.returncode != 0 and serious:
        raise EngineError(f"cannot copy {source} into the sandbox: {serious[-1]}")


def _apply_cover(cover: Path, target: Path) -> None:
    """Apply a cover's few changes (removed markers, added scripts) to a copy."""
    for place, _, files in cover.walk(follow_symlinks=False):
        if is_emptied(place):
            _remove(target / place.relative_to(cover))
            (target / place.relative_to(cover)).mkdir(mode=0o755)
        for name in files:
            path = place / name
            there = target / path.relative_to(cover)
            if path.is_char_device():
                _remove(there)
            elif not there.exists() and there.parent.is_dir():
                subprocess.run(["cp", "-a", str(path), str(there)], check=False, capture_output=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write_resolver(root: Path, machine: Machine) -> None:
    """Give the box the host's name servers; nothing has run in it yet."""
    _own_directory(root / "etc", machine)
    target = root / "etc/resolv.conf"
    target.unlink(missing_ok=True)
    try:
        text = Path("/etc/resolv.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    kept = [
        line for line in text.splitlines() if line.split()[:1] in (["nameserver"], ["options"], ["search"])
    ]
    target.write_text("\n".join(kept) + "\n", encoding="utf-8", newline="\n")
    if machine.uid is not None:
        os.chown(target, machine.uid, machine.uid)

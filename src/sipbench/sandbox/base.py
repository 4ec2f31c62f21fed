"""The lowest layer of a box: this machine's system, or a given root file system.

Started by root, a box sees the host's files as its own users' (an id-mapped mount), so
that packages can be replaced as in a container. Where kernel or file system cannot do
that, and for anybody else, files keep their host owner, which does not exist inside, and
the kernel lets nobody write a directory whose owner does not exist. So each base has a
thin cover: the same directories, empty, owned by the box's root; things can then be
added and removed. It also hides what the host shows only to its root: over mapped files
the box's root would otherwise be that root.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sipbench.errors import EngineError
from sipbench.sandbox import policy
from sipbench.sandbox.bwrap import Machine
from sipbench.sandbox.hidden import hidden_once, hide, look_ahead, mounts_below
from sipbench.sandbox.store import Store

__all__ = ["Base", "Part", "look_around", "prepare"]

_FORMAT = "5"
_MAX_ETC_FILE = 4 * 1024 * 1024
Own = Callable[[Path | str], None]
#: Directories of the root, with their modes; what a distribution expects to exist.
_ROOT_DIRECTORIES = {
    "dev": 0o755, "etc": 0o755, "home": 0o755, "media": 0o755, "mnt": 0o755, "opt": 0o755, "proc": 0o755,
    "root": 0o700, "run": 0o755, "run/lock": 0o1777, "srv": 0o755, "sys": 0o755, "tmp": 0o1777,
    "var": 0o755, "var/backups": 0o755, "var/cache": 0o755, "var/cache/apt/archives/partial": 0o755,
    "var/cache/debconf": 0o755, "var/lib": 0o755, "var/lib/apt/lists/partial": 0o755, "var/lib/dpkg": 0o755,
    "var/lib/misc": 0o755, "var/local": 0o755, "var/log": 0o755, "var/log/apt": 0o755, "var/mail": 0o755,
    "var/opt": 0o755, "var/spool": 0o755, "var/tmp": 0o1777, "var/www": 0o755,
}  # fmt: skip
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 task\n"
# Package scripts must start no services; the download helper has one user that fits every box.
_POLICY_RC = "#!/bin/sh\nexit 101\n"
_APT_CONF = 'APT::Sandbox::User "root";\nAcquire::Languages "none";\nDpkg::Use-Pty "0";\n'
_DATABASES = ("/etc/os-release", "/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed")


@dataclass(frozen=True)
class Part:
    """One mounted tree of a base.

    Attributes:
        name: Its directory in the store.
        target: Where it appears inside.
        below: The host directory under its cover, or None where the cover is all.
    """

    name: str
    target: str
    below: Path | None


@dataclass(frozen=True)
class Base:
    """A base in the store.

    Attributes:
        digest: Changes when the system under it changes in a way that matters.
        parts: Its trees, the root first.
        label: What it is, for records and messages.
    """

    digest: str
    parts: tuple[Part, ...]
    label: str


def prepare(store: Store, machine: Machine, directory: Path | None = None) -> Base:
    """Make the base's cover if it is not there yet.

    Args:
        store: Where it is kept.
        machine: What this machine allows.
        directory: A root file system to use instead of this machine's system.

    Raises:
        EngineError: `directory` is not a root file system.
    """
    uid = machine.uid if machine.uid is not None else os.geteuid()
    if directory is None:
        parts, digest = _machine_parts(), _machine_digest(uid)
        label = f"this machine's system ({_os_name(Path('/etc/os-release'))})"
    else:
        path = directory.absolute()
        if not (path / "bin/sh").exists() and not (path / "usr/bin/sh").exists():
            raise EngineError(f"sandbox base {directory} is no root file system: it has no bin/sh")
        if path.samefile("/"):
            raise EngineError(
                f"sandbox base {directory} is this machine's own root, with all its secrets; leave the base "
                "out for this machine's system, or give a root file system made for it"
            )
        parts, digest = (Part("root", "/", path),), _directory_digest(path, uid)
        label = f"{directory} ({_os_name(path / 'etc/os-release')})"
    base = Base(digest, parts, label)
    if not store.base(digest).is_dir():
        lock = store.hold(digest)
        try:
            if not store.base(digest).is_dir():
                _make(store, base, uid)
        finally:
            os.close(lock)
    return base


def _machine_parts() -> tuple[Part, ...]:
    parts = [Part("root", "/", None)]
    for name in (*policy.SYSTEM_DIRECTORIES, *policy.LEGACY_DIRECTORIES):
        path = Path(name)
        if path.is_dir() and not path.is_symlink():
            parts.append(Part(name.strip("/"), name, path))
    return tuple(parts)


def _closed() -> tuple[Path, ...]:
    """What a box must not be shown of the system directories; sorted.

    Empty for a caller who is not root: the kernel keeps it from the box as well.

    Raises:
        EngineError: It cannot be found out.
    """
    return hidden_once(_tops()) if os.geteuid() == 0 else ()


def look_around() -> None:
    """Begin in the background what `prepare` would wait for."""
    if os.geteuid() == 0:
        look_ahead(_tops())


def _tops() -> tuple[str, ...]:
    return tuple(str(part.below) for part in _machine_parts() if part.below is not None)


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return f"{path} -\n"
    return f"{path} {found.st_mtime_ns} {found.st_size if stat.S_ISREG(found.st_mode) else 0}\n"


def _machine_stamps() -> Iterator[str]:
    """Yield what changes when software is installed or removed: package databases and directories."""
    for name in _DATABASES:
        yield _stamp(Path(name))
    packages = ("lib/python3*/*-packages", "local/lib/python3*/*-packages")
    for top in policy.SYSTEM_DIRECTORIES:
        yield _stamp(Path(top))
        for pattern in ("*", "lib/*", "local/*", "local/*/*", *packages):
            yield from (_stamp(found) for found in sorted(Path(top).glob(pattern)) if found.is_dir())
    yield from (_stamp(source) for source, _ in _etc_files())
    yield from (f"closed {path}\n" for path in _closed())


@functools.cache
def _machine_digest(uid: int) -> str:
    return _digest(f"machine {_FORMAT} {uid}\n", _machine_stamps())


@functools.cache
def _directory_digest(path: Path, uid: int) -> str:
    patterns = (
        "etc",
        "etc/*",
        "usr",
        "usr/*",
        "usr/lib/*",
        "usr/local/*",
        "var/lib/dpkg/status",
        "lib/apk/db/*",
    )
    stamps = (_stamp(found) for pattern in patterns for found in sorted(path.glob(pattern)))
    return _digest(f"directory {_FORMAT} {uid} {path}\n", stamps)


def _digest(head: str, lines: Iterator[str]) -> str:
    sha = hashlib.sha256(head.encode("utf-8", "surrogateescape"))
    for line in lines:
        sha.update(line.encode("utf-8", "surrogateescape"))
    return sha.hexdigest()[:24]


def _os_name(path: Path) -> str:
    for line in _lines(path):
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return "unknown"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _make(store: Store, base: Base, uid: int) -> None:
    name = store.new_box()
    lock = store.hold(name)
    made, own = store.box(name), _owner(uid)
    try:
        made.mkdir(mode=0o700)
        covered = {path for path in mounts_below(_tops()) if path.is_dir()}
        for part in base.parts:
            tree = made / part.name
            _directory(tree, 0o755, own)
            if part.below is None:
                _fill_root(tree, own)
            else:
                _cover(part.below, tree, own)
                for path in _closed():
                    if path.is_relative_to(part.below):
                        hide(tree / path.relative_to(part.below), own, directory=path in covered)
                if part.target in ("/", "/usr"):
                    _adapt_system(part.below, tree, "usr/" if part.target == "/" else "", own)
        own(made)
        store.publish(made, store.base(base.digest))
    finally:
        store.remove_tree(made)
        os.close(lock)
        store.lock_path(name).unlink(missing_ok=True)


def _owner(uid: int) -> Own:
    if os.geteuid() != 0:
        return lambda path: None
    return lambda path: os.chown(path, uid, uid, follow_symlinks=False)


def _directory(path: Path, mode: int, own: Own) -> None:
    path.mkdir(mode=0o700)
    own(path)
    path.chmod(mode)


def _cover(source: Path, tree: Path, own: Own) -> None:
    """Make the empty directories of `source`; those closed to others are left to the host's rules."""
    device = source.stat().st_dev
    for place, names, _ in source.walk(follow_symlinks=False):
        below, kept = tree / place.relative_to(source), []
        for name in names:
            try:
                found = (place / name).lstat()
            except OSError:
                continue
            open_to_all = found.st_mode & 0o005 == 0o005
            if stat.S_ISDIR(found.st_mode) and found.st_dev == device and open_to_all:
                _directory(below / name, (stat.S_IMODE(found.st_mode) | 0o700) & 0o1777, own)
                kept.append(name)
        names[:] = kept


def _adapt_system(below: Path, tree: Path, prefix: str, own: Own) -> None:
    """Make a distribution's system behave as an image's: pip may install, services do not start."""
    for marker in below.glob(f"{prefix}lib/python3*/EXTERNALLY-MANAGED"):
        place = tree / marker.relative_to(below)
        hide(place, own)
    _write(tree / f"{prefix}sbin/policy-rc.d", _POLICY_RC, 0o755, own)
    binaries = [below / f"{prefix}{name}" for name in ("bin", "local/bin")]
    link = tree / f"{prefix}local/bin/python"
    # Images of Python have `python`; distributions have `python3` alone.
    missing = not any((place / "python").exists() for place in binaries)
    if missing and (binaries[0] / "python3").exists() and link.parent.is_dir():
        link.symlink_to("/usr/bin/python3")
        own(link)


def _write(path: Path, text: str, mode: int, own: Own) -> None:
    if path.parent.is_dir():
        path.write_text(text, encoding="utf-8", newline="\n")
        path.chmod(mode)
        own(path)


def _fill_root(tree: Path, own: Own) -> None:
    for name, mode in _ROOT_DIRECTORIES.items():
        (tree / name).mkdir(parents=True, exist_ok=True)
        (tree / name).chmod(mode)
    for name in policy.LEGACY_DIRECTORIES:
        if Path(name).is_symlink():
            (tree / name.strip("/")).symlink_to(Path(name).readlink())
        elif Path(name).is_dir():
            (tree / name.strip("/")).mkdir()
    (tree / "var/run").symlink_to("/run")
    (tree / "var/lock").symlink_to("/run/lock")
    for source, name in _etc_files():
        _copy_etc(source, tree / "etc" / name)
    passwd, group = _accounts()
    shadow = "".join(f"{line.partition(':')[0]}:*:19000:0:99999:7:::\n" for line in passwd.splitlines())
    (tree / "etc/apt/apt.conf.d").mkdir(parents=True, exist_ok=True)
    for name, text, mode in (
        ("passwd", passwd, 0o644), ("group", group, 0o644), ("shadow", shadow, 0o640),
        ("hosts", _HOSTS, 0o644), ("hostname", "task\n", 0o644),
        ("nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n", 0o644),
        ("resolv.conf", "", 0o644), ("apt/apt.conf.d/99sandbox", _APT_CONF, 0o644),
    ):  # fmt: skip
        _write(tree / "etc" / name, text, mode, own)
    if _has_dpkg():
        shutil.copytree("/var/lib/dpkg", tree / "var/lib/dpkg", symlinks=True, dirs_exist_ok=True)
    for place, names, files in tree.walk(follow_symlinks=False):
        for name in (*names, *files):
            own(place / name)


def _has_dpkg() -> bool:
    """Tell whether packages could be installed: the records are needed, and root to use them."""
    return os.geteuid() == 0 and Path("/var/lib/dpkg/status").is_file()


def _accounts() -> tuple[str, str]:
    """Compose passwd and group: the base system's accounts.

    Where packages can be installed, their records name the accounts that packages made here; those
    are taken over by number and name, without comment. No account of a person is.
    """
    if not _has_dpkg():
        return policy.PASSWD, policy.GROUP
    people, groups = {}, {}
    for line in policy.PASSWD.splitlines() + _lines(Path("/etc/passwd")):
        row = line.split(":")
        if len(row) == 7 and row[2].isdigit() and _is_system(int(row[2])):
            people[row[0]] = ":".join([row[0], "x", row[2], row[3], "", row[5], row[6]])
    for line in policy.GROUP.splitlines() + _lines(Path("/etc/group")):
        row = line.split(":")
        if len(row) == 4 and row[2].isdigit() and _is_system(int(row[2])):
            groups[row[0]] = ":".join([row[0], "x", row[2], ""])
    return "\n".join(people.values()) + "\n", "\n".join(groups.values()) + "\n"


def _is_system(number: int) -> bool:
    return number < 1000 or number == 65534


def _etc_files() -> Iterator[tuple[Path, str]]:
    """Yield (host file, name below /etc) for all that the allow-list admits and everybody may reach."""
    top = Path("/etc")
    for entry in policy.ETC_ALLOWED:
        start = top / entry
        if any(not _open_to_all(parent) for parent in start.parents if parent.is_relative_to(top)):
            continue
        if not (start.exists() or start.is_symlink()) or policy.ETC_REFUSED.search(entry):
            continue
        yield start, entry
        if start.is_symlink() or not start.is_dir() or not _open_to_all(start):
            continue
        for place, names, files in start.walk(follow_symlinks=False):
            names[:] = sorted(name for name in names if _open_to_all(place / name))
            for name in sorted((*names, *files)):
                path = place / name
                if not policy.ETC_REFUSED.search(str(path.relative_to(top))):
                    yield path, str(path.relative_to(top))


def _open_to_all(path: Path) -> bool:
    """Tell whether everybody may list and enter a directory, or it is a link."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISLNK(mode) or mode & 0o005 == 0o005


def _copy_etc(source: Path, target: Path) -> None:
    """Copy one entry if everybody on the host may read it and it names no credentials."""
    try:
        found = source.lstat()
        target.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(found.st_mode):
            # A link out of /etc is kept as a link: it leads to what the box has there, or nowhere.
            target.symlink_to(source.readlink())
        elif stat.S_ISDIR(found.st_mode):
            target.mkdir(exist_ok=True)
        elif stat.S_ISREG(found.st_mode) and found.st_mode & stat.S_IROTH and found.st_size <= _MAX_ETC_FILE:
            content = source.read_bytes()
            if not policy.CREDENTIAL_IN_ADDRESS.search(content):
                target.write_bytes(content)
                target.chmod(stat.S_IMODE(found.st_mode) & 0o755)
    except OSError:
        return  # gone or changed meanwhile: what cannot be copied is not there

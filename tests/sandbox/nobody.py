"""Run Python as an unprivileged user, in a mount namespace where it can reach what it needs.

The interpreter, the packages and this project may lie below directories that are
closed to others. Nothing on the machine is opened for that: in a namespace of its
own, each closed directory is covered by an empty one that holds just what is
needed, read-only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UID = 65534
ROOT = Path(__file__).resolve().parents[2]


def _closed_parent(path: Path) -> Path | None:
    return next((p for p in reversed(path.parents) if not p.stat().st_mode & 0o001), None)


def _covers(needed: list[Path]) -> str:
    """Shell lines that make the needed paths reachable."""
    lines, covered = [], {}
    for number, path in enumerate(needed):
        closed = _closed_parent(path)
        if closed is not None:
            covered.setdefault(closed, []).append((number, path))
    for closed, paths in covered.items():
        for number, path in paths:
            lines += [f"mkdir -p /media/hold/{number}", f"mount --bind '{path}' /media/hold/{number}"]
        lines.append(f"mount -t tmpfs -o mode=755 none '{closed}'")
        for number, path in paths:
            lines += [f"mkdir -p '{path}'", f"mount --bind /media/hold/{number} '{path}'"]
    return "\n".join(lines)


@contextmanager
def store_of_nobody() -> Iterator[Path]:
    """A store directory that belongs to the unprivileged user."""
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="sipbench-nobody-", dir=memory if memory.is_dir() else None))
    os.chown(root, UID, UID)
    try:
        yield root
    finally:
        assert root.name.startswith("sipbench-nobody-"), root
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(root)], check=False, capture_output=True)
        shutil.rmtree(root, ignore_errors=True)


def run_as_nobody(code: str, *words: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run Python code with this project importable as a user without privileges."""
    site = [Path(path) for path in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}]
    needed = [Path(sys.base_prefix), Path(sys.prefix), ROOT, *site]
    needed = [
        path for path in needed if not any(path != other and path.is_relative_to(other) for other in needed)
    ]
    script = f"""
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 none /media
{_covers(list(dict.fromkeys(needed)))}
exec setpriv --reuid={UID} --regid={UID} --clear-groups --bounding-set=-all --inh-caps=-all "$@"
"""
    path = ":".join([str(ROOT / "src"), str(ROOT), *map(str, site)])
    env = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": path,
        "HOME": "/nonexistent",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argv = ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-c", code, *words]
    return subprocess.run(
        argv, capture_output=True, text=True, env=env, timeout=timeout, check=False, cwd="/"
    )

"""What a box is made of: directories, mounts, locks, and what its keeper is told."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sipbench.sandbox.bwrap import UID_COUNT, Binary, Machine, Plan, arguments
from sipbench.sandbox.limits import GROUP_PREFIX, Limits

__all__ = ["Bind", "Layout", "keeper_spec"]


@dataclass(frozen=True)
class Bind:
    """A host directory or file that the keeper makes visible to bubblewrap under a short name.

    Attributes:
        name: Its name below the mount point.
        source: Path on the host.
        writable: Whether the box's own layer is there.
        mapped: Show the host's ids as those of the box, where kernel and file system can.
    """

    name: str
    source: str
    writable: bool = False
    mapped: bool = False


@dataclass(frozen=True)
class Layout:
    """What a box is made of, ready for the keeper.

    Attributes:
        name: The box's name in the store.
        directory: What it writes; removed at the end.
        plan: Mounts and policy.
        binds: Sources that the plan names.
        locks: Descriptors that say what is in use; owned by the box from here on.
    """

    name: str
    directory: Path
    plan: Plan
    binds: tuple[Bind, ...]
    locks: tuple[int, ...]


def keeper_spec(
    layout: Layout, machine: Machine, binary: Binary, limits: Limits, groups: bool
) -> dict[str, Any]:
    """Return what the keeper is told to make; plain values."""
    binds, program = list(layout.binds), str(binary.path)
    if binary.tree is not None:
        binds.append(Bind("bwrap", str(binary.tree)))
        program = f"{machine.mount_point}/bwrap/{binary.path.relative_to(binary.tree)}"
    return {
        "root": machine.root,
        "uid": machine.uid,
        "count": UID_COUNT if machine.root else 1,
        "mount_point": machine.mount_point,
        "binds": [asdict(bind) for bind in binds],
        "bwrap": program,
        "arguments": arguments(layout.plan),
        "limits": asdict(limits),
        "group": f"{GROUP_PREFIX}{layout.name}",
        "groups": groups,
        "seccomp": layout.plan.policy.seccomp,
        "directory": str(layout.directory),
        "remove": [str(layout.directory)],
    }

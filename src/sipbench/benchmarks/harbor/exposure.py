"""What an agent really has before it: looked at in its environment, right before it begins.

That skills were configured does not mean that they arrived, nor that a control has none: an image may
hold what another arm was given. So the places are listed where skills lie, and a skill counts as given
where a folder with the very content that was meant is found.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from sipbench.protocol.agent_state import SKILL_FILE
from sipbench.protocol.digests import skill_digest
from sipbench.protocol.records import SkillRef

__all__ = ["Found", "NotExposedError", "look", "parse_listing", "verdict"]

_LINE = re.compile(r"(\\?)([0-9a-f]{64}) [ *](.*)")
_SHOWN = 3
_PATIENCE_SECONDS = 120


class NotExposedError(Exception):
    """The agent does not have what its arm is to have, or has what it is not to have."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Attributes:
        skills: (place, name, digest of the folder) of each skill.
    """

    skills: tuple[tuple[str, str, str], ...]


async def look(environment: Any, places: Sequence[str]) -> Found | None:
    """List the skills in ``places`` of an environment; None where it cannot be told.

    Args:
        environment: Harbor's environment, running.
        places: Folders that skills may lie in, absolute.
    """
    if not places:
        return Found(())
    words = " ".join(shlex.quote(place) for place in places)
    # A trailing slash enters a folder that is a link. `exec` may be given many names at once.
    script = (
        f'for place in {words}; do if [ -d "$place" ]; then find "$place/" -type f '
        "-exec sha256sum {} + || exit 3; fi; done"
    )
    done = await environment.exec(script, user="root", timeout_sec=_PATIENCE_SECONDS)
    if done.return_code != 0:
        return None
    listing = parse_listing(done.stdout or "")
    return Found(tuple(skill for place in places for skill in _skills(place, listing)))


def parse_listing(output: str) -> dict[str, str]:
    """Path and hexadecimal SHA-256 of each line of ``sha256sum``."""
    found = {}
    for line in output.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        escaped, content, path = match.groups()
        if escaped:
            path = path.replace("\\n", "\n").replace("\\\\", "\\")
        found[path] = content
    return found


def _skills(place: str, listing: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    root = PurePosixPath(place)
    files: dict[str, list[tuple[str, str]]] = {}
    for path, content in listing.items():
        pure = PurePosixPath(path)
        if pure.is_relative_to(root) and len(pure.parts) > len(root.parts) + 1:
            name = pure.parts[len(root.parts)]
            inside = pure.relative_to(root / name).as_posix()
            files.setdefault(name, []).append((inside, content))
    for name, held in sorted(files.items()):
        if any(path == SKILL_FILE for path, _ in held):
            yield place, name, skill_digest(held)


def verdict(found: Found | None, wanted: Mapping[str, SkillRef], *, configured: bool) -> tuple[SkillRef, ...]:
    """The skills that the agent has.

    Args:
        found: What was found; None if nobody could look.
        wanted: Each skill that it is to have, by name, with the digest of all its files.
        configured: Whether Harbor itself put them there, and so vouches for them.

    Raises:
        NotExposedError: One is missing or differs, there is another one, or nobody can tell.
    """
    refs = tuple(wanted[name] for name in sorted(wanted))
    trees = {name: ref.tree_digest for name, ref in wanted.items()}
    if found is None:
        if wanted and not configured:
            raise NotExposedError(
                "the environment cannot be searched for skills, so nobody knows what it holds"
            )
        return refs
    there = {(name, digest) for _, name, digest in found.skills}
    missing = sorted(name for name, digest in trees.items() if (name, digest) not in there)
    if missing:
        changed = {name for _, name, _ in found.skills} & set(missing)
        how = "differ from" if changed else "are not among"
        raise NotExposedError(f"skills {_listed(missing)} {how} what the agent has before it")
    others = sorted(
        {f"{name} ({place})" for place, name, digest in found.skills if trees.get(name) != digest}
    )
    if others:
        raise NotExposedError(
            f"the environment holds skills that this arm is not to have: {_listed(others)}; "
            "leave the task out with `exclude` if its image brings them"
        )
    return refs


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")

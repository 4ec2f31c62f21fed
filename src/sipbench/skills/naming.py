"""Names that conform: the same for the same skills, whatever their order."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping

from sipbench.skills.rules import MAX_NAME

__all__ = ["conforming_names", "slug"]

_HEX = 6
_CUT = MAX_NAME - _HEX - 1


def slug(name: str) -> str:
    """``name`` in lower case, everything but a-z and 0-9 as single hyphens; may be empty or long."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _marked(name: str, base: str) -> str:
    """A name of at most 64 characters that the digest of ``name`` keeps apart from others."""
    if len(base) > _CUT:
        cut = base[:_CUT]
        base = cut[: cut.rfind("-")] if "-" in cut else cut
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HEX]
    return f"{base or 'skill'}-{mark}"


def conforming_names(given: Mapping[str, str]) -> dict[str, str]:
    """New names for skills.

    A name that conforms and that one skill alone has stays. Of several skills that would share a name,
    the one that has it already keeps it; the others are marked with the first six digits of the SHA-256 of
    their own name, and of their place where that does not tell them apart either.

    Args:
        given: The name of each skill by its place (a path, unique).

    Returns:
        The new name of each skill by its place, no two alike.
    """
    slugs = {place: slug(name) for place, name in given.items()}
    sharing = Counter(slugs.values())
    same = Counter(given.values())
    names: dict[str, str] = {}
    pending: list[str] = []
    for place, name in given.items():
        base = slugs[place]
        sound = 0 < len(base) <= MAX_NAME
        if sound and (sharing[base] == 1 or (name == base and same[name] == 1)):
            names[place] = base
        else:
            pending.append(place)
    taken = set(names.values())
    for place in sorted(pending):
        name = _marked(given[place], slugs[place])
        seed = place
        while name in taken or (same[given[place]] > 1 and seed == place):
            name = _marked(seed, slugs[place])
            seed += "+"
        taken.add(name)
        names[place] = name
    return names

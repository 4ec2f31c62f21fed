"""Which skills an agent was given, and which of them it opened.

Given is what ``lock.json`` lists, by Harbor's digest of all files of a skill; that of its ``SKILL.md`` is
not there. Opened is what the trajectory shows: a call of a tool for skills that names it, or a path in a
call's arguments that leads into its folder. That a list of names was printed opens nothing.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from sipbench.importers.harbor.trial import TrialFiles, table
from sipbench.importers.harbor.usage import agent_steps
from sipbench.protocol.records import SkillRef

__all__ = ["given_skills", "opened_skills"]

_TOKEN = re.compile(r"[^\s\"'`;|&<>()=,\[\]{}]+")
_FOLDERS = frozenset({"skills", "skill"})  # what agents call the folder that skills lie in
_INSIDE = frozenset({"SKILL.md", "scripts", "references", "assets"})
_SKILL_TOOL = re.compile(
    r"^(?:\w+[_.:])*?(?:(?:use|load|read|open|activate|run|invoke|get)_?)?skills?$", re.I
)
_LONGEST = 1_000_000
_DEEPEST = 12


def given_skills(lock: Mapping[str, Any] | None) -> tuple[SkillRef, ...] | None:
    """The skills that ``lock.json`` lists; None without a lock, or where the list is not readable."""
    listed = (lock or {}).get("skills", [] if lock is not None else None)
    if not isinstance(listed, list):
        return None
    try:
        return tuple(SkillRef(name=table(item)["name"], tree_digest=table(item)["digest"]) for item in listed)
    except (KeyError, ValidationError):
        return None


def opened_skills(trial: TrialFiles, given: Sequence[SkillRef] | None) -> tuple[SkillRef, ...] | None:
    """Those of ``given`` that the agent opened, in their order.

    Returns:
        None where it cannot be told: nothing is known of what was given, there is no trajectory, or the
        trajectory holds no calls of tools at all.
    """
    if given is None:
        return None
    if not given:
        return ()
    calls = [call for step in agent_steps(trial) for call in _calls(step)]
    if not calls:
        return None
    names = {skill.name for skill in given}
    opened = {name for call in calls for name in _named(call, names)}
    return tuple(skill for skill in given if skill.name in opened)


def _calls(step: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    calls = step.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        yield table(call)


def _named(call: Mapping[str, Any], names: set[str]) -> Iterator[str]:
    texts = list(_texts(call.get("arguments"), 0))
    if _SKILL_TOOL.match(str(call.get("function_name", ""))[:200]):
        # A plug-in's skill is called as `plugin:skill`.
        yield from names & {text.strip().rpartition(":")[2] for text in texts}
    for text in texts:
        for token in _TOKEN.findall(text[:_LONGEST]):
            if "/" in token:
                yield from _entered(token, names)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth + 1)


def _entered(path: str, names: set[str]) -> Iterator[str]:
    """The skills whose folder ``path`` leads into; ``*`` stands for all of them, as in a shell."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        below_skills = place > 0 and parts[place - 1].lower() in _FOLDERS
        # A skill may have the name of any folder: outside of skills/ only what is found inside tells.
        inside = not last and parts[place + 1] in _INSIDE
        if part in names and (below_skills or inside):
            yield part
        elif below_skills and not last and any(sign in part for sign in "*?["):
            yield from fnmatch.filter(sorted(names), part)

"""The agent state on disk: ``skills/<name>/SKILL.md`` with a macro each, and ``weights.json``.

A skill is an Agent Skill. The macro stands in its body in a block marked ``synth-program``; a skill
without one is somebody's prose, of which this agent can make nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sipbench.benchmarks.synth.language import NAMES, Program, format_program, parse_program
from sipbench.errors import AdaptationError
from sipbench.protocol.records import SkillRef

__all__ = ["Knowledge", "Skill", "Weights", "read_state", "write_skill", "write_weights"]

_LARGEST_BYTES = 65_536
_MOST_SKILLS = 1_000
_LONGEST_MACRO = 16
_BLOCK = re.compile(r"^```synth-program[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill of the agent state; its macro is None where it holds none."""

    ref: SkillRef
    macro: Program | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """How often each primitive was used, and the probability that follows from it."""

    uses: Mapping[str, int]
    probabilities: Mapping[str, float]

    @classmethod
    def fitted(cls, uses: Mapping[str, int], laplace: float) -> Weights:
        """Additive smoothing: (uses + laplace) / (all uses + laplace * 24)."""
        total = sum(uses.values()) + laplace * len(NAMES)
        counts = {name: uses.get(name, 0) for name in NAMES}
        return cls(counts, {name: (count + laplace) / total for name, count in counts.items()})


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What an agent brings to a task: nothing at T0."""

    skills: tuple[Skill, ...] = ()
    weights: Weights | None = None
    macros: tuple[Program, ...] = field(init=False)
    """The distinct macros of two or more steps."""

    def __post_init__(self) -> None:
        macros = (skill.macro for skill in self.skills if skill.macro and len(skill.macro) > 1)
        object.__setattr__(self, "macros", tuple(dict.fromkeys(macros)))


def read_state(folder: Path) -> Knowledge:
    """Read an agent state; a missing or empty folder is no knowledge.

    Raises:
        AdaptationError: A file is a symbolic link, too large, not UTF-8, or does not say what it should.
    """
    return Knowledge(tuple(_skills(folder / "skills")), _weights(folder / "weights.json"))


def _skills(folder: Path) -> Iterable[Skill]:
    if not folder.is_dir() or folder.is_symlink():
        return
    names = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    if len(names) > _MOST_SKILLS:
        raise AdaptationError(f"{folder}: {len(names)} skills; at most {_MOST_SKILLS} are read")
    for name in names:
        path = folder / name / "SKILL.md"
        if path.is_file():
            yield _skill(name, path)


def _skill(name: str, path: Path) -> Skill:
    data = _bytes(path)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    blocks = _BLOCK.findall(_decoded(path, data).replace("\r\n", "\n"))
    if not blocks:
        return Skill(SkillRef(name=name, digest=digest))
    try:
        if len(blocks) > 1:
            raise ValueError(f"{len(blocks)} blocks")
        macro = parse_program(blocks[0].strip())
        if len(macro) > _LONGEST_MACRO:
            raise ValueError(f"{len(macro)} steps, at most {_LONGEST_MACRO}")
    except ValueError as error:
        raise AdaptationError(
            f"{path}: block synth-program: {error}; expected one program such as 'reverse > drop_vowels'"
        ) from None
    return Skill(SkillRef(name=name, digest=digest), macro)


def _weights(path: Path) -> Weights | None:
    if not path.exists() and not path.is_symlink():
        return None
    text = _decoded(path, _bytes(path))
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise AdaptationError(f"{path}: not JSON; let synth-weights write it again") from None
    try:
        return _checked(document)
    except ValueError as error:
        raise AdaptationError(f"{path}: {error}; let synth-weights write it again") from None


def _checked(document: Any) -> Weights:
    if not isinstance(document, dict):
        raise ValueError("expected an object")
    uses, probabilities = document.get("uses"), document.get("probabilities")
    for what, table in (("uses", uses), ("probabilities", probabilities)):
        if not isinstance(table, dict) or set(table) != set(NAMES):
            raise ValueError(f"{what}: expected one number for each of the {len(NAMES)} primitives")
    assert isinstance(uses, dict)
    assert isinstance(probabilities, dict)
    for name in NAMES:
        count, chance = uses[name], probabilities[name]
        if type(count) is not int or not 0 <= count < 2**53:
            raise ValueError(f"uses.{name}: expected a whole number of at least 0, found {count!r:.40}")
        if type(chance) not in (int, float) or not 0 < chance <= 1:
            raise ValueError(f"probabilities.{name}: expected a number in (0, 1], found {chance!r:.40}")
    total = math.fsum(probabilities.values())
    if abs(total - 1) > 1e-6:
        raise ValueError(f"probabilities: they add up to {total:.6g}, not to 1")
    return Weights({name: uses[name] for name in NAMES}, {name: probabilities[name] for name in NAMES})


def _bytes(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise AdaptationError(f"{path}: not a regular file; replace it by one")
    try:
        with path.open("rb") as handle:
            data = handle.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise AdaptationError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    if len(data) > _LARGEST_BYTES:
        raise AdaptationError(f"{path}: larger than {_LARGEST_BYTES} bytes; shorten it")
    return data


def _decoded(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AdaptationError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None


def write_skill(folder: Path, macro: Program, support: int) -> str:
    """Write ``macro`` as a skill into the state ``folder``.

    Args:
        folder: The agent state.
        macro: The program.
        support: How many solved tasks it was found in; said in the skill's text.

    Returns:
        The skill's name: lower-case words and hyphens, as Agent Skills want it.
    """
    name = "-then-".join(macro).replace("_", "-")
    program = format_program(macro)
    text = (
        f"---\nname: {name}\n"
        f"description: The steps {', '.join(macro)} as one. Use when text has to be transformed.\n---\n\n"
        f"# {program}\n\n"
        f"This sequence was part of the program that solved each of {support} tasks. Try it as one step.\n\n"
        f"```synth-program\n{program}\n```\n"
    )
    path = folder / "skills" / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "SKILL.md").write_text(text, encoding="utf-8", newline="\n")
    return name


def write_weights(folder: Path, weights: Weights) -> None:
    """Write ``weights.json`` into the state ``folder``."""
    document = {
        "schema_version": "1.0.0",
        "uses": dict(weights.uses),
        "probabilities": dict(weights.probabilities),
    }
    text = json.dumps(document, indent=2) + "\n"
    (folder / "weights.json").write_text(text, encoding="utf-8", newline="\n")

"""Which skills an agent was given, and which it opened: counted, phase by phase.

A gain of an arm that was never given its skills is none of theirs, and one whose skills were given and
never opened is at best an effect of their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sipbench.protocol.records import RunRecord, SkillRef
from sipbench.protocol.vocabulary import EVALUATION_SPLITS, Phase, Split

__all__ = ["ArmKey", "Exposure", "ExposureCounts", "SkillUse", "arm_key"]

type ArmKey = tuple[str, str | None, str, str, str]
"""benchmark_name, benchmark_version, arm, model_name, agent_name."""


def arm_key(record: RunRecord) -> ArmKey:
    """Whose attempt a record is."""
    return (
        record.benchmark_name,
        record.benchmark_version,
        record.arm,
        record.model_name,
        record.agent_name,
    )


@dataclass(frozen=True, slots=True)
class SkillUse:
    """One skill.

    Attributes:
        name: Its name.
        digest: That of its ``SKILL.md``, else that of all its files; None if neither is known.
        given: Attempts that were given it.
        opened: Attempts that opened it.
    """

    name: str
    digest: str | None
    given: int
    opened: int


@dataclass(frozen=True, slots=True)
class Exposure:
    """Attempts of one phase on held-out, replay and drift tasks, by what they saw of skills.

    Attributes:
        phase: The phase.
        attempts: All of them.
        given_known: Those of which it is known what they were given.
        given: Those that were given at least one skill.
        opened_known: Those of which it is known what they opened.
        opened: Those that opened at least one.
        skills: Every skill, the most opened first, then the most given, then by name.
    """

    phase: Phase
    attempts: int
    given_known: int
    given: int
    opened_known: int
    opened: int
    skills: tuple[SkillUse, ...]

    @property
    def given_share(self) -> float | None:
        """Share of the attempts of which it is known that were given a skill; None if of none."""
        return self.given / self.given_known if self.given_known else None

    @property
    def opened_share(self) -> float | None:
        """Share of the attempts of which it is known that opened a skill; None if of none."""
        return self.opened / self.opened_known if self.opened_known else None


@dataclass(slots=True)
class _Count:
    attempts: int = 0
    given_known: int = 0
    given: int = 0
    opened_known: int = 0
    opened: int = 0
    by_skill: dict[str, Counter[SkillRef]] = field(
        default_factory=lambda: {"given": Counter(), "opened": Counter()}
    )

    def add(self, record: RunRecord) -> None:
        self.attempts += 1
        for skills, what in ((record.skills_given, "given"), (record.skills_opened, "opened")):
            if skills is not None:
                self._see(skills, what)

    def _see(self, skills: tuple[SkillRef, ...], what: str) -> None:
        if what == "given":
            self.given_known += 1
            self.given += bool(skills)
        else:
            self.opened_known += 1
            self.opened += bool(skills)
        self.by_skill[what].update(set(skills))


class ExposureCounts:
    """Counts records as they are read."""

    def __init__(self) -> None:
        self._counts: dict[tuple[ArmKey, Phase], _Count] = {}

    def add(self, record: RunRecord) -> None:
        """Count one attempt; adapt, smoke and golden attempts are left out."""
        if record.benchmark_split in _SCORED:
            self._counts.setdefault((arm_key(record), record.phase), _Count()).add(record)

    def exposures(self, keys: Iterable[ArmKey]) -> list[Exposure]:
        """What the attempts under any of ``keys`` saw, phase by phase."""
        wanted = set(keys)
        merged: dict[Phase, list[_Count]] = {}
        for (key, phase), count in self._counts.items():
            if key in wanted:
                merged.setdefault(phase, []).append(count)
        return [_exposure(phase, merged[phase]) for phase in sorted(merged)]


_SCORED: frozenset[Split] = frozenset(EVALUATION_SPLITS)


def _exposure(phase: Phase, counts: list[_Count]) -> Exposure:
    given, opened = (_together(counts, what) for what in ("given", "opened"))
    skills = (
        SkillUse(skill.name, skill.digest or skill.tree_digest, given.get(skill, 0), opened.get(skill, 0))
        for skill in {*given, *opened}
    )
    return Exposure(
        phase=phase,
        attempts=sum(count.attempts for count in counts),
        given_known=sum(count.given_known for count in counts),
        given=sum(count.given for count in counts),
        opened_known=sum(count.opened_known for count in counts),
        opened=sum(count.opened for count in counts),
        skills=tuple(sorted(skills, key=lambda use: (-use.opened, -use.given, use.name, use.digest or ""))),
    )


def _together(counts: list[_Count], what: str) -> Mapping[SkillRef, int]:
    total: Counter[SkillRef] = Counter()
    for count in counts:
        total.update(count.by_skill[what])
    return total

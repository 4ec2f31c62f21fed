"""What an author gives for each card: folders named after the capsule key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sipbench.cards.keys import safe_name
from sipbench.cards.load import LoadedCard
from sipbench.errors import CardError
from sipbench.export.base import File, Trees
from sipbench.export.trees import files_below

__all__ = ["Given", "oracle_outputs", "trees_of"]

SOLVE = "solve.sh"


@dataclass(frozen=True)
class Given:
    """Folders that an author gives; each holds ``<capsule key>/`` for every card that it is about.

    Attributes:
        inputs: Data.
        oracle: A reference output, or ``solve.sh`` with what it needs.
        environment: Files that replace drafted ones, for instance ``Dockerfile``.
        skills: A folder of skills, by slug, with or without ``leaves/`` or ``skills/`` between.
        evals: ``<capsule key>/eval.json``.
    """

    inputs: Path | None = None
    oracle: Path | None = None
    environment: Path | None = None
    skills: Path | None = None
    evals: Path | None = None


def trees_of(card: LoadedCard, given: Given, *, only: bool, former: Mapping[str, File]) -> Trees:
    """What was given for one card.

    Args:
        card: The card.
        given: The folders.
        only: Whether it is the only card, whose files may then stand in the folders themselves.
        former: Outputs of the card that it starts from.

    Raises:
        CardError: A folder does not exist, or holds what cannot be exported.
    """
    return Trees(
        inputs=_folder(card, given.inputs, "inputs", only),
        oracle=_folder(card, given.oracle, "oracles", only),
        environment=_folder(card, given.environment, "environments", only),
        skills=_skills(card, given.skills),
        former=former,
    )


def _folder(card: LoadedCard, root: Path | None, what: str, only: bool) -> dict[str, File]:
    if root is None:
        return {}
    if not root.is_dir():
        raise CardError(f"{root}: no such folder of {what}")
    for name in dict.fromkeys((card.key, safe_name(card.key))):
        if (root / name).is_dir() and not (root / name).is_symlink():
            return files_below(root / name, what=what)
    return files_below(root, what=what) if only else {}


def _skills(card: LoadedCard, root: Path | None) -> dict[str, dict[str, File]]:
    if root is None:
        return {}
    if not root.is_dir():
        raise CardError(f"{root}: no such folder of skills")
    places = [root, root / "leaves", root / "skills"]
    found: dict[str, dict[str, File]] = {}
    for name in card.card.skills:
        if safe_name(name) != name:
            continue  # no folder can be called so
        for place in places:
            if (place / name / "SKILL.md").is_file() and not (place / name).is_symlink():
                found[name] = files_below(place / name, what="skills")
                break
    return found


def oracle_outputs(trees: Trees) -> dict[str, File]:
    """The outputs among what was given as an oracle; none where it is a script."""
    return {} if SOLVE in trees.oracle else dict(trees.oracle)

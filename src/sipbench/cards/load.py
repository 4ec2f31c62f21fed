"""A card with its capsule: found, read leniently, and named by its key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from sipbench.cards.deviations import Deviation, normalised, normalised_rubric
from sipbench.cards.files import Problem, read_json, read_json_lines, read_text
from sipbench.cards.keys import capsule_key
from sipbench.cards.model import Card, Claim, Result, Rubric
from sipbench.errors import CardError

__all__ = ["Capsule", "LoadedCard", "Reading", "capsule_of", "load_card", "model_problems", "read_card"]

CARDS, CAPSULES = "cards", "capsules"
RUBRIC = Path("evaluation", "review_rubric.json")
EVAL = Path("evaluation", "eval.json")
CLAIMS = Path("ledger", "claims.jsonl")
RESULTS = Path("ledger", "results.jsonl")

_SHOWN = 3


@dataclass(frozen=True)
class Capsule:
    """The directory that goes with a card: rubric, ledger, evidence, inputs.

    Everything in it is grader-side. A file that is not there is None or empty; one that cannot be
    read is an error when it is asked for.
    """

    path: Path

    @cached_property
    def rubric(self) -> Rubric | None:
        """``evaluation/review_rubric.json``."""
        path = self.path / RUBRIC
        return _rubric(path) if _is_there(path) else None

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """``ledger/claims.jsonl``."""
        return tuple(_lines(self.path / CLAIMS, Claim))

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """``ledger/results.jsonl``."""
        return tuple(_lines(self.path / RESULTS, Result))

    @property
    def eval_path(self) -> Path:
        """Where an authored ``eval.json`` of the card stands, if there is one."""
        return self.path / EVAL

    def text(self, *parts: str) -> str:
        """The text of a file of the capsule; empty if there is none."""
        path = self.path.joinpath(*parts)
        return read_text(path) if _is_there(path) else ""


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


@dataclass(frozen=True)
class LoadedCard:
    """A card as an export needs it.

    Attributes:
        card: The card, normalised.
        path: Its file.
        sha256: Digest of the file's bytes as they stand.
        paper: Name of its paper's folder: what chained cards share.
        collection: Name of the collection; None for a card that stands alone.
        capsule: Its capsule; None if there is none.
        key: The capsule key, unique in a collection.
        deviations: What was read otherwise than it stands.
    """

    card: Card
    path: Path
    sha256: str
    paper: str
    collection: str | None
    capsule: Capsule | None
    key: str
    deviations: tuple[Deviation, ...] = ()

    @property
    def home(self) -> Path:
        """The folder that the papers' folders stand in: what keys are unique in."""
        return self.path.absolute().parent.parent

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the ledger; none where there is no capsule."""
        return self.capsule.claims if self.capsule else ()

    @property
    def results(self) -> tuple[Result, ...]:
        """The results of the ledger; none where there is no capsule."""
        return self.capsule.results if self.capsule else ()


@dataclass(slots=True)
class Reading:
    """What reading one card's document gave.

    Attributes:
        card: The card; None if it cannot be used.
        sha256: Digest of its bytes; empty if they could not be read.
        document: The document as it stands.
    """

    card: Card | None = None
    sha256: str = ""
    document: dict[str, Any] = field(default_factory=dict)
    deviations: list[Deviation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_card(path: Path) -> Reading:
    """Read one card's file; nothing is raised for what is wrong with it."""
    reading = Reading()
    try:
        document = read_json(path)
    except CardError as error:
        reading.problems.append(Problem(str(path), str(error).removeprefix(f"{path}: ")))
        return reading
    reading.document, reading.sha256 = document.value, document.sha256
    value, reading.deviations = normalised(document.value)
    try:
        reading.card = Card.model_validate(value)
    except ValidationError as error:
        reading.problems += model_problems(str(path), error)
    return reading


def model_problems(file: str, error: ValidationError, line: int | None = None) -> Iterator[Problem]:
    """What a model says about one document, field by field."""
    for item in error.errors(include_url=False, include_input=False):
        location = ".".join(str(part) for part in item["loc"]) or None
        yield Problem(file, _said(dict(item)), location, line)


def _said(item: dict[str, Any]) -> str:
    context = item.get("ctx") or {}
    match item["type"]:
        case "string_too_long":
            return f"longer than {context['max_length']} characters; shorten it"
        case "extra_forbidden":
            return "unknown key; correct its name or leave it out"
        case "missing":
            return "is missing"
        case "string_pattern_mismatch":
            return f"must match {context['pattern']}"
        case "string_unicode":
            return "holds half of a surrogate pair, which is no character"
        case _:
            return str(item["msg"]).removeprefix("Value error, ")


def load_card(path: Path) -> LoadedCard:
    """The card that ``path`` names: its file, or its capsule's directory.

    Raises:
        CardError: There is no such card, or it cannot be used; the message names the first problems.
    """
    file = _card_file(path)
    reading = read_card(file)
    if reading.card is None:
        raise CardError(_summary(reading.problems))
    capsule = capsule_of(file, reading.card.task_id)
    return LoadedCard(
        card=reading.card,
        path=file,
        sha256=reading.sha256,
        paper=file.absolute().parent.name,
        collection=_collection(file),
        capsule=capsule,
        key=_key(reading.card, file, capsule),
        deviations=tuple(reading.deviations),
    )


def _summary(problems: list[Problem]) -> str:
    said = "; ".join(str(problem) for problem in problems[:_SHOWN])
    return said + (f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else "")


def _card_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    absolute = path.absolute()
    if len(absolute.parents) > 2 and absolute.parents[1].name == CAPSULES:
        paper, task = absolute.parent.name, absolute.name.rpartition("__")[2]
        for cards in (absolute.parents[2] / "benchmark" / CARDS, absolute.parents[2] / CARDS):
            if (cards / paper / f"{task}.json").is_file():
                return cards / paper / f"{task}.json"
    raise CardError(f"{path}: neither a card's file nor the directory of a capsule; name the card's .json")


def _root(file: Path) -> Path | None:
    """The collection's folder: what ``benchmark/cards/<paper>/<task>.json`` stands in."""
    parents = file.absolute().parents
    if len(parents) < 3 or parents[1].name != CARDS:
        return None
    return parents[3] if parents[2].name == "benchmark" and len(parents) > 3 else parents[2]


def _collection(file: Path) -> str | None:
    root = _root(file)
    if root is None:
        return None
    # Released collections stand in <name>/v<N>.
    versioned = root.name[:1] == "v" and root.name[1:].isdigit()
    return root.parent.name if versioned and root.parent.name else root.name


def capsule_of(file: Path, task_id: str) -> Capsule | None:
    """The capsule of the card in ``file``; None if it has none.

    Raises:
        CardError: Several directories could be it.
    """
    root = _root(file)
    folder = root / CAPSULES / file.absolute().parent.name if root else None
    if folder is None or not folder.is_dir():
        return None
    names = [
        entry.name
        for entry in folder.iterdir()
        if entry.is_dir() and not entry.is_symlink()
        if entry.name == task_id or entry.name.endswith(f"__{task_id}")
    ]
    if len(names) > 1:
        said = ", ".join(sorted(names))
        raise CardError(f"{folder}: several capsules for {task_id}: {said}; remove all but one")
    return Capsule(folder / names[0]) if names else None


def _key(card: Card, file: Path, capsule: Capsule | None) -> str:
    """The released directory's own name where it has the form of a key, else made by the rule."""
    if capsule is not None and "__" in capsule.path.name:
        return capsule.path.name
    doi = card.crossref_doi or _source_doi(capsule)
    return capsule_key(task_id=card.task_id, paper=file.absolute().parent.name, doi=doi)


def _source_doi(capsule: Capsule | None) -> str | None:
    if capsule is None:
        return None
    return next((claim.source_doi for claim in capsule.claims if claim.source_doi), None)


def _rubric(path: Path) -> Rubric:
    value, _ = normalised_rubric(read_json(path).value)
    try:
        return Rubric.model_validate(value)
    except ValidationError as error:
        raise CardError(_summary(list(model_problems(str(path), error)))) from None


def _lines[Item: BaseModel](path: Path, model: type[Item]) -> Iterator[Item]:
    if not _is_there(path):
        return
    for number, line in read_json_lines(path):
        if isinstance(line, Problem):
            raise CardError(str(line))
        try:
            yield model.model_validate(line)
        except ValidationError as error:
            raise CardError(_summary(list(model_problems(str(path), error, number)))) from None

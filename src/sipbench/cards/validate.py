"""``asb validate``: every file of a collection, kind by kind, and what only shows between files."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError

from sipbench.cards.chains import chained
from sipbench.cards.deviations import Deviation, normalised, normalised_rubric, schema_view
from sipbench.cards.files import Problem, read_json, read_json_lines, read_yaml, walk
from sipbench.cards.load import LoadedCard, load_card, model_problems, read_card
from sipbench.cards.model import Claim, ProvenanceFile, Result, Rubric
from sipbench.cards.schema import schema_problems
from sipbench.errors import CardError

__all__ = ["KINDS", "FileReport", "Kind", "State", "check_between", "check_file", "find_cards", "find_files"]

Kind = Literal["card", "rubric", "claims", "results", "provenance", "eval", "manifest"]
KINDS: tuple[Kind, ...] = get_args(Kind)

State = Literal["valid", "deviating", "invalid"]

_NAMES: dict[str, Kind] = {
    "review_rubric.json": "rubric",
    "claims.jsonl": "claims",
    "results.jsonl": "results",
    "artifact_provenance.json": "provenance",
    "eval.json": "eval",
    "collection.yaml": "manifest",
}
# ArtifactSourceEnum of asb-schema 0.3.0.
_SOURCES = {
    "agent2b", "agent5", "github_search", "perspicacite_mcp", "script_linker", "capsule_writer",
    "heuristic_enricher",
}  # fmt: skip
_ADDRESS = re.compile(r"^\w+://")


@dataclass(slots=True)
class FileReport:
    """What is known about one file after it was checked."""

    file: str
    kind: Kind
    deviations: list[Deviation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def state(self) -> State:
        """``invalid`` with a problem, ``deviating`` with a known deviation, else ``valid``."""
        return "invalid" if self.problems else "deviating" if self.deviations else "valid"


def find_files(paths: Iterable[Path]) -> list[tuple[Path, Kind]]:
    """The files of ``paths`` that can be checked, each once, in a stable order.

    Raises:
        CardError: A path does not exist, or is a file of no known kind.
    """
    found: dict[Path, Kind] = {}
    for path in paths:
        if path.is_dir():
            found |= {file: kind for file in walk(path) if (kind := _kind(file, path))}
        elif path.exists() or path.is_symlink():
            kind = _NAMES.get(path.name) or ("card" if path.suffix == ".json" else None)
            if kind is None:
                raise CardError(f"{path}: no file of a collection; name a card, a capsule or a collection")
            found[path] = kind
        else:
            raise CardError(f"{path}: no such file or folder")
    return list(found.items())


def find_cards(paths: Iterable[Path]) -> list[Path]:
    """The files of cards in ``paths``.

    Raises:
        CardError: A path does not exist, or there is no card in any.
    """
    given = list(paths)
    found = [file for file, kind in find_files(given) if kind == "card"]
    if not found:
        said = ", ".join(map(str, given))
        raise CardError(f"{said}: no card here; cards stand in cards/<paper>/<task>.json")
    return found


def _kind(file: Path, root: Path) -> Kind | None:
    named = _NAMES.get(file.name)
    if named is not None:
        return named
    if file.suffix != ".json":
        return None
    folders = file.absolute().parents
    if len(folders) > 1 and folders[1].name == "cards":
        return "card"
    # A folder of cards outside of a collection.
    return "card" if file.name.startswith("task_") else None


def check_file(path: Path, kind: Kind) -> FileReport:
    """Check one file by itself.

    Raises:
        MissingExtraError: The schemas are not installed.
    """
    report = FileReport(str(path), kind)
    try:
        _CHECKS[kind](path, report)
    except CardError as error:
        report.problems.append(Problem(str(path), str(error).removeprefix(f"{path}: ")))
    return report


def _check_card(path: Path, report: FileReport) -> None:
    reading = read_card(path)
    report.deviations += reading.deviations
    report.problems += reading.problems
    if not reading.document:
        return
    # The model says more (control characters, paths, lengths); the schema is the format's own word.
    named = {problem.field for problem in reading.problems}
    value, _ = normalised(reading.document)
    for field_, reason in schema_problems(schema_view(value), "asb_card.schema.json", "ASBTaskCard"):
        if field_ not in named and not (field_ is None and named):
            report.problems.append(Problem(str(path), reason, field_))


def _check_rubric(path: Path, report: FileReport) -> None:
    value, deviations = normalised_rubric(read_json(path).value)
    report.deviations += deviations
    rubric = _modelled(path, value, Rubric, report)
    if rubric is None:
        return
    total = sum(check.points for check in rubric.checks)
    if abs(total - rubric.max_score) > 1e-9:
        said = f"{rubric.max_score:g} where the points of the checks sum to {total:g}; the sum is used"
        report.deviations.append(Deviation("rubric-sum", "max_score", said))
    for name, count in Counter(check.id for check in rubric.checks).items():
        if count > 1:
            report.problems.append(Problem(str(path), f"{count} checks are called {name}", "checks"))


def _check_provenance(path: Path, report: FileReport) -> None:
    file = _modelled(path, read_json(path).value, ProvenanceFile, report)
    if file is not None and (others := {entry.source for entry in file.artifacts} - _SOURCES):
        said = f"{', '.join(sorted(others))}: outside of the schema's list, kept as text"
        report.deviations.append(Deviation("provenance-source", "artifacts.source", said))


def _check_claims(path: Path, report: FileReport) -> None:
    addresses = 0
    for claim in _modelled_lines(path, Claim, "claim_id", report):
        addresses += bool(_ADDRESS.match(claim.source_doi or ""))
    if addresses:
        said = f"{addresses} of them are addresses rather than DOIs; never cited, only used for the key"
        report.deviations.append(Deviation("source-doi-address", "source_doi", said))


def _check_results(path: Path, report: FileReport) -> None:
    for _ in _modelled_lines(path, Result, "result_id", report):
        pass


def _check_manifest(path: Path, report: FileReport) -> None:
    # YAML reads times as times, the schema wants texts.
    value = json.loads(json.dumps(read_yaml(path), default=str))
    for field_, reason in schema_problems(value, "asb_skill_collection.schema.json", "SkillCollection"):
        report.problems.append(Problem(str(path), reason, field_))


def _check_eval(path: Path, report: FileReport) -> None:
    from sipbench.cards.checks.model import read_eval

    read_eval(path)


_CHECKS: dict[Kind, Callable[[Path, FileReport], None]] = {
    "card": _check_card,
    "rubric": _check_rubric,
    "claims": _check_claims,
    "results": _check_results,
    "provenance": _check_provenance,
    "eval": _check_eval,
    "manifest": _check_manifest,
}


def _modelled[Item: BaseModel](
    path: Path, value: dict[str, Any], model: type[Item], report: FileReport, line: int | None = None
) -> Item | None:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        report.problems += model_problems(str(path), error, line)
        return None


def _modelled_lines[Item: BaseModel](
    path: Path, model: type[Item], key: str, report: FileReport
) -> Iterator[Item]:
    seen: dict[str, int] = {}
    for number, line in read_json_lines(path):
        if isinstance(line, Problem):
            report.problems.append(line)
            continue
        item = _modelled(path, line, model, report, number)
        if item is not None:
            first = seen.setdefault(getattr(item, key), number)
            if first != number:
                report.problems.append(Problem(str(path), f"already on line {first}", key, number))
            yield item


def check_between(reports: Iterable[FileReport]) -> None:
    """Add to the reports of cards what only shows when files are seen together."""
    cards: list[tuple[FileReport, LoadedCard]] = []
    keys: dict[tuple[Path, str], FileReport] = {}
    for report in reports:
        if report.kind != "card" or report.problems:
            continue
        try:
            loaded = load_card(Path(report.file))
            _check_capsule(loaded, report)
        except CardError:
            continue  # said where that file itself is checked
        first = keys.setdefault((loaded.home, loaded.key.lower()), report)
        if first is not report:
            said = f"capsule key {loaded.key} is already that of {first.file}"
            report.problems.append(Problem(report.file, said, "task_id"))
        else:
            cards.append((report, loaded))
    _check_chains(cards)


def _check_capsule(loaded: LoadedCard, report: FileReport) -> None:
    results = {result.result_id for result in loaded.results}
    lost = [name for name in loaded.card.linked_result_ids if name not in results]
    if lost:
        said = f"{len(lost)} of {len(loaded.card.linked_result_ids)} are not in the ledger ({lost[0][:40]})"
        report.deviations.append(Deviation("dangling-result", "linked_result_ids", said))
    rubric = loaded.capsule.rubric if loaded.capsule else None
    checks = loaded.card.evaluation_strategy.direct_checks
    if rubric is not None and (rubric.criteria.direct_checks != checks or len(rubric.checks) != len(checks)):
        said = "the rubric lists other checks than the card; its ids and points are not used"
        report.deviations.append(Deviation("rubric-drift", "evaluation_strategy.direct_checks", said))


def _check_chains(cards: list[tuple[FileReport, LoadedCard]]) -> None:
    chains = chained(loaded for _, loaded in cards)
    for report, loaded in cards:
        if loaded.key in chains.circles:
            said = f"leads into a circle ({chains.circles[loaded.key]}); no card of it can come first"
            report.problems.append(Problem(report.file, said, "input_from"))
        elif loaded.key in chains.dangling:
            said = (
                f"{chains.dangling[loaded.key][:64]!r} is no card of this paper; read as an input to be given"
            )
            report.deviations.append(Deviation("dangling-input-from", "input_from", said))

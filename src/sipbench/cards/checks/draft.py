"""Drafts ``eval.json`` from what a card says: its direct checks, rubric and ledger."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sipbench.cards.checks import grammar
from sipbench.cards.checks.grammar import Line
from sipbench.cards.checks.model import EvalFile, parse_eval
from sipbench.cards.load import LoadedCard

__all__ = ["draft_eval"]

# No part of a version (1.12.0) or of a name (ERR458493).
_NUMBER = re.compile(r"(?<![\w.])(?>\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)(?!\w|\.\d)")
_MOST_SOURCES = 10
# Kinds that take one name, text or format: "a or b" is none.
_LITERAL = {"file_exists", "file_format_is", "contains_substring", "field_present"}


@dataclass(frozen=True)
class _Draft:
    """Parameters that a line gives, and what its kind still needs."""

    parameters: dict[str, Any]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def draft_eval(card: LoadedCard) -> EvalFile:
    """The checks that a card supports.

    A typed line becomes a check of its kind: ``ready`` if all parameters stand in it, else ``todo``
    with what is missing. Prose becomes ``expert_review``. A hedged or negated line, and one about the
    repository, is never ready.

    Raises:
        CardError: The capsule cannot be read.
    """
    strategy = card.card.evaluation_strategy
    names = _identities(card)
    checks = [
        _check(card, identity, points, grammar.read_line(text))
        for (identity, points), text in zip(names, strategy.direct_checks, strict=True)
    ]
    taken = {identity for identity, _ in names}
    for number, question in enumerate(strategy.expert_review, start=1):
        checks.append(_review(_free(f"er_{number:03d}", taken), 1.0, question, question))
    document = {
        "schema_version": "1.0.0",
        "capsule_key": card.key,
        "task_id": card.card.task_id,
        "card_sha256": card.sha256,
        "checks": checks,
    }
    return parse_eval(document, f"{card.path}: the draft of its checks")


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _identities(card: LoadedCard) -> list[tuple[str, float]]:
    """Id and points of each direct check: the rubric's, where it lists the same checks."""
    checks = card.card.evaluation_strategy.direct_checks
    rubric = card.capsule.rubric if card.capsule else None
    if rubric is not None and rubric.criteria.direct_checks == checks and len(rubric.checks) == len(checks):
        listed = [(check.id, check.points) for check in rubric.checks]
        if len({identity for identity, _ in listed}) == len(listed):
            return listed
    return [(f"pf_{number:03d}", 1.0) for number in range(1, len(checks) + 1)]


def _review(identity: str, points: float, text: str, question: str, scope: str = "output") -> dict[str, Any]:
    asked = {"id": identity, "points": points, "text": text, "origin": "card", "kind": "expert_review"}
    if scope == "repository":
        return asked | {"status": "todo", "scope": scope, "question": question, "missing": ["output"]}
    return asked | {"status": "ready", "question": question}


def _check(card: LoadedCard, identity: str, points: float, line: Line) -> dict[str, Any]:
    scope = "repository" if line.about_repository else "output"
    if line.token is None or line.token == "expert_review":
        return _review(identity, points, line.text, line.rest or line.text, scope)
    draft = _DRAFTS[line.token](card, line)
    missing, notes = list(draft.missing), list(draft.notes)
    for holds, owed, note in (
        (line.negated, "wording", "the line denies something"),
        (line.hedged, "wording", "the line hedges"),
        (line.alternatives and line.token in _LITERAL, "wording", "the line offers alternatives"),
        (line.tokens > 1, "wording", "the line holds several checks"),
        (line.about_repository, "output", "the line asks about the repository, not about an output"),
    ):
        if holds:
            missing.append(owed)
            notes.append(note)
    return {
        "id": identity,
        "points": points,
        "text": line.text,
        "origin": "card",
        "kind": line.token,
        "status": "todo" if missing else "ready",
        "missing": list(dict.fromkeys(missing)),
        "scope": scope,
        "sources": _sources(card, line.rest),
        "notes": notes,
        **draft.parameters,
    }


def _path(card: LoadedCard, line: Line, *, pattern: bool = False) -> _Draft:
    """The one file that a line names, if the card lets it be an output."""
    names = grammar.files(line.rest)
    if len(names) != 1:
        notes = (f"the line names {len(names)} files",) if names else ()
        return _Draft({}, ("path",), notes)
    name = names[0]
    if ("*" in name and not pattern) or name.startswith("/") or ".." in name.split("/"):
        return _Draft({}, ("path",), (f"{name} is no path of one file",))
    if "*" not in name and (line.several or len(_landmarks(card, name)) > 1):
        return _Draft(
            {"path": name}, ("path",), (f"the line or the card speaks of several files like {name}",)
        )
    if not _is_output(card, name) and not re.search(r"\boutputs?\b", line.rest, re.IGNORECASE):
        return _Draft({"path": name}, ("output",), (f"nothing says that {name} is an output of the task",))
    return _Draft({"path": name})


def _is_output(card: LoadedCard, name: str) -> bool:
    expected = card.card.expected_artifact_name or ""
    return name in (expected, expected.rpartition("/")[2]) or bool(_landmarks(card, name))


def _landmarks(card: LoadedCard, name: str) -> list[str]:
    """The landmark outputs that a name may mean."""
    # Landmarks may carry a remark in parentheses.
    named = [text.partition(" (")[0].strip() for text in card.card.landmark_outputs]
    return [text for text in named if name in (text, text.rpartition("/")[2])]


def _joined(first: _Draft, parameters: dict[str, Any], missing: list[str], *notes: str) -> _Draft:
    return _Draft(first.parameters | parameters, (*first.missing, *missing), (*first.notes, *notes))


def _file_exists(card: LoadedCard, line: Line) -> _Draft:
    return _path(card, line, pattern=True)


def _file_format_is(card: LoadedCard, line: Line) -> _Draft:
    path, named = _path(card, line), grammar.formats(line.rest)
    if len(named) == 1 and named[0] != "?":
        return _joined(path, {"format": named[0]}, [])
    return _joined(
        path, {}, ["format"], *([f"the line names {len(named)} formats"] if len(named) > 1 else [])
    )


def _contains_substring(card: LoadedCard, line: Line) -> _Draft:
    path, texts = _path(card, line), grammar.quoted(line.rest)
    if len(texts) == 1:
        return _joined(path, {"value": texts[0]}, [])
    return _joined(path, {}, ["value"], *([f"the line quotes {len(texts)} texts"] if texts else []))


def _field_present(card: LoadedCard, line: Line) -> _Draft:
    path, fields = _path(card, line), grammar.quoted(line.rest)
    return _joined(path, {"fields": fields}, [] if fields else ["fields"])


def _row_count_equals(card: LoadedCard, line: Line) -> _Draft:
    path, asked = _path(card, line), grammar.count(line.rest)
    if asked is None:
        return _joined(path, {}, ["count"])
    return _joined(path, {"op": asked[0], "count": asked[1]}, [])


def _value_in_range(card: LoadedCard, line: Line) -> _Draft:
    path, asked = _path(card, line), grammar.bounds(line.rest)
    if asked is None:
        return _joined(path, {}, ["selector", "bounds"])
    found = {"min": asked.low, "max": asked.high, "inclusive": asked.inclusive}
    notes = ["the line gives the bounds in percent"] if "%" in line.rest else []
    return _joined(path, found, ["selector"], *notes)


def _output_matches_reference(card: LoadedCard, line: Line) -> _Draft:
    return _joined(_path(card, line), {}, ["reference", "comparator"])


def _script_runs(card: LoadedCard, line: Line) -> _Draft:
    return _Draft({}, ("cmd",))


_DRAFTS: dict[str, Callable[[LoadedCard, Line], _Draft]] = {
    "file_exists": _file_exists,
    "file_format_is": _file_format_is,
    "contains_substring": _contains_substring,
    "field_present": _field_present,
    "row_count_equals": _row_count_equals,
    "value_in_range": _value_in_range,
    "output_matches_reference": _output_matches_reference,
    "script_runs": _script_runs,
}


def _numbers(text: str) -> set[str]:
    """Numbers that tell something: with a decimal point, or of three digits and more."""
    found = (number.replace(",", "") for number in _NUMBER.findall(text))
    return {number for number in found if "." in number or len(number) > 2}


def _sources(card: LoadedCard, text: str) -> list[str]:
    """Where the numbers of a line stand: the finding, snippets of the evidence, claims of the ledger."""
    wanted = _numbers(text)
    if not wanted:
        return []
    named = [("finding", card.card.finding)]
    named += [(snippet.snippet_id, snippet.text) for snippet in card.card.evidence_snippets]
    named += [(claim.claim_id, claim.text) for claim in card.claims]
    return [name for name, said in named if wanted & _numbers(said)][:_MOST_SOURCES]

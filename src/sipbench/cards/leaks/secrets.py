"""What is looked for: the finding, and what of the evidence and the ledger states it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sipbench.cards.leaks.words import RUN, distinctive_numbers, plain_words
from sipbench.cards.load import LoadedCard
from sipbench.cards.model import Card

__all__ = ["Secret", "Weight", "no_finding", "secrets_of"]

type Weight = Literal["block", "warn"]

_NO_FINDING = re.compile(
    r"^the finding should be confirmed|(?:provided|available) (?:document|section|text)"
    r"|^the document (?:does not|provides (?:no|a README)|describes\b.*\bdoes not)|^insufficient evidence",
    re.IGNORECASE,
)
_HEURISTIC = "Create a bounded scientific task"
_SNIPPET = re.compile(r"\[\w+\] (?P<subject>.*?): '(?P<quote>.*)'", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that must not reach an agent.

    Attributes:
        source: ``finding``, or the id of a snippet, claim or result.
        rule: ``finding``, ``evidence`` or ``ledger``.
        words: The text as words.
        weight: ``block`` if it states the answer; ``warn`` if it only stands near it in the paper.
    """

    source: str
    rule: str
    words: tuple[str, ...]
    weight: Weight


def no_finding(card: Card) -> str | None:
    """Why a card's finding is no answer that anything could be compared with; None if it is one."""
    if not plain_words(card.finding):
        return "finding: holds no word"
    if _NO_FINDING.search(card.finding.strip()):
        return "finding: says that the document lacks the answer, or waits for an expert"
    if card.task_description.startswith(_HEURISTIC):
        return "task_description: made by a heuristic, not from the paper"
    return None


def secrets_of(card: LoadedCard) -> list[Secret]:
    """Everything of a card that must not reach an agent.

    Raises:
        CardError: The ledger cannot be read.
    """
    answer = card.card.finding
    found = [Secret("finding", "finding", plain_words(answer), "block")]
    for snippet in card.card.evidence_snippets:
        # "[section] field: 'quotation'": a field that an agent may see is no secret, its quotation is.
        form = _SNIPPET.fullmatch(snippet.text)
        text = form["quote"] if form else snippet.text
        found.append(_secret(snippet.snippet_id, "evidence", text, answer, form["subject"] if form else ""))
    for claim in card.claims:
        for text in (claim.text, claim.source_excerpt or ""):
            found.append(_secret(claim.claim_id, "ledger", text, answer))
    found += [_secret(result.result_id, "ledger", result.summary, answer) for result in card.results]
    return [secret for secret in found if secret.words]


def _secret(source: str, rule: str, text: str, answer: str, subject: str = "") -> Secret:
    weight: Weight = "block" if _states(f"{subject} {text}", answer) else "warn"
    return Secret(source, rule, plain_words(text), weight)


def _states(text: str, answer: str) -> bool:
    """Whether a text states the answer: it shares a run of words or a telling number with it."""
    words, wanted = plain_words(text), plain_words(answer)
    runs = {wanted[at : at + RUN] for at in range(max(1, len(wanted) - RUN + 1))}
    shared = any(words[at : at + len(run)] == run for run in runs for at in range(len(words) - len(run) + 1))
    return shared or bool(distinctive_numbers(text).keys() & distinctive_numbers(answer).keys())

"""What leaks without being an answer: people's paths and addresses, marks, hidden text, orders to a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["ANSWER_FILES", "Trace", "answer_file", "clean", "traces"]

_MARKER = re.compile(
    r"\[/?UNTRUSTED[_ ]?DOCUMENT[^\]\n]{0,80}\]|</?untrusted[_-]document[^>\n]{0,80}>", re.IGNORECASE
)
_HOME = re.compile(
    r"(?<![\w.:/])(?:file://)?(?:/(?:home|Users|root|mnt/[a-z]/Users)/|[A-Za-z]:[\\/]+Users[\\/]+|~[\w.-]*/"
    # A share of another machine; the escapes of a pattern (\\d+\\.) are none.
    r"|(?<![\w\\+*)\]])\\\\[A-Za-z][\w-]+\\+(?=[A-Za-z$]))"
    r"[^\s'\"`<>|:;,)\]}]*|(?<![\w/])/roo[t](?![\w./-])"
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.)+[A-Za-z]{2,24}(?![\w@])")
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|preceding|all|any|these|your)\b"
    r"[^.\n]{0,30}\b(?:instructions?|prompts?|rules|checks?|tests?|messages?)\b"
    r"|\byou are (?:now|no longer)\b|\bsystem prompt\b|\bas an? (?:AI|language) model\b"
    r"|<\|im_(?:start|end)\|>"
    r"|\breveal\b[^.\n]{0,40}\b(?:instructions?|prompt|answers?|tests?)\b|^\s*(?:system|assistant)\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)

ANSWER_FILES = frozenset(
    {
        "source_snippets.md", "claims.jsonl", "results.jsonl", "review_rubric.json", "evaluation_strategy.md",
        "artifact_provenance.json", "dataset_preview.md", "task_card.json", "workflow_challenge.md",
        "eval.json", "result.json", "checks.json",
    }
)  # fmt: skip
"""Names, in lower case, of files that state a card's answer or how it is graded."""
_CARD_FILE = re.compile(r"task_\d{3,}\.(?:json|md)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Trace:
    """Something that should not leave.

    Attributes:
        rule: ``absolute-path``, ``e-mail``, ``untrusted-marker``, ``order-to-a-model`` or ``hidden-text``.
        text: What was found, as it stands.
        at: Where in the text, in characters.
    """

    rule: str
    text: str
    at: int


_RULES = {
    "absolute-path": _HOME,
    "e-mail": _MAIL,
    "untrusted-marker": _MARKER,
    "order-to-a-model": _ORDER,
    "hidden-text": _HIDDEN,
}


def traces(text: str) -> Iterator[Trace]:
    """Yield what should not leave, rule by rule."""
    for rule, pattern in _RULES.items():
        for found in pattern.finditer(text):
            yield Trace(rule, found[0], found.start())


def clean(text: str) -> str:
    """A card's text as it may leave.

    Marks of untrusted documents and invisible characters go, each by itself, since marks need not come
    in pairs; a path below somebody's home keeps its last part; a mail address goes. Orders to a model
    stay: they cannot be told from a task's own words, so the guard stops them.
    """
    text = _HIDDEN.sub("", _MARKER.sub("", unicodedata.normalize("NFC", text)))
    text = _HOME.sub(lambda found: re.split(r"[/\\]", found[0].rstrip("/\\"))[-1], text)
    return _MAIL.sub("[address removed]", text)


def answer_file(path: str) -> bool:
    """Whether a file is called as those are that state an answer."""
    name = path.rpartition("/")[2]
    return name.lower() in ANSWER_FILES or bool(_CARD_FILE.fullmatch(name))

"""Texts as words: what two texts share once spelling no longer differs."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["RUN", "Word", "distinctive_numbers", "plain_words", "words_of"]

RUN = 8
"""A run of this many words that two texts share is no coincidence."""

# A word broken at the end of a line is one word; other hyphens and dashes part words.
_BROKEN = re.compile(r"(?<=\w)[-‐‑]\s*\n\s*(?=[^\W\d_])")
_THOUSANDS = re.compile(r"(?<=\d)[,' \u2009\u202f](?=\d{3}(?!\d))")
_WORD = re.compile(r"\d+(?:\.\d+)+|[^\W_]+")
_NUMBER = re.compile(
    r"(?<![\w.])(?P<number>\d+(?:[,\u2009\u202f]\d{3})*(?:\.\d+)?(?:[eE][-+−]?\d+)?)(?!\.?\d)"
    r"(?:\s?(?P<unit>%|‰|°C|[µμ]?[a-zA-ZΩ]{1,4}(?:/[a-zA-Z]{1,4})?\b))?"
)
_INVISIBLE = {"Cf", "Cc", "Mn", "Me"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        text: Normalised.
        start, end: Where it stands in the normalised text.
    """

    text: str
    start: int
    end: int


def normalised(text: str) -> str:
    """Compatibility forms, lower case, no accents and nothing invisible."""
    text = _BROKEN.sub("", text)
    folded = unicodedata.normalize("NFKD", text).casefold()
    if not folded.isascii():
        kept = (c for c in folded if c in "\n\t" or unicodedata.category(c) not in _INVISIBLE)
        folded = "".join(kept)
    return _THOUSANDS.sub("", folded)


def words_of(text: str) -> list[Word]:
    """The words of a text, with their places in its normalised form."""
    return [Word(found[0], found.start(), found.end()) for found in _WORD.finditer(normalised(text))]


@lru_cache(maxsize=4096)
def plain_words(text: str) -> tuple[str, ...]:
    """The words of a text without their places."""
    return tuple(_WORD.findall(normalised(text)))


def distinctive_numbers(text: str) -> dict[str, str]:
    """The numbers that tell something, each with the unit that follows it.

    A number tells something with a decimal point, an exponent, a unit of measure, or three and more
    digits; a year alone does not, nor does a part of a name or of a version.
    """
    found: dict[str, str] = {}
    for match in _NUMBER.finditer(unicodedata.normalize("NFKC", text)):
        number = re.sub(r"[,\u2009\u202f]", "", match["number"])
        unit = match["unit"] or ""
        if unit and not _is_unit(unit):
            unit = ""
        year = re.fullmatch(r"(?:19|20)\d\d", number) and not unit
        telling = "." in number or "e" in number.lower() or len(number) > 2 or unit
        if telling and not year:
            found.setdefault(number, unit)
    return found


_UNITS = frozenset(
    {
        "%", "‰", "°c", "bp", "kb", "mb", "gb", "tb", "kbp", "mbp", "nm", "um", "µm", "μm", "mm", "cm", "m",
        "km", "ms", "s", "min", "h", "hz", "khz", "mhz", "ghz", "g", "kg", "mg", "ug", "µg", "μg", "ng", "l",
        "ml", "ul", "µl", "μl", "da", "kda", "mda", "ppm", "ppb", "k", "ev", "kev", "v", "mv", "a", "w", "kw",
        "j", "kj", "kcal", "mol", "mmol", "nt", "aa", "fold", "x",
    }
)  # fmt: skip


def _is_unit(text: str) -> bool:
    return all(part.lower() in _UNITS for part in text.split("/"))

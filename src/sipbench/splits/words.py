"""Task texts as words, and words as sets of shingles.

What counts as the same text, in this order:

1. Unicode NFKC, case folding, NFKC again; invisible format characters are dropped.
2. A word is a run of letters and digits; white space, punctuation and ``_`` only separate. Each
   character of a script that is written without spaces (Han, Kana, Thai, Lao, Burmese, Khmer) is a
   word of its own.
3. A shingle is ``size`` words in a row; a text with fewer words is one shingle by itself.

Only the first ``MAX_CHARACTERS`` of a text are looked at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["MAX_CHARACTERS", "ShingleSets", "normal_text", "shingle_sets", "word_shingles"]

MAX_CHARACTERS = 200_000
"""A longer text is cut: one task must not take the memory of all."""

_WORD = re.compile(r"[^\W_]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff])"
)
_ASCII = str.maketrans({chr(code): chr(code).lower() if chr(code).isalnum() else " " for code in range(128)})
# Normalising a run of combining marks takes quadratic time: no piece is longer than this.
_PIECE = 1024
_CHUNK_BYTES = 1 << 20

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]


def normal_text(text: str) -> str:
    """The words of ``text`` in order, one space between them; empty if it has none."""
    text = text[:MAX_CHARACTERS]
    if text.isascii():  # the same, several times as fast
        return " ".join(text.translate(_ASCII).split())
    return " ".join(_WORD.findall(_folded(text)[:MAX_CHARACTERS]))


def _folded(text: str) -> str:
    text = " ".join(map(_normalised, _pieces(_INVISIBLE.sub("", text))))
    return _UNSPACED.sub(r" \1 ", text)


def _normalised(piece: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", piece).casefold())


def _pieces(text: str) -> Iterator[str]:
    for word in text.split():
        for start in range(0, len(word), _PIECE):
            yield word[start : start + _PIECE]


def word_shingles(normal: str, size: int) -> set[tuple[str, ...]]:
    """The shingles of a normal text, as words."""
    words = normal.split()
    return {tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1))}


@dataclass(frozen=True, slots=True)
class ShingleSets:
    """The shingles of n texts, hashed.

    Attributes:
        hashes: All sets one after the other; each sorted, without repetition.
        bounds: Shape (n + 1,): set i is ``hashes[bounds[i]:bounds[i + 1]]``.
    """

    hashes: U64
    bounds: I64

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def sizes(self) -> I64:
        """The number of different shingles of each text."""
        return np.diff(self.bounds)


def shingle_sets(normal: Sequence[str], size: int) -> ShingleSets:
    """Hash the shingles of normal texts, none of them empty, to 64 bits.

    A shingle is a stretch of bytes between two spaces, so a polynomial hash over prefixes gives the
    hash of every shingle of many texts without a loop over words.
    """
    hashes, counts = [np.zeros(0, np.uint64)], [np.zeros(1, np.int64)]
    for chunk in _chunks(normal):
        flat, count = _hashed(chunk, size)
        hashes.append(flat)
        counts.append(count)
    return ShingleSets(np.concatenate(hashes), np.cumsum(np.concatenate(counts)))


def _chunks(normal: Sequence[str]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    room = _CHUNK_BYTES
    for text in normal:
        chunk.append(text.encode())
        room -= len(chunk[-1]) + 1
        if room < 0:
            yield chunk
            chunk, room = [], _CHUNK_BYTES
    if chunk:
        yield chunk


def _hashed(texts: list[bytes], size: int) -> tuple[U64, I64]:
    data = np.frombuffer(b" ".join(texts), np.uint8)
    spaces = np.flatnonzero(data == 32)
    starts = np.concatenate([[0], spaces + 1])
    ends = np.concatenate([spaces, [len(data)]])
    words = np.array([text.count(b" ") + 1 for text in texts])
    first = np.cumsum(words) - words
    shingles = np.maximum(words - size + 1, 1)
    of_text = np.repeat(np.arange(len(texts)), shingles)
    place = np.arange(len(of_text)) - np.repeat(np.cumsum(shingles) - shingles, shingles)
    word = first[of_text] + place
    last = word + np.minimum(size, words[of_text]) - 1
    return _as_sets(_polynomial(data, starts[word], ends[last]), shingles)


def _as_sets(hashes: U64, counts: I64) -> tuple[U64, I64]:
    bounds = np.cumsum(counts)
    for start, end in zip((bounds - counts).tolist(), bounds.tolist(), strict=True):
        hashes[start:end].sort()
    new = np.ones(len(hashes), bool)
    new[1:] = hashes[1:] != hashes[:-1]
    new[bounds - counts] = True
    return hashes[new], np.add.reduceat(new, bounds - counts, dtype=np.int64)


_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it has an inverse modulo 2^64
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))


def _polynomial(data: npt.NDArray[np.uint8], start: I64, end: I64) -> U64:
    """Hash of ``data[start:end]`` for each pair: sum of byte times base^place, modulo 2^64, then mixed."""
    power = np.full(len(data) + 1, _BASE)
    power[0] = 1
    np.cumprod(power, out=power)
    prefix = np.zeros(len(data) + 1, np.uint64)
    np.cumsum(data * power[:-1], out=prefix[1:])
    power[1:] = _INVERSE
    np.cumprod(power, out=power)
    return _mixed((prefix[end] - prefix[start]) * power[start])


def _mixed(value: U64) -> U64:
    """The 64-bit finalizer of MurmurHash3 (Appleby, public domain): each bit depends on all."""
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    value ^= value >> np.uint64(33)
    return value

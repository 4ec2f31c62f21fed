"""Which sets of shingles are similar: by an index of the shingles that texts share.

The index counts what any two texts share and misses nothing. It is used as long as shingles are
rare, which they are in texts that were not made from a few templates; where too many texts share too
much, :mod:`sipbench.splits.lsh` takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sipbench.splits.words import ShingleSets

__all__ = [
    "EPS",
    "Measure",
    "Pairs",
    "least_jaccard",
    "no_pairs",
    "pairs_by_index",
    "shared_counts",
    "similarities",
]

Measure = Literal["jaccard", "containment"]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
U64 = npt.NDArray[np.uint64]

INDEX_HASHES = 50_000_000
"""The index sorts all hashes at once: above this it would not fit beside them."""
INDEX_WORK = 400_000_000
"""Additions that the index may take: the sum over shingles of the squared number of their texts."""
INDEX_PAIRS = 2_000_000
EPS = 1e-9
"""6 of 12 is similar at 0.5, whatever the rounding."""
_BLOCK_WORK = 10_000_000
_COUNTED = 1 << 12  # pairs counted at a time: 12 bits of a key name the pair


@dataclass(frozen=True, slots=True)
class Pairs:
    """Similar pairs of texts, each with the smaller index first.

    Attributes:
        first: Index of the one, shape (pairs,).
        second: Index of the other, shape (pairs,).
        similarity: In [0, 1], at least the threshold, shape (pairs,).
        complete: Whether every pair that the method found stands here; else only enough of them to
            connect what belongs together.
    """

    first: I64
    second: I64
    similarity: F64
    complete: bool

    def sorted(self) -> Pairs:
        """The same pairs by falling similarity, then by index."""
        order = np.lexsort((self.second, self.first, -self.similarity))
        return Pairs(self.first[order], self.second[order], self.similarity[order], self.complete)


def no_pairs() -> Pairs:
    """Nothing is similar to anything."""
    none = np.zeros(0, np.int64)
    return Pairs(none, none, np.zeros(0), complete=True)


def similarities(shared: I64, first: I64, second: I64, measure: Measure) -> F64:
    """Jaccard ``shared / union``, or containment ``shared / size of the smaller``.

    Args:
        shared: Shingles that the two have in common.
        first: Number of shingles of the one.
        second: Number of shingles of the other.
        measure: Which of the two measures.
    """
    if measure == "jaccard":
        return shared / (first + second - shared)
    return shared / np.minimum(first, second)


def least_jaccard(threshold: float, first: I64, second: I64, measure: Measure) -> F64:
    """The Jaccard similarity that sets of these sizes have at the threshold of ``measure``."""
    if measure == "jaccard":
        return np.full(len(first), threshold)
    shared = threshold * np.minimum(first, second)
    return shared / (first + second - shared)


def pairs_by_index(
    sets: ShingleSets, threshold: float, measure: Measure, *, limited: bool = True
) -> Pairs | None:
    """Every similar pair; None where ``limited`` and the index would take too much."""
    if limited and len(sets.hashes) > INDEX_HASHES:
        return None
    texts, columns, counts = _shared_shingles(sets)
    if limited and float(np.square(counts, dtype=np.float64).sum()) > INDEX_WORK:
        return None
    from scipy.sparse import csr_matrix

    shape = (len(sets), len(counts))
    table = csr_matrix((np.ones(len(texts), np.int32), (texts, columns)), shape=shape)
    work = np.cumsum(np.bincount(texts, weights=counts[columns], minlength=len(sets)))
    found: list[tuple[I64, I64, F64]] = []
    total, start = 0, 0
    while start < len(sets):
        done = work[start - 1] if start else 0.0
        end = max(start + 1, int(np.searchsorted(work, done + _BLOCK_WORK, side="right")))
        found.append(_similar_rows(table, start, end, sets.sizes, threshold, measure))
        total += len(found[-1][0])
        if limited and total > INDEX_PAIRS:
            return None
        start = end
    first, second, similarity = (np.concatenate(part) for part in zip(*found, strict=True))
    return Pairs(first, second, similarity, complete=True)


def _shared_shingles(sets: ShingleSets) -> tuple[I64, I64, I64]:
    """(text, column) of every entry whose shingle stands in two texts or more; texts per column."""
    order = np.argsort(sets.hashes)
    hashes = sets.hashes[order]
    new = np.ones(len(hashes), bool)
    new[1:] = hashes[1:] != hashes[:-1]
    counts = np.diff(np.append(np.flatnonzero(new), len(hashes)))
    common = np.repeat(counts > 1, counts)
    texts = np.repeat(np.arange(len(sets)), sets.sizes)[order[common]]
    counts = counts[counts > 1]
    return texts, np.repeat(np.arange(len(counts)), counts), counts


def _similar_rows(
    table: Any, start: int, end: int, sizes: I64, threshold: float, measure: Measure
) -> tuple[I64, I64, F64]:
    product = (table[start:end] @ table.T).tocoo()
    first, second = product.row.astype(np.int64) + start, product.col.astype(np.int64)
    once = second > first
    first, second, shared = first[once], second[once], product.data[once].astype(np.int64)
    similarity = similarities(shared, sizes[first], sizes[second], measure)
    similar = similarity >= threshold - EPS
    return first[similar], second[similar], similarity[similar]


def shared_counts(sets: ShingleSets, first: I64, second: I64) -> I64:
    """How many shingles each pair of sets shares, shape (pairs,)."""
    counts = [np.zeros(0, np.int64)]
    for at in range(0, len(first), _COUNTED):
        counts.append(_shared(sets, first[at : at + _COUNTED], second[at : at + _COUNTED]))
    return np.concatenate(counts)


def _shared(sets: ShingleSets, first: I64, second: I64) -> I64:
    # A hash that stands twice under one pair's number is in both sets, since no set repeats one. The
    # number takes the place of 12 bits of the hash; 52 are left.
    keys = np.concatenate([_numbered(sets, first), _numbered(sets, second)])
    keys.sort()
    twice = keys[1:][keys[1:] == keys[:-1]] >> np.uint64(52)
    return np.bincount(twice.astype(np.int64), minlength=len(first))


def _numbered(sets: ShingleSets, members: I64) -> U64:
    sizes = sets.sizes[members]
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    hashes = sets.hashes[np.repeat(sets.bounds[members], sizes) + place]
    number = np.repeat(np.arange(len(members), dtype=np.uint64), sizes)
    keys: U64 = (hashes >> np.uint64(12)) | (number << np.uint64(52))
    return keys

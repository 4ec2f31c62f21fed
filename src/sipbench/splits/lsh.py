"""Similar pairs by locality-sensitive hashing: MinHash bands give candidates, counting decides.

Where very many texts fall into one bucket of a band (templates, boilerplate), not all pairs of them
can be looked at. Then each is compared with the bucket's first and with its neighbours, texts that
are connected already are left alone, and the result says that it is not complete: what belongs
together is still connected, but not every pair of it is listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sipbench.splits.similar import EPS, Measure, Pairs, least_jaccard, shared_counts, similarities
from sipbench.splits.sketch import Banding, band_keys
from sipbench.splits.words import ShingleSets

__all__ = ["components", "pairs_by_minhash"]

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
U32 = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

WHOLE_BUCKET = 32
"""Buckets of up to this many texts are compared pair by pair."""
NEIGHBOURS = 8
"""In a larger one each text is compared with the first and with this many that follow it."""
PLENTY = 100_000
"""Once this many pairs are found, texts that are connected already are left alone."""
COUNTED = 1_500_000
"""Candidates that are counted at most, shared evenly over the bands."""
_COMPARED = 1 << 16  # signatures compared at a time


@dataclass
class _Search:
    sets: ShingleSets
    signature: U32
    threshold: float
    measure: Measure
    complete: bool = True
    seen: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    _first: list[I64] = field(default_factory=list)
    _second: list[I64] = field(default_factory=list)
    _similarity: list[F64] = field(default_factory=list)

    def __post_init__(self) -> None:
        # One byte of each value tells two of them apart 255 times in 256; whole values are in the keys.
        self._bytes = self.signature.astype(np.uint8)

    def __len__(self) -> int:
        return sum(map(len, self._first))

    def pairs(self) -> Pairs:
        """All similar pairs so far."""
        none = np.zeros(0, np.int64)
        return Pairs(
            np.concatenate([none, *self._first]),
            np.concatenate([none, *self._second]),
            np.concatenate([np.zeros(0), *self._similarity]),
            self.complete,
        )

    def groups(self) -> I64:
        """What is connected so far."""
        found = self.pairs()
        return components(len(self.sets), found.first, found.second)

    def count(self, first: I64, second: I64, room: int) -> None:
        """Count what the new ones among these candidates share; at most ``room`` of them."""
        size = len(self.sets)
        code = _distinct(np.minimum(first, second) * size + np.maximum(first, second))
        code = code[~_contains(self.seen, code)]
        kept, estimate = self._promising(code // size, code % size)
        code = code[kept]
        if len(code) > room:
            self.complete = False
            code = code[np.argsort(-estimate, kind="stable")[:room]]
        self.seen = np.sort(np.concatenate([self.seen, code]))
        first, second, sizes = code // size, code % size, self.sets.sizes
        shared = shared_counts(self.sets, first, second)
        similarity = similarities(shared, sizes[first], sizes[second], self.measure)
        similar = similarity >= self.threshold - EPS
        self._first.append(first[similar])
        self._second.append(second[similar])
        self._similarity.append(similarity[similar])

    def _promising(self, first: I64, second: I64) -> tuple[I64, F64]:
        """Which candidates agree in nearly as many places as they must, and the share of them."""
        sizes, permutations = self.sets.sizes, self.signature.shape[1]
        estimate = np.empty(len(first))
        for at in range(0, len(first), _COMPARED):
            part = slice(at, at + _COMPARED)
            estimate[part] = (self._bytes[first[part]] == self._bytes[second[part]]).mean(axis=1)
        least = least_jaccard(self.threshold, sizes[first], sizes[second], self.measure)
        # The estimate is a mean of coin throws: four standard deviations below lose about 3 in 100,000.
        kept = np.flatnonzero(estimate >= least - 4 * np.sqrt(least * (1 - least) / permutations))
        return kept, estimate[kept]


def pairs_by_minhash(
    sets: ShingleSets, signature: U32, bands: Banding, threshold: float, measure: Measure
) -> Pairs:
    """Similar pairs among those that agree in a band of their signatures."""
    search = _Search(sets, signature, threshold, measure)
    for band in range(bands.bands):
        _search_band(search, *_buckets(signature, band, bands), left=bands.bands - band)
    return search.pairs()


def _buckets(signature: U32, band: int, bands: Banding) -> tuple[I64, I64]:
    """The texts in order of their bucket, and the place where the bucket of each place starts."""
    key = band_keys(signature, band, bands.rows)
    # Within a bucket, those that agree in the next band too become neighbours.
    tie = band_keys(signature, (band + 1) % bands.bands, bands.rows)
    order = np.lexsort((tie, key))
    new = np.ones(len(order), bool)
    new[1:] = key[order[1:]] != key[order[:-1]]
    starts = np.flatnonzero(new)
    return order, np.repeat(starts, np.diff(np.append(starts, len(order))))


def _search_band(search: _Search, order: I64, start: I64, left: int) -> None:
    room = (COUNTED - len(search.seen)) // left
    large = (np.bincount(start, minlength=len(start)) > WHOLE_BUCKET)[start]
    if len(search) > PLENTY:
        large[:] = True
    group = None
    if large.any():
        search.complete = False
        place = np.flatnonzero(large & (start != np.arange(len(start))))
        first, second, group = order[start[place]], order[place], search.groups()
        apart = group[first] != group[second]
        search.count(first[apart], second[apart], room)
        group = search.groups()
    search.count(*_neighbours(order, start, large, group), room)


def _neighbours(order: I64, start: I64, large: Mask, group: I64 | None) -> tuple[I64, I64]:
    """All pairs of the smaller buckets; in the larger ones neighbours that are not yet connected."""
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for shift in range(1, WHOLE_BUCKET):
        same = np.flatnonzero(start[shift:] == start[:-shift])
        if group is not None:
            apart = group[order[same]] != group[order[same + shift]]
            same = same[~large[same] | (apart & (shift <= NEIGHBOURS))]
        first.append(order[same])
        second.append(order[same + shift])
    return np.concatenate(first), np.concatenate(second)


def _distinct(codes: I64) -> I64:
    # Sorting is several times as fast as the hash table of numpy's own `unique` on millions of numbers.
    codes = np.sort(codes)
    new = np.ones(len(codes), bool)
    new[1:] = codes[1:] != codes[:-1]
    return codes[new]


def _contains(ordered: I64, codes: I64) -> Mask:
    if not len(ordered):
        return np.zeros(len(codes), bool)
    place = np.searchsorted(ordered, codes)
    equal: Mask = ordered[np.minimum(place, len(ordered) - 1)] == codes
    return equal


def components(count: int, first: I64, second: I64) -> I64:
    """The connected component of each of ``count`` nodes under the given links, numbered from 0."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    links = coo_matrix((np.ones(len(first), np.int8), (first, second)), shape=(count, count))
    _, label = connected_components(links, directed=False)
    return np.asarray(label, np.int64)

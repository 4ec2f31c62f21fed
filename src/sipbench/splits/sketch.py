"""MinHash signatures of many sets at once, and the bands that make candidates of similar ones.

The permutations are datasketch's (scheme ``affine32``), and a signature is the one that its
``MinHash`` makes of the same hashes; but one set at a time costs it about ten times as much, and its
index of 100,000 sets takes over a gigabyte, so hashing and banding are done on arrays here
(``benchmarks/bench_near_duplicates.py`` compares the two in one run).

Source: Broder (1997), "On the resemblance and containment of documents"; Leskovec, Rajaraman and
Ullman, "Mining of Massive Datasets", chapter 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sipbench.errors import MissingExtraError
from sipbench.splits.words import ShingleSets

__all__ = ["Banding", "band_keys", "banding", "signatures"]

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

WANTED_RECALL = 0.99
_BLOCK = 1 << 16  # hashes at a time: stays in the processor's cache


@dataclass(frozen=True, slots=True)
class Banding:
    """How signatures are cut into bands; two sets that agree in a whole band are candidates.

    Attributes:
        bands: Number of bands.
        rows: Number of permutations in each.
        recall: Probability that two sets just at the threshold agree in a band.
    """

    bands: int
    rows: int
    recall: float


def banding(jaccard: float, permutations: int) -> Banding:
    """The most rows per band with which sets of this Jaccard similarity are found nearly always.

    ``recall = 1 - (1 - jaccard^rows)^bands``, at least 0.99 where that many permutations can give it.
    """
    for rows in range(permutations, 0, -1):
        bands = permutations // rows
        recall = 1 - (1 - jaccard**rows) ** bands
        if recall >= WANTED_RECALL or rows == 1:
            return Banding(bands, rows, recall)
    raise ValueError("permutations must be positive")


def signatures(sets: ShingleSets, permutations: int, seed: int) -> U32:
    """MinHash signatures, shape (sets, permutations).

    Raises:
        MissingExtraError: datasketch is not installed.
    """
    factors, terms = _permutations(permutations, seed)
    signature = np.empty((len(sets), permutations), np.uint32)
    for first, last in _blocks(sets):
        start, end = sets.bounds[first], sets.bounds[last]
        hashes = _mixed((sets.hashes[start:end] >> np.uint64(32)).astype(np.uint32))
        offsets = sets.bounds[first:last] - start
        permuted = np.empty_like(hashes)
        for column in range(permutations):
            np.multiply(hashes, factors[column], out=permuted)
            np.add(permuted, terms[column], out=permuted)
            signature[first:last, column] = np.minimum.reduceat(permuted, offsets)
    return signature


def _permutations(count: int, seed: int) -> tuple[U32, U32]:
    try:
        from datasketch import MinHash
    except ImportError:
        raise MissingExtraError("a near-duplicate search over this many texts", "splits") from None
    factors, terms = MinHash(num_perm=count, seed=seed, scheme="affine32").permutations
    return factors, terms


def _blocks(sets: ShingleSets) -> list[tuple[int, int]]:
    blocks, first = [], 0
    while first < len(sets):
        last = int(np.searchsorted(sets.bounds, sets.bounds[first] + _BLOCK, side="right")) - 1
        last = min(max(last, first + 1), len(sets))
        blocks.append((first, last))
        first = last
    return blocks


def _mixed(value: U32) -> U32:
    """The 32-bit finalizer of MurmurHash3, which datasketch puts before its permutations."""
    value ^= value >> np.uint32(16)
    value *= np.uint32(0x85EBCA6B)
    value ^= value >> np.uint32(13)
    value *= np.uint32(0xC2B2AE35)
    value ^= value >> np.uint32(16)
    return value


def band_keys(signature: U32, band: int, rows: int) -> U64:
    """One number per set that is equal where all rows of the band are."""
    key = np.zeros(len(signature), np.uint64)
    for column in range(band * rows, (band + 1) * rows):
        key = (key ^ signature[:, column]) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key

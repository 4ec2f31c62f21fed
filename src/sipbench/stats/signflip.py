"""The sign-flip permutation test, flipping whole families.

Under the null "nothing changed" with as many attempts before as after, each
family's sum of differences is as likely negative as positive. The p-value is printed
beside the interval, which decides; with fewer than ten families both must agree.

References:
    Fisher (1935), The Design of Experiments, section 21.
    Phipson & Smyth (2010), Permutation p-values should never be zero, SAGMB 9(1), 39:
    the (b + 1)/(B + 1) of drawn flips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sipbench.stats._arrays import Floats, group, vector

MAX_EXACT_FAMILIES = 14
DRAWS = 9_999

# Family sums closer than this share of the largest are ties: they differ by rounding.
_DIGITS = 12
_CHUNK = 4_000_000
_ROWS = 128


@dataclass(frozen=True, slots=True)
class SignFlip:
    """Two-sided sign-flip p-value.

    Attributes:
        p: The p-value; 1 where every family sum is zero.
        method: ``exact`` if all flips were enumerated, ``monte_carlo`` if drawn.
        flips: Flips looked at: 2^G of G non-zero families, or the number of draws.
        n_nonzero: Families whose sum is not zero; only these can be flipped.
        smallest_p: The least p-value that so many families can reach.
        seed: Seed of the draws, or None where enumerated.
    """

    p: float
    method: Literal["exact", "monte_carlo"]
    flips: int
    n_nonzero: int
    smallest_p: float
    seed: int | None


def sign_flip(
    d: ArrayLike, families: ArrayLike | None = None, *, draws: int = DRAWS, seed: int = 0
) -> SignFlip:
    """Test "the differences are symmetric about 0" by flipping the signs of whole families.

    The statistic is ``|sum_g s_g S_g|``, S_g the sum of the differences in family g and
    s_g its sign. Families with ``S_g = 0`` contribute nothing and are left out, which
    changes no p-value. All 2^G flips are enumerated up to 14 such families; beyond,
    ``(b + 1)/(B + 1)`` with b of the B drawn flips at least as extreme. Ties count as
    extreme, so the test is conservative where scores are coarse. It is exact only if
    tasks had as many attempts before as after. For one attempt each it is the binomial
    test of the discordant pairs (McNemar's exact test).

    Args:
        d: Per-task differences, shape (n,), score units.
        families: Family label of each task, shape (n,), or None.
        draws: B, used beyond 14 non-zero families.
        seed: Seed of the draws; the result depends on it and on no row order.

    Raises:
        ValueError: ``d`` is not 1-D or not finite, or the labels do not fit it.
    """
    values = vector(d, "d")
    by_family = group(families, values.size)
    sums = np.abs(by_family.sums(values))
    signed = by_family.sums(values)
    scale = float(sums.max(initial=0.0))
    # Cancelled sums are zero up to the rounding of the terms, not of themselves.
    noise = 10.0**-_DIGITS * float(np.abs(values).max(initial=0.0))
    keep = sums > noise * np.maximum(by_family.sizes, 1)
    n_nonzero = int(keep.sum())
    if n_nonzero == 0:
        return SignFlip(1.0, "exact", 1, 0, 1.0, None)
    units = np.sort(np.round(sums[keep] / scale, _DIGITS))
    observed = abs(float(np.sum(np.round(signed[keep] / scale, _DIGITS))))
    threshold = observed - 10.0 ** (3 - _DIGITS) * float(units.sum())
    smallest = 2.0 ** (1 - n_nonzero)
    if n_nonzero <= MAX_EXACT_FAMILIES:
        p = float(np.mean(np.abs(_all_totals(units)) >= threshold))
        return SignFlip(p, "exact", 2**n_nonzero, n_nonzero, smallest, None)
    extreme = _drawn_extremes(units, threshold, draws, np.random.default_rng(seed))
    p = (extreme + 1) / (draws + 1)
    return SignFlip(p, "monte_carlo", draws, n_nonzero, max(smallest, 1 / (draws + 1)), seed)


def _all_totals(units: Floats) -> Floats:
    """Totals of all sign choices with the first sign fixed, which suffices for two sides."""
    totals = units[:1]
    for unit in units[1:]:
        totals = np.concatenate([totals + unit, totals - unit])
    return totals


def _drawn_extremes(units: Floats, threshold: float, draws: int, rng: np.random.Generator) -> int:
    # Tied families are exchangeable: how many of them flip is binomial, and coarse
    # scores leave few distinct values however many tasks there are.
    distinct, counts = np.unique(units, return_counts=True)
    tied, single = counts > 1, distinct[counts == 1]
    values, sizes = distinct[tied], counts[tied]
    whole = float(units.sum())
    extreme = 0
    step = max(1, _CHUNK // max(1, distinct.size))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        positive = rng.binomial(sizes, 0.5, size=(rows, sizes.size)) @ values
        if single.size:
            packed = rng.integers(0, 256, size=(rows, -(-single.size // 8)), dtype=np.uint8)
            positive = positive + _subset_sums(packed, single)
        extreme += int(np.count_nonzero(np.abs(2.0 * positive - whole) >= threshold))
    return extreme


def _subset_sums(packed: NDArray[np.uint8], values: Floats) -> Floats:
    """Sum of the values whose bit is set in each row of ``packed``, shape (rows,)."""
    # Few rows at a time: as floats they must fit into the processor's cache.
    blocks = (packed[start : start + _ROWS] for start in range(0, packed.shape[0], _ROWS))
    return np.concatenate([np.unpackbits(block, axis=1, count=values.size) @ values for block in blocks])

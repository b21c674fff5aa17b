"""One exact test of all rows of a report together: how large can the largest of them get by chance?

If a release changes nothing, each pair of runs could as well have been swapped. A swap flips the signs of the pair's differences, in all rows at
once, so whatever the rows of a pair share stays shared. The test flips the signs in all ways (of many pairs: in a fixed random sample of them).
Each time it looks at the largest statistic of any row. The p-value of a row is the share of flips whose largest statistic is at least that of the
row. It is already adjusted for the number of rows, and exact if the differences of a pair are symmetric.

Source:
    Westfall & Young (1993), "Resampling-Based Multiple Testing", the single-step maximum; Phipson & Smyth (2010), "Permutation p-values should
    never be zero", for samples of the flips; Wallace (1959), "Bounds on normal approximations to Student's and the chi-square distributions".
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_FLIPS = 4096  # all flips of 13 pairs; of more pairs as large a sample
_AT_ONCE = 1_000_000  # elements of the largest matrix: 8 MB stay in the cache of a processor
_DIGITS = 12  # Equal statistics must stay equal, in whatever order their terms were added.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class PairedRows(NamedTuple):
    """Rows with equally many pairs: the differences, and for each the number of its pair. Rows with the same number share the pair.

    All three have one row for each row of the report: places, shape (rows,), differences and pairs, shape (rows, pairs).
    """

    rows: Integers
    differences: Floats
    pairs: Integers


def flips_of(pairs: int) -> int:
    """How many flips of the signs of so many pairs the test looks at. A flip and its mirror image count once: they give the same size."""
    return int(min(2 ** min(pairs - 1, 62), MOST_FLIPS))


def by_largest(batches: Sequence[PairedRows], total: int) -> Floats:
    """The p-value of each row by the largest of all rows; NaN for the other rows of the report.

    Args:
        batches: the rows that are tested together.
        total: how many rows the report has.
    """
    p = np.full(total, np.nan)
    if not batches:
        return p
    numbers = np.unique(np.concatenate([batch.pairs.reshape(-1) for batch in batches]))
    signs = _signs(len(numbers))
    largest = np.zeros(len(signs))
    seen: list[tuple[Integers, Floats]] = []
    for rows, found in _statistics(batches, numbers, signs):
        np.maximum(largest, found.max(axis=0), out=largest)
        seen.append((rows, found[:, 0].copy()))  # the first flip changes no sign
    largest.sort()
    for rows, own in seen:
        p[rows] = 1 - np.searchsorted(largest, own, side="left") / len(largest)
    return p


def _statistics(batches: Sequence[PairedRows], numbers: Integers, signs: Floats) -> Iterator[tuple[Integers, Floats]]:
    """Yield for some rows at a time their places and the statistic under each flip, shape (rows, flips)."""
    step = max(1, _AT_ONCE // len(signs))
    for batch in batches:
        same_pairs, which = np.unique(batch.pairs, axis=0, return_inverse=True)
        for index, pairs in enumerate(same_pairs):
            members = np.flatnonzero(which.reshape(-1) == index)
            flips = signs[:, np.searchsorted(numbers, pairs)].T
            for first in range(0, len(members), step):
                part = members[first : first + step]
                yield batch.rows[part], _comparable(batch.differences[part], flips)


def _comparable(differences: Floats, flips: Floats) -> Floats:
    """Student's t of each row under each flip, on a scale that is the same for any number of pairs: about that of a squared normal variable.

    The sum of squares is the same under all flips. So the share of the squared sum in it, between 0 and 1, is all that t depends on.
    """
    pairs = differences.shape[1]
    squares = (differences**2).sum(axis=1, keepdims=True) * pairs
    share = (differences @ flips) ** 2
    share = np.divide(share, squares, out=np.zeros_like(share), where=squares > 0)
    np.minimum(np.round(share, _DIGITS), 1.0, out=share)
    freedom = pairs - 1
    with np.errstate(divide="ignore"):  # pairs that all differ by the same amount: infinite, as it should be
        np.negative(np.log1p(-share), out=share)
    return np.asarray(share * freedom * ((8 * freedom + 1) / (8 * freedom + 3)) ** 2, np.float64)


@functools.lru_cache(maxsize=16)
def _signs(pairs: int) -> Floats:
    """The flips, shape (flips, pairs), the one that changes nothing first."""
    if 2 ** (pairs - 1) <= MOST_FLIPS:
        return np.where((np.arange(2 ** (pairs - 1))[:, None] >> np.arange(pairs)) & 1, -1.0, 1.0)
    drawn = np.random.default_rng(1).integers(0, 2, (MOST_FLIPS, pairs)) * 2.0 - 1.0
    drawn[0] = 1.0
    return np.asarray(drawn)

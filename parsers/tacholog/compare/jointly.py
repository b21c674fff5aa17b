"""Exact tests of all rows of a report together: how large can the largest of them get by chance?

If a release changes nothing, each pair of runs could as well have been swapped. A swap flips the signs of the pair's differences, in all rows at
once, so whatever the rows of a pair share stays shared. The test flips the signs in all ways (of many pairs: in a fixed random sample of them).
Each time it looks at the largest statistic of any row. The p-value of a row is the share of flips whose largest statistic is at least that of the
row. It is already adjusted for the number of rows, and exact if the differences of a pair are symmetric.

Without pairs, the sides could as well have been made of other runs. A split says which runs make up the new side, again in all rows at once.
That test is exact if the runs, whatever their rows share, could have come in any order.

Source:
    Westfall & Young (1993), "Resampling-Based Multiple Testing", the single-step maximum; Phipson & Smyth (2010), "Permutation p-values should
    never be zero", for samples of the flips; Wallace (1959), "Bounds on normal approximations to Student's and the chi-square distributions".
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb
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


class SplitRows(NamedTuple):
    """Rows with equally many runs of both sides together: the values, and for each the number of its run. Rows with the same number share the run.

    A run may also stand for several, such as a session. Places have shape (rows,), values and runs (rows, runs).
    """

    rows: Integers
    values: Floats
    runs: Integers


def flips_of(pairs: int) -> int:
    """How many flips of the signs of so many pairs the test looks at. A flip and its mirror image count once: they give the same size."""
    return int(min(2 ** min(pairs - 1, 62), MOST_FLIPS))


def splits_of(olds: int, news: int) -> int:
    """How many splits of so many runs the test looks at. Where the sides are equally large, a split and its mirror image count once."""
    return min(comb(olds + news, news) // (2 if olds == news else 1), MOST_FLIPS)


def by_largest(batches: Sequence[PairedRows], total: int) -> Floats:
    """The p-value of each row by the largest of all rows, by flips of the pairs; NaN for the other rows of the report.

    Args:
        batches: the rows that are tested together.
        total: how many rows the report has.
    """
    if not batches:
        return np.full(total, np.nan)
    numbers = np.unique(np.concatenate([batch.pairs.reshape(-1) for batch in batches]))
    return _p_of_largest(_statistics(batches, numbers, _signs(len(numbers)), _of_flips), total)


def by_largest_of_splits(batches: Sequence[SplitRows], olds: int, total: int) -> Floats:
    """The p-value of each row by the largest of all rows, by splits of the runs; NaN for the other rows of the report.

    Args:
        batches: the rows that are tested together.
        olds: how many runs are of the old side: those with the lowest numbers.
        total: how many rows the report has.
    """
    if not batches:
        return np.full(total, np.nan)
    numbers = np.unique(np.concatenate([batch.runs.reshape(-1) for batch in batches]))
    return _p_of_largest(_statistics(batches, numbers, _splits(olds, len(numbers) - olds), _of_splits), total)


def _p_of_largest(found: Iterable[tuple[Integers, Floats]], total: int) -> Floats:
    """The p-values, from the places of rows and their statistics, shape (rows, relabellings), that of the true labels first."""
    p, largest = np.full(total, np.nan), np.zeros(0)
    seen: list[tuple[Integers, Floats]] = []
    for rows, statistics in found:
        highest = statistics.max(axis=0)
        largest = np.maximum(largest, highest) if len(largest) else highest
        seen.append((rows, statistics[:, 0].copy()))
    largest.sort()
    for rows, own in seen:
        p[rows] = 1 - np.searchsorted(largest, own, side="left") / len(largest)
    return p


def _statistics(
    batches: Sequence[tuple[Integers, Floats, Integers]], numbers: Integers, labels: Floats, statistic: Callable[[Floats, Floats], Floats]
) -> Iterator[tuple[Integers, Floats]]:
    """Yield for some rows at a time their places and the statistic under each relabelling of the pairs or runs, shape (rows, relabellings)."""
    step = max(1, _AT_ONCE // len(labels))
    for places, values, runs in batches:
        same_runs, which = np.unique(runs, axis=0, return_inverse=True)
        for index, shared in enumerate(same_runs):
            members = np.flatnonzero(which.reshape(-1) == index)
            labelled = labels[:, np.searchsorted(numbers, shared)].T
            for first in range(0, len(members), step):
                part = members[first : first + step]
                yield places[part], statistic(values[part], labelled)


def _of_flips(differences: Floats, flips: Floats) -> Floats:
    """Student's t of each row under each flip.

    The sum of squares is the same under all flips. So the share of the squared sum in it, between 0 and 1, is all that t depends on.
    """
    pairs = differences.shape[1]
    squares = (differences**2).sum(axis=1, keepdims=True) * pairs
    return _comparable((differences @ flips) ** 2, squares, pairs - 1)


def _of_splits(values: Floats, is_new: Floats) -> Floats:
    """Student's t of two samples, of each row under each split: all that it depends on is which share of the squares lies between the sides."""
    runs = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    news = is_new.sum(axis=0)  # Runs that a row lacks are on one of the sides, so their number differs between splits.
    squares = (centred**2).sum(axis=1, keepdims=True) * (news * (runs - news) / runs)
    return _comparable((centred @ is_new) ** 2, squares, runs - 2)


def _comparable(part: Floats, whole: Floats, freedom: int) -> Floats:
    """Statistics on a scale that is the same for any number of runs: about that of a squared normal variable."""
    share = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    np.minimum(np.round(share, _DIGITS), 1.0, out=share)
    with np.errstate(divide="ignore"):  # runs that all differ by the same amount: infinite, as it should be
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


@functools.lru_cache(maxsize=16)
def _splits(olds: int, news: int) -> Floats:
    """The splits, shape (splits, runs), 1 for the runs of the new side; the true one, whose new runs come last, first."""
    runs = olds + news
    if splits_of(olds, news) < MOST_FLIPS:
        chosen = itertools.combinations(range(runs - 1, -1, -1), news)
        found = np.zeros((splits_of(olds, news), runs))
        for split, places in zip(found, chosen, strict=False):
            split[list(places)] = 1.0
        return found
    drawn = np.random.default_rng(1).permuted(np.tile(np.arange(runs) >= olds, (MOST_FLIPS, 1)).astype(float), axis=1)
    drawn[0] = np.arange(runs) >= olds
    return np.asarray(drawn)

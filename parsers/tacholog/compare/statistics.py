"""Statistics over repeated runs, vectorised over rows: shift estimates with exact intervals, and exact tests of each row and of all rows together.

All values are logarithms: a difference of 0.05 is a ratio of e**0.05. A row of a matrix is one comparison; a column is one run or one pair of runs.
Rank tests are also exact with ties (conditional on the ties), so integer microseconds need no approximation. The normal approximation with tie
correction is used for more than `EXACT_RUNS` runs, and for a call with more than `MOST_PATTERNS` patterns of ties.

The test by the largest row tests all rows of a report together. It compares each row with the largest statistic that any row reaches by chance.
If a release changes nothing, the two runs of a pair can be swapped. A swap flips the signs of the pair's differences in all rows, so the correlation
between the rows of a pair is preserved. The test applies all possible flips (for many pairs: a fixed random sample of them), and computes the largest
statistic of all rows for each flip. The p-value of a row is the share of flips whose largest statistic is at least the statistic of the row. This
p-value is already adjusted for the number of rows. It is exact if the differences of a pair are symmetric.

Without pairs, the test divides the runs into two sides in all possible ways. A split determines which runs are the new side, for all rows. This
test is exact if the order of the runs is random; the rows of a run may be correlated.

Source:
    Hodges & Lehmann (1963), "Estimates of location based on rank tests"; Hollander, Wolfe & Chicken (2014), "Nonparametric Statistical Methods",
    chapters 3 and 4; Benjamini & Hochberg (1995), "Controlling the false discovery rate"; Holm (1979), "A simple sequentially rejective multiple
    test procedure"; Westfall & Young (1993), "Resampling-Based Multiple Testing", the single-step maximum; Phipson & Smyth (2010), "Permutation
    p-values should never be zero", for samples of the flips; Wallace (1959), "Bounds on normal approximations to Student's and the chi-square
    distributions".

This module implements the normal distribution and Student's t, because scipy would make the installation 140 MB larger and the start two seconds
slower. The tests compare the results with scipy.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EXACT_RUNS = 40
OUTER, INNER = 0.95, 0.90  # The confidence of the displayed interval, and of the interval that must be within the threshold for "no change".
_MEDIAN = 0.5
MOST_PATTERNS = 2000  # the most patterns of ties in one call; more would take too long, and the normal approximation is good then
MOST_FLIPS = 4096  # the number of flips of 13 pairs; for more pairs, the flips are a random sample of this size
_MOST_ELEMENTS = 1_000_000  # the largest number of elements of one matrix, whose 8 MB fit into the cache of a processor
_DIGITS = 12  # Statistics are rounded, so that the order of their terms does not make equal statistics different.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Shift(NamedTuple):
    """A shift for each row: the Hodges-Lehmann estimate, its 95 % and 90 % intervals (infinite for too few runs), and the two-sided p-value.

    The intervals are widened by the rounding error. Estimate and p-value are computed from the printed values.
    """

    estimate: Floats
    low: Floats
    high: Floats
    inner_low: Floats
    inner_high: Floats
    p: Floats


class RoundingRange(NamedTuple):
    """The smallest and the largest value that each printed value may stand for: logarithms, shape (rows, runs) each."""

    old_low: Floats
    old_high: Floats
    new_low: Floats
    new_high: Floats


def paired_shift(differences: Floats, hidden: RoundingRange | None = None) -> Shift:
    """Return the shift of paired runs, by the signed rank test.

    Args:
        differences: new minus old of each pair, logarithms, shape (rows, pairs), pairs >= 1.
        hidden: the rounding range of each value from which the differences were computed; ``None``: values are exact.
    """
    pairs = differences.shape[1]
    walsh = np.sort(pair_averages(differences), axis=1)
    low, high = walsh, walsh
    if hidden is not None:
        # Both ends of the interval increase with each difference. So the smallest possible differences give the smallest lower end.
        low = np.sort(pair_averages(hidden.new_low - hidden.old_high), axis=1)
        high = np.sort(pair_averages(hidden.new_high - hidden.old_low), axis=1)
    inside = [inside_pairs(pairs, (1 - confidence) / 2) for confidence in (OUTER, INNER)]
    outer, inner = (_ends(low, high, count) for count in inside)
    return Shift(middle(walsh), *outer, *inner, _signed_rank_p(differences))


def unpaired_shift(old: Floats, new: Floats, hidden: RoundingRange | None = None) -> Shift:
    """Return the shift between two sets of runs, by the rank sum test.

    Args:
        old: logarithms, shape (rows, runs of the old side).
        new: logarithms, shape (rows, runs of the new side).
        hidden: the rounding range of each value; ``None``: values are exact.
    """
    differences = np.sort(side_differences(old, new), axis=1)
    low, high = differences, differences
    if hidden is not None:
        low = np.sort(side_differences(hidden.old_high, hidden.new_low), axis=1)
        high = np.sort(side_differences(hidden.old_low, hidden.new_high), axis=1)
    inside = [inside_sides(old.shape[1], new.shape[1], (1 - confidence) / 2) for confidence in (OUTER, INNER)]
    outer, inner = (_ends(low, high, count) for count in inside)
    return Shift(middle(differences), *outer, *inner, rank_sum_p(old, new))


def pair_averages(differences: Floats) -> Floats:
    """Return the Walsh averages of each row: all differences of the row, and the averages of any two of them.

    The shape is (rows, pairs * (pairs + 1) / 2), because a row has one difference for each pair of runs.
    """
    first, second = np.triu_indices(differences.shape[1])
    averages: Floats = (differences[:, first] + differences[:, second]) / 2
    return averages


def side_differences(old: Floats, new: Floats) -> Floats:
    """Return each new value minus each old value, shape (rows, olds * news)."""
    return (new[:, :, None] - old[:, None, :]).reshape(len(old), -1)


def adjusted(p: Floats) -> Floats:
    """Return the p-values adjusted by Benjamini and Hochberg.

    A row is a discovery if its adjusted p-value is at most q. On average, at most the share q of the discoveries is false.

    `scipy.stats.false_discovery_control` returns the same values (a test checks it), but its import takes longer than most comparisons.

    Args:
        p: two-sided p-values, shape (rows,).
    """
    order = np.argsort(p)
    ranked = p[order] * len(p) / np.arange(1, len(p) + 1)
    result = np.empty_like(p)
    result[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1.0)
    return result


def adjusted_each(p: Floats) -> Floats:
    """Return the p-values adjusted by Holm.

    A row is a discovery if its adjusted p-value is at most q. With a probability of at least 1 - q, no discovery is false.

    Args:
        p: two-sided p-values, shape (rows,).
    """
    order = np.argsort(p)
    result = np.empty_like(p)
    result[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return result


def middle(ordered: Floats) -> Floats:
    """Return the median of each row of sorted values."""
    count = ordered.shape[1]
    middle: Floats = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    return middle


def _ends(low: Floats, high: Floats, inside: int) -> tuple[Floats, Floats]:
    """Return the ``inside``-th smallest value of ``low`` and the ``inside``-th largest of ``high``, both sorted; infinite if ``inside`` is 0."""
    if inside < 1:
        unbounded = np.full(len(low), np.inf)
        return -unbounded, unbounded
    return low[:, inside - 1], high[:, high.shape[1] - inside]


def inside_pairs(pairs: int, tail: float) -> int:
    """Return the rank of the two averages that are the ends of the interval; 0 if there is no interval.

    The lower end is the average with this rank if averages are counted from the smallest. The upper end is the average with this rank if averages are
    counted from the largest.

    ``tail`` is the probability on each side of the interval.
    """
    null = _signed_rank_null(tuple(2 * np.arange(1, pairs + 1))) if pairs <= EXACT_RUNS else None
    return _inside(null, pairs * (pairs + 1) // 2, math.sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24), tail)


def inside_sides(olds: int, news: int, tail: float) -> int:
    """Return the rank of the two differences that are the ends of the interval; 0 if there is no interval.

    The lower end is the difference with this rank if differences are counted from the smallest. The upper end is the difference with this rank if
    differences are counted from the largest.

    ``tail`` is the probability on each side of the interval.
    """
    null = _rank_sum_null(tuple(2 * np.arange(1, olds + news + 1)), news) if max(olds, news) <= EXACT_RUNS else None
    return _inside(null, olds * news, math.sqrt(olds * news * (olds + news + 1) / 12), tail)


def _inside(null: Floats | None, count: int, deviation: float, tail: float) -> int:
    """Return the rank of the values at the ends of an interval, as `inside_pairs` describes it.

    ``null`` is the distribution of two times the statistic if nothing changed. If ``null`` is ``None``, the normal approximation is used.
    """
    if null is None:
        return int(np.floor(count / 2 + NormalDist().inv_cdf(tail) * deviation))
    return int(np.searchsorted(np.cumsum(null[::2]), tail, side="right"))


def _doubled_ranks(values: Floats) -> Integers:
    """Return ranks times 2, because the mean rank of equal values is then a whole number."""
    order = np.sort(values, axis=1)
    below = np.empty(values.shape, dtype=np.int64)
    through = np.empty(values.shape, dtype=np.int64)
    for column in range(values.shape[1]):
        below[:, column] = (order < values[:, [column]]).sum(axis=1)
        through[:, column] = (order <= values[:, [column]]).sum(axis=1)
    return below + through + 1


def _signed_rank_p(differences: Floats) -> Floats:
    """Return two-sided p-values. A difference of zero counts as one half for each direction."""
    ranks = _doubled_ranks(np.abs(differences))
    moving = np.where(differences != 0, ranks, 0)
    statistic = np.where(differences > 0, ranks, 0).sum(axis=1)

    def normal() -> Floats:
        return _normal_p(2.0 * statistic - moving.sum(axis=1), np.sqrt((moving**2).sum(axis=1)))

    if differences.shape[1] > EXACT_RUNS:
        return normal()
    return _by_pattern(np.sort(moving, axis=1), statistic, lambda pattern: _signed_rank_null(tuple(rank for rank in pattern if rank)), normal)


def rank_sum_p(old: Floats, new: Floats) -> Floats:
    """Return the two-sided p-values of the rank sum test."""
    both = np.concatenate([old, new], axis=1)
    ranks = _doubled_ranks(both)
    news, total = new.shape[1], both.shape[1]
    statistic = ranks[:, old.shape[1] :].sum(axis=1)

    def normal() -> Floats:
        variance = news * (total - news) * ranks.var(axis=1, ddof=1) / total
        return _normal_p(statistic - news * (total + 1.0), np.sqrt(variance))

    if max(news, total - news) > EXACT_RUNS:
        return normal()
    ordered = np.sort(ranks, axis=1)
    return _by_pattern(ordered, statistic - ordered[:, :news].sum(axis=1), lambda pattern: _rank_sum_null(pattern, news), normal)


def _normal_p(distance: Floats, deviation: Floats) -> Floats:
    z = np.divide(np.abs(distance), deviation, out=np.zeros(len(distance)), where=deviation > 0)
    return np.minimum(2 * normal_upper_tail(z), 1.0)


def _by_pattern(patterns: Integers, statistic: Integers, null: Callable[[tuple[int, ...]], Floats], otherwise: Callable[[], Floats]) -> Floats:
    """Return the two-sided p-value of each row.

    The function ``null`` is called once for each pattern of ties, and computes the distribution of the statistic. If there are too many patterns, the
    function ``otherwise`` is called instead. It computes all p-values by the normal approximation.
    """
    unique, which = np.unique(patterns, axis=0, return_inverse=True)
    if len(unique) > MOST_PATTERNS:
        return otherwise()
    p = np.ones(len(statistic))
    order = np.argsort(which.reshape(-1), kind="stable")
    stretches = np.split(order, np.cumsum(np.bincount(which.reshape(-1), minlength=len(unique)))[:-1])
    for pattern, rows in zip(unique, stretches, strict=True):
        distribution = null(tuple(int(rank) for rank in pattern))
        low_tail = np.cumsum(distribution)
        high_tail = np.cumsum(distribution[::-1])[::-1]
        p[rows] = np.minimum(1.0, 2 * np.minimum(low_tail[statistic[rows]], high_tail[statistic[rows]]))
    return p


@functools.lru_cache(maxsize=4096)
def _signed_rank_null(doubled_ranks: tuple[int, ...]) -> Floats:
    """Return the probability of each sum of ranks, in an array whose index is the sum. A sum includes each rank with probability 1/2."""
    distribution = np.zeros(sum(doubled_ranks) + 1)
    distribution[0] = 1.0
    for rank in doubled_ranks:
        with_rank = np.zeros_like(distribution)
        with_rank[rank:] = distribution[: len(distribution) - rank]
        distribution = (distribution + with_rank) / 2
    return distribution


@functools.lru_cache(maxsize=4096)
def _rank_sum_null(doubled_ranks: tuple[int, ...], chosen: int) -> Floats:
    """Return the probability of each sum of ``chosen`` ranks drawn at random. The index is the sum minus the smallest possible sum."""
    ordered = sorted(doubled_ranks)
    least, most = sum(ordered[:chosen]), sum(ordered[-chosen:])
    counts = np.zeros((chosen + 1, most + 1))
    counts[0, 0] = 1.0
    for rank in ordered:
        for count in range(chosen, 0, -1):
            counts[count, rank:] += counts[count - 1, : most + 1 - rank]
    distribution = counts[chosen, least:]
    result: Floats = distribution / distribution.sum()
    return result


def same_build_band(deviation: Floats, sessions: int) -> Floats:
    """Return the band of each row, as a logarithm. With probability 95 %, the medians of two sessions of one build differ by less than this band.

    Args:
        deviation: standard deviation of the session medians' logarithms, shape (rows,).
        sessions: the number of sessions from which the deviation was computed, at least 2.
    """
    band: Floats = student_t_quantile(0.975, sessions - 1) * np.sqrt(2) * deviation
    return band


def normal_upper_tail(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each ``z`` the probability that a standard normal variable is larger."""
    return np.array([math.erfc(value / math.sqrt(2)) / 2 for value in z.tolist()])


@functools.lru_cache(maxsize=4096)
def student_t_quantile(probability: float, freedom: int) -> float:
    """Return the value that a variable of Student's t distribution does not exceed with this probability.

    Args:
        probability: between 0.5 and 1, exclusive.
        freedom: degrees of freedom, at least 1.

    Raises:
        ValueError: a value is out of range.
    """
    if not _MEDIAN < probability < 1 or freedom < 1:
        raise ValueError(f"the probability ({probability}) must be between 0.5 and 1, and the degrees of freedom ({freedom}) at least 1")
    return float(student_t_two_sided_quantile(np.array([2 * (1 - probability)]), freedom)[0])


def student_t_two_sided_quantile(outside: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
    """Return for each probability the value that ``|t|`` exceeds with this probability.

    Args:
        outside: probabilities between 0 and 1, shape (k,).
        freedom: degrees of freedom, at least 1.
    """
    low, high = np.zeros_like(outside), np.full_like(outside, math.pi / 2)
    for _ in range(60):  # bisection down to the precision of floating-point numbers
        middle = (low + high) / 2
        above = _student_t_within(middle, freedom) < 1 - outside
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(math.sqrt(freedom) * np.tan(high))


def _student_t_within(angle: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
    """Return the probability that ``|t|`` is at most ``sqrt(freedom) * tan(angle)``, for each angle.

    Source:
        Abramowitz & Stegun (1964), "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
    """
    sine, cosine = np.sin(angle), np.cos(angle)
    is_odd = freedom % 2
    term = np.zeros_like(angle) if freedom == 1 else cosine if is_odd else np.ones_like(angle)
    total = term
    for step in range(2 + is_odd, freedom - 1, 2):
        term = term * cosine**2 * ((step - 1) / step)
        total = total + term
    return np.asarray(2 / math.pi * (angle + sine * total) if is_odd else sine * total)


def student_t_two_sided_p(t: float, freedom: int) -> float:
    """Return the probability that ``|t|`` is larger than ``t``.

    Args:
        t: at least 0.
        freedom: degrees of freedom, at least 1.
    """
    return max(0.0, 1 - float(_student_t_within(np.array([math.atan2(t, math.sqrt(freedom))]), freedom)[0]))


class SharedRows(NamedTuple):
    """Rows that all have the same count of pairs, or the same count of runs of both sides together.

    The median of several runs, such as those of a session, may stand for one run.

    Attributes:
        rows: the index of each row in the report, shape (rows,).
        values: the differences of the pairs, or the values of the runs, shape (rows, pairs or runs).
        numbers: for each value, which pair or run it is from, in the shape of ``values``. A pair or run has the same number in all rows.
    """

    rows: Integers
    values: Floats
    numbers: Integers


def flips_of(pairs: int) -> int:
    """Return how many sign flips of ``pairs`` pairs the test applies. A flip and its mirror image count once: they have the same statistic."""
    return int(min(2 ** min(pairs - 1, 62), MOST_FLIPS))


def splits_of(olds: int, news: int) -> int:
    """Return the number of splits that the test uses. A split divides the runs into an old side and a new side.

    If both sides have the same number of runs, a split and its mirror image count once.
    """
    return min(comb(olds + news, news) // (2 if olds == news else 1), MOST_FLIPS)


def by_largest(batches: Sequence[SharedRows], total: int, olds: int | None = None) -> Floats:
    """Return the p-value of each row from a test of all rows together; NaN for rows of the report that are in no batch.

    The runs are relabelled in many ways. The p-value of a row is the share of relabellings in which the largest statistic of all rows is at least the
    measured statistic of this row.

    Args:
        batches: the rows that are tested together.
        total: the number of rows of the report.
        olds: the number of runs of the old side. These runs have the lowest run numbers. ``None``: rows are compared in pairs.
    """
    if not batches:
        return np.full(total, np.nan)
    numbers = np.unique(np.concatenate([batch.numbers.reshape(-1) for batch in batches]))
    labels = _signs(len(numbers)) if olds is None else _splits(olds, len(numbers) - olds)
    return _p_of_largest(_statistics(batches, numbers, labels, _of_flips if olds is None else _of_splits), total)


def _p_of_largest(statistics_of_rows: Iterable[tuple[Integers, Floats]], total: int) -> Floats:
    """Return the p-value of each row of the report.

    ``statistics_of_rows`` contains indices of rows and their statistics, shape (rows, relabellings). The first relabelling is the measured one.
    """
    p, largest = np.full(total, np.nan), np.zeros(0)
    true_statistics: list[tuple[Integers, Floats]] = []
    for rows, statistics in statistics_of_rows:
        highest = statistics.max(axis=0)
        largest = np.maximum(largest, highest) if len(largest) else highest
        true_statistics.append((rows, statistics[:, 0].copy()))
    largest.sort()
    for rows, true_statistic in true_statistics:
        p[rows] = 1 - np.searchsorted(largest, true_statistic, side="left") / len(largest)
    return p


def _statistics(
    batches: Sequence[SharedRows], numbers: Integers, labels: Floats, statistic: Callable[[Floats, Floats], Floats]
) -> Iterator[tuple[Integers, Floats]]:
    """Yield indices of rows, and the statistics of these rows, shape (rows, relabellings)."""
    step = max(1, _MOST_ELEMENTS // len(labels))
    for rows, values, runs in batches:
        same_runs, which = np.unique(runs, axis=0, return_inverse=True)
        for index, shared in enumerate(same_runs):
            members = np.flatnonzero(which.reshape(-1) == index)
            labelled = labels[:, np.searchsorted(numbers, shared)].T
            for first in range(0, len(members), step):
                part = members[first : first + step]
                yield rows[part], statistic(values[part], labelled)


def _of_flips(differences: Floats, flips: Floats) -> Floats:
    """Return statistics that increase with Student's t, shape (rows, flips).

    A flip does not change the sum of the squares. So t depends only on the squared sum divided by the sum of the squares.
    """
    pairs = differences.shape[1]
    squares = (differences**2).sum(axis=1, keepdims=True) * pairs
    return _comparable((differences @ flips) ** 2, squares, pairs - 1)


def _of_splits(values: Floats, is_new: Floats) -> Floats:
    """Return a statistic of each row in each split, shape (rows, splits). The statistic increases with Student's t.

    The statistic is computed from a share of the variance: the share that the difference between the sides explains.
    """
    runs = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    news = is_new.sum(axis=0)  # This number differs between splits, because a split also contains runs without a value in this row.
    squares = (centred**2).sum(axis=1, keepdims=True) * (news * (runs - news) / runs)
    return _comparable((centred @ is_new) ** 2, squares, runs - 2)


def _comparable(part: Floats, total: Floats, freedom: int) -> Floats:
    """Return statistics with nearly the distribution of a squared normal variable, for any number of runs (Wallace, 1959)."""
    share = np.divide(part, total, out=np.zeros_like(part), where=total > 0)
    np.minimum(np.round(share, _DIGITS), 1.0, out=share)
    with np.errstate(divide="ignore"):  # If all runs differ by the same amount, the statistic is infinite, which is correct.
        np.negative(np.log1p(-share), out=share)
    return np.asarray(share * freedom * ((8 * freedom + 1) / (8 * freedom + 3)) ** 2, np.float64)


@functools.lru_cache(maxsize=16)
def _signs(pairs: int) -> Floats:
    """Return 1 or -1 for each pair, shape (flips, pairs). The first flip changes no sign."""
    if 2 ** (pairs - 1) <= MOST_FLIPS:
        return np.where((np.arange(2 ** (pairs - 1))[:, None] >> np.arange(pairs)) & 1, -1.0, 1.0)
    drawn = np.random.default_rng(1).integers(0, 2, (MOST_FLIPS, pairs)) * 2.0 - 1.0
    drawn[0] = 1.0
    return np.asarray(drawn)


@functools.lru_cache(maxsize=16)
def _splits(olds: int, news: int) -> Floats:
    """Return a matrix with a row for each split of the runs into two sides, and a column for each run.

    A value is 1 if the run is on the new side in this split, else 0. The first row is the split that was measured: the last runs are new.
    """
    runs = olds + news
    if splits_of(olds, news) < MOST_FLIPS:
        chosen = itertools.combinations(range(runs - 1, -1, -1), news)
        splits = np.zeros((splits_of(olds, news), runs))
        for split, new_runs in zip(splits, chosen, strict=False):
            split[list(new_runs)] = 1.0
        return splits
    drawn = np.random.default_rng(1).permuted(np.tile(np.arange(runs) >= olds, (MOST_FLIPS, 1)).astype(float), axis=1)
    drawn[0] = np.arange(runs) >= olds
    return np.asarray(drawn)

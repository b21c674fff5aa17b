"""Rank statistics over repeated runs, for many rows at once: shift estimates with exact intervals, exact tests, false discovery rate.

All values are logarithms: a difference of 0.05 is a ratio of e**0.05. A row of a matrix is one comparison, a column one run or pair of runs.
Rank tests are exact also with ties (conditional on the ties), so integer microseconds need no approximation; above `EXACT_RUNS` runs, and where
a call holds over `MOST_PATTERNS` patterns of ties, the normal approximation with tie correction takes over.

Source:
    Hodges & Lehmann (1963), "Estimates of location based on rank tests"; Hollander, Wolfe & Chicken (2014), "Nonparametric Statistical Methods",
    chapters 3 and 4; Benjamini & Hochberg (1995), "Controlling the false discovery rate"; Holm (1979), "A simple sequentially rejective multiple
    test procedure".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import comb, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacholog.compare.distributions import normal_upper_tail, student_t_quantile
from tacholog.compare.policy import MIN_RUNS

EXACT_RUNS = 40
OUTER, INNER = 0.95, 0.90  # The interval that is shown, and the one that must lie within the threshold for "no change".
POWER = 0.8  # A change counts as detectable if a test finds it in four cases of five.
MIN_CLUSTER = 2
_DRAWN = 4_000_000  # numbers in one simulation
MOST_PATTERNS = 2000  # Different patterns of ties in one call: with more, exact distributions take too long, and the normal approximation is close.
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Shift(NamedTuple):
    """A shift for each row: the Hodges-Lehmann estimate, its 95 % and 90 % intervals (infinite where runs are too few), and the two-sided p-value.

    The intervals are widened by what rounding hides. Estimate and p-value are those of the values as printed.
    """

    estimate: Floats
    low: Floats
    high: Floats
    inner_low: Floats
    inner_high: Floats
    p: Floats


class Hidden(NamedTuple):
    """The range that rounding allows for each value: smallest and largest, shape (rows, runs) each, logarithms."""

    old_low: Floats
    old_high: Floats
    new_low: Floats
    new_high: Floats


def paired_shift(differences: Floats, hidden: Hidden | None = None) -> Shift:
    """The shift of paired runs, by the signed rank test.

    Args:
        differences: new minus old of each pair, logarithms, shape (rows, pairs), pairs >= 1.
        hidden: the range that rounding allows for each value behind the differences; none: values are exact.
    """
    pairs = differences.shape[1]
    walsh = np.sort(_walsh(differences), axis=1)
    low, high = walsh, walsh
    if hidden is not None:
        # Both ends of the interval rise with every difference. So the end for the smallest possible differences is below the true one.
        low = np.sort(_walsh(hidden.new_low - hidden.old_high), axis=1)
        high = np.sort(_walsh(hidden.new_high - hidden.old_low), axis=1)
    inside = [_inside_pairs(pairs, (1 - confidence) / 2) for confidence in (OUTER, INNER)]
    outer, inner = (_ends(low, high, count) for count in inside)
    return Shift(_middle(walsh), *outer, *inner, _signed_rank_p(differences))


def unpaired_shift(old: Floats, new: Floats, hidden: Hidden | None = None) -> Shift:
    """The shift between two sets of runs, by the rank sum test.

    Args:
        old: logarithms, shape (rows, runs of the old side).
        new: logarithms, shape (rows, runs of the new side).
        hidden: the range that rounding allows for each value; none: values are exact.
    """
    differences = np.sort(_all_differences(old, new), axis=1)
    low, high = differences, differences
    if hidden is not None:
        low = np.sort(_all_differences(hidden.old_high, hidden.new_low), axis=1)
        high = np.sort(_all_differences(hidden.old_low, hidden.new_high), axis=1)
    inside = [_inside_sides(old.shape[1], new.shape[1], (1 - confidence) / 2) for confidence in (OUTER, INNER)]
    outer, inner = (_ends(low, high, count) for count in inside)
    return Shift(_middle(differences), *outer, *inner, _rank_sum_p(old, new))


def _walsh(differences: Floats) -> Floats:
    """The averages of every two differences, each with itself too, shape (rows, pairs * (pairs + 1) / 2)."""
    first, second = np.triu_indices(differences.shape[1])
    averages: Floats = (differences[:, first] + differences[:, second]) / 2
    return averages


def _all_differences(old: Floats, new: Floats) -> Floats:
    """Every new value less every old one, shape (rows, olds * news)."""
    return (new[:, :, None] - old[:, None, :]).reshape(len(old), -1)


def adjusted(p: Floats) -> Floats:
    """The p-values adjusted by Benjamini and Hochberg: rows with at most q have a false discovery rate of q.

    `scipy.stats.false_discovery_control` gives the same, which a test checks. But importing scipy.stats takes longer than most comparisons.

    Args:
        p: two-sided p-values, shape (rows,).
    """
    order = np.argsort(p)
    ranked = p[order] * len(p) / np.arange(1, len(p) + 1)
    result = np.empty_like(p)
    result[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1.0)
    return result


def adjusted_each(p: Floats) -> Floats:
    """The p-values adjusted by Holm: the probability that any row with at most q is a false discovery is at most q.

    Args:
        p: two-sided p-values, shape (rows,).
    """
    order = np.argsort(p)
    result = np.empty_like(p)
    result[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return result


def least_p(runs_old: int, runs_new: int, paired: bool) -> float:
    """The smallest two-sided p-value that this number of pairs, or of sessions on each side, can reach: that of sides without overlap."""
    return min(1.0, 2 / (2**runs_old if paired else comb(runs_old + runs_new, runs_new)))


def runs_needed(rows: int, rate: float, paired: bool) -> int:
    """How many pairs, or sessions on each side, are needed so that a single row among many can be significant.

    Args:
        rows: how many are adjusted together.
        rate: the limit below which an adjusted p-value is significant.
        paired: whether runs are compared in pairs.
    """
    count = MIN_RUNS
    while rows * least_p(count, count, paired) >= rate:
        count += 1
    return count


def detectable(deviation: Floats, runs: tuple[int, int], level: float, threshold: Floats, hidden: Floats | float = 0.0, *, paired: bool) -> Floats:
    """The smallest true shift of a single row that is detected in four cases of five. Infinite where no shift can be detected.

    The shift must be significant at the level, and its estimate must reach the threshold. `tacholog diff` prints it for undecided rows,
    `tacholog ab --plan` before the first run.

    Args:
        deviation: standard deviation of the logarithms between runs (of the differences, if paired), shape (rows,).
        runs: how many runs a side; of pairs both are the same.
        level: what p must be at most: the false discovery rate, divided by how many rows are adjusted together.
        threshold: the smallest shift that counts, as a logarithm, shape (rows,).
        hidden: how much shift rounding can hide, as a logarithm, shape (rows,).
        paired: whether they are pairs.
    """
    per_run = 1 / runs[0] if paired else 1 / runs[0] + 1 / runs[1]
    scatter = deviation * sqrt(per_run * np.pi / 3)  # of the Hodges-Lehmann estimate, for normal noise
    significant = _found_from(runs, level, paired)
    with np.errstate(invalid="ignore"):
        shown = np.where(deviation > 0, deviation * significant, 0.0 if np.isfinite(significant) else np.inf)
    return np.asarray(np.maximum(shown + hidden, threshold + NormalDist().inv_cdf(POWER) * scatter))


@functools.lru_cache(maxsize=1024)
def _found_from(runs: tuple[int, int], level: float, paired: bool) -> float:
    """The smallest true shift, in standard deviations, that the rank test finds at a level in four cases of five; infinite if it never does.

    Simulated for normal noise, because with few runs and a small level the steps of the exact distribution decide: the test finds a shift where the
    end of the interval of that level lies above zero.
    """
    old, new = runs
    if max(runs) > EXACT_RUNS:
        per_run = 1 / old if paired else 1 / old + 1 / new
        return (NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(POWER)) * sqrt(per_run * np.pi / 3)
    inside = _inside_pairs(old, level / 2) if paired else _inside_sides(old, new, level / 2)
    if inside < 1:
        return float("inf")
    generator = np.random.default_rng(1)
    draws = min(4000, _DRAWN // (old * new))
    noise = generator.standard_normal((draws, old))
    shifts = _walsh(noise) if paired else _all_differences(noise, generator.standard_normal((draws, new)))
    lowest = np.partition(shifts, inside - 1, axis=1)[:, inside - 1]
    return float(np.quantile(-lowest, POWER))


def _middle(ordered: Floats) -> Floats:
    """The median of each row of sorted values."""
    count = ordered.shape[1]
    middle: Floats = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    return middle


def _ends(low: Floats, high: Floats, inside: int) -> tuple[Floats, Floats]:
    """The interval from the ``inside``-th of the sorted ``low`` to that many from the end of the sorted ``high``; infinite for fewer than one."""
    if inside < 1:
        unbounded = np.full(len(low), np.inf)
        return -unbounded, unbounded
    return low[:, inside - 1], high[:, high.shape[1] - inside]


def _inside_pairs(pairs: int, tail: float) -> int:
    """How many of the ordered averages lie at or beyond an end of the interval that leaves out ``tail`` on either side."""
    null = _signed_rank_null(tuple(2 * np.arange(1, pairs + 1))) if pairs <= EXACT_RUNS else None
    return _inside(null, pairs * (pairs + 1) // 2, sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24), tail)


def _inside_sides(olds: int, news: int, tail: float) -> int:
    """How many of the ordered differences lie at or beyond an end of the interval that leaves out ``tail`` on either side."""
    null = _rank_sum_null(tuple(2 * np.arange(1, olds + news + 1)), news) if max(olds, news) <= EXACT_RUNS else None
    return _inside(null, olds * news, sqrt(olds * news * (olds + news + 1) / 12), tail)


def _inside(null: Floats | None, count: int, deviation: float, tail: float) -> int:
    """``null`` is the distribution of twice the statistic, from its minimum on; without it the normal approximation is used."""
    if null is None:
        return int(np.floor(count / 2 + NormalDist().inv_cdf(tail) * deviation))
    return int(np.searchsorted(np.cumsum(null[::2]), tail, side="right"))


def _doubled_ranks(values: Floats) -> Integers:
    """Twice the mid-ranks of each row: whole numbers also where values are tied."""
    order = np.sort(values, axis=1)
    below = np.empty(values.shape, dtype=np.int64)
    through = np.empty(values.shape, dtype=np.int64)
    for column in range(values.shape[1]):
        below[:, column] = (order < values[:, [column]]).sum(axis=1)
        through[:, column] = (order <= values[:, [column]]).sum(axis=1)
    return below + through + 1


def _signed_rank_p(differences: Floats) -> Floats:
    """Two-sided p-values of the signed rank test; a difference of zero counts half to each side."""
    ranks = _doubled_ranks(np.abs(differences))
    moving = np.where(differences != 0, ranks, 0)
    statistic = np.where(differences > 0, ranks, 0).sum(axis=1)

    def normal() -> Floats:
        return _normal_p(2.0 * statistic - moving.sum(axis=1), np.sqrt((moving**2).sum(axis=1)))

    if differences.shape[1] > EXACT_RUNS:
        return normal()
    return _by_pattern(np.sort(moving, axis=1), statistic, lambda pattern: _signed_rank_null(tuple(rank for rank in pattern if rank)), normal)


def _rank_sum_p(old: Floats, new: Floats) -> Floats:
    """Two-sided p-values of the rank sum test."""
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
    """Two-sided p-values, with the null distribution computed once for each pattern of ties, unless there are too many patterns."""
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
    """The distribution of the sum of a random half of these ranks: index is the sum."""
    distribution = np.zeros(sum(doubled_ranks) + 1)
    distribution[0] = 1.0
    for rank in doubled_ranks:
        moved = np.zeros_like(distribution)
        moved[rank:] = distribution[: len(distribution) - rank]
        distribution = (distribution + moved) / 2
    return distribution


@functools.lru_cache(maxsize=4096)
def _rank_sum_null(doubled_ranks: tuple[int, ...], chosen: int) -> Floats:
    """The distribution of the sum of ``chosen`` of these ranks, drawn at random: index is the sum less its smallest value."""
    ordered = sorted(doubled_ranks)
    least, most = sum(ordered[:chosen]), sum(ordered[-chosen:])
    ways = np.zeros((chosen + 1, most + 1))
    ways[0, 0] = 1.0
    for rank in ordered:
        for count in range(chosen, 0, -1):
            ways[count, rank:] += ways[count - 1, : most + 1 - rank]
    distribution = ways[chosen, least:]
    result: Floats = distribution / distribution.sum()
    return result


def same_build_band(deviation: Floats, sessions: int) -> Floats:
    """How much the medians of two sessions of one build may differ by chance, as a logarithm, 95 % of the time.

    Args:
        deviation: standard deviation of the session medians' logarithms, shape (rows,).
        sessions: the number of sessions behind the deviation, at least 2.
    """
    band: Floats = student_t_quantile(0.975, sessions - 1) * np.sqrt(2) * deviation
    return band


def two_modes(values: Floats, least_gap: Floats) -> NDArray[np.bool_]:
    """Whether the values of each row fall into two clusters: the widest gap is over three times the spread within them, and over ``least_gap``.

    A single value apart is an outlier, not a cluster.

    Args:
        values: logarithms, shape (rows, runs).
        least_gap: the narrowest gap that matters, shape (rows,).
    """
    runs = values.shape[1]
    if runs < 2 * MIN_CLUSTER:
        return np.zeros(len(values), bool)
    ordered = np.sort(values, axis=1)
    widest, split = _widest_gap(ordered)
    below = np.arange(runs) < split[:, None]
    spread = np.zeros(len(values))
    for cluster in (below, ~below):
        mean = np.where(cluster, ordered, 0).sum(axis=1) / cluster.sum(axis=1)
        spread += (np.where(cluster, ordered - mean[:, None], 0) ** 2).sum(axis=1)
    apart: NDArray[np.bool_] = (widest > 3 * np.sqrt(spread / (runs - 2))) & (widest > least_gap)
    return apart


def modes(values: Sequence[float], least_gap: float) -> tuple[float, float] | None:
    """The medians of the two clusters that runs fall into, if they do; see `two_modes`.

    Args:
        values: of the runs, not logarithms, all above zero.
        least_gap: the narrowest gap that matters, as a logarithm.
    """
    split = cluster_split(values, least_gap)
    if split is None:
        return None
    ordered = np.log(np.sort(np.asarray(values, float)))[None]
    return float(np.exp(np.median(ordered[0, :split]))), float(np.exp(np.median(ordered[0, split:])))


def cluster_split(values: Sequence[float], least_gap: float) -> int | None:
    """How many of the sorted values are in the lower of two clusters, if they fall into two; see `two_modes`.

    Args:
        values: of the runs, not logarithms, all above zero.
        least_gap: the narrowest gap that matters, as a logarithm.
    """
    ordered = np.log(np.sort(np.asarray(values, float)))[None]
    return int(_widest_gap(ordered)[1][0]) if two_modes(ordered, np.array([least_gap]))[0] else None


def _widest_gap(ordered: Floats) -> tuple[Floats, Integers]:
    """The widest gap of each row of sorted values that leaves a cluster on either side, and how many values lie below it."""
    gaps = np.diff(ordered, axis=1)[:, MIN_CLUSTER - 1 : ordered.shape[1] - MIN_CLUSTER]
    return gaps.max(axis=1), gaps.argmax(axis=1) + MIN_CLUSTER

"""The power of a comparison: which changes it can detect, before the first run and after the last one, by the same functions.

Two tests share the level of a comparison. The ranks of each row, adjusted over all rows, find changes of many rows, and changes among outliers.
The largest of all rows (`tacholog.compare.statistics`) finds the change of a single row. How the level is divided depends on the number of pairs
and rows alone, never on a value that was measured.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from math import ceil, comb
from typing import NamedTuple

import numpy as np

from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.statistics import (
    OUTER,
    Floats,
    flips_of,
    inside_pairs,
    inside_sides,
    middle,
    pair_averages,
    side_differences,
    student_t_two_sided_quantile,
)

POWER = 0.8  # A change counts as detectable if a comparison detects it in four cases of five.
MOST_PAIRS = 100  # the largest number of pairs that is ever suggested
_DRAWS, _DRAWN = 2000, 5_000_000  # how many simulated rows, and at most how many numbers in one simulation
_EVERY_SUBSET = 10  # With at most so many pairs, every flip of the changed row is computed.
_AT_ONCE = 4_000_000


class RunCounts(NamedTuple):
    """The number of pairs (twice the same number), or of sessions on each side, of a row, and the number of rows that are tested together."""

    old: int
    new: int
    rows: int
    paired: bool


def least_p(runs_old: int, runs_new: int, paired: bool) -> float:
    """The smallest two-sided p-value that this number of pairs, or of sessions on each side, can reach: that of sides without overlap."""
    return min(1.0, 2 / (2**runs_old if paired else comb(runs_old + runs_new, runs_new)))


def share_of_largest(pairs: Iterable[int], rate: float, *, sessions: bool = False) -> float:
    """The part of the level that the test by the largest row gets; the ranks get the rest.

    Half of it, if half of the level is enough for both tests. All of it if half is not enough, as with six pairs. Nothing if there are no pairs.

    Args:
        pairs: the numbers of pairs of the rows that are adjusted together; empty if no row has pairs.
        rate: the level of both tests together.
        sessions: whether there are also rows that are compared by sessions, which only the ranks can judge.
    """
    most = max(pairs, default=0)
    if not most:
        return 0.0
    return 0.5 if sessions or least_p(most, most, paired=True) < rate / 2 else 1.0


def attainable(design: RunCounts, share: float) -> float:
    """The smallest adjusted p-value that a row can have if it is the only one that changed.

    Args:
        design: of the row.
        share: the part of the level that the test by the largest row gets.
    """
    by_rank = design.rows * least_p(design.old, design.new, design.paired) / (1 - share) if share < 1 else 1.0
    by_largest = max(least_p(design.old, design.new, paired=True), 1 / flips_of(design.old)) / share if design.paired and share else 1.0
    return min(1.0, by_rank, by_largest)


def runs_needed(rows: int, rate: float, paired: bool) -> int:
    """How many pairs, or sessions on each side, are needed so that a single row among many can be significant.

    Args:
        rows: how many are adjusted together.
        rate: the limit below which an adjusted p-value is significant.
        paired: whether runs are compared in pairs.
    """
    count = MIN_RUNS
    while attainable(RunCounts(count, count, rows, paired), share_of_largest([count] if paired else [], rate)) >= rate:
        count += 1
    return count


def detectable(
    deviation: Floats, design: RunCounts, rate: float, threshold: Floats, hidden: Floats | float = 0.0, *, share: float | None = None
) -> Floats:
    """The smallest true shift of a single row that a comparison detects in four cases of five. Infinite where no shift can be detected.

    Detected means called better or worse: the shift is significant in the comparison, the interval of the row excludes zero, and the estimate
    reaches the threshold. `tacholog diff` prints it for undecided rows, `tacholog ab --plan` before the first run.

    Args:
        deviation: standard deviation of the logarithms between runs (of the differences, if paired), shape (rows,).
        design: of these rows.
        rate: the level of the comparison.
        threshold: the smallest shift that counts, as a logarithm, shape (rows,).
        hidden: how much shift rounding can hide, as a logarithm, shape (rows,).
        share: the part of the level that the test by the largest row gets; ``None``: as for a comparison in which all rows have this design.
    """
    if share is None:
        share = share_of_largest([design.old] if design.paired else [], rate)
    needs = _needs(design, rate, share)
    if not np.isfinite(needs.significant).all():
        return np.full(len(deviation), np.inf)
    hidden = np.broadcast_to(np.asarray(hidden, float), deviation.shape)
    result, step = np.empty(len(deviation)), max(1, _AT_ONCE // len(needs.estimate))
    for first in range(0, len(deviation), step):
        part = slice(first, first + step)
        scale, hides, least = (column[part, None] for column in (deviation, hidden, threshold))
        shift = np.maximum(np.maximum(scale * needs.significant, scale * needs.interval + hides), least - scale * needs.estimate)
        enough = ceil(POWER * shift.shape[1]) - 1
        result[part] = np.partition(shift, enough, axis=1)[:, enough]
    return result


def pairs_for(shift: float, deviation: float, rows: int, rate: float, threshold: float) -> int | None:
    """The smallest number of pairs with which a shift of a single row is found in four cases of five; ``None``: not with `MOST_PAIRS` either.

    Args:
        shift: the true shift of the row, as a logarithm.
        deviation: standard deviation of the differences of pairs, as a logarithm.
        rows: how many are adjusted together.
        rate: the level of the comparison.
        threshold: the smallest shift that counts, as a logarithm.
    """

    def is_found(pairs: int) -> bool:
        return bool(detectable(np.array([deviation]), RunCounts(pairs, pairs, rows, paired=True), rate, np.array([threshold]))[0] <= shift)

    return next(filter(is_found, range(MIN_RUNS, MOST_PAIRS + 1)), None) if is_found(MOST_PAIRS) else None


class _Needs(NamedTuple):
    """For each simulated row, in standard deviations: the shift that makes it significant, and the shift that makes its interval exclude zero.

    ``estimate`` is the estimate of the row without any shift.
    """

    significant: Floats
    interval: Floats
    estimate: Floats


@functools.lru_cache(maxsize=1024)
def _needs(design: RunCounts, rate: float, share: float) -> _Needs:
    """Simulate rows with normal noise. All statistics move with the shift, so the shift that each row needs follows without trying shifts."""
    generator = np.random.default_rng(1)
    old, new, rows, paired = design
    draws = min(_DRAWS, _DRAWN // (old * new))
    noise = generator.standard_normal((draws, old))
    shifts = np.sort(pair_averages(noise) if paired else side_differences(noise, generator.standard_normal((draws, new))), axis=1)

    def beyond(tail: float) -> Floats:
        inside = inside_pairs(old, tail) if paired else inside_sides(old, new, tail)
        return -shifts[:, inside - 1] if inside > 0 else np.full(draws, np.inf)

    # The adjusted p-value must be below the level, not at it.
    significant = beyond((1 - share) * rate / rows / 2 * (1 - 1e-9)) if share < 1 else np.full(draws, np.inf)
    if paired and share:
        significant = np.minimum(significant, _beyond_largest(noise, rows, share * rate, generator))
    return _Needs(significant, beyond((1 - OUTER) / 2), middle(shifts))


def _beyond_largest(noise: Floats, rows: int, level: float, generator: np.random.Generator) -> Floats:
    """The shift of each simulated row at which few enough flips give a larger statistic of any row.

    Args:
        noise: of the pairs of each simulated row, shape (draws, pairs).
        rows: how many are tested together.
        level: of the test.
        generator: of random numbers.
    """
    draws, pairs = noise.shape
    flips = flips_of(pairs)
    allowed = ceil(level * flips * (1 - 1e-9)) - 1  # how many flips may reach the statistic of the row, without the one that flips nothing
    if allowed < 1:
        return np.full(draws, np.inf)
    # The flips of rows that did not change are like new draws of Student's t.
    spread, mean = noise.std(axis=1, ddof=1) / np.sqrt(pairs), noise.mean(axis=1)
    if pairs > _EVERY_SUBSET:
        of_one = generator.beta(flips - allowed, allowed, draws)  # the distribution of the flip that decides
        return np.asarray(spread * student_t_two_sided_quantile(-np.expm1(np.log(of_one) / rows), pairs - 1) - mean)
    by_own_flips = _by_own_flips(noise, allowed)
    if rows == 1:
        return by_own_flips[:, -1]
    below = np.cumsum(np.log(generator.random((draws, allowed))) / (flips - 1.0 - np.arange(allowed)), axis=1)  # the largest ones first
    others = spread[:, None] * student_t_two_sided_quantile(-np.expm1(below / (rows - 1)), pairs - 1) - mean[:, None]
    # The flips that may reach the statistic of the row are flips of the row itself and flips of other rows, in any split of their number.
    return np.asarray(np.maximum(by_own_flips, others[:, ::-1]).min(axis=1))


def _by_own_flips(noise: Floats, allowed: int) -> Floats:
    """The shift at which at most 0, 1, ... ``allowed`` - 1 flips of the row itself reach its own statistic.

    A flip reaches it if the flipped pairs have a sum of at most zero, or the other pairs have.
    """
    pairs = noise.shape[1]
    chosen = (np.arange(1, 2**pairs - 1)[:, None] >> np.arange(pairs)) & 1
    means = noise @ (chosen / chosen.sum(axis=1, keepdims=True)).T
    return -np.sort(np.partition(means, allowed, axis=1)[:, :allowed], axis=1)

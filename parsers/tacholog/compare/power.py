"""The power of a comparison: which changes it can detect. The same functions are used before the first run and after the last run.

Two tests share the significance level of a comparison. The first is the rank test of each row, adjusted for all rows. It detects a change of many
rows at once, and outliers do not disturb it. The second is called the test by the largest row, because it compares each row with
the largest statistic that chance could cause in any row (`tacholog.compare.statistics`). This test detects the change of a single row.

The share of each test depends only on the numbers of pairs and rows, never on measured values.
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
MOST_PAIRS = 100  # the largest number of pairs that is suggested
_DRAWS, _DRAWN = 2000, 5_000_000  # the number of simulated rows, and the largest number of values in one simulation
_EVERY_SUBSET = 10  # With at most this number of pairs, all flips of the changed row are computed.
_AT_ONCE = 4_000_000


class RunCounts(NamedTuple):
    """The number of pairs of a row (``old`` equals ``new``) or of sessions on each side, and the number of rows that are tested together."""

    old: int
    new: int
    rows: int
    paired: bool


def least_p(runs_old: int, runs_new: int, paired: bool) -> float:
    """Return the smallest possible two-sided p-value: the p-value of sides whose values do not overlap.

    If ``paired`` is true, ``runs_old`` is the number of pairs. Otherwise, ``runs_old`` and ``runs_new`` are the numbers of sessions of the two sides.
    """
    return min(1.0, 2 / (2**runs_old if paired else comb(runs_old + runs_new, runs_new)))


def share_of_largest(pairs: Iterable[int], rate: float, *, sessions: bool = False) -> float:
    """Return which share of the significance level is for the test by the largest row. The remaining share is for the rank test.

    The share is 0 if no row has pairs. It is 0.5 if a row has enough pairs to be significant at half of the level. Otherwise it is 1, because a row
    with so few pairs (such as six) can only be significant at the whole level.

    Args:
        pairs: the numbers of pairs of the rows that are adjusted together; empty if no row has pairs.
        rate: the level of both tests together.
        sessions: whether other rows are compared by sessions. Only the rank test can judge such rows, so the share is then at most 0.5.
    """
    most = max(pairs, default=0)
    if not most:
        return 0.0
    return 0.5 if sessions or least_p(most, most, paired=True) < rate / 2 else 1.0


def attainable(design: RunCounts, share: float) -> float:
    """Return the smallest adjusted p-value that a row can have if no other row changed.

    Args:
        design: the number of pairs or sessions of the row, and the number of rows.
        share: the share of the significance level that the test by the largest row gets (`share_of_largest`).
    """
    by_rank = design.rows * least_p(design.old, design.new, design.paired) / (1 - share) if share < 1 else 1.0
    by_largest = max(least_p(design.old, design.new, paired=True), 1 / flips_of(design.old)) / share if design.paired and share else 1.0
    return min(1.0, by_rank, by_largest)


def runs_needed(rows: int, rate: float, paired: bool) -> int:
    """Return the number of pairs, or of sessions on each side, with which the change of a single row can be significant.

    Args:
        rows: the number of rows that are adjusted together.
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
    """Return the smallest true shift of a single row that a comparison detects in four cases of five; infinite if no shift can be detected.

    A shift is detected if the verdict is better or worse: it is significant, the interval of the row excludes zero, and the estimate
    reaches the threshold. `tacholog diff` prints the smallest shift for each undecided row. `tacholog ab --plan` prints the smallest shift before the
    first run.

    Args:
        deviation: standard deviation of the logarithms between runs (of the differences, if paired), shape (rows,).
        design: the number of pairs or sessions of each row, and the number of rows.
        rate: the level of the comparison.
        threshold: the smallest shift that counts, as a logarithm, shape (rows,).
        hidden: the largest shift that rounding can hide, as a logarithm, shape (rows,).
        share: the share of the level for the test by the largest row; ``None``: as for a comparison in which all rows have this design.
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
    """Return the least number of pairs with which a shift of a single row is detected in four cases of five; ``None``: more than `MOST_PAIRS`.

    Args:
        shift: the true shift of the row, as a logarithm.
        deviation: standard deviation of the differences of pairs, as a logarithm.
        rows: the number of rows that are adjusted together.
        rate: the level of the comparison.
        threshold: the smallest shift that counts, as a logarithm.
    """

    def is_found(pairs: int) -> bool:
        return bool(detectable(np.array([deviation]), RunCounts(pairs, pairs, rows, paired=True), rate, np.array([threshold]))[0] <= shift)

    return next(filter(is_found, range(MIN_RUNS, MOST_PAIRS + 1)), None) if is_found(MOST_PAIRS) else None


class _Needs(NamedTuple):
    """The smallest shifts with which simulated rows are detected, in standard deviations.

    From the shift ``significant`` on, a row is significant. From the shift ``interval`` on, the interval of the row does not contain zero.
    ``estimate`` is the estimate of the row without a shift.
    """

    significant: Floats
    interval: Floats
    estimate: Floats


@functools.lru_cache(maxsize=1024)
def _needs(design: RunCounts, rate: float, share: float) -> _Needs:
    """Simulate rows with normal noise, and return the shifts that these rows need to be detected.

    The shifts are computed without a search, because all statistics increase with the shift.
    """
    generator = np.random.default_rng(1)
    old, new, rows, paired = design
    draws = min(_DRAWS, _DRAWN // (old * new))
    noise = generator.standard_normal((draws, old))
    shifts = np.sort(pair_averages(noise) if paired else side_differences(noise, generator.standard_normal((draws, new))), axis=1)

    def beyond(tail: float) -> Floats:
        inside = inside_pairs(old, tail) if paired else inside_sides(old, new, tail)
        return -shifts[:, inside - 1] if inside > 0 else np.full(draws, np.inf)

    # The adjusted p-value must be below the level. A p-value equal to the level is not significant.
    significant = beyond((1 - share) * rate / rows / 2 * (1 - 1e-9)) if share < 1 else np.full(draws, np.inf)
    if paired and share:
        significant = np.minimum(significant, _beyond_largest(noise, rows, share * rate, generator))
    return _Needs(significant, beyond((1 - OUTER) / 2), middle(shifts))


def _beyond_largest(noise: Floats, rows: int, level: float, generator: np.random.Generator) -> Floats:
    """Return one shift for each simulated row: from this shift on, the test by the largest row finds the row significant.

    ``noise`` contains the simulated rows without a shift. Its shape is (draws, pairs).
    """
    draws, pairs = noise.shape
    flips = flips_of(pairs)
    allowed = ceil(level * flips * (1 - 1e-9)) - 1  # how many other flips may give a statistic as large as that of the measured order
    if allowed < 1:
        return np.full(draws, np.inf)
    # In rows that did not change, the statistics of the flips have the distribution of Student's t.
    spread, mean = noise.std(axis=1, ddof=1) / np.sqrt(pairs), noise.mean(axis=1)
    if pairs > _EVERY_SUBSET:
        of_one = generator.beta(flips - allowed, allowed, draws)  # random: how likely a flip stays below the limit in all rows
        return np.asarray(spread * student_t_two_sided_quantile(-np.expm1(np.log(of_one) / rows), pairs - 1) - mean)
    by_own_flips = _by_own_flips(noise, allowed)
    if rows == 1:
        return by_own_flips[:, -1]
    below = np.cumsum(np.log(generator.random((draws, allowed))) / (flips - 1.0 - np.arange(allowed)), axis=1)  # sorted, the largest value first
    others = spread[:, None] * student_t_two_sided_quantile(-np.expm1(below / (rows - 1)), pairs - 1) - mean[:, None]
    # An allowed flip gives a large statistic either in the row itself or in another row. All ways to divide the allowed flips between these two
    # cases are tried.
    return np.asarray(np.maximum(by_own_flips, others[:, ::-1]).min(axis=1))


def _by_own_flips(noise: Floats, allowed: int) -> Floats:
    """Return several shifts for each simulated row, the largest shift first. The number of shifts is ``allowed``.

    With the shift at index k, at most k flips give the row a statistic that is as large as the measured statistic of the row.
    """
    # A flip changes the signs of some pairs. It gives a statistic as large as the measured statistic in two cases: if the sum of these pairs is at
    # most zero, or if the sum of all remaining pairs is at most zero.
    pairs = noise.shape[1]
    chosen = (np.arange(1, 2**pairs - 1)[:, None] >> np.arange(pairs)) & 1
    means = noise @ (chosen / chosen.sum(axis=1, keepdims=True)).T
    return -np.sort(np.partition(means, allowed, axis=1)[:, :allowed], axis=1)

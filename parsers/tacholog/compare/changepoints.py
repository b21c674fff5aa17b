"""Steps and drifts in histories: changes over many releases that the comparison of neighbours is too weak to detect.

A history has one level for each release: the mean of the logarithms of its runs. The levels are divided into segments without change. A step is the
change between two segments. The best division is the division with the lowest cost. The cost is the sum of two parts:

- the squared distances of the levels from the means of their segments, in units of the noise;
- a penalty for each step.

So a step is found only if it reduces the squared distances by more than the penalty. The penalty is so large that chance alone causes a step on at
most one of 40 pages of histories without a change.

A drift is a slow change over several releases, and is described as one straight line. Kendall's trend test detects drifts. The p-values of this test
are corrected for the number of histories on the page. To compute the correction, the releases are shuffled many times.

The noise is estimated from the differences between neighbouring releases, without the largest fifth, which may be steps. The estimate has three lower
limits: the scatter of the runs of a release, the noise of the other histories, and the rounding error. A release far from both of its
neighbours is an outlier. It gets the level of the nearer neighbour, so that it does not cause a step up and a step down.

Source:
    Jackson et al. (2005), "An algorithm for optimal partitioning of data on an interval"; Kendall (1938), "A new measure of rank correlation";
    Westfall & Young (1993), "Resampling-Based Multiple Testing".
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacholog.compare.statistics import student_t_two_sided_p, student_t_two_sided_quantile

LEAST_RELEASES = 5  # With fewer releases, even a steady rise is so likely by chance that no trend can be significant.
LEVEL = 0.05  # the probability that a page without any change shows a change; half of it for steps, half for drifts
_SHORTEST = 2  # the least number of releases in a segment: a single release that differs from all others is an outlier
_LEAST_DRIFT = 3  # the least number of releases in a drift: a change over fewer releases is a step
_SHARE_FOR_NOISE = 0.8  # the share of the differences between neighbours from which the noise is estimated
_FAR = 4  # in units of the noise: a release at this distance from its neighbours is an outlier; two adjacent such releases are a step
_SHUFFLES = 1999
_DRAWS = 20_000
Floats = NDArray[np.float64]


class Change(NamedTuple):
    """One change of a history.

    ``history`` is the index of the history. ``first`` is the first release after a step, or the last release before a drift. ``last`` is the release
    at which a drift ends, and equals ``first`` for a step. ``shift`` is the change as a logarithm, between ``low`` and ``high`` with 95 % confidence.
    ``p`` is an upper bound of the probability that chance alone shows a change as clear as this one anywhere on the page.
    """

    history: int
    kind: Literal["step", "drift"]
    first: int
    last: int
    shift: float
    low: float
    high: float
    p: float


def changes(histories: Sequence[Sequence[Sequence[float]]], hidden: Sequence[float] | None = None) -> list[Change]:
    """Find the steps and drifts in all histories of a page.

    Args:
        histories: for each history and release, the values of the runs, all above zero. Histories with fewer than `LEAST_RELEASES` are left out.
        hidden: for each history, the largest rounding error of a value, as a logarithm; ``None``: values are exact. If the error is infinite, because
            a value may be 0, the history is left out.
    """
    rounding = np.zeros(len(histories)) if hidden is None else np.asarray(hidden, float)
    by_length: dict[int, list[int]] = {}
    for index, history in enumerate(histories):
        if len(history) >= LEAST_RELEASES and np.isfinite(rounding[index]):
            by_length.setdefault(len(history), []).append(index)
    total = sum(map(len, by_length.values()))
    all_changes: list[Change] = []
    for indices in by_length.values():
        runs = [[np.log(np.asarray(release, float)) for release in histories[index]] for index in indices]
        levels = np.array([[release.mean() for release in history] for history in runs])
        noise = np.maximum(
            _noise_deviation(levels, np.array([_level_variance(*history) for history in zip(runs, levels, strict=True)])), rounding[indices]
        )
        of_length = _changes_of_one_length(_without_outliers(levels, noise), noise, total)
        all_changes += [change._replace(history=indices[change.history]) for change in of_length]
    all_changes = [
        widened
        for widened in (_widened_by_rounding(change, float(rounding[change.history])) for change in all_changes)
        if widened.low > 0 or widened.high < 0
    ]
    return sorted(all_changes, key=lambda change: (change.p, change.history, change.first))


def _widened_by_rounding(change: Change, hidden: float) -> Change:
    # Levels before and after the change may be rounded in opposite directions.
    return change._replace(low=change.low - 2 * hidden, high=change.high + 2 * hidden)


def _without_outliers(levels: Floats, noise: Floats) -> Floats:
    """Replace each outlier by the median of its own level and the levels of its two neighbours.

    An outlier at an end of a history is replaced by its only neighbour. A release at an end is not an outlier if it continues a drift. So it is also
    compared with the straight line through the next two releases.

    Source:
        Tukey (1977), "Exploratory Data Analysis", chapter 7: running medians of three, and the end-point rule.
    """
    smooth = levels.copy()
    smooth[:, 1:-1] = np.median(np.stack([levels[:, :-2], levels[:, 1:-1], levels[:, 2:]]), axis=0)
    expected, instead = smooth.copy(), smooth.copy()
    for end, near, far in ((0, 1, 2), (-1, -2, -3)):
        led = 3 * smooth[:, near] - 2 * smooth[:, far]
        expected[:, end] = np.median(np.stack([levels[:, end], smooth[:, near], led]), axis=0)
        instead[:, end] = levels[:, near]
    return np.where(np.abs(levels - expected) > _FAR * noise[:, None], instead, levels)


def _changes_of_one_length(levels: Floats, noise: Floats, total: int) -> list[Change]:
    """Return the steps and drifts in histories that all have the same number of releases.

    ``levels`` has a row for each history, and ``noise`` has a value for each history. ``total`` is the number of all histories on the page, which may
    also have histories of a different length.
    """
    # All histories of a page share one significance level. The histories of each length get a part of this level, in proportion to their number.
    count, releases = levels.shape
    p_drift = _trend_p(levels) * total / count
    penalty = step_penalty(releases, total)
    starts = _segmented(levels / noise[:, None], penalty)
    changes: list[Change] = []
    for index in range(count):
        drift = _drift(levels[index], float(noise[index]), penalty, starts[index]) if p_drift[index] <= LEVEL / 2 else None
        if drift is not None:
            changes.append(Change(index, "drift", *drift, min(1.0, 2 * float(p_drift[index]))))
        else:
            changes += _steps(index, levels[index], float(noise[index]), starts[index], total)
    return changes


def step_penalty(releases: int, histories: int) -> float:
    """Return the penalty for one step in a history. A step is accepted only if it reduces the squared distances by more than this penalty.

    The distances are those between the levels of the releases and the mean level of their segment: steps divide a history into segments. The unit is
    the variance of the noise. The penalty is the square of a quantile of Student's t, corrected for the number of candidates for a step in all
    histories.
    """
    candidates = (releases - 1) * histories
    return float(student_t_two_sided_quantile(np.array([LEVEL / 2 / candidates]), releases - 1)[0]) ** 2


def _level_variance(history: Sequence[Floats], levels: Floats) -> float:
    freedom = sum(len(release) - 1 for release in history)
    squares = sum(float(((release - level) ** 2).sum()) for release, level in zip(history, levels, strict=True))
    runs = float(np.mean([1 / len(release) for release in history]))
    return squares / freedom * runs if freedom else 0.0


def _noise_deviation(levels: Floats, within: Floats) -> Floats:
    """Return one standard deviation for each history. Steps do not count as noise."""
    squares = np.sort(np.diff(levels, axis=1) ** 2, axis=1)
    count = max(1, int(np.ceil(_SHARE_FOR_NOISE * squares.shape[1])))
    own_noise = squares[:, :count].mean(axis=1) * _variance_factor(squares.shape[1], count)
    between = max(float(np.median(own_noise - within)), 0.0)  # the variance between sessions, which is the same for all histories of a page
    return np.asarray(np.sqrt(np.maximum(np.maximum(own_noise, within + between), 1e-12)))


@functools.lru_cache(maxsize=256)
def _variance_factor(count: int, used: int) -> float:
    """Return the factor that converts a mean of squared differences to the variance of the noise, for normal noise.

    A history has ``count`` differences between neighbouring releases. The mean is taken only over the smallest squared differences. Their number is
    ``used``.
    """
    noise = np.random.default_rng(1).standard_normal((_DRAWS // 4, count + 1))
    return 1 / float(np.sort(np.diff(noise, axis=1) ** 2, axis=1)[:, :used].mean())


def _segmented(scaled: Floats, penalty: float) -> list[list[int]]:
    """Divide each history into segments by optimal partitioning. Return the first release of each segment but the first."""
    count, releases = scaled.shape
    sums = np.concatenate([np.zeros((count, 1)), np.cumsum(scaled, axis=1)], axis=1)
    squares = np.concatenate([np.zeros((count, 1)), np.cumsum(scaled**2, axis=1)], axis=1)
    best = np.full((count, releases + 1), np.inf)
    best[:, 0] = -penalty
    before = np.zeros((count, releases + 1), np.int64)
    for end in range(_SHORTEST, releases + 1):
        starts = np.arange(end - _SHORTEST + 1)
        distance = squares[:, [end]] - squares[:, starts] - (sums[:, [end]] - sums[:, starts]) ** 2 / (end - starts)
        cost = best[:, starts] + distance + penalty
        before[:, end] = cost.argmin(axis=1)
        best[:, end] = cost.min(axis=1)
    starts_of_histories: list[list[int]] = []
    for path in before.tolist():
        starts_backwards, end = [], releases
        while path[end]:
            end = path[end]
            starts_backwards.append(end)
        starts_of_histories.append(starts_backwards[::-1])
    return starts_of_histories


def _steps(history: int, levels: Floats, noise: float, starts: Sequence[int], total: int) -> list[Change]:
    ends = [0, *starts, len(levels)]
    changes = []
    for first, start, last in zip(ends, ends[1:], ends[2:], strict=False):
        shift = float(levels[start:last].mean() - levels[first:start].mean())
        error = noise * sqrt(1 / (start - first) + 1 / (last - start))
        freedom = len(levels) - 1
        width = error * float(student_t_two_sided_quantile(np.array([0.05]), freedom)[0])
        p = student_t_two_sided_p(abs(shift) / error, freedom) * freedom * total * 2
        changes.append(Change(history, "step", start, start, shift, shift - width, shift + width, min(1.0, p)))
    return changes


def _trend_p(levels: Floats) -> Floats:
    """Return the p-value of Kendall's trend test for each history, corrected for the number of histories.

    For the correction, the releases are shuffled many times. Each shuffle uses one order of the releases for all histories.
    """
    first, second = np.triu_indices(levels.shape[1], 1)
    signs = np.sign(levels[:, second] - levels[:, first])
    statistics = np.abs(signs @ _order_signs(levels.shape[1]).T)
    largest = np.sort(statistics.max(axis=0))
    return np.asarray(1 - np.searchsorted(largest, statistics[:, 0], side="left") / len(largest))


@functools.lru_cache(maxsize=8)
def _order_signs(releases: int) -> Floats:
    """Return a matrix with a row for each shuffle of the releases, and a column for each pair of releases.

    A value is 1 if the shuffle keeps the order of the two releases, else -1. In the first row, nothing is shuffled, so all values are 1.
    """
    generator = np.random.default_rng(1)
    orders = np.stack([np.arange(releases), *(generator.permutation(releases) for _ in range(_SHUFFLES))])
    first, second = np.triu_indices(releases, 1)
    return np.asarray(np.sign(orders[:, second] - orders[:, first]), np.float64)


def _drift(levels: Floats, noise: float, penalty: float, starts: Sequence[int]) -> tuple[int, int, float, float, float] | None:
    """Return the first and the last release of a drift, its shift, and the 95 % interval of the shift; ``None`` if steps fit better.

    A drift has two ends and one shift, so its penalty is larger than that of one step and smaller than that of two steps. The ends of the drift are
    estimates too. So the interval covers all drifts that fit the history nearly as well as the best drift (profile likelihood).

    Source:
        Venzon & Moolgavkar (1988), "A method for computing profile-likelihood-based confidence intervals".
    """
    ramps = list(_ramps(levels))
    best = min(ramps, key=lambda ramp: ramp.distance)
    by_steps = sum(float(((part - part.mean()) ** 2).sum()) for part in np.split(levels, starts)) / noise**2 + penalty * len(starts)
    if starts and best.distance / noise**2 + penalty * (1.25 if len(starts) == 1 else 1.5) >= by_steps:
        return None
    most = best.distance + (noise * float(student_t_two_sided_quantile(np.array([0.05]), len(levels) - 1)[0])) ** 2
    able = [(ramp.shift, sqrt((most - ramp.distance) / ramp.squares)) for ramp in ramps if ramp.distance <= most]
    return best.first, best.last, best.shift, min(shift - width for shift, width in able), max(shift + width for shift, width in able)


class _Ramp(NamedTuple):
    """A straight change of the level between two releases.

    ``shift`` is the size of the change. ``distance`` is the sum of the squared distances between the levels and the line. ``squares`` is computed for
    a line with the same two releases and a shift of 1: the sum of the squared distances between this line and its own mean.
    """

    first: int
    last: int
    shift: float
    distance: float
    squares: float


def _ramps(levels: Floats) -> Iterator[_Ramp]:
    """Yield a ramp for each pair of releases at least `_LEAST_DRIFT` apart. The shift is the best one by least squares."""
    releases = len(levels)
    above = levels - levels.mean()
    for first in range(releases - _LEAST_DRIFT):
        for last in range(first + _LEAST_DRIFT, releases):
            ramp = np.clip((np.arange(releases) - first) / (last - first), 0, 1)
            centred = ramp - ramp.mean()
            squares = float(centred @ centred)
            shift = float(centred @ above) / squares
            yield _Ramp(first, last, shift, float(((above - shift * centred) ** 2).sum()), squares)

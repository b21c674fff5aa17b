"""Within which range the median of runs lies, from the runs alone: order statistics, without any assumption about their distribution.

Each run of a setting is as likely above the true median as below it. So the number of runs below it is that of heads among as many coins, and the
interval from the k-th smallest to the k-th largest run holds the median unless fewer than k runs lie on one side of it.

Source:
    David & Nagaraja (2003), "Order Statistics", section 7.1; Hollander, Wolfe & Chicken (2014), "Nonparametric Statistical Methods", section 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


class MedianInterval(NamedTuple):
    """The interval of a median: its ends, and the confidence that this number of values gives, which is at least what was asked for."""

    low: float
    high: float
    confidence: float


def median_interval(values: Sequence[float], confidence: float) -> MedianInterval | None:
    """The narrowest interval between two of the values, as far from either end, that holds the median with at least this confidence.

    Args:
        values: one value a run, shape (n,), independent of each other.
        confidence: between 0 and 1, two-sided: of 0.95, at most 0.025 of the cases have the median below the interval, and at most 0.025 above.

    Returns:
        ``None`` if so few values cannot give this confidence: `values_needed` says how many can.
    """
    place, achieved = _place(len(values), confidence)
    if not place:
        return None
    ordered = sorted(values)
    return MedianInterval(ordered[place - 1], ordered[-place], achieved)


def values_needed(confidence: float) -> int:
    """How many values an interval of this confidence needs: with n values, the whole range holds the median in all but 2 of 2**n cases."""
    count = 2
    while not _place(count, confidence)[0]:
        count += 1
    return count


def attainable(count: int) -> float:
    """The largest confidence that so many values can give: that of the interval from the smallest to the largest."""
    return float(1 - Fraction(2, 2**count)) if count else 0.0


@lru_cache(maxsize=1024)
def _place(count: int, confidence: float) -> tuple[int, float]:
    """The largest k for which the k-th smallest and the k-th largest value have the confidence, and what they have; 0 if there is none."""
    # Exact: powers of two of a thousand runs are beyond every float, and 0.95 is no float either.
    allowed = (1 - Fraction(str(confidence))) * 2**count
    term, outside, place, left = 1, 0, 0, Fraction(0)
    while place < (count + 1) // 2:
        outside += 2 * term
        if outside > allowed:
            break
        left = Fraction(outside)
        place += 1
        term = term * (count - place + 1) // place
    return place, float(1 - left / 2**count) if place else 0.0

"""The two textbook distributions that a comparison needs: the normal one and Student's t.

They are written here because scipy would make the installation 140 MB larger and start two seconds later. The tests hold them against scipy.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

_MEDIAN = 0.5


def normal_upper_tail(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that a standard normal variable is larger than each of ``z``."""
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
        raise ValueError(f"quantile {probability} of Student's t with {freedom} degrees of freedom")
    return float(student_t_two_sided_quantile(np.array([2 * (1 - probability)]), freedom)[0])


def student_t_two_sided_quantile(outside: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
    """Return the values that ``|t|`` exceeds with each of these probabilities.

    Args:
        outside: probabilities between 0 and 1, shape (k,).
        freedom: degrees of freedom, at least 1.
    """
    low, high = np.zeros_like(outside), np.full_like(outside, math.pi / 2)
    for _ in range(60):  # halves: as exact as floating-point numbers are
        middle = (low + high) / 2
        above = _within(middle, freedom) < 1 - outside
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(math.sqrt(freedom) * np.tan(high))


def _within(angle: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
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
    """Return the probability that ``|t|`` is larger than this.

    Args:
        t: at least 0.
        freedom: degrees of freedom, at least 1.
    """
    return max(0.0, 1 - float(_within(np.array([math.atan2(t, math.sqrt(freedom))]), freedom)[0]))

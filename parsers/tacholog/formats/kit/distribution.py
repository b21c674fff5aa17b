"""Statistics of a stream of samples in bounded memory: how often each value came.

Up to 65536 different values every statistic is exact. Beyond, values are kept to 11 binary digits, so that a percentile is at most 1/1024
too low; count, mean, deviation, minimum and maximum stay exact.

Source: nearest rank is definition 1 of Hyndman and Fan (1996), "Sample Quantiles in Statistical Packages".
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIFFERENT_VALUES = 1 << 16
KEPT_DIGITS = 11
PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999")


class Distribution:
    """Whole numbers, counted."""

    def __init__(self) -> None:
        """Start empty."""
        self.count = 0
        self._total = 0
        self._squares = 0
        self._minimum = 0
        self._maximum = 0
        self._counts: Counter[int] = Counter()
        self._coarse = False

    @property
    def is_exact(self) -> bool:
        """Whether each value is kept as it came."""
        return not self._coarse

    def add(self, value: int) -> None:
        """Count one sample."""
        self._minimum = min(self._minimum, value) if self.count else value
        self._maximum = max(self._maximum, value) if self.count else value
        self.count += 1
        self._total += value
        self._squares += value * value
        self._counts[_coarse(value) if self._coarse else value] += 1
        if len(self._counts) > DIFFERENT_VALUES and not self._coarse:
            self._coarsen()

    def add_many(self, values: NDArray[np.int64]) -> None:
        """Count many samples, none below zero."""
        import numpy as np

        if not len(values):
            return
        different, counts = (array.tolist() for array in np.unique(values, return_counts=True))
        self._minimum = min(self._minimum, different[0]) if self.count else different[0]
        self._maximum = max(self._maximum, different[-1]) if self.count else different[-1]
        self.count += len(values)
        for value, count in zip(different, counts, strict=True):
            self._total += value * count
            self._squares += value * value * count
            self._counts[_coarse(value) if self._coarse else value] += count
        if len(self._counts) > DIFFERENT_VALUES and not self._coarse:
            self._coarsen()

    def _coarsen(self) -> None:
        fine, self._counts, self._coarse = self._counts, Counter(), True
        for value, count in fine.items():
            self._counts[_coarse(value)] += count

    def statistics(self) -> dict[str, tuple[float, float]]:
        """Each statistic by name: its value, and how wide the bin is that it was read from (0: exact).

        Raises:
            ValueError: there is no sample.
        """
        if not self.count:
            raise ValueError("no samples")
        mean = self._total / self.count
        variance_of_sums = self.count * self._squares - self._total**2  # Whole numbers: floats would lose small deviations of large values.
        deviation = isqrt(variance_of_sums * 10**6) / (10**3 * self.count)
        found = {"mean": (mean, 0.0), "std": (deviation, 0.0), "min": (float(self._minimum), 0.0)}
        return found | self._percentiles() | {"max": (float(self._maximum), 0.0)}

    def _percentiles(self) -> dict[str, tuple[float, float]]:
        found: dict[str, tuple[float, float]] = {}
        ranks = [(name, ceil(Fraction(name[1:]) * self.count / 100)) for name in PERCENTILES]
        covered = 0
        for value, count in sorted(self._counts.items()):
            covered += count
            while len(found) < len(ranks) and ranks[len(found)][1] <= covered:
                width = float(1 << _dropped_digits(value)) if self._coarse else 0.0
                found[ranks[len(found)][0]] = (float(value), 0.0 if width == 1 else width)
        return found


def _dropped_digits(value: int) -> int:
    return max(abs(value).bit_length() - KEPT_DIGITS, 0)


def _coarse(value: int) -> int:
    dropped = _dropped_digits(value)
    return value >> dropped << dropped

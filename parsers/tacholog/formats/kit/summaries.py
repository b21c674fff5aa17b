"""Results that a format computes itself: a summary from intervals, if the tool prints no summary, and the statistics of single samples.

A summary contains only numbers that can be computed correctly from intervals, and marks every number as derived. The minimum and the maximum of the
run are the smallest minimum and the largest maximum of its intervals. The mean latency is weighted by samples: an unweighted mean would give a second
with ten samples the same weight as a second with ten thousand. Percentiles of the run cannot be computed from percentiles of its intervals, and are
left out. Rates and processor time are means over complete intervals, weighted by their length; intervals in which the run started or ended are not
used. If nothing was received between two intervals, and the tool prints no line for this time, it has a rate of zero.

Samples are counted in bounded memory: the number of occurrences of each value. With up to 65536 different values, every statistic is exact. With
more, values are rounded down to 11 binary digits, so that a percentile is at most 1/1024 too low; count, mean, deviation, minimum and maximum stay
exact.

Source: the nearest rank is definition 1 of Hyndman and Fan (1996), "Sample Quantiles in Statistical Packages".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING

import msgspec

from tacholog.formats.kit.findings import Finding
from tacholog.formats.kit.lines import Line
from tacholog.schema.records import Number, Record

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray

DERIVED = "derived"
PARTIAL = "partial"
_LATENCY = ("latency", "jitter")
_EXTREMES = {"min": min, "max": max}
_RATES = ("message_rate", "goodput", "offered_rate", "offered_goodput")
_SUMMED = ("messages_received", "messages_sent", "messages_lost", "bytes_received", "duration")


class Tally:
    """The intervals of one series so far: everything that a summary needs, in bounded memory."""

    def __init__(self, line: Line, record: Record) -> None:
        """Start a series. ``line`` and ``record`` are its first interval. This interval is not counted until it is added by `add`."""
        self._first = self._last = line
        self.first = record  #: the first interval
        self._samples = 0
        self._sums: dict[tuple[str, str], Fraction] = {}
        self._weights: dict[tuple[str, str], Fraction] = {}
        self._extremes: dict[tuple[str, str], float] = {}
        self._resolutions: dict[tuple[str, str], float | None] = {}
        self._below: set[tuple[str, str]] = set()  # Numbers that some interval prints as 0. A printed 0 is an upper bound.
        self._unknown: set[tuple[str, str]] = set()  # Numbers that some interval does not state, so their sum is unknown.
        self.stamp = -1e12  #: the time of the latest interval, on the clock of the tool

    def add(self, line: Line, record: Record, *, stamp: float, whole: bool, lasted: float = 1.0, silent: float = 0.0) -> None:
        """Add an interval. ``whole`` is false if the run started or ended within it.

        ``lasted`` is the length of the interval, in any unit. The interval can follow a time in which nothing was received. ``silent`` is the length
        of this time, in the same unit as ``lasted``.
        """
        self._last, self.stamp = line, stamp
        if record.test != "latency" or (mean := record.number("latency", "mean")) is None or mean.value is not None:
            self._samples += record.samples or 0
        for number in record.numbers:
            if number.value is None or (
                number.bound != "=" and number.metric in _LATENCY
            ):  # If a latency was printed as 0, its value is unknown, so it cannot be added.
                self._unknown.add((number.metric, number.statistic))
            else:
                self._count(number, number.value, record.samples or 0, lasted if whole else None)
                if silent and number.metric in _RATES:
                    self._weigh((number.metric, number.statistic), 0.0, Fraction(silent))

    def _count(self, number: Number, value: float, samples: int, lasted: float | None) -> None:
        """Add a number. ``lasted`` is ``None`` for an incomplete interval."""
        key = (number.metric, number.statistic)
        if number.metric == "peak_memory":
            self._extremes[key] = max(value, self._extremes.get(key, value))
        elif number.metric in _LATENCY and number.statistic in _EXTREMES:
            self._extremes[key] = _EXTREMES[number.statistic](value, self._extremes.get(key, value))
        elif number.metric in _LATENCY and number.statistic == "mean":
            self._weigh(key, value, Fraction(samples))
        elif number.metric in _SUMMED:
            self._weigh(key, value, Fraction(1))
        elif number.statistic == "mean" and number.metric not in _LATENCY and lasted:
            self._weigh(key, value, Fraction(lasted))
        else:
            return
        self._resolutions[key] = number.resolution
        if number.bound == "<":
            self._below.add(key)

    def _weigh(self, key: tuple[str, str], value: float, weight: Fraction) -> None:
        self._sums[key] = self._sums.get(key, Fraction(0)) + Fraction(value) * weight
        self._weights[key] = self._weights.get(key, Fraction(0)) + weight

    def found(self, more: Sequence[Number] = (), *, partial: bool = False) -> Finding | None:
        """Return the summary, on the first and the last line of the series; ``None`` if no number can be computed from the intervals.

        ``more`` are numbers from another source. They replace the numbers that are computed from the intervals. If ``partial`` is true, the series
        lacks rows, and all numbers get the mark `PARTIAL`. Otherwise a number gets this mark only if some rows do not state the number.
        """
        numbers = {(n.metric, n.statistic): n for n in (*self.numbers(), *more)}
        if loss := _loss(*(numbers.get((f"messages_{name}", "total")) for name in ("received", "lost"))):
            numbers["loss", "total"] = loss
        if not numbers:
            return None
        summary = msgspec.structs.replace(
            self.first,
            scope="summary",
            samples=self._samples or None,
            numbers=tuple(self._marked(number, partial=partial) for number in numbers.values()),
        )
        return Finding(self._first, summary, (self._last,) if self._last != self._first else ())

    def _marked(self, number: Number, *, partial: bool) -> Number:
        missing = partial or ((number.metric, number.statistic) in self._unknown and number.value is not None)
        return msgspec.structs.replace(number, marks=tuple(sorted({*number.marks, DERIVED, *((PARTIAL,) if missing else ())})))

    def numbers(self) -> list[Number]:
        """Return the numbers of the summary, in the order in which the intervals stated them."""
        numbers = []
        for key, resolution in self._resolutions.items():
            if key in self._extremes:
                value = self._extremes[key]
            elif key[0] in _SUMMED:
                if key in self._unknown:
                    continue
                value = float(self._sums[key])
            elif self._weights.get(key):
                value = float(self._sums[key] / self._weights[key])
            else:
                continue
            # A printed 0 may hide any value below the unit of the last digit, so this unit was added in place of the 0. If the mean is not above this
            # unit, the mean is only an upper bound of the true mean.
            is_bound = key in self._below and resolution is not None and value <= resolution
            numbers.append(Number(metric=key[0], statistic=key[1], value=value, resolution=resolution, bound="<" if is_bound else "="))
        return numbers


def _loss(received: Number | None, lost: Number | None) -> Number | None:
    if not received or not lost or received.value is None or lost.value is None or not received.value + lost.value:
        return None
    return Number(metric="loss", statistic="total", value=lost.value / (received.value + lost.value))


DIFFERENT_VALUES = 1 << 16
KEPT_DIGITS = 11
PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999")


class Distribution:
    """A distribution of whole numbers, from which statistics are computed. Only 11 binary digits of each number are kept, unless ``is_exact``."""

    def __init__(self, *, is_exact: bool = True) -> None:
        self.count = 0
        self._total = 0
        self._squares = 0
        self._minimum = 0
        self._maximum = 0
        self._counts: Counter[int] = Counter()
        self._coarse = not is_exact

    @property
    def is_exact(self) -> bool:
        """Whether each value is stored exactly."""
        return not self._coarse

    def add(self, value: int) -> None:
        """Add one sample."""
        self._minimum = min(self._minimum, value) if self.count else value
        self._maximum = max(self._maximum, value) if self.count else value
        self.count += 1
        self._total += value
        self._squares += value * value
        self._counts[_coarse(value) if self._coarse else value] += 1
        if len(self._counts) > DIFFERENT_VALUES and not self._coarse:
            self._coarsen()

    def add_many(self, values: NDArray[np.int64]) -> None:
        """Add many samples. None may be negative."""
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
        """Return each statistic by name: its value, and the width of its bin (0: the value is exact).

        Raises:
            ValueError: there is no sample.
        """
        if not self.count:
            raise ValueError("no samples")
        mean = self._total / self.count
        variance_of_sums = self.count * self._squares - self._total**2  # Whole numbers, because floats would lose small deviations of large values.
        deviation = isqrt(variance_of_sums * 10**6) / (10**3 * self.count)
        moments = {"mean": (mean, 0.0), "std": (deviation, 0.0), "min": (float(self._minimum), 0.0)}
        return moments | self._percentiles() | {"max": (float(self._maximum), 0.0)}

    def bins(self) -> Iterator[tuple[int, int, int]]:
        """Yield the lowest and the highest number of each bin, and its count."""
        for value, count in sorted(self._counts.items()):
            width = 1 << _dropped_digits(value) if self._coarse else 1
            yield value, value + width - 1, count

    def _percentiles(self) -> dict[str, tuple[float, float]]:
        percentiles: dict[str, tuple[float, float]] = {}
        ranks = [(name, ceil(Fraction(name[1:]) * self.count / 100)) for name in PERCENTILES]
        covered = 0
        for value, count in sorted(self._counts.items()):
            covered += count
            while len(percentiles) < len(ranks) and ranks[len(percentiles)][1] <= covered:
                width = float(1 << _dropped_digits(value)) if self._coarse else 0.0
                percentiles[ranks[len(percentiles)][0]] = (float(value), 0.0 if width == 1 else width)
        return percentiles


def _dropped_digits(value: int) -> int:
    return max(abs(value).bit_length() - KEPT_DIGITS, 0)


def _coarse(value: int) -> int:
    dropped = _dropped_digits(value)
    return value >> dropped << dropped

"""The axes of figures: range, ticks, and labels of the ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from tacholog.view.numerals import quantity, size

_MANY = 9
_MANY_UPRIGHT = 13
_LINEAR_TICKS = 5
_KIB = 1 << 10
_MOST_SIZES = 10  # the number of sizes that have room for a label, if their distances are equal
_STEPS_OF_POWERS = (1, 2, 5, 10)  # ticks are at every 1st, 2nd, 5th or 10th power of two; with each of these steps, 1 KiB and 1 MiB have a tick


class Axis(msgspec.Struct, frozen=True):
    """An axis: title, ends and ticks in the unit of the schema, labels of the ticks, and the name of the unit in exported files.

    ``is_of_names``: whether the positions 1, 2 and so on stand for names, which are the labels.
    """

    title: str
    scale: Literal["log", "linear"]
    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    unit: str = ""
    is_of_names: bool = False

    def position(self, value: float) -> float:
        """Return the position of a value between the ends, from 0 to 1."""
        if self.scale == "linear":
            return (value - self.low) / (self.high - self.low)
        return math.log(value / self.low) / math.log(self.high / self.low)


def size_axis(values: Sequence[float], title: str = "Message size") -> Axis:
    """Return the axis of payload sizes in bytes.

    If there are few sizes, each has a tick. Otherwise, the ends and powers of two between them have ticks. A size that would be labelled with a long
    number of bytes, such as 10 000 000 B, has no tick.
    """
    low, high = _ends(values)
    measured = sorted({float(value) for value in values})
    room = math.log2(high / low) / _MOST_SIZES
    if len(measured) > 1 and all(map(_has_short_text, measured)) and all(math.log2(after / before) >= room for before, after in pairwise(measured)):
        return _log(title, low, high, measured, size, "bytes")
    powers = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
    step = next((step for step in _STEPS_OF_POWERS if len(powers) / step <= _MANY), _STEPS_OF_POWERS[-1])
    ends = [end for end in (measured[0], measured[-1]) if _has_short_text(end)]
    between = [2.0**power for power in powers if power % step == 0 and all(abs(math.log2(2.0**power / end)) >= step * 0.75 for end in ends)]
    return _log(title, low, high, sorted({*between, *ends}), size, "bytes")


def _has_short_text(payload_bytes: float) -> bool:
    return payload_bytes < _KIB or payload_bytes % _KIB == 0


def number_axis(values: Sequence[float], title: str, unit: str) -> Axis:
    """Return the axis of numbers in the schema's ``unit``. It has ticks at 1, 2 and 5 of each decade; if these are too many, at powers of ten."""
    low, high = _ends(values)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    ticks_in_range: list[float] = []
    for factors, every in (((1, 2, 5), 1), ((1,), 1), ((1,), 2), ((1,), 3)):
        ticks = [factor * 10.0**power for power in powers if power % every == 0 for factor in factors]
        ticks_in_range = [tick for tick in ticks if low <= tick <= high]
        if len(ticks_in_range) <= _MANY_UPRIGHT:
            break
    return _log(title, low, high, ticks_in_range, lambda tick: quantity(tick, unit), unit)


def percentile_axis(highest: float) -> Axis:
    """Return the axis of percentiles. Its values are 1 / (1 - share): 10 is the 90th percentile, 100 the 99th.

    So 90, 99 and 99.9 % are equally far apart.
    """
    nines = range(1, max(2, math.ceil(math.log10(highest))) + 1)
    ticks = [2.0, *(10.0**count for count in nines)]
    labels = ["50\u00a0%", *(f"{100 - 100 / 10**count:.{max(0, count - 2)}f}\u00a0%" for count in nines)]
    labelled = [(tick, label) for tick, label in zip(ticks, labels, strict=True) if tick <= highest * 1.2]
    return Axis("Percentile", "log", 1.0, highest * 1.3, tuple(tick for tick, _ in labelled), tuple(label for _, label in labelled), "1/(1 - share)")


def share_axis(values: Sequence[float], title: str) -> Axis:
    """Return the axis of shares (0 to 1). It is linear and begins at zero, because most shares of a good run are zero."""
    step = _round_step(max(*values, 1e-6) / _LINEAR_TICKS)
    count = math.ceil(max(*values, 1e-6) / step - 1e-9)
    ticks = [step * index for index in range(count + 1)]
    return Axis(title, "linear", -0.02 * ticks[-1], 1.03 * ticks[-1], tuple(ticks), tuple(quantity(tick, "ratio") for tick in ticks), "ratio")


def time_axis(highest_s: float) -> Axis:
    """Return the axis of time since the start of a measurement, in seconds."""
    return _from_zero(highest_s, "Time since the start of the measurement", lambda tick: f"{tick:g}\u00a0s", "s")


def count_axis(highest: float) -> Axis:
    """Return an axis that counts intervals. This axis replaces the time axis if the length of the intervals is unknown."""
    return _from_zero(highest, "Interval", lambda tick: f"{tick:g}")


def _from_zero(highest: float, title: str, label: Callable[[float], str], unit: str = "") -> Axis:
    step = _round_step(highest / _LINEAR_TICKS)
    ticks = tuple(round(step * index, 9) for index in range(int(highest / step + 1e-9) + 1))
    return Axis(title, "linear", 0.0, highest * 1.03, ticks, tuple(label(tick) for tick in ticks), unit)


def _round_step(least: float) -> float:
    decade = 10.0 ** math.floor(math.log10(least))
    return next(factor * decade for factor in (1, 2, 5, 10) if factor * decade >= least * (1 - 1e-9))


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis, with a margin. They span at least a factor of 10, so that noise does not look like a change."""
    low, high = min(values), max(values)
    middle = math.sqrt(low * high)
    low, high = min(low, middle / math.sqrt(10)), max(high, middle * math.sqrt(10))
    room = (high / low) ** 0.04
    return low / room, high * room


def _log(title: str, low: float, high: float, ticks: Sequence[float], label: Callable[[float], str], unit: str) -> Axis:
    ticks_in_range = tuple(tick for tick in ticks if low <= tick <= high)
    return Axis(title, "log", low, high, ticks_in_range, tuple(label(tick) for tick in ticks_in_range), unit)

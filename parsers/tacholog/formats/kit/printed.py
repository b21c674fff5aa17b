"""Numbers as tools print them: rounded, truncated, or impossible.

Source: the C++ standard's rules for printing floating point, which most of these tools use with their defaults.
"""

from __future__ import annotations

from math import floor, log10

from tacholog.schema.records import Bound, Number

DIGITS = 6  # What an output stream of C++ prints unless told otherwise.


def printed(metric: str, statistic: str, value: float, resolution: float, marks: tuple[str, ...] = ()) -> Number:
    """A number printed to ``resolution``: a printed 0 only says that it is less than one unit, and none of these can be below zero."""
    if value < 0:
        return Number(metric=metric, statistic=statistic, value=None, marks=(*marks, "impossible"))
    bound: Bound = "<" if value == 0 else "="
    return Number(metric=metric, statistic=statistic, value=value or resolution, resolution=resolution, bound=bound, marks=marks)


def counted(metric: str, count: int) -> Number:
    """An exact count."""
    return Number(metric=metric, statistic="total", value=float(count))


def unit_of_last_place(value: float) -> float:
    """The unit of the last place of a number that was printed with six significant digits, trailing zeros dropped."""
    return 10.0 ** (floor(log10(value)) - DIGITS + 1) if value > 0 else 10.0 ** -(DIGITS - 1)

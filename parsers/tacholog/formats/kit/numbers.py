"""Numbers as tools print them: rounded, cut off, counted, or impossible.

Source: the C++ standard's rules for printing floating point, which most of these tools use with their defaults.
"""

from __future__ import annotations

from decimal import Decimal
from math import floor, log10

import msgspec

from tacholog.formats.kit.lines import Cell
from tacholog.schema.records import Bound, Number

DIGITS = 6  # By default, an output stream of C++ prints this number of significant digits.
COUNT_LIMIT = 2**63  # Every count and size is below this limit. A larger printed number is a negative number that was printed as unsigned.
MICROSECOND = 1000.0  # in nanoseconds
VALUE_LIMIT = 1e21  # More than the number of bits in 2^64 bytes. So no counter, rate or time of a tool is larger.


def printed(
    metric: str,
    statistic: str,
    value: float,
    resolution: float,
    marks: tuple[str, ...] = (),
    *,
    zero_is_exact: bool = False,
    line: int | None = None,
    cell: str | None = None,
) -> Number:
    """Make a number that the tool rounded to ``resolution``. ``value`` and ``resolution`` are in the unit of the metric.

    A printed 0 becomes "less than one ``resolution``", unless ``zero_is_exact``. A value below zero is impossible. ``line`` is the line of the
    number, if its record spans several lines. ``cell`` is its printed text; a `Cell` also has its position.
    """
    if value < 0:
        return impossible(metric, statistic, marks, line=line, cell=cell)
    bound: Bound = "=" if value or zero_is_exact else "<"
    limit = resolution if bound == "<" else value
    return at_cell(Number(metric=metric, statistic=statistic, value=limit, resolution=resolution, bound=bound, marks=marks, line=line), cell)


def counted(metric: str, count: int, *, line: int | None = None, cell: str | None = None) -> Number:
    """Make a number from an exact count. A negative count, or one of at least 2^63, is impossible. For ``line`` and ``cell``, see `printed`."""
    if not 0 <= count < COUNT_LIMIT:
        return impossible(metric, line=line, cell=cell)
    return at_cell(Number(metric=metric, statistic="total", value=float(count), line=line), cell)


def impossible(metric: str, statistic: str = "total", marks: tuple[str, ...] = (), *, line: int | None = None, cell: str | None = None) -> Number:
    """Make the number for a printed value that cannot be true. The number has no value; a mark says why. For ``line`` and ``cell``, see `printed`."""
    return at_cell(Number(metric=metric, statistic=statistic, value=None, marks=(*marks, "impossible"), line=line), cell)


def at_cell(number: Number, cell: str | None) -> Number:
    """Return the number with the position of this cell, if the position is known."""
    if not isinstance(cell, Cell):
        return number
    return msgspec.structs.replace(number, line=number.line or cell.line, value_start=cell.start, value_end=cell.end)


def converted(value: float, unit: float) -> float:
    """Return a printed value times ``unit``, as exactly as it was printed: 2.000021 s are 2000021000 ns, and not 2000020999.9999998."""
    return float(value) if unit == 1 else float(Decimal(repr(float(value))) * Decimal(repr(float(unit))))


def is_size(payload_bytes: int) -> bool:
    """Whether this is a possible message size: above 0 and below 2^63."""
    return 0 < payload_bytes < COUNT_LIMIT


def unit_of_last_place(value: float) -> float:
    """Return the unit of the last digit of a number that was printed with six significant digits and without trailing zeros."""
    return 10.0 ** (floor(log10(value)) - DIGITS + 1) if value > 0 else 10.0 ** -(DIGITS - 1)


def unit_of_last_decimal(text: str) -> float:
    """Return the unit of the last printed decimal: 0.01 for ``3.20``, 1 for ``320``. The decimal sign may be a comma."""
    integer, _, decimals = text.replace(",", ".").partition(".")
    return 10.0 ** -len(decimals) if integer.removeprefix("-").isdigit() and (decimals.isdigit() or not decimals) else 1.0

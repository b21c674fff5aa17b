"""The percentile table of HdrHistogram.

The first and the last lines of a table of 100000 values::

           Value     Percentile TotalCount 1/(1-Percentile)

           0.000 0.000000000000          2           1.00
           2.000 0.100000000000      14564           1.11
         403.000 1.000000000000     100000
    #[Mean    =       49.863, StdDeviation   =       57.050]
    #[Max     =      403.000, Total count    =       100000]
    #[Buckets =            7, SubBuckets     =         2048]

The level of a row can be computed from the level of the row before. A fixed number of rows (``ticks``) is at equal steps in the first half of the
distance to 100 %, the same number in the first half of the remaining distance, and so on. In the Python port, each step is the same share of the
remaining distance. After the first row that counts all samples, the last row has the level 1.
Source: HdrHistogram, AbstractHistogram.outputPercentileDistribution and PercentileIterator; hdr_percentiles_print of the C port.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log2
from typing import NamedTuple

from tacholog.formats.kit import Broken, Cell, Conditions, Finding, Line, Number, Record, finding_on, printed, unit_of_last_decimal

#: The percentiles that are read. If no value lies beyond a percentile, it equals the maximum and is left out.
PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999")
NO_UNIT = (
    'the log does not state the unit of its values: read it with --as hdrhistogram:us (or ns, ms, s), or write format = "hdrhistogram:us" for '
    "this log into run.toml"
)
CONDITIONS = Conditions(definition="hdrhistogram-value")
HEADER = re.compile(r" {0,12}Value {1,8}Percentile {1,6}TotalCount {1,6}1/\(1-Percentile\)")
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_ROW = re.compile(
    rf" {{0,20}}(?P<value>{_NUMBER}) {{1,20}}(?P<level>[01]\.[0-9]{{5,12}}) {{1,20}}(?P<count>[1-9][0-9]{{0,14}})"
    r"(?: {1,20}(?:[0-9]{1,15}\.[0-9]{2}|inf))?"
)
_FOOTERS = (
    re.compile(rf"#\[Mean    = {{1,16}}(?P<mean>{_NUMBER}), StdDeviation   = {{1,16}}(?P<std>{_NUMBER})\]"),
    re.compile(
        rf"#\[Max     = {{1,16}}(?P<max>{_NUMBER}), "
        r"(?:(?P<total>Total count    = {1,16}[0-9]{1,15})|TotalCount     = {1,16}[0-9]{1,15}\.[0-9]{1,9})\]"
    ),
    re.compile(r"#\[Buckets = {1,16}[0-9]{1,9}, SubBuckets     = {1,16}(?P<sub>[1-9][0-9]{0,8})\]"),
)
_COUNT_AT_END = re.compile(r"(?P<count>[0-9]+)(?:\.0+)?\]")
_FEWEST_ROWS, _MOST_ROWS = 2, 4000
_TOLERANCE = 1.1e-6  # The C port prints levels with six decimals.


class _PercentileRow(NamedTuple):
    value: float
    level: float
    samples: int
    cell: Cell


class PercentileTable:
    """Reads the tables of a log, one after the other."""

    def __init__(self, unit: float | None) -> None:
        self._unit = unit
        self._lines: list[Line] = []
        self._rows: list[_PercentileRow] = []
        self._footers: list[re.Match[str]] = []
        self._trouble: str | None = None
        self._latest: Line | None = None

    def has_taken(self, line: Line) -> bool:
        """Whether the previous call of `take` added this line to a table."""
        return self._latest is line

    def take(self, line: Line) -> Iterator[Finding]:
        """Read a line. A table ends with its last footer, or with a line that does not belong to it."""
        if HEADER.fullmatch(line.text):
            yield from self.close()
            self._lines, self._latest = [line], line
            return
        if not self._lines:
            return
        if not line.text.strip() and not self._rows:
            self._add(line)
        elif (match := _ROW.fullmatch(line.text)) and not self._footers and line.whole and len(self._rows) < _MOST_ROWS:
            self._add(line)
            cell = Cell(match["value"], match.start("value"), line.number)
            self._rows.append(_PercentileRow(float(match["value"]), float(match["level"]), int(match["count"]), cell))
        elif len(self._footers) < len(_FOOTERS) and (match := _FOOTERS[len(self._footers)].fullmatch(line.text)):
            self._add(line)
            self._footers.append(match)
            if len(self._footers) == len(_FOOTERS):
                yield from self.close()
        else:
            yield from self.close()

    def close(self) -> Iterator[Finding]:
        """End a table, if one is open, and yield its record."""
        if not self._lines:
            return
        lines, what = self._lines, self._record()
        if self._unit is None and isinstance(what, Record):
            yield Finding(lines[0], Broken(NO_UNIT))
            yield finding_on(lines[1:], None)
        else:
            yield finding_on(lines, what)
        self._lines, self._rows, self._footers = [], [], []

    def _add(self, line: Line) -> None:
        self._lines.append(line)
        self._latest = line

    def _record(self) -> Record | Broken:
        if len(self._footers) < len(_FOOTERS):
            return Broken("a row of the table, or a line below the table, is missing, garbled or cut")
        mean, largest, buckets = self._footers
        total = _COUNT_AT_END.search(largest.string)
        count = int(total["count"]) if total else 0
        if not _is_complete(self._rows, count):
            return Broken("a row of the table is missing, repeated or out of order")
        # ``fine`` is the largest possible width of a bucket, divided by the value of the bucket.
        unit, fine = self._unit or 1.0, 2 / int(buckets["sub"])
        footers = {name: Cell(match[name], match.start(name), line.number) for name, match, line in self._of_footers(mean, largest)}
        numbers = [_scaled("mean", float(footers["mean"]), 0.0, footers["mean"], unit)]
        if largest["total"]:  # The Python library prints "TotalCount". Its deviation is not scaled, so it is not read.
            numbers.append(_scaled("std", float(footers["std"]), 0.0, footers["std"], unit))
        first = self._rows[0]
        numbers.append(_scaled("min", first.value, first.value * fine, first.cell, unit))
        numbers += [_percentile(self._rows, name, rank, fine, unit) for name, rank in ranks(count)]
        top = float(footers["max"])
        numbers.append(_scaled("max", top, top * fine, footers["max"], unit))
        return Record(test="latency", payload_bytes=None, numbers=tuple(numbers), samples=count, conditions=CONDITIONS)

    def _of_footers(self, mean: re.Match[str], largest: re.Match[str]) -> Iterator[tuple[str, re.Match[str], Line]]:
        mean_line, largest_line, _ = self._lines[-3:]
        yield from (("mean", mean, mean_line), ("std", mean, mean_line), ("max", largest, largest_line))


def _is_complete(rows: Sequence[_PercentileRow], total: int) -> bool:
    if len(rows) < _FEWEST_ROWS or rows[0].level != 0 or rows[-1].level != 1 or rows[-1].samples != total or rows[-2].samples != total:
        return False
    are_ascending = all(
        before.value <= row.value and before.samples <= row.samples and (before.samples < row.samples or before.value == row.value)
        for before, row in pairwise(rows)
    )
    return are_ascending and any(_levels_follow(rows[:-1], total, are_halved=are_halved) for are_halved in (True, False))


def _levels_follow(rows: Sequence[_PercentileRow], total: int, *, are_halved: bool) -> bool:
    """Whether each level follows from the level before it.

    If ``are_halved``, the step is halved each time that the distance to 100 % has halved. Otherwise each step is a fixed share of this distance.
    """
    ticks = round(1 / (2 * rows[1].level)) if len(rows) > 1 and 0 < rows[1].level < 1 else 1
    level = 0.0  # The printed level is not used, because the C port prints only six decimals.
    for before, row in pairwise(rows):
        level += 0.5 ** (floor(-log2(1 - level) + 1e-9) + 1) / ticks if are_halved else (1 - level) / (2 * ticks)
        if before.samples == total or level >= 1 or abs(row.level - level) > _TOLERANCE:
            return False
    return True


def ranks(count: int) -> list[tuple[str, int]]:
    """Return each percentile with its nearest rank among ``count`` values.

    A percentile is left out if its rank is the last rank, because then it is the maximum.
    """
    nearest = [(name, ceil(Fraction(name[1:]) * count / 100)) for name in PERCENTILES]
    return [(name, rank) for name, rank in nearest if rank < count]


def _percentile(rows: Sequence[_PercentileRow], name: str, rank: int, fine: float, unit: float) -> Number:
    """Return the value of the first row that covers the rank of a percentile.

    The true value may be lower if no row has exactly the level of the percentile. It is not below the value of the previous row.
    """
    index = next(index for index, row in enumerate(rows) if row.samples >= rank)
    row, level = rows[index], float(Fraction(name[1:]) / 100)
    has_row = not index or any(abs(other.level - level) < _TOLERANCE for other in rows)
    gap = 0.0 if has_row else row.value - rows[index - 1].value
    return _scaled(name, row.value, max(gap, row.value * fine), row.cell, unit)


def _scaled(statistic: str, value: float, width: float, cell: Cell, unit: float) -> Number:
    """Return a number in nanoseconds. The true value may be lower by up to ``width``, which is in the unit of the log."""
    resolution = max(width, unit_of_last_decimal(cell)) * unit
    return printed("latency", statistic, round(value * unit, 3), round(resolution, 6), line=cell.line, cell=cell)

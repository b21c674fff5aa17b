"""The packets of a sockperf full log: one row each, counted into the distribution that the summary before them was made from.

A latency always has three decimals, so a row that has them is whole also where the log ends behind it. A row that is cut is refused: its last cell is
the sample itself, and its two times give that only to a nanosecond.

Source: logs recorded with sockperf 3.7.
"""

from __future__ import annotations

import re
from collections import Counter

from tacholog.formats.kit import Broken, Bulk, Facts, Found, FoundMany, Histogram, Line, Lines, Record, Taken, first_false

_HEADER = re.compile(r"packet, txTime\(sec\), rxTime\(sec\), (?:latency|rtt)\(usec\)")
_ROW_MARK = re.compile(r"[0-9]{1,18}, ")
_ROW = re.compile(r"(?P<packet>[0-9]{1,12}), (?P<tx>[0-9]{1,9}\.[0-9]{9}), (?P<rx>[0-9]{1,9}\.[0-9]{9}), (?P<us>[0-9]{1,9}\.[0-9]{3})")
# Times of fewer digits before the point, so that they are exact as floating point; logs begin at zero.
PACKETS = Bulk(rb"\d{1,12}+, \d{1,6}+\.\d{9}, \d{1,6}+\.\d{9}, \d{1,9}+\.\d{3}")
_KEPT_DIGITS = 11  # Binary digits: bins are at most 1/1024 of their value wide.


class Packets:
    """The table behind the last record. Rows are not kept, only counted."""

    def __init__(self) -> None:
        """Wait for a record and its table."""
        self._record: Record | None = None
        self._open = False
        self._counts: Counter[int] = Counter()
        self._rows = 0
        self._largest_ns = 0

    @property
    def is_open(self) -> bool:
        """Whether this is within the table."""
        return self._open

    def behind(self, record: Record) -> None:
        """Remember the record that a table may stand behind."""
        self._record = record

    def take(self, line: Line, text: str) -> list[Found] | None:
        """Use a row; ``None`` if it is not one."""
        if header := _HEADER.fullmatch(text):
            self._open, self._counts, self._rows, self._largest_ns = self._fits(header[0]), Counter(), 0, 0
            return [Found(line, None)]
        if not _ROW_MARK.match(text):
            return None
        row = _ROW.fullmatch(text)
        if row is None or not self._count(row):
            return [Found(line, Broken("a packet's row that is cut, garbled or out of its place"))]
        return [Found(line, None)]

    def take_many(self, lines: Lines) -> Taken:
        """Use rows as far as they are the next ones of the table."""
        import numpy as np

        if not self._open or self._record is None:
            return Taken()
        packet, sent, received, latency = lines.cells.T
        latency_ns, trip_ns = np.rint(latency * 1e3), np.rint(received * 1e9) - np.rint(sent * 1e9)
        expected_ns = trip_ns if self._record.conditions.basis == "rtt" else trip_ns / 2
        valid = (packet == np.arange(self._rows, self._rows + lines.count)) & (abs(latency_ns - expected_ns) <= 1)
        count = first_false(valid)
        if count == 0:
            return Taken()
        counted = latency_ns[:count].astype("int64")
        self._rows += count
        self._largest_ns = max(self._largest_ns, int(counted.max()))
        dropped = np.maximum(np.frexp(counted)[1] - _KEPT_DIGITS, 0)
        for low, often in zip(*np.unique(counted >> dropped << dropped, return_counts=True), strict=True):
            self._counts[int(low)] += int(often)
        return Taken(count, [FoundMany(lines.part(0, count), None)])

    def close(self, line: Line | None) -> list[Found]:
        """End the table: its distribution, if it holds all packets of the summary; else the log is not whole."""
        record, is_open = self._record, self._open
        self._record, self._open = None, False
        if not is_open or record is None:
            return [Found(line, None)] if line else []
        if self._rows != record.samples or not self._is_of(record):
            reason = f"the full log has {self._rows} of {record.samples} packets"
            return [Found(line, Facts(status="truncated", reason=reason))]
        if record.conditions.basis is None or line is None:
            return [Found(line, None)] if line else []
        bins = tuple((low, low + (1 << _dropped(low)) - 1, count) for low, count in sorted(self._counts.items()))
        return [Found(line, Histogram(payload_bytes=record.payload_bytes, basis=record.conditions.basis, bins=bins))]

    def _fits(self, header: str) -> bool:
        return self._record is not None and (self._record.conditions.basis == "rtt") == ("rtt(" in header)

    def _count(self, row: re.Match[str]) -> bool:
        """Count a row that is the next one, and whose latency is the time between its two times."""
        if not self._open or self._record is None or int(row["packet"]) != self._rows:
            return False
        latency_ns = int(row["us"].replace(".", ""))
        round_trip_ns = int(row["rx"].replace(".", "")) - int(row["tx"].replace(".", ""))
        expected_ns = round_trip_ns if self._record.conditions.basis == "rtt" else round_trip_ns / 2
        if abs(latency_ns - expected_ns) > 1:
            return False
        self._rows += 1
        self._largest_ns = max(self._largest_ns, latency_ns)
        dropped = _dropped(latency_ns)
        self._counts[latency_ns >> dropped << dropped] += 1
        return True

    def _is_of(self, record: Record) -> bool:
        largest = record.number("latency", "max")
        return largest is not None and abs((largest.value or 0) - self._largest_ns) <= 2  # noqa: PLR2004


def _dropped(value: int) -> int:
    return max(value.bit_length() - _KEPT_DIGITS, 0)

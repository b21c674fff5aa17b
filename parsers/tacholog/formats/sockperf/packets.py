"""The packets of a sockperf full log: one row each, counted into the distribution that the summary before them was made from.

A latency always has three decimals, so a row that has them is whole also where the log ends behind it. A row that is cut is refused: its last cell is
the sample itself, and its two times give that only to a nanosecond.

Source: logs recorded with sockperf 3.7.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tacholog.formats.kit import Broken, Bulk, BulkFinding, BulkStep, Facts, Finding, Histogram, Line, Lines, Record, first_false

_HEADER = re.compile(r"packet, txTime\(sec\), rxTime\(sec\), (?P<latency>latency|rtt)\(usec\)")
_ROW_MARK = re.compile(r"[0-9]{1,18}, ")
_ROW = re.compile(r"([0-9]{1,12}), ([0-9]{1,9}\.[0-9]{9}), ([0-9]{1,9}\.[0-9]{9}), ([0-9]{1,9}\.[0-9]{3})")
# Times of fewer digits before the point, so that they are exact as floating point; logs begin at zero.
PACKETS = Bulk(rb"\d{1,12}+, \d{1,6}+\.\d{9}, \d{1,6}+\.\d{9}, \d{1,9}+\.\d{3}")
_KEPT_DIGITS = 11  # Binary digits: bins are at most 1/1024 of their value wide.
_GARBLED = Broken("a packet's row that is cut, garbled or out of its place")


class Packets:
    """The table behind the last record. Rows are not kept, only counted."""

    def __init__(self) -> None:
        """Wait for a record and its table."""
        self._record: Record | None = None
        self.is_open = False  #: whether this is within the table
        self._begin()

    def _begin(self) -> None:
        self._counts: Counter[int] = Counter()
        self._rows = self._largest_ns = 0

    def behind(self, found: Iterable[Finding]) -> None:
        """Remember the record that a table may stand behind."""
        self._record = next((one.what for one in found if isinstance(one.what, Record)), self._record)

    def take(self, line: Line, text: str) -> Finding | None:
        """Use the header or a row, given without its prefix; ``None`` if the line is neither."""
        if header := _HEADER.fullmatch(text):
            self.is_open = self._record is not None and (self._record.conditions.basis == "rtt") == (header["latency"] == "rtt")
            self._begin()
            return Finding(line, None)
        if not _ROW_MARK.match(text):
            return None
        row = _ROW.fullmatch(text)
        packet, sent_ns, received_ns, latency_ns = (int(cell.replace(".", "")) for cell in row.groups()) if row else (0, 0, 0, 0)
        if row is None or not self._record or not self.is_open or not self._is_next(packet, sent_ns, received_ns, latency_ns, self._rows):
            return Finding(line, _GARBLED)
        self._count([(latency_ns, 1)])
        return Finding(line, None)

    def take_many(self, lines: Lines) -> BulkStep:
        """Use rows as far as they are the next ones of the table."""
        import numpy as np

        if not self.is_open:
            return BulkStep()
        packet, sent, received, latency = lines.cells.T
        latency_ns = np.rint(latency * 1e3)
        places = np.arange(self._rows, self._rows + lines.count)
        count = first_false(self._is_next(packet, np.rint(sent * 1e9), np.rint(received * 1e9), latency_ns, places))
        if count == 0:
            return BulkStep()
        values, counts = np.unique(latency_ns[:count].astype("int64"), return_counts=True)
        self._count(zip(values.tolist(), counts.tolist(), strict=True))
        return BulkStep(count, [BulkFinding(lines.part(0, count), None)])

    def _is_next(self, packet: Any, sent_ns: Any, received_ns: Any, latency_ns: Any, place: Any) -> Any:  # noqa: ANN401 - numbers, or arrays of them
        """Whether a row is the next one, and its latency is the time between its two times."""
        trip_ns = received_ns - sent_ns
        expected_ns = trip_ns if self._record and self._record.conditions.basis == "rtt" else trip_ns / 2
        return (packet == place) & (abs(latency_ns - expected_ns) <= 1)

    def _count(self, values: Iterable[tuple[int, int]]) -> None:
        """Count each latency as often as it came."""
        for latency_ns, times in values:
            dropped = max(latency_ns.bit_length() - _KEPT_DIGITS, 0)
            self._counts[latency_ns >> dropped << dropped] += times
            self._rows += times
            self._largest_ns = max(self._largest_ns, latency_ns)

    def close(self, line: Line | None = None) -> list[Finding]:
        """End the table, if one is open: its distribution, if it holds all packets of the summary; else the log is not whole."""
        record, is_open = self._record, self.is_open
        self._record, self.is_open = None if is_open else record, False
        if not is_open or record is None:
            return []
        if self._rows != record.samples or not self._is_of(record):
            return [Finding(line, Facts(status="truncated", reason=f"the full log has {self._rows} of {record.samples} packets"))]
        if record.conditions.basis is None or line is None:
            return [Finding(line, None)] if line else []
        bins = tuple((low, low + (1 << max(low.bit_length() - _KEPT_DIGITS, 0)) - 1, count) for low, count in sorted(self._counts.items()))
        return [Finding(line, Histogram(payload_bytes=record.payload_bytes, basis=record.conditions.basis, bins=bins))]

    def _is_of(self, record: Record) -> bool:
        largest = record.number("latency", "max")
        return largest is not None and largest.value is not None and abs(largest.value - self._largest_ns) <= 2  # noqa: PLR2004

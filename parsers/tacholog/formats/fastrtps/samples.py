"""The single latencies that Fast DDS's LatencyTest exports, ranked in bounded memory: a record a payload.

Source: ``--export_raw_data`` of LatencyTest, see tacholog.formats.fastrtps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacholog.formats.fastrtps.rows import Table
from tacholog.formats.kit import (
    Broken,
    Bulk,
    BulkFinding,
    BulkStep,
    Conditions,
    Distribution,
    Finding,
    Line,
    Lines,
    Record,
    first_false,
    printed,
    unit_of_last_place,
)

HEADER = "Sample,Payload[Bytes],Latency[us]"
_SAMPLE = re.compile(r"([0-9]{1,15}),([0-9]{1,15}),([0-9]{1,12}(?:\.[0-9]{1,12})?(?:e[+-][0-9][0-9])?)")
_UNITS_PER_MICROSECOND = 10**6  # Kept to the picosecond: six digits of a microsecond.
_NS_PER_UNIT = 1e-3
# At most six digits behind the point, and no exponent: all others are rounded, one by one.
SAMPLES = Bulk(rb"\d{1,15}+,\d{1,15}+,\d{1,9}+(?:\.\d{1,6}+)?+")


class RawFile(Table):
    """The samples of a file: numbered throughout, payload after payload."""

    def __init__(self) -> None:
        """Begin below the header."""
        self._number = 0
        self._payload_bytes = 0
        self._seen = Distribution()
        self._last: Line | None = None
        self._damaged = False

    def knows(self, squeezed: str) -> bool:
        """Whether a line begins like a sample."""
        return squeezed[:1].isdigit()

    def take(self, line: Line) -> Iterator[Finding]:
        """Count a sample; where the payload changes, that before it is complete. A missing or garbled sample costs its payload's record."""
        found = _SAMPLE.fullmatch(line.text.strip()) if line.whole else None
        if found is None or int(found[2]) == 0:
            self._damaged = True
            yield Finding(line, Broken("a sample that is cut short or garbled: statistics of its payload would lack it"))
            return
        number, payload_bytes = int(found[1]), int(found[2])
        if payload_bytes != self._payload_bytes:
            yield from self.close()
        elif self._last:
            yield Finding(self._last, None)
        if number != self._number + 1:
            self._damaged = True
        self._number, self._payload_bytes, self._last = number, payload_bytes, line
        self._seen.add(round(float(found[3]) * _UNITS_PER_MICROSECOND))

    def take_many(self, lines: Lines) -> BulkStep:
        """Count samples of the present payload, as far as none is missing."""
        import numpy as np

        if lines.bulk is not SAMPLES:
            return BulkStep()
        number, payload_bytes, latency = lines.cells.T
        valid = (number == np.arange(self._number + 1, self._number + 1 + lines.count)) & (payload_bytes == self._payload_bytes)
        count = first_false(valid)
        if count == 0 or self._last is None:
            return BulkStep()
        found: list[Finding | BulkFinding] = [Finding(self._last, None)]
        if count > 1:
            found.append(BulkFinding(lines.part(0, count - 1), None))
        self._number += count
        self._last = lines.line(count - 1)
        self._seen.add_many(np.rint(latency[:count] * _UNITS_PER_MICROSECOND).astype("int64"))
        return BulkStep(count, found)

    def close(self) -> Iterator[Finding]:
        """The record of the payload that ends here; it stands on its last line."""
        if self._last and self._damaged:
            yield Finding(self._last, Broken("samples before this one are missing or garbled: there can be no statistics of its payload"))
        elif self._last:
            yield Finding(self._last, self._record())
        self._seen, self._last, self._damaged = Distribution(), None, False

    def _record(self) -> Record:
        return Record(
            test="latency",
            payload_bytes=self._payload_bytes,
            numbers=tuple(
                printed("latency", name, round(value * _NS_PER_UNIT, 3), max(width * _NS_PER_UNIT, unit_of_last_place(value * _NS_PER_UNIT)))
                for name, (value, width) in self._seen.statistics().items()
            ),
            samples=self._seen.count,
            side="publisher",
            conditions=Conditions(basis="rtt/2", load_mode="closed", definition="fastrtps-samples"),
        )

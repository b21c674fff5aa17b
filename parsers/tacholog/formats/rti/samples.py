"""Raw latencies of RTI Perftest (``-latencyFile``) and of Perftest Lite: one sample on each line, in order of arrival.

A thousand consecutive samples become one interval. Its statistics are computed from the samples, and marked as derived. The summary of a run is
computed in the same way. It gets the line number of the blank line that ends the run. The file states neither the size of the messages nor the unit
of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tacholog.formats.kit import (
    MICROSECOND,
    Broken,
    Bulk,
    BulkStep,
    Conditions,
    Distribution,
    Finding,
    Line,
    Lines,
    Record,
    Scope,
    finding_on,
    first_false,
    printed,
)
from tacholog.formats.rti.rules import CUT

if TYPE_CHECKING:
    # At run time, only the functions that use NumPy import it: most logs are read without it.
    import numpy as np
    from numpy.typing import NDArray

BATCH = 1000
SAMPLES = Bulk(rb"\d{1,15}+, *+\d{1,15}+ *+")
_HEAD = re.compile(r"\s*Sample Number, ?Value\s*")
_ROW = re.compile(r"\s*(?P<number>[0-9]{1,15}), *(?P<value>[0-9]{1,15})\s*")
_MISSING = "samples are missing here: the statistics cannot be computed"
_STATISTICS = ("mean", "min", "max", "p50", "p90", "p99", "p99.99")


class Samples:
    """The samples of a run: the lines of the current interval, and the number of occurrences of each value in the interval and in the run."""

    def __init__(self, conditions: Conditions, marks: tuple[str, ...] = ()) -> None:
        """Create a collection without samples. All numbers that are computed from the samples get ``marks``."""
        self.size: int | None = None
        self._conditions = conditions
        self._marks = ("derived", *marks)
        self._lines: list[Line | Lines] = []
        self._count = 0
        self._interval, self._run = Distribution(), Distribution()
        self._complete = True

    def add_many(self, lines: Lines, microseconds: NDArray[np.int64]) -> Iterator[Finding]:
        """Add many samples."""
        self._run.add_many(microseconds)
        start = 0
        while start < lines.count:
            end = min(start + BATCH - self._count, lines.count)
            self._interval.add_many(microseconds[start:end])
            yield from self._hold(lines.part(start, end), end - start)
            start = end

    def add(self, line: Line, microseconds: int) -> Iterator[Finding]:
        """Add a sample. After a thousand samples, the interval is complete."""
        self._run.add(microseconds)
        self._interval.add(microseconds)
        yield from self._hold(line, 1)

    def _hold(self, lines: Line | Lines, count: int) -> Iterator[Finding]:
        self._lines.append(lines)
        self._count += count
        if self._count == BATCH:
            yield from self.flush()

    def hold(self, line: Line) -> Iterator[Finding]:
        """Add a sample to an interval that lacks other samples."""
        self._lines.append(line)
        self._count += 1
        if self._count == BATCH:
            yield from self.drop(_MISSING)

    def flush(self) -> Iterator[Finding]:
        """Yield the record of the current interval."""
        if self._lines:
            yield finding_on(self._lines, self._record(self._interval, "interval"))
        self._lines, self._count, self._interval = [], 0, Distribution()

    def drop(self, reason: str) -> Iterator[Finding]:
        """Discard the current interval, which lacks samples. The run then has no summary."""
        if self._lines:
            yield finding_on(self._lines, Broken(reason))
        self._lines, self._count, self._interval, self._complete = [], 0, Distribution(), False

    def summary(self) -> Record | None:
        """Return the summary of a run that ended; ``None`` if samples are missing, or if the samples have too many different values."""
        record = self._record(self._run, "summary") if self._complete and self._run.count and self._run.is_exact else None
        self._run, self._complete = Distribution(), True
        return record

    def _record(self, samples: Distribution, scope: Scope) -> Record:
        figures = samples.statistics()
        return Record(
            test="latency",
            payload_bytes=self.size,
            numbers=tuple(printed("latency", name, round(figures[name][0] * MICROSECOND, 3), MICROSECOND, self._marks) for name in _STATISTICS),
            samples=samples.count,
            scope=scope,
            side="publisher",
            conditions=self._conditions,
        )


class LatencyFile:
    """Reads a file of ``-latencyFile``: a head, numbered samples, and a blank line after each run."""

    def __init__(self) -> None:
        self._samples: Samples | None = None
        self._next: int | None = None
        self._spoiled = False  # Whether the interval lacks samples. The next interval begins at a multiple of a thousand.
        self._begin = 0

    def take(self, line: Line) -> list[Finding] | None:
        """Read a head, a sample, or the blank line after a run; ``None`` for any other line."""
        if _HEAD.fullmatch(line.text):
            done = list(self.close("another run begins before this one has ended"))
            self._samples = Samples(Conditions(basis="rtt/2", definition="rti-sample"), ("unit_assumed",))
            return [*done, Finding(line, None)]
        if self._samples is None:
            return None
        if row := _ROW.fullmatch(line.text):
            return self._sample(self._samples, line, int(row["number"]), int(row["value"]))
        if not line.text.strip() and self._next is not None:
            done = list(self._samples.drop(_MISSING) if self._spoiled else self._samples.flush())
            self._next, self._spoiled = None, False
            return [*done, Finding(line, self._samples.summary())]
        return None

    def take_many(self, lines: Lines) -> BulkStep:
        """Read consecutive samples of the run, until the number of a sample is not the number after the previous sample."""
        import numpy as np

        if self._samples is None or self._next is None or self._spoiled:
            return BulkStep()
        numbers, values = lines.cells.T
        count = first_false(numbers == np.arange(self._next, self._next + lines.count))
        if count == 0:
            return BulkStep()
        self._next += count
        return BulkStep(count, list(self._samples.add_many(lines.part(0, count), values[:count].astype("int64"))))

    def close(self, reason: str) -> Iterator[Finding]:
        """End the run. If the last interval is incomplete, yield the lines of its samples as broken."""
        if self._samples:
            yield from self._samples.drop(reason)
        self._samples = self._next = None

    def _sample(self, samples: Samples, line: Line, number: int, value: int) -> list[Finding]:
        expected, self._next = self._next, number + 1
        if expected is None:
            self._begin, expected = min(number, 1), min(number, 1)
        done: list[Finding] = []
        if not line.whole or number != expected:
            done, self._spoiled = list(samples.drop(_MISSING)), True
        if (number - self._begin) % BATCH == 0:
            done += samples.drop(_MISSING) if self._spoiled else ()
            self._spoiled = False
        if not line.whole:
            return [*done, Finding(line, CUT)]
        return [*done, *(samples.hold(line) if self._spoiled else samples.add(line, value))]

"""Raw latencies of RTI Perftest (``-latencyFile``) and of Perftest Lite: one sample a line, in the order of their arrival.

A thousand samples in a row become one interval, with statistics that are computed here and marked so; the blank line that ends a run becomes its
summary. The file names neither the size of the messages nor the unit of time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from tacholog.formats.kit import Broken, Bulk, Conditions, Found, Line, Lines, Record, Scope, Taken, first_false, found_on, printed
from tacholog.formats.rti.rules import CUT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 1000
SAMPLES = Bulk(rb"\d{1,15}+, *+\d{1,15}+ *+")
_HEAD = re.compile(r"\s*Sample Number, ?Value\s*")
_ROW = re.compile(r"\s*(?P<number>[0-9]{1,15}), *(?P<value>[0-9]{1,15})\s*")
_VALUES = 1 << 16  # Different values that are counted; a run has some thousands of microseconds at the most.
_MISSING = "samples are missing from these: there can be no statistics of them"
_PERCENTILES = (("p50", 5000), ("p90", 9000), ("p99", 9900), ("p99.99", 9999))


class Samples:
    """The samples of a run: the lines of the interval so far, and how often each value came in it and in the run."""

    def __init__(self, conditions: Conditions, marks: tuple[str, ...] = ()) -> None:
        """Begin before the first sample; ``marks`` are those of every figure."""
        self.size: int | None = None
        self._conditions = conditions
        self._marks = ("derived", *marks)
        self._lines: list[Line | Lines] = []
        self._count = 0
        self._interval: Counter[int] = Counter()
        self._run: Counter[int] = Counter()
        self._complete = True

    def add_many(self, lines: Lines, microseconds: NDArray[np.int64]) -> Iterator[Found]:
        """Take many samples."""
        import numpy as np

        at = 0
        while at < lines.count:
            end = min(at + BATCH - self._count, lines.count)
            values, counts = np.unique(microseconds[at:end], return_counts=True)
            self._interval.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
            self._lines.append(lines.part(at, end))
            self._count += end - at
            at = end
            if self._count == BATCH:
                yield from self.flush()

    def add(self, line: Line, microseconds: int) -> Iterator[Found]:
        """Take a sample; a thousand of them are an interval."""
        self._lines.append(line)
        self._count += 1
        self._interval[microseconds] += 1
        if self._count == BATCH:
            yield from self.flush()

    def hold(self, line: Line) -> Iterator[Found]:
        """Take a sample of an interval that others are missing from."""
        self._lines.append(line)
        self._count += 1
        if self._count == BATCH:
            yield from self.drop(_MISSING)

    def flush(self) -> Iterator[Found]:
        """The interval of the samples so far."""
        if self._lines:
            yield found_on(self._lines, self._record(self._interval, "interval"))
            if len(self._run) <= _VALUES:
                self._run += self._interval
        self._lines, self._count, self._interval = [], 0, Counter()

    def drop(self, reason: str) -> Iterator[Found]:
        """Samples that are not all of their interval; the run's summary would lack them too."""
        if self._lines:
            yield found_on(self._lines, Broken(reason))
        self._lines, self._count, self._interval, self._complete = [], 0, Counter(), False

    def summary(self) -> Record | None:
        """The summary of a run that ended; ``None`` if samples are missing or there are too many different values to count."""
        whole = self._complete and self._run and len(self._run) <= _VALUES
        record = self._record(self._run, "summary") if whole else None
        self._run, self._complete = Counter(), True
        return record

    def _record(self, counts: Counter[int], scope: Scope) -> Record:
        total = counts.total()
        values = sorted(counts)
        up_to = list(accumulate(counts[value] for value in values))
        figures = {"mean": sum(value * count for value, count in counts.items()) / total, "min": values[0], "max": values[-1]}
        figures |= {name: values[bisect_left(up_to, -(-share * total // 10_000))] for name, share in _PERCENTILES}  # Nearest rank, in whole numbers.
        return Record(
            test="latency",
            payload_bytes=self.size,
            numbers=tuple(printed("latency", name, round(value * 1000, 3), 1000.0, self._marks) for name, value in figures.items()),
            samples=total,
            scope=scope,
            side="publisher",
            conditions=self._conditions,
        )


class LatencyFile:
    """Files of ``-latencyFile``: a head, numbered samples, a blank line behind each run."""

    def __init__(self) -> None:
        self._samples: Samples | None = None
        self._next: int | None = None
        self._spoiled = False  # Samples are missing from the interval: the next one begins at a whole thousand.
        self._begin = 0

    def take(self, line: Line) -> list[Found] | None:
        """Use a head, a sample, or the blank line behind a run; ``None`` for anything else."""
        if _HEAD.fullmatch(line.text):
            done = list(self.close("another run begins before this one has ended"))
            self._samples = Samples(Conditions(basis="rtt/2", definition="rti-sample"), ("unit_assumed",))
            return [*done, Found(line, None)]
        if self._samples is None:
            return None
        if row := _ROW.fullmatch(line.text):
            return self._sample(self._samples, line, int(row["number"]), int(row["value"]))
        if not line.text.strip() and self._next is not None:
            done = list(self._samples.drop(_MISSING) if self._spoiled else self._samples.flush())
            self._next, self._spoiled = None, False
            return [*done, Found(line, self._samples.summary())]
        return None

    def take_many(self, lines: Lines) -> Taken:
        """Use samples as far as they are the next ones of a run that has begun."""
        import numpy as np

        if self._samples is None or self._next is None or self._spoiled:
            return Taken()
        numbers, values = lines.cells.T
        count = first_false(numbers == np.arange(self._next, self._next + lines.count))
        if count == 0:
            return Taken()
        self._next += count
        return Taken(count, list(self._samples.add_many(lines.part(0, count), values[:count].astype("int64"))))

    def close(self, reason: str) -> Iterator[Found]:
        """Give up the samples that are not a whole interval."""
        if self._samples:
            yield from self._samples.drop(reason)
        self._samples = self._next = None

    def _sample(self, samples: Samples, line: Line, number: int, value: int) -> list[Found]:
        expected, self._next = self._next, number + 1
        if expected is None:
            self._begin, expected = min(number, 1), min(number, 1)
        done: list[Found] = []
        if not line.whole or number != expected:
            done, self._spoiled = list(samples.drop(_MISSING)), True
        if (number - self._begin) % BATCH == 0:
            done += samples.drop(_MISSING) if self._spoiled else ()
            self._spoiled = False
        if not line.whole:
            return [*done, Found(line, CUT)]
        return [*done, *(samples.hold(line) if self._spoiled else samples.add(line, value))]

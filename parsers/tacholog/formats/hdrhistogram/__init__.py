"""HdrHistogram: the percentile table that its libraries print (``.hgrm``), and its log of intervals (``.hlog``).

Many tools write these files (Aeron, wrk2, pulsar-perf). The files state neither a unit nor the meaning of a value, which may be a round trip, a
one-way latency, or no time at all. So the user states the unit in the name of the format: ``hdrhistogram:us`` reads microseconds; ``ns``, ``ms`` and
``s`` are also possible. Without a unit, the lines are recognised, but no number is read. The manifest states the ``basis`` and the message size.

Values are upper edges of buckets. They have a fixed number of significant digits (mostly three). In a ``.hgrm`` table, a percentile may be between
two rows. Then the value of the upper row is used, and the resolution is the difference of the two values. The percentile of each row follows from
the row before it, so a missing row is noticed.

The log of intervals has a compressed histogram on each line. Its percentiles are computed here, by nearest rank. The summary of a tag is the sum of
all its histograms, which is exact.

Conditions are not stated in these files. A tag in a log of intervals is a participant.

Not read are: the standard deviation in a table of the Python library, which does not have the scale of the other columns; tables as CSV, which have
no sums; and binary files (``.hdr``).
Source: HdrHistogram 2.1 (Java) and its ports to C and Python; samples in tests/formats/hdrhistogram/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from types import SimpleNamespace

from tacholog.formats.hdrhistogram.interval_log import INTERVAL, LEGEND, VERSION, IntervalLog
from tacholog.formats.hdrhistogram.percentile_table import HEADER, PercentileTable
from tacholog.formats.kit import Detected, Dialect, Finding, Line, LineStart, States

SYSTEM = "the system whose latencies the histogram has"
TOOL = "HdrHistogram"
DIALECTS = (
    Dialect("hgrm", "Java, Aeron, wrk2: 'Total count' below the table", "from source only"),
    Dialect("hgrm-python", "Python: 'TotalCount' below the table", "tables recorded with 0.10.8"),
    Dialect("hgrm-c", "C: 'inf' in the last row", "from source only"),
    Dialect("hlog", "log versions 1.2 and 1.3, histograms of version 2", "logs recorded with 0.10.8 for Python"),
)
DEFINITIONS = {
    "hdrhistogram-value": "A value that a program recorded in an HdrHistogram. The file does not say who starts and stops the clock. Values are "
    "upper edges of buckets.",
}
LINE_BYTES = 1 << 20  # A line of a log of intervals contains a complete histogram.
_HEAD = LineStart(rf"(?:{HEADER.pattern}|{VERSION.pattern}|{LEGEND.pattern}|{INTERVAL.pattern})")
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def detect(head: str) -> Detected:
    """Return whether the log has a percentile table, or is a log of intervals."""
    return Detected(_HEAD.is_in(head), wants="'Value     Percentile TotalCount 1/(1-Percentile)', or '#[Histogram log format version 1.3]'")


def system_of(_head: str) -> None:
    """Return ``None``: a histogram does not state which system was measured."""


def parse(lines: Iterable[Line], unit: float | None = None) -> Iterator[Finding]:
    """Yield a record for each table of percentiles, and for each interval and each tag of a log of intervals.

    ``unit`` is the length of the unit of the values in nanoseconds; ``None`` if the unit is not stated.
    """
    table, intervals = PercentileTable(unit), IntervalLog(unit)
    for line in lines:
        yield from table.take(line)
        if not table.has_taken(line):
            yield from intervals.take(line)
    yield from table.close()
    yield from intervals.close()


def in_unit(unit: str) -> SimpleNamespace:
    """Return this format for values in a unit of time.

    Raises:
        KeyError: there is no such unit.
    """
    states = {"latency": States(always="definition")}
    return SimpleNamespace(**{**globals(), "parse": partial(parse, unit=_UNITS[unit]), "STATES": states})

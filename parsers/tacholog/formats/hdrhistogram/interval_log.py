"""The log of intervals of HdrHistogram. Each line has a compressed histogram.

For example::

    #[Histogram log format version 1.3]
    #[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 08:24:39 PDT 2015]
    "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
    0.127,1.007,2.769,HISTFAAAAEV42pNpmSz...
    Tag=A,1.134,0.999,0.442,HISTFAAAAEV42pNpmSz...

A histogram is a list of buckets with their counts. Values below the number of sub-buckets have one bucket each. For larger values, the width of the
buckets doubles with each power of two.
Source: HdrHistogram, HistogramLogWriter and EncodableHistogram (version 2: counts as ZigZag LEB128, compressed with zlib, in Base64).
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from math import isqrt

from tacholog.formats.hdrhistogram.percentile_table import CONDITIONS, NO_UNIT, ranks
from tacholog.formats.kit import DERIVED, PARTIAL, Broken, Facts, Finding, Line, Number, Record, of_seconds

VERSION = re.compile(r"#\[Histogram log format version 1\.[0-3]\]")
LEGEND = re.compile(r"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"")
INTERVAL = re.compile(
    r"(?:Tag=(?P<tag>[^,\s]{1,100}),)?(?P<start>[0-9]{1,12}(?:\.[0-9]{1,9})?),(?P<length>[0-9]{1,12}(?:\.[0-9]{1,9})?),"
    r"(?P<max>[0-9]{1,15}(?:\.[0-9]{1,9})?),(?P<histogram>HIST[A-Za-z0-9+/]{1,1048576}={0,2})"
)
_LOOKS_LIKE = re.compile(r"(?:Tag=[^,]{1,100},)?[0-9.]{1,22},[0-9.]{1,22},[0-9.]{1,22},H")
_START = re.compile(r"#\[StartTime: {1,4}(?P<seconds>[0-9]{1,11})(?:\.[0-9]{1,9})? \(seconds since epoch\)[^\n]{0,80}")
_COMMENT = re.compile(r"#[^\n]{0,200}")
_COMPRESSED, _PLAIN = 0x1C849304, 0x1C849303  # the first four bytes of a histogram, without the bits for the word size
_HEAD = struct.Struct(">iiiiqqd")
_MOST_BYTES = 1 << 24
_MOST_INDEX = 1 << 26
_LARGEST_SHIFT = 62
_MOST_TAGS = 100
_MOST_BUCKETS = 1 << 18


class IntervalLog:
    """Reads a log of intervals."""

    def __init__(self, unit: float | None) -> None:
        self._unit = unit
        self._is_open = self._has_told = False
        self._sums: dict[str | None, Counter[tuple[int, int]]] = {}
        self._ends: dict[str | None, tuple[Line, Line]] = {}
        self._partial: set[str | None] = set()

    def take(self, line: Line) -> Iterator[Finding]:
        """Read a line that does not belong to a percentile table."""
        match = INTERVAL.fullmatch(line.text) if line.whole else None
        if match:
            yield Finding(line, self._interval(line, match["tag"], match["histogram"]))
        elif VERSION.fullmatch(line.text) or LEGEND.fullmatch(line.text):
            self._is_open = True
            yield Finding(line, None)
        elif _LOOKS_LIKE.match(line.text):
            self._partial.update(self._sums, (None,))
            yield Finding(line, Broken("the line of an interval is cut short or garbled"))
        elif start := _START.fullmatch(line.text):
            yield Finding(line, Facts(start_time=of_seconds(int(start["seconds"]))))
        elif self._is_open and _COMMENT.fullmatch(line.text):
            yield Finding(line, None)

    def close(self) -> Iterator[Finding]:
        """Yield the summary of each tag."""
        for tag, buckets in self._sums.items():
            marks = (DERIVED, PARTIAL) if tag in self._partial else (DERIVED,)
            first, last = self._ends[tag]
            record = _record(buckets, self._unit or 1.0, tag, marks)
            yield Finding(first, record, (last,) if last is not first else ())

    def _interval(self, line: Line, tag: str | None, text: str) -> Record | Broken | None:
        try:
            buckets = _buckets(text)
        except (ValueError, struct.error, zlib.error) as error:
            self._partial.add(tag)
            return Broken(f"the histogram cannot be decoded: {error}")
        if self._unit is None:
            is_first, self._has_told = not self._has_told, True
            return Broken(NO_UNIT) if is_first else None
        if not buckets:
            return None
        total = self._sums.setdefault(tag, Counter()) if tag in self._sums or len(self._sums) < _MOST_TAGS else Counter[tuple[int, int]]()
        if sum(map(len, self._sums.values())) + len(buckets) > _MOST_BUCKETS:
            return Broken("the log has too many different values")
        total.update(buckets)
        self._ends[tag] = (self._ends.get(tag, (line, line))[0], line)
        return _record(buckets, self._unit, tag, (), scope_is_interval=True)


def _record(
    buckets: Mapping[tuple[int, int], int], unit: float, tag: str | None, marks: tuple[str, ...], *, scope_is_interval: bool = False
) -> Record:
    """Return the record of a histogram. The keys of ``buckets`` are highest value and width of a bucket. The values are the counts."""
    ordered = sorted(buckets.items())
    count = sum(buckets.values())
    # The middle of a bucket may end with .5, so it is doubled to get a whole number.
    doubled_middles = [(2 * upper - width + 1, samples) for (upper, width), samples in ordered]
    total = sum(middle * samples for middle, samples in doubled_middles)
    squares = sum(middle * middle * samples for middle, samples in doubled_middles)
    (lowest, lowest_width), (highest, highest_width) = ordered[0][0], ordered[-1][0]
    values: dict[str, tuple[float, int]] = {"mean": (total / count / 2, highest_width)}
    values |= {"std": (isqrt(max(count * squares - total * total, 0)) / count / 2, highest_width), "min": (lowest, lowest_width)}
    percentiles = ranks(count)
    covered = 0
    for (upper, width), samples in ordered:
        covered += samples
        values |= {name: (upper, width) for name, rank in percentiles if name not in values and covered >= rank}
    values["max"] = (highest, highest_width)
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=tuple(
            Number(metric="latency", statistic=name, value=value * unit, resolution=width * unit, marks=marks)
            for name, (value, width) in values.items()
        ),
        samples=count,
        scope="interval" if scope_is_interval else "summary",
        participant=tag,
        conditions=CONDITIONS,
    )


def _buckets(text: str) -> Counter[tuple[int, int]]:
    """Return the buckets of a histogram: the highest value and the width of each, with its count.

    Raises:
        ValueError: the histogram is damaged, too large, or has another version.
    """
    content = base64.b64decode(text, validate=True)
    cookie, length = struct.unpack_from(">ii", content)
    if cookie & ~0xF0 != _COMPRESSED or length != len(content) - 8:
        raise ValueError("it is not a compressed histogram of version 2")
    expander = zlib.decompressobj()
    plain = expander.decompress(content[8:], _MOST_BYTES)
    if not expander.eof:
        raise ValueError("it is cut or too large")
    cookie, length, shift, digits, lowest, _, ratio = _HEAD.unpack_from(plain)
    if cookie & ~0xF0 != _PLAIN or length != len(plain) - _HEAD.size or shift or ratio != 1 or not 0 <= digits <= 5 or lowest < 1:  # noqa: PLR2004
        raise ValueError("it has an unknown head, or values that are not integers")
    half = max(_ceil_log2(2 * 10**digits), 1) - 1  # Each bucket except the first has 2**half sub-buckets.
    magnitude = lowest.bit_length() - 1
    buckets: Counter[tuple[int, int]] = Counter()
    for index, count in _indexes_and_counts(plain[_HEAD.size :]):
        buckets[_highest_and_width(index, half, magnitude)] = count
        if len(buckets) > _MOST_BUCKETS:
            raise ValueError("it has too many different values")
    return buckets


def _ceil_log2(number: int) -> int:
    return (number - 1).bit_length()


def _highest_and_width(index: int, half: int, magnitude: int) -> tuple[int, int]:
    bucket = (index >> half) - 1
    sub = (index & ((1 << half) - 1)) + (1 << half)
    if bucket < 0:
        sub, bucket = sub - (1 << half), 0
    if bucket + magnitude > _LARGEST_SHIFT:
        raise ValueError("it has a value of more than 63 bits")
    width = 1 << (bucket + magnitude)
    return (sub + 1) * width - 1, width


def _indexes_and_counts(payload: bytes) -> Iterator[tuple[int, int]]:
    position = index = 0
    while position < len(payload):
        number, bits = 0, 0
        while True:
            if position >= len(payload):
                raise ValueError("cut within a count")
            byte, position = payload[position], position + 1
            if bits == 56:  # noqa: PLR2004 - the ninth byte has all its eight bits
                number |= byte << bits
                break
            number |= (byte & 0x7F) << bits
            if byte < 0x80:  # noqa: PLR2004 - the highest bit says that another byte follows
                break
            bits += 7
        count = (number >> 1) ^ -(number & 1)
        if count > 0:
            yield index, count
        index += max(-count, 1)
        if index > _MOST_INDEX:
            raise ValueError("it has too many buckets")

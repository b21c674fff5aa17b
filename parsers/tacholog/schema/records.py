"""The records, which are the results of a log, and the facts that a log states about its whole run.

A record has the conditions that the log states for it, and its numbers. The table ``results`` holds the same, one row for each number. Every metric
has one unit (`tacholog.schema.metrics.METRICS`). ``None`` means unknown everywhere; it is never replaced by zero or by a guess.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, get_args, overload

import msgspec

from tacholog.schema.conditions import Basis, Conditions, Count
from tacholog.schema.metrics import METRICS, is_statistic

Test = Literal["latency", "throughput", "demand", "sustain"]
Side = Literal["publisher", "subscriber", "both"]
Bound = Literal["=", "~", "<", ">", "range-low", "range-high"]
Scope = Literal["summary", "interval", "resources"]
Status = Literal["ok", "failed", "truncated", "empty"]

#: The severity of each ending of a run; the largest number is the worst ending.
SEVERITY: dict[Status | None, int] = {"ok": 0, None: 1, "empty": 2, "truncated": 3, "failed": 4}


#: All bounds, in the order of their integer codes.
BOUNDS: tuple[Bound, ...] = get_args(Bound)
_KNOWN: set[tuple[str, str, str]] = set()  # a cache of valid names of numbers: metric, statistic and bound
_MOST_KNOWN = 4096  # Real logs have a few hundred names, but a hostile log could have millions of percentiles with nine digits.


class Number(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One number of a record.

    Two numbers with the same content are equal, even if their positions in their lines differ.

    Attributes:
        metric: one of `METRICS`.
        statistic: one of `STATISTICS`, or a percentile such as ``p99.9``.
        value: in the metric's unit. ``None`` if the log prints something impossible, or if the value cannot be known: ``marks`` state the reason.
        resolution: the unit of the last printed digit, in the metric's unit. ``None`` if the number is exact, or if the resolution is unknown.
        bound: how the value limits the true one: ``=`` the number itself; ``<`` an upper bound, such as that of a printed 0; ``>`` a lower bound;
            ``~`` about this value; ``range-low`` and ``range-high`` the ends of a range.
        marks: names of `tacholog.schema.marks.MARKS`.
        line: the line that contains the number, if its record spans several lines.
        value_start: the number of characters before the printed value on its line, without control sequences of terminals. ``None`` if it is not
            known, or if the value was computed.
        value_end: the number of characters before the end of the printed value.

    Raises:
        ValueError: there is no such metric, statistic or bound.
    """

    metric: str
    statistic: str
    value: float | None
    resolution: float | None = None
    bound: Bound = "="
    marks: tuple[str, ...] = ()
    line: int | None = None
    value_start: int | None = None
    value_end: int | None = None

    def __eq__(self, other: object) -> bool:
        """Whether the other number has the same content."""
        return self._content() == other._content() if isinstance(other, Number) else NotImplemented

    def __hash__(self) -> int:
        """Return a hash of the content."""
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        return self.metric, self.statistic, self.value, self.resolution, self.bound, self.marks, self.line

    def __post_init__(self) -> None:
        """Refuse a name that is not in the schema. Otherwise code that sorts or explains numbers would fail later, far from the cause."""
        name = (self.metric, self.statistic, self.bound)
        if name in _KNOWN:
            return
        if self.metric not in METRICS:
            raise ValueError(f"there is no metric {self.metric!r}: tacholog.schema.metrics.METRICS lists them")
        if not is_statistic(self.statistic):
            raise ValueError(f"there is no statistic {self.statistic!r}: use one of tacholog.schema.metrics.STATISTICS, or a percentile like 'p99.9'")
        if self.bound not in BOUNDS:
            raise ValueError(f"there is no bound {self.bound!r}: it is one of {', '.join(sorted(BOUNDS))}")
        if len(_KNOWN) < _MOST_KNOWN:
            _KNOWN.add(name)

    @property
    def key(self) -> str:
        """The name of the number in flat files: metric, statistic and unit, as in ``latency_p99_ns``."""
        unit = METRICS[self.metric].unit
        statistic = "" if self.statistic == "total" else self.statistic
        return "_".join(word for word in (self.metric, statistic, "" if unit in ("messages", "instances", "ratio") else unit) if word)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a log: the conditions of a measurement, and its numbers.

    Attributes:
        test: the kind of test.
        payload_bytes: the size of a message, as it was requested from the tool; for a range of sizes its lower end.
        payload_bytes_high: the upper end of the range of sizes, if there is one.
        numbers: the numbers.
        samples: the number of messages from which the statistics were computed.
        scope: ``summary`` for a whole measurement, ``interval`` for a part of one, ``resources`` for processor time, memory and context switches.
        side: the side that measured.
        participant: the publisher or subscriber that measured, if there are several.
        conditions: the conditions that the log states for this result.
    """

    test: Test
    payload_bytes: Count | None
    payload_bytes_high: Count | None = None
    numbers: tuple[Number, ...]
    samples: int | None = None
    scope: Scope = "summary"
    side: Side | None = None
    participant: str | None = None
    conditions: Conditions = Conditions()

    def number(self, metric: str, statistic: str) -> Number | None:
        """Return the number of that name; ``None`` if the record has none."""
        return next((n for n in self.numbers if n.metric == metric and n.statistic == statistic), None)


class Bins(Sequence[tuple[int, int, int]]):
    """The bins of a histogram, in far less memory than a tuple of tuples. NumPy can use them as an array of shape (n, 3) without a copy."""

    def __init__(self, numbers: Iterable[int]) -> None:
        """Store the lower end, the upper end and the count of each bin, one after another.

        Raises:
            OverflowError: a number is not below 2^63.
            ValueError: the last bin lacks a number.
        """
        self._numbers = array("q", numbers)
        if len(self._numbers) % 3:
            raise ValueError("the last bin lacks a number")

    def __len__(self) -> int:
        """The number of bins."""
        return len(self._numbers) // 3

    @overload
    def __getitem__(self, index: int) -> tuple[int, int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[int, int, int], ...]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int, int] | tuple[tuple[int, int, int], ...]:
        """Return one bin, or a slice of the bins."""
        if isinstance(index, slice):
            return tuple(self)[index]
        start = 3 * range(len(self))[index]
        lower, upper, count = self._numbers[start : start + 3]
        return lower, upper, count

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Yield the bins."""
        numbers = iter(self._numbers)
        return zip(numbers, numbers, numbers, strict=True)

    def __eq__(self, other: object) -> bool:
        """Whether ``other``, as `Bins` or as a tuple, holds the same bins."""
        return tuple(self) == tuple(other) if isinstance(other, Bins | tuple) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of a tuple of the same bins, because the tuple is equal to this object."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Show the bins as a tuple."""
        return repr(tuple(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: ANN401 - NumPy's types, which the schema does without
        """Return the bins as an array."""
        import numpy as np  # imported here, because `tacholog parse` needs no NumPy

        return np.array(np.frombuffer(self._numbers, dtype=np.int64).reshape(-1, 3), dtype=dtype, copy=copy)


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """A latency distribution, or a part of one. It belongs to the record before it.

    Two bins, of 3 and of 5 samples: ``Histogram(payload_bytes=64, basis="rtt", bins=((10_000, 10_999, 3), (11_000, 11_999, 5)))``.

    Attributes:
        payload_bytes: the size of a message, as in the record; ``None`` if the log does not state it.
        basis: what the latencies cover, such as ``rtt``.
        bins: ascending bins, each with its lower and upper end in nanoseconds and its count: a tuple, or `Bins` if there are many.
    """

    payload_bytes: Count | None
    basis: Basis
    bins: Sequence[tuple[int, int, int]]


#: Keys of `Facts.environment` that have the same meaning for every tool. All other keys are the tool's own; Tacholog stores them without using them.
ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "clock_overhead_ns": "how long one reading of the tool's clock took, in nanoseconds",
        "clock_resolution_ns": "the largest step of the clocks, or of the rounding, of the tool's latencies, in nanoseconds",
        "samples_dropped": "how many latencies the tool left out, if it counts them",
        "messages_per_latency_sample": "the latency of one message in this many sent messages is measured",
        "load_start_load1": "the load average of the last minute when the run began",
        "host_cpu_model": "the model of the processor",
        "host_cpus_online": "how many processors were online",
        "host_memory_bytes": "the size of the memory, in bytes",
        "host_kernel": "the kernel and its version",
        "host_distribution": "the distribution of the operating system",
        "host_clocksource": "the clock source of the kernel",
    }
)


def number_in(texts: Mapping[str, str], key: str) -> float | None:
    """Return the number that a text states; ``None`` if it is missing, no number, or not finite."""
    try:
        value = float(texts[key])
    except (KeyError, ValueError):
        return None
    return value if math.isfinite(value) else None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that a log states about its whole run, apart from results.

    Attributes:
        conditions: the conditions of every record of the run, unless a record states others.
        tool_version: the version of the tool that measured.
        system: the measured system, if the log names it; otherwise the system that the tool always measures.
        system_version: the version of the measured system.
        build: the commit that the measured program was built from.
        start_time: the time at which the run began, in ISO 8601 even if the log uses another form. Without a time zone if the log states none.
        environment: further facts about the machine and the run; `ENVIRONMENT` lists the keys that Tacholog uses.
        status: how the run ended; ``None`` if the log does not state it.
        reason: why it ended in this way.
    """

    conditions: Conditions = Conditions()
    tool_version: str | None = None
    system: str | None = None
    system_version: str | None = None
    build: str | None = None
    start_time: str | None = None
    environment: dict[str, str] = {}
    status: Status | None = None
    reason: str | None = None

    def environment_number(self, key: str) -> float | None:
        """Return a number of the environment; ``None`` if the log does not state it as a finite number."""
        return number_in(self.environment, key)

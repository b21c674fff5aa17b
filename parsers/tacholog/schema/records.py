"""The schema: what a log line can say, what a run is, and what each metric means.

A *record* is one result of a log: the conditions that the log itself states, and its numbers. The *results* table is
the tidy form of all records, one row a number. Units are fixed by `METRICS`: latency in ns, rates in bit/s or
messages/s, sizes in bytes. Unknown is ``None`` everywhere, never zero and never a guess.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

import msgspec

Test = Literal["latency", "throughput", "demand"]
Side = Literal["publisher", "subscriber", "both"]
DataPath = Literal["copy", "flat-data", "zero-copy", "pointer"]
Touched = Literal["none", "write", "write+read"]
Reliability = Literal["reliable", "best-effort"]
LoadMode = Literal["closed", "open", "max-rate", "paced"]
Basis = Literal["one-way", "rtt", "rtt/2"]
Bound = Literal["=", "~", "<", ">", "range-low", "range-high"]
Scope = Literal["summary", "interval", "resources"]
Status = Literal["ok", "failed", "truncated", "empty"]
Direction = Literal["lower", "higher"]
Reach = Literal["process", "host", "network"]

#: How bad an ending is.
SEVERITY: dict[Status | None, int] = {"ok": 0, None: 1, "empty": 2, "truncated": 3, "failed": 4}

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class Metric(msgspec.Struct, frozen=True):
    """What a metric is: its unit, which direction is better (None: neither), and its words."""

    unit: str
    better: Direction | None
    words: str


METRICS: dict[str, Metric] = {
    "latency": Metric("ns", "lower", "Latency"),
    "jitter": Metric("ns", "lower", "Jitter"),
    "serialization": Metric("ns", "lower", "Time to serialise a message"),
    "deserialization": Metric("ns", "lower", "Time to deserialise a message"),
    "send_call": Metric("ns", "lower", "Time in the publisher's send call"),
    "send_lateness": Metric("ns", "lower", "How late a message was sent, by its schedule"),
    "interval_per_message": Metric("ns", None, "Time over messages, which some tools call latency"),
    "goodput": Metric("bit_per_s", "higher", "Payload received"),
    "message_rate": Metric("messages_per_s", "higher", "Messages received"),
    "size_over_latency": Metric("bit_per_s", None, "Size over summed latency, which eCAL calls throughput"),
    "offered_rate": Metric("messages_per_s", None, "Messages offered by the publisher"),
    "offered_goodput": Metric("bit_per_s", None, "Payload offered by the publisher"),
    "call_rate": Metric("calls_per_s", "higher", "Service calls"),
    "transfer_rate": Metric("bit_per_s", None, "Payload sent or received, whichever the tool does not say"),
    "bytes_transferred": Metric("bytes", None, "Bytes sent or received, whichever the tool does not say"),
    "bytes_sent": Metric("bytes", None, "Bytes sent"),
    "bytes_received": Metric("bytes", None, "Bytes received"),
    "bytes_lost": Metric("bytes", "lower", "Bytes lost"),
    "messages_sent": Metric("messages", None, "Messages sent"),
    "messages_received": Metric("messages", None, "Messages received, in all"),
    "messages_lost": Metric("messages", "lower", "Messages lost"),
    "messages_duplicated": Metric("messages", "lower", "Messages received twice"),
    "messages_reordered": Metric("messages", "lower", "Messages out of order"),
    "retransmissions": Metric("messages", "lower", "Messages sent again"),
    "messages_dropped": Metric("messages", "lower", "Messages dropped for a slow subscriber"),
    "messages_corrupted": Metric("messages", "lower", "Messages with a wrong checksum"),
    "instances_heard": Metric("instances", "higher", "Instances of a keyed topic of which something came"),
    "loss": Metric("ratio", "lower", "Share of messages lost"),
    "histogram_overflow": Metric("messages", None, "Samples above the histogram's top"),
    "duration": Metric("ns", None, "Time measured"),
    "send_duration": Metric("ns", None, "Time that the publisher measured"),
    "cpu": Metric("percent", "lower", "Processor time; 100 % is one core"),
    "cpu_of_machine": Metric("percent", "lower", "Processor time; 100 % is all cores"),
    "cpu_cost": Metric("ns_per_gigabyte", "lower", "Processor time for 10^9 bytes"),
    "cpu_time": Metric("ns", "lower", "Processor time used"),
    "context_switches": Metric("switches", "lower", "Context switches"),
    "peak_memory": Metric("bytes", "lower", "Largest resident set"),
}


_PARTS_OF_TIME = {"": "in all", "user": "in user mode", "system": "in system mode", "kernel": "in the kernel"}
_PARTS_OF_TIME |= {"interrupts": "in interrupts", "iowait": "waiting for a disk"}
_SIDES = {"local": "the side that the log is of", "remote": "the other side", "publisher": "the publisher", "subscriber": "the subscriber"}

#: What a number may be of the values that were measured. Percentiles come besides: ``p50``, ``p99.9``, see `is_statistic`.
STATISTICS: dict[str, str] = {
    "total": "a count, a sum or a share of all that was measured",
    "mean": "the arithmetic mean",
    "std": "the standard deviation",
    "std-error": "the standard error of the mean",
    "mean-ad": "the mean absolute deviation",
    "median-ad": "the median absolute deviation",
    "siqr": "half of the distance between the quartiles",
    "min": "the smallest value",
    "max": "the largest value",
    "last": "the value of the latest interval, where a line also has the mean so far",
    "sum": "the sum over all subscribers",
    "typical": "what a document calls typical, without saying which statistic that is",
    "range-low": "the lower end of a printed range",
    "range-high": "the upper end of a printed range",
    "user": "processor time in user mode",
    "system": "processor time in system mode",
    "voluntary": "context switches that a process asked for by waiting",
    "involuntary": "context switches that the scheduler forced",
    **{
        "-".join(word for word in (side, part) if word): f"processor time of {whose}, {words}"
        for side, whose in _SIDES.items()
        for part, words in _PARTS_OF_TIME.items()
    },
}
_PERCENTILE = re.compile(r"p(?!0\d|0\Z)\d{1,2}(?:\.\d{0,8}[1-9])?")  # As people write them: neither p05 nor p99.90, and neither p0 nor p100.


def is_statistic(name: object) -> bool:
    """Whether a number may be called this: one of `STATISTICS`, or a percentile between 0 and 100 such as ``p99.9``."""
    return isinstance(name, str) and (name in STATISTICS or _PERCENTILE.fullmatch(name) is not None)


_BOUNDS = frozenset(get_args(Bound))
_KNOWN: set[tuple[str, str, str]] = set()  # Names of numbers that were found good: metric, statistic and bound.
_MOST_KNOWN = 4096  # There are a few hundred, unless a log names its percentiles with nine digits each.


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a record.

    ``metric`` is one of `METRICS`, ``statistic`` one of `STATISTICS` or a percentile such as ``p99.9``.
    ``value`` is in the metric's unit; ``None`` means that the log prints something impossible there, or that it cannot be known: ``marks`` say which.
    ``resolution`` is the unit of the last printed place (in the value's unit), ``None`` if the number is exact or it is unknown.
    ``bound`` says what the value is: ``=`` itself, ``<`` a printed 0 of a quantity rounded or truncated to ``value``.
    ``line`` is the line that it stands on, where its record spans several.

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

    def __post_init__(self) -> None:
        """Refuse a name that nobody knows: whatever orders, judges or explains numbers would stumble over it later, far from its cause."""
        name = (self.metric, self.statistic, self.bound)
        if name in _KNOWN:
            return
        if self.metric not in METRICS:
            raise ValueError(f"there is no metric {self.metric!r}: tacholog.schema.records.METRICS lists them")
        if not is_statistic(self.statistic):
            raise ValueError(f"there is no statistic {self.statistic!r}: tacholog.schema.records.STATISTICS lists them, or 'p99.9'")
        if self.bound not in _BOUNDS:
            raise ValueError(f"there is no bound {self.bound!r}: it is one of {', '.join(sorted(_BOUNDS))}")
        if len(_KNOWN) < _MOST_KNOWN:
            _KNOWN.add(name)

    @property
    def key(self) -> str:
        """The number's name in flat output: metric, statistic and unit, as in ``latency_p99_ns``."""
        unit = METRICS[self.metric].unit
        statistic = "" if self.statistic == "total" else self.statistic
        return "_".join(word for word in (self.metric, statistic, "" if unit in ("messages", "instances", "ratio") else unit) if word)


class Conditions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How something was measured. A log states some of it, its run's manifest the rest; what neither states is ``None``.

    ``definition`` names the metric's definition in the format's ``DEFINITIONS``: who starts the clock, who stops it, what counts.
    """

    transport: str | None = None
    reach: Reach | None = None
    data_path: DataPath | None = None
    payload_touched: Touched | None = None
    reliability: Reliability | None = None
    keyed: bool | None = None
    instances: Count | None = None
    type: str | None = None
    demand: Count | None = None
    offered_rate_per_s: Positive | None = None
    recovery_time_ns: Count | None = None
    batch_bytes: Count | None = None
    publishers: Count | None = None
    subscribers: Count | None = None
    load_mode: LoadMode | None = None
    waiting: str | None = None
    warmup: str | None = None
    basis: Basis | None = None
    definition: str | None = None
    planned_duration_s: Positive | None = None
    link_bit_per_s: Positive | None = None

    def over(self, other: Conditions) -> Conditions:
        """These conditions, with what they leave unknown taken from ``other``."""
        known = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(other, **known)


class StatedConditions(Conditions, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a manifest states of its run: conditions, and the size of the messages, which most logs print themselves."""

    payload_bytes: Count | None = None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a log: what was measured, and its numbers.

    ``samples`` is how many messages are behind the statistics. ``payload_bytes_high`` is there where one result stands for a range of sizes,
    whose lower end is then ``payload_bytes``.
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
        """The number of that name, or ``None`` if the record has none."""
        return next((n for n in self.numbers if n.metric == metric and n.statistic == statistic), None)


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a latency distribution: ascending bins ``(lower_ns, upper_ns, count)`` of the record that stands before it."""

    payload_bytes: Count
    basis: Basis
    bins: tuple[tuple[int, int, int], ...]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says of its whole run, apart from results: conditions, versions, machine, how it ended."""

    conditions: Conditions = Conditions()
    tool_version: str | None = None
    system_version: str | None = None
    start_time: str | None = None
    environment: dict[str, str] = {}
    status: Status | None = None
    reason: str | None = None

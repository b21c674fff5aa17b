"""The metrics and the statistics.

A metric is a quantity that can be measured, with its unit and the direction that is better. A statistic is computed from measured values, such as
their mean or a percentile. Both lists are closed: a number with any other name is refused (`tacholog.schema.records.Number`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

Direction = Literal["lower", "higher"]


class Metric(msgspec.Struct, frozen=True):
    """A metric.

    Attributes:
        unit: the unit of all its numbers.
        better: the direction that is better; ``None``: neither direction is.
        words: the name of the metric on pages.
    """

    unit: str
    better: Direction | None
    words: str


METRICS: dict[str, Metric] = {
    "latency": Metric("ns", "lower", "Latency"),
    "jitter": Metric("ns", "lower", "Jitter"),
    "clock_error": Metric("ns", None, "How far the clocks of the hosts may be apart"),
    "serialization": Metric("ns", "lower", "Time to serialise a message"),
    "deserialization": Metric("ns", "lower", "Time to deserialise a message"),
    "send_call": Metric("ns", "lower", "Time in the publisher's send call"),
    "send_lateness": Metric("ns", "lower", "Delay between the scheduled and the real send time"),
    "interval_per_message": Metric("ns", None, "Time divided by messages, which some tools call latency"),
    "goodput": Metric("bit_per_s", "higher", "Payload received"),
    "message_rate": Metric("messages_per_s", "higher", "Messages received"),
    "sustained_rate": Metric("messages_per_s", "higher", "Highest sustained rate"),
    "trials_passed": Metric("trials", "higher", "Trials of a search that kept the goal"),
    "size_over_latency": Metric("bit_per_s", None, "Size divided by summed latency, which eCAL calls throughput"),
    "offered_rate": Metric("messages_per_s", None, "Messages offered by the publisher"),
    "offered_goodput": Metric("bit_per_s", None, "Payload offered by the publisher"),
    "acknowledged_rate": Metric("messages_per_s", "higher", "Messages acknowledged by the broker"),
    "acknowledged_goodput": Metric("bit_per_s", "higher", "Payload acknowledged by the broker"),
    "call_rate": Metric("calls_per_s", "higher", "Service calls"),
    "transfer_rate": Metric("bit_per_s", None, "Payload sent or received; the tool does not say which"),
    "bytes_transferred": Metric("bytes", None, "Bytes sent or received; the tool does not say which"),
    "bytes_sent": Metric("bytes", None, "Bytes sent"),
    "bytes_received": Metric("bytes", None, "Bytes received"),
    "bytes_lost": Metric("bytes", "lower", "Bytes lost"),
    "messages_sent": Metric("messages", None, "Messages sent"),
    "messages_acknowledged": Metric("messages", None, "Messages acknowledged by the broker, in all"),
    "messages_received": Metric("messages", None, "Messages received, in all"),
    "backlog": Metric("messages", "lower", "Messages that were published and not yet received"),
    "messages_lost": Metric("messages", "lower", "Messages lost"),
    "messages_duplicated": Metric("messages", "lower", "Messages received twice"),
    "messages_late": Metric("messages", "lower", "Answers that came after the limit"),
    "messages_reordered": Metric("messages", "lower", "Messages out of order"),
    "retransmissions": Metric("messages", "lower", "Messages sent again"),
    "messages_dropped": Metric("messages", "lower", "Messages dropped for a slow subscriber"),
    "messages_corrupted": Metric("messages", "lower", "Messages with a wrong checksum"),
    "instances_heard": Metric("instances", "higher", "Instances of a keyed topic of which messages were received"),
    "loss": Metric("ratio", "lower", "Share of messages lost"),
    "histogram_overflow": Metric("messages", None, "Samples above the range of the histogram"),
    "duration": Metric("ns", None, "Time measured"),
    "send_duration": Metric("ns", None, "Time that the publisher measured"),
    "cpu": Metric("percent", "lower", "Processor time; 100 % is one core"),
    "cpu_of_machine": Metric("percent", "lower", "Processor time; 100 % is all cores"),
    "cpu_cost": Metric("ns_per_gigabyte", "lower", "Processor time for 10^9 bytes"),
    "cpu_per_message": Metric("ns", "lower", "Processor time for each message that arrived"),
    "cpu_time": Metric("ns", "lower", "Processor time used"),
    "context_switches": Metric("switches", "lower", "Context switches"),
    "peak_memory": Metric("bytes", "lower", "Largest resident set"),
}


def median_place(values: Sequence[float], metric: str) -> int:
    """Return the index of the median in ``values``. If two values are in the middle, the worse value is used, as the metric defines it.

    Args:
        values: one value for each run, shape (n,), n >= 1, in the metric's unit, in any order.
        metric: a name of `tacholog.schema.metrics.METRICS`.

    Returns:
        An index into ``values``. Of equal values, the index of the first is returned, so that the same input always gives the same run.
    """
    ordered = sorted(values)
    lower_of_two, upper_of_two = (len(ordered) - 1) // 2, len(ordered) // 2
    return values.index(ordered[upper_of_two if upper_of_two_counts(metric) else lower_of_two])


def upper_of_two_counts(metric: str) -> bool:
    """Return whether `median_place` uses the larger of the two values in the middle, and not the smaller.

    Code that computes many medians as arrays needs this.
    """
    better, unit = METRICS[metric].better, METRICS[metric].unit
    return better == "lower" or (better is None and unit == "ns")


def median_run(values: Sequence[float], metric: str) -> float:
    """Return the median by the rule of `median_place`. It is always one of ``values``."""
    return values[median_place(values, metric)]


_PARTS_OF_TIME = {"": "in all", "user": "in user mode", "system": "in system mode", "kernel": "in the kernel"}
_PARTS_OF_TIME |= {"interrupts": "in interrupts", "iowait": "waiting for a disk"}
_SIDES = {"local": "the side that wrote the log", "remote": "the other side", "publisher": "the publisher", "subscriber": "the subscriber"}

#: The statistics, each with its meaning. Percentiles such as ``p99.9`` are statistics too: see `is_statistic`.
STATISTICS: dict[str, str] = {
    "total": "a count, a sum or a share over everything that was measured",
    "mean": "the arithmetic mean",
    "std": "the standard deviation",
    "std-error": "the standard error of the mean",
    "mean-ad": "the mean absolute deviation",
    "median-ad": "the median absolute deviation",
    "siqr": "half of the distance between the quartiles",
    "min": "the smallest value",
    "max": "the largest value",
    "last": "the value of the latest interval, if the same line also has the mean up to now",
    "sum": "the sum over all subscribers",
    "typical": "a value that a document calls typical, without stating the statistic",
    "range-low": "the lower end of a printed range",
    "range-high": "the upper end of a printed range",
    "lower-bound": "the highest value at which a search found its goal kept (the relevant lower bound of RFC 9971)",
    "upper-bound": "the lowest value at which a search found its goal missed (the relevant upper bound of RFC 9971)",
    "user": "processor time in user mode",
    "system": "processor time in system mode",
    "voluntary": "voluntary context switches: the process waited",
    "involuntary": "involuntary context switches: the scheduler stopped the process",
    **{
        "-".join(word for word in (side, part) if word): f"processor time of {whose}, {words}"
        for side, whose in _SIDES.items()
        for part, words in _PARTS_OF_TIME.items()
    },
}
_PERCENTILE = re.compile(
    r"p(?!0\d|0\Z)\d{1,2}(?:\.\d{0,8}[1-9])?"
)  # Only the usual spelling is allowed: not p05, not p99.90. The names of p0 and p100 are min and max.


def is_statistic(name: object) -> bool:
    """Return whether this is a statistic: one of `STATISTICS`, or a percentile between 0 and 100 such as ``p99.9``."""
    return isinstance(name, str) and (name in STATISTICS or _PERCENTILE.fullmatch(name) is not None)

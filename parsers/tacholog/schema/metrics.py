"""The metrics: what can be measured, in which unit, and which direction is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Direction = Literal["lower", "higher"]


class Metric(msgspec.Struct, frozen=True):
    """A metric.

    Attributes:
        unit: the unit of all its numbers.
        better: which direction is better; ``None``: neither.
        words: what it is called on pages.
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
    "call_rate": Metric("calls_per_s", "higher", "Service calls"),
    "transfer_rate": Metric("bit_per_s", None, "Payload sent or received; the tool does not say which"),
    "bytes_transferred": Metric("bytes", None, "Bytes sent or received; the tool does not say which"),
    "bytes_sent": Metric("bytes", None, "Bytes sent"),
    "bytes_received": Metric("bytes", None, "Bytes received"),
    "bytes_lost": Metric("bytes", "lower", "Bytes lost"),
    "messages_sent": Metric("messages", None, "Messages sent"),
    "messages_received": Metric("messages", None, "Messages received, in all"),
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
    """Return the index of the median in ``values``. Of two in the middle it is the worse one, by the metric's direction.

    Args:
        values: one value a run, shape (n,), n >= 1, in the metric's unit, in any order.
        metric: a name of `tacholog.schema.metrics.METRICS`.

    Returns:
        An index into ``values``. Of equal values it is the first, so that the same input gives the same run.
    """
    ordered = sorted(values)
    lower_of_two, upper_of_two = (len(ordered) - 1) // 2, len(ordered) // 2
    return values.index(ordered[upper_of_two if upper_of_two_counts(metric) else lower_of_two])


def upper_of_two_counts(metric: str) -> bool:
    """Return whether the upper one of two values in the middle is the median. For code that computes many medians as arrays."""
    better, unit = METRICS[metric].better, METRICS[metric].unit
    return better == "lower" or (better is None and unit == "ns")


def median_run(values: Sequence[float], metric: str) -> float:
    """Return the median by the rule of `median_place`: one of ``values``."""
    return values[median_place(values, metric)]

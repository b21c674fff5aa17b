"""Whether a record can be what a log says: what a format gets wrong must not look like a measurement."""

from __future__ import annotations

from math import isfinite

from tacholog.records import METRICS, Number, Record


def fault_of(record: Record) -> str | None:
    """Say what is impossible in a record; ``None`` if nothing is."""
    for number in record.numbers:
        if number.metric not in METRICS:
            return f"the format calls a metric {number.metric!r}, which is none of {', '.join(METRICS)}"
        if number.value is not None and (number.value < 0 or not isfinite(number.value)) and not _clocks_apart(record, number):
            return f"{number.metric} {number.statistic} is {number.value:g}, which it cannot be"
    return None


def _clocks_apart(record: Record, number: Number) -> bool:
    """Between two clocks a one-way latency may be negative: it is shown as it is."""
    return number.metric == "latency" and record.conditions.basis in ("one-way", None) and isfinite(number.value or 0)

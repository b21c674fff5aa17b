"""What a row of a diff or of a history is called."""

from __future__ import annotations

from collections.abc import Collection

from tacholog.compare.result import RowKey
from tacholog.schema.metrics import METRICS
from tacholog.view import names
from tacholog.view.numerals import size

_OF_LATENCY = ("latency", "jitter", "interval_per_message", "send_lateness", "send_call", "serialization", "deserialization")


def row_name(key: RowKey, *, with_system: bool = False, but: Collection[str] = ()) -> str:
    """What a row is about: metric, statistic, and the setting.

    Args:
        key: the row.
        with_system: whether to name the system.
        but: words that `apart_words` gives for the row and that stand elsewhere.
    """
    statistic = "" if key.statistic == "total" else f" {key.statistic}"
    peers = f"{key.publishers or '?'}:{key.subscribers or '?'}" if (key.publishers or 1, key.subscribers or 1) != (1, 1) else None
    keyed = None if key.keyed is None else "keyed" if key.keyed else "unkeyed"
    demand = f"demand {key.demand}" if key.demand else None
    system = key.system if with_system else None
    parts = (
        METRICS[key.metric].words.lower() + statistic,
        system,
        key.transport,
        key.data_path,
        key.type,
        keyed,
        peers,
        key.participant,
        _sizes(key),
        demand,
        *(word for word in apart_words(key) if word not in but),
        f"in a test of {key.test}" if key.test and key.test != _tested_by(key) else None,
    )
    return ", ".join(part for part in parts if part)


def apart_words(key: RowKey) -> list[str]:
    """What tells a row from those that are alike in all else; what is not stated is named where nothing else tells it."""
    words = [word for field, value in key.apart if (word := names.words(field, value))]
    return words or [names.unstated(field) for field, _ in key.apart]


def _tested_by(key: RowKey) -> str:
    """The test that a metric is expected in: another one is named."""
    if key.metric == "sustained_rate":
        return "sustain"
    return "latency" if key.metric in _OF_LATENCY else "demand" if key.demand else "throughput"


def _sizes(key: RowKey) -> str | None:
    """The payload size, or the range of sizes."""
    if key.payload_bytes is None:
        return None
    return size(key.payload_bytes) if key.payload_bytes_high is None else f"{size(key.payload_bytes)} to {size(key.payload_bytes_high)}"

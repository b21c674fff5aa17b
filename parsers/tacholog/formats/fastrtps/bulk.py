"""The rows of ThroughputTest's and LatencyTest's tables by the hundred thousand. The rules are those of the tables, on arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tacholog.formats.fastrtps.throughput import ROUNDING, DemandTable
from tacholog.formats.kit import (
    MICROSECOND,
    Bulk,
    FoundMany,
    Lines,
    NumberColumn,
    Record,
    RecordColumns,
    Records,
    Taken,
    counted_column,
    exact_column,
    first_false,
    printed_column,
    rounded,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Cells = dict[str, NDArray[np.float64]]

_COUNT, _THREE = rb" *+\d{1,15}+", rb" *+\d{1,12}+\.\d{3}"
_SENT = [_COUNT, _COUNT, _THREE, _THREE]
_DEMANDS = (
    Bulk(b",".join([_COUNT, _COUNT, *_SENT, _COUNT, *_SENT]) + rb" *+"),  # 1.7 to 1.9.3
    Bulk(b",".join([_COUNT, _COUNT, _COUNT, *_SENT, _COUNT, *_SENT]) + rb" *+"),  # with a recovery time
)
_MOST_KINDS = 1000  # Of demands and recovery times in one run. More than that are read one by one.


def demands(table: DemandTable, lines: Lines) -> Taken:
    """Read rows of a table of demands as far as they are in order. Each demand and recovery time has its own conditions."""
    import numpy as np

    if len(table.form.columns) != lines.cells.shape[1]:
        return Taken()
    cells = dict(zip(table.form.columns, lines.cells.T, strict=True))
    count = first_false(_is_whole(cells, table.payload_bytes))
    kinds = [cells["demand"][:count], cells.get("recovery", cells["demand"])[:count], table.waits_left_out(cells)[:count]]
    kind = _kinds(kinds)
    if count == 0 or kind.max() >= _MOST_KINDS:
        return Taken()
    columns = _demand_columns({name: column[:count] for name, column in cells.items()})
    order = np.argsort(kind, kind="stable")
    found = []
    part = lines.part(0, count)
    for places in np.split(order, np.cumsum(np.bincount(kind))[:-1]):
        like = table.record(part.line(int(places[0])))
        if like is None:
            return Taken()
        found.append(FoundMany(part, Records(like, columns.rows(places), places)))
    table.payload_bytes = int(cells["bytes"][count - 1])
    return Taken(count, found)


def _kinds(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return a number for each row, from 0 on: the same where all columns are, and in their order. One column at a time takes a third of the time."""
    import numpy as np

    kind = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if len(column) and (column != column[0]).any():
            values, codes = np.unique(column, return_inverse=True)
            _, kind = np.unique(kind * len(values) + codes, return_inverse=True)
    return kind


def _is_whole(cells: Cells, least_bytes: int) -> NDArray[np.bool_]:
    """Where a row is in order, and the one before it was not of a larger size."""
    import numpy as np

    size, demand, sent = cells["bytes"], cells["demand"], cells["sent"]
    whole = (size > 0) & (demand > 0) & (sent > 0) & (sent % np.maximum(demand, 1) == 0) & (cells["received"] + cells["lost"] <= sent)
    whole &= size >= np.concatenate([[least_bytes], size[:-1]])
    for side in ("sent", "received"):
        count, time_us = cells[side], np.maximum(cells[f"{side}_time"], 1)
        whole &= cells[f"{side}_time"] > 0
        for name, expected in (("mbit", count * size * 8 / time_us), ("rate", count * 1e6 / time_us)):
            whole &= abs(cells[f"{side}_{name}"] - expected) <= ROUNDING + expected * (1.1 / time_us)
    return np.asarray(whole)


def _demand_columns(cells: Cells) -> RecordColumns:
    import numpy as np

    sent, received, lost = cells["sent"], cells["received"], cells["lost"]
    numbers = (
        counted_column("messages_sent", sent),
        printed_column("send_duration", "total", cells["sent_time"] * MICROSECOND, MICROSECOND),
        _rate("offered_rate", cells["sent_rate"], 1.0, sent),
        _rate("offered_goodput", cells["sent_mbit"], 1e6, sent),
        counted_column("messages_received", received),
        counted_column("messages_lost", lost),
        exact_column("loss", "total", (sent - received) / sent, ("derived",)),
        printed_column("duration", "total", cells["received_time"] * MICROSECOND, MICROSECOND),
        _rate("message_rate", cells["received_rate"], 1.0, received),
        _rate("goodput", cells["received_mbit"], 1e6, received),
    )
    return RecordColumns(np.ones(len(sent), dtype=np.bool_), cells["bytes"].astype("int64"), received.astype("int64"), numbers)


def _rate(metric: str, cells: NDArray[np.float64], unit: float, counts: NDArray[np.float64]) -> NumberColumn:
    """A rate, which is exactly none where nothing was counted."""
    import numpy as np

    column = printed_column(metric, "mean", rounded(cells * unit), 0.001 * unit)
    none = counts == 0
    return column._replace(
        values=np.where(none, 0.0, column.values), resolutions=np.where(none, np.nan, column.resolutions), below=column.below & ~none
    )


def _latencies(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    """Read rows of a table of latencies: size, then samples in most versions, then the statistics."""
    import numpy as np

    statistics = [number for number in like.numbers if number.metric == "latency"]
    behind = cells.shape[1] - len(statistics)
    counted = behind == len(("bytes", "samples"))
    if like.test != "latency" or len(like.numbers) != len(statistics) + counted or not 1 <= behind <= 2:  # noqa: PLR2004
        return None
    values = dict(zip((number.statistic for number in statistics), cells[:, behind:].T, strict=True))
    ordered = np.stack([values[name] for name in ("min", "p50", "p90", "p99", "p99.99", "max") if name in values])
    valid = (ordered[1:] >= ordered[:-1]).all(axis=0) & (ordered[0] <= values["mean"]) & (values["mean"] <= ordered[-1])
    numbers = tuple(
        printed_column("latency", number.statistic, rounded(values[number.statistic] * MICROSECOND), number.resolution or np.nan)
        for number in statistics
    )
    samples = cells[:, 1].astype("int64") if counted else None
    received = (counted_column("messages_received", cells[:, 1]),) if counted else ()
    return RecordColumns(valid, cells[:, 0].astype("int64"), samples, (*numbers, *received))


def _latency_shapes() -> Iterator[Bulk]:
    for places, counts in ((2, 1), (2, 2), (3, 2)):
        cell = rb" *+\d{1,12}+\.\d{%d}" % places
        yield Bulk(b",".join([_COUNT] * counts + [cell] * 8) + rb" *+", _latencies)


BULK = (*_DEMANDS, *_latency_shapes())

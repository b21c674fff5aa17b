"""RTI Perftest's lines by the hundred thousand: summaries of throughput, and the intervals that both roles print a second or an answer.

The rules are those of `tacholog.formats.rti.figures`, on arrays; a test holds both to the same records on the same lines. Only the most usual shape
of each line is read here: a point for a decimal sign, microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tacholog.formats.kit import Bulk, NumberColumn, Record, RecordColumns, counted_column, printed_column
from tacholog.formats.rti import figures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Read = Callable[["NDArray[np.float64]", Record], RecordColumns | None]
_COUNT = rb"\d{1,15}+"
_MBIT = rb"\d{1,15}+\.\d"
_LOST = rb"Lost: ++%b \(\d{1,3}+\.\d\d%%\)" % _COUNT
_SUMMARY = rb"Length: ++%b ++Packets: ++%b ++Packets/s\(ave\): ++%b ++Mbps\(ave\): ++%b ++%b" % (_COUNT, _COUNT, _COUNT, _MBIT, _LOST)
_RATES = rb"Packets/s: ++%b ++Packets/s\(ave\): ++%b ++Mbps: ++%b ++Mbps\(ave\): ++%b" % (_COUNT, _COUNT, _MBIT, _MBIT)
_RUNNING = rb" *+Packets: ++%b ++%b ++%b" % (_COUNT, _RATES, _LOST)
_EXTREMES = rb"Min ++%b us ++Max ++%b(?: us)?+" % (_COUNT, _COUNT)
_ANSWER = rb"One[ -][wW]ay Latency: ++%b us ++Ave ++%b us ++Std ++%b us ++%b" % (_COUNT, _COUNT, _MBIT, _EXTREMES)


def _summaries(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    if like.scope != "summary" or like.test != "throughput" or like.conditions.definition != "rti-throughput":
        return None
    size, received, rate, mbit, lost, percent = cells.T
    consistent = (size > 0) & _rates_agree(size, rate, mbit, messages=1.01)
    numbers = (*_counts(received, lost), *_rates("mean", rate, mbit))
    return _throughput(size, consistent, numbers, (received, lost, percent))


def _running(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    import numpy as np

    if like.scope != "interval" or like.test != "throughput" or like.payload_bytes is None:
        return None
    received, last_rate, rate, last_mbit, mbit, lost, percent = cells.T
    size = np.full(len(cells), float(like.payload_bytes))
    consistent = _rates_agree(size, rate, mbit, messages=1.6) & _rates_agree(size, last_rate, last_mbit, messages=1.01)
    numbers = (*_counts(received, lost), *_rates("mean", rate, mbit), *_rates("last", last_rate, last_mbit))
    return _throughput(size, consistent, numbers, (received, lost, percent))


def _answers(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    import numpy as np

    if like.scope != "interval" or like.test != "latency" or like.payload_bytes is None or like.numbers[0].resolution != figures.MICROSECONDS.unit_ns:
        return None
    last, mean, deviation, low, high = cells.T
    valid = (low <= last) & (last <= high) & (low - 1 <= mean) & (mean <= high + 1)
    valid[1:] &= (low[1:] <= low[:-1]) & (high[1:] >= high[:-1])  # where they go back, another size has begun
    unit = figures.MICROSECONDS.unit_ns
    numbers = tuple(
        printed_column("latency", name, np.round(values * unit, 3), unit * (0.1 if name == "std" else 1))
        for name, values in zip(figures.RUNNING, (last, mean, deviation, low, high), strict=True)
    )
    return RecordColumns(valid, np.full(len(cells), like.payload_bytes), None, numbers)


def _latencies(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    """Summaries of latencies, as CSV has them."""
    import numpy as np

    if like.scope != "summary" or like.test != "latency" or like.conditions.definition != "rti-one-way":
        return None
    size, values = cells[:, 0], dict(zip(figures.STATISTICS, cells[:, 1:].T, strict=True))
    order = sorted(figures.ORDER.items(), key=lambda item: item[1])
    levels = [(share, values[name]) for name, share in order if name in values]
    pairs = list(pairwise(levels))
    least = sum(((above - share) * low for (share, low), (above, _) in pairs), np.zeros(len(cells)))
    most = sum(((above - share) * high for (share, _), (above, high) in pairs), np.zeros(len(cells)))
    valid = (least - 1 <= values["mean"]) & (values["mean"] <= most + 1)
    for (_, low), (_, high) in pairs:
        valid &= low <= high
    valid &= values["p99.9999"] > values["min"]  # Otherwise Java may have printed the smallest sample for it.
    return RecordColumns(valid, size.astype("int64"), None, _printed_like(like, values))


def _running_latencies(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    """Intervals of latencies, as CSV has them."""
    if like.scope != "interval" or like.test != "latency" or like.conditions.definition != "rti-one-way-running":
        return None
    size, last, mean, _, low, high = cells.T
    valid = (low <= last) & (last <= high) & (low - 1 <= mean) & (mean <= high + 1)
    return RecordColumns(valid, size.astype("int64"), None, _printed_like(like, dict(zip(figures.RUNNING, cells[:, 1:].T, strict=True))))


def _printed_like(like: Record, values: Mapping[str, NDArray[np.float64]]) -> tuple[NumberColumn, ...]:
    """Numbers that were printed as finely as those of a record: of one shape, in microseconds or nanoseconds."""
    import numpy as np

    resolutions = {number.statistic: number.resolution for number in like.numbers if number.metric == "latency"}
    unit = resolutions["max"] or np.nan  # Of whole numbers it is the unit that they were printed in.
    return tuple(printed_column("latency", name, np.round(column * unit, 3), resolutions[name] or np.nan) for name, column in values.items())


def _running_csv(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    """Intervals of throughput, as CSV has them: the size stands in each row."""
    if like.scope != "interval" or like.test != "throughput" or like.conditions.definition != "rti-throughput-running":
        return None
    size, received, last_rate, rate, last_mbit, mbit, lost, percent = cells.T
    consistent = (size > 0) & _rates_agree(size, rate, mbit, messages=1.6) & _rates_agree(size, last_rate, last_mbit, messages=1.01)
    numbers = (*_counts(received, lost), *_rates("mean", rate, mbit), *_rates("last", last_rate, last_mbit))
    return _throughput(size, consistent, numbers, (received, lost, percent))


def _with_cpu(line: bytes, read: _Read, statistic: str, cpu: bytes = rb" CPU: ++\d{1,3}+\.\d\d%") -> Bulk:
    """The same line with the processor time behind it, as options of some versions have it."""

    def read_both(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
        columns = read(cells[:, :-1], like)
        return columns and columns._replace(numbers=(*columns.numbers, printed_column("cpu_of_machine", statistic, cells[:, -1], 0.01)))

    return Bulk(line + cpu, read_both)


def _row(decimals: Sequence[int]) -> bytes:
    """A row of CSV as C++ pads it."""
    return rb" *+" + rb", *+".join(rb"\d{1,15}+\.\d{%d}" % places if places else _COUNT for places in decimals)


_PLAIN = ((_SUMMARY, _summaries, "mean"), (_RUNNING, _running, "last"), (_ANSWER, _answers, "last"))
_CSV = (
    (_row((0, 0, 0, 1, 0, 2)), _summaries, "mean"),
    (_row((0, 0, 0, 0, 1, 1, 0, 2)), _running_csv, "last"),
    (_row((0, 0, 1, 0, 0, 0, 0, 0, 0, 0)), _latencies, "mean"),
    (_row((0, 0, 0, 1, 0, 0)), _running_latencies, "last"),
)
BULK = (
    *(Bulk(line + rb" *+", read) for line, read, _ in _PLAIN),
    *(_with_cpu(*plain) for plain in _PLAIN),
    *(Bulk(line + rb" *+", read) for line, read, _ in _CSV),
    *(_with_cpu(*row, rb", *+\d{1,3}+\.\d\d *+") for row in _CSV),
)


def _throughput(
    size: NDArray[np.float64], consistent: NDArray[np.bool_], numbers: tuple[NumberColumn, ...], counts: tuple[NDArray[np.float64], ...]
) -> RecordColumns:
    agrees, loss = _loss(*counts)
    return RecordColumns(consistent & agrees, size.astype("int64"), counts[0].astype("int64"), (*numbers, loss))


def _rates_agree(size: NDArray[np.float64], rate: NDArray[np.float64], mbit: NDArray[np.float64], messages: float) -> NDArray[np.bool_]:
    bits = 8.0 * size
    return abs(mbit * 1e6 - rate * bits) <= messages * bits + figures.RATE_SLACK_BIT_PER_S


def _counts(received: NDArray[np.float64], lost: NDArray[np.float64]) -> tuple[NumberColumn, NumberColumn]:
    return counted_column("messages_received", received), counted_column("messages_lost", lost)


def _rates(statistic: str, rate: NDArray[np.float64], mbit: NDArray[np.float64]) -> tuple[NumberColumn, NumberColumn]:
    return printed_column("message_rate", statistic, rate, 1.0), printed_column("goodput", statistic, (mbit * 1e6).round(), 1e5)


def _loss(received: NDArray[np.float64], lost: NDArray[np.float64], percent: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NumberColumn]:
    """The share of loss, exact where nothing was lost, and where it follows from the counts."""
    import numpy as np

    none = (lost == 0) & (percent == 0)
    counted = 100.0 * lost / np.maximum(received + lost, 1.0)
    share = printed_column("loss", "total", np.round(percent / 100, 6), 0.0001)
    column = share._replace(
        values=np.where(none, 0.0, share.values), resolutions=np.where(none, np.nan, share.resolutions), below=share.below & ~none
    )
    return none | (abs(percent - counted) <= figures.SHARE_SLACK), column

"""Interval rows of iperf3's text by the hundred thousand, of a test with one stream. The rules are those of the text, on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tacholog.formats.kit import Bulk, NumberColumn, Record, RecordColumns, counted_column, exact_column, printed_column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Three digits, as the tool prints them: their size says how many stand behind the point.
_DIGITS = rb"(?:\d\.\d\d|[1-9]\d\.\d|[1-9]\d{2,6}+)"
_START = rb"\[ *+\d{1,5}+\] {1,4}+\d{1,6}+\.\d\d-\d{1,6}+\.\d\d {1,5}+sec"
_RATES = rb"%b {1,4}+%b [KMG]Bytes {1,4}+%b [KMG]bits/sec" % (_START, _DIGITS, _DIGITS)
_LETTERS = (("K", "1"), ("M", "2"), ("G", "3"))
_FEW_DIGITS = ((10.0, 0.01), (100.0, 0.1))


class _Traffic(NamedTuple):
    """The columns that every row begins with."""

    valid: NDArray[np.bool_]
    bit_per_s: NumberColumn
    bytes: NumberColumn
    duration: NumberColumn


def _traffic(cells: NDArray[np.float64], like: Record) -> _Traffic:
    import numpy as np

    stream, start, end, transfer, transfer_unit, rate, rate_unit = cells[:, :7].T
    seconds = np.rint((end - start) * 100) / 100
    kilo, thousand = np.exp2(10 * transfer_unit), np.power(1000.0, rate_unit)
    amount, amount_step, speed, speed_step = transfer * kilo, _step(transfer) * kilo, rate * thousand, _step(rate) * thousand
    follows = (speed - speed_step) * (seconds - 0.02) <= 8 * (amount + amount_step)
    follows &= (speed + speed_step) * (seconds + 0.02) >= 8 * (amount - amount_step)
    valid = (stream == stream[0]) & (seconds > 0.02) & follows  # noqa: PLR2004 - shorter ones are not judged by their rate
    valid[1:] &= (start[1:] >= end[:-1]) & (start[1:] > start[:-1])
    names = [(number.metric, number.statistic) for number in like.numbers[:3]]
    printed = ((speed, speed_step), (amount, amount_step), (seconds * 1e9, np.float64(0.01e9)))
    columns = [printed_column(*name, np.round(values, 3), np.round(steps, 3)) for name, (values, steps) in zip(names, printed, strict=True)]
    return _Traffic(valid, *columns)


def _step(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The unit of the last printed place of numbers with three digits."""
    import numpy as np

    return np.where(values < 10, 0.01, np.where(values < 100, 0.1, 1.0))  # noqa: PLR2004


def _columns(like: Record, traffic: _Traffic, more: tuple[NumberColumn, ...] = (), samples: NDArray[np.float64] | None = None) -> RecordColumns:
    import numpy as np

    size = np.full(len(traffic.valid), -1 if like.payload_bytes is None else like.payload_bytes)
    numbers = (traffic.bit_per_s, traffic.bytes, traffic.duration, *more)
    return RecordColumns(traffic.valid, size, None if samples is None else samples.astype("int64"), numbers)


def _plain(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    return _columns(like, _traffic(cells, like)) if _is_interval(like, 3) else None


def _with_retransmissions(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    if not _is_interval(like, 4) or like.numbers[3].metric != "retransmissions":
        return None
    return _columns(like, _traffic(cells, like), (counted_column("retransmissions", cells[:, 7]),))


def _with_datagrams(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    if not _is_interval(like, 4) or like.numbers[3].metric != "messages_sent":
        return None
    return _columns(like, _traffic(cells, like), (counted_column("messages_sent", cells[:, 7]),), cells[:, 7])


def _with_losses(cells: NDArray[np.float64], like: Record) -> RecordColumns | None:
    import numpy as np

    if not _is_interval(like, 6) or like.conditions.definition != "iperf3-received":
        return None
    jitter, lost, total = cells[:, 7:10].T
    traffic = _traffic(cells, like)
    valid = traffic.valid & (total > 0) & (lost <= total)
    more = (
        printed_column("jitter", "mean", np.round(jitter * 1e6, 3), 1000.0),
        counted_column("messages_lost", lost),
        exact_column("loss", "total", lost / np.maximum(total, 1)),
    )
    return _columns(like, traffic._replace(valid=valid), more, total - lost)


def _is_interval(like: Record, numbers: int) -> bool:
    return like.scope == "interval" and len(like.numbers) == numbers


def _bulk(behind: bytes, read: Callable[[NDArray[np.float64], Record], RecordColumns | None]) -> Bulk:
    return Bulk(_RATES + behind, read, _LETTERS)


BULK = (
    _bulk(rb" {2,5}+\d{1,12}+ {1,4}+%b [KMG]Bytes {7}" % _DIGITS, _with_retransmissions),
    _bulk(rb" {2,5}+\d{1,12}+ {13}", _with_retransmissions),
    _bulk(rb" {18}", _plain),
    _bulk(rb"  \d{1,12}+  ", _with_datagrams),
    _bulk(rb"  \d{1,9}+\.\d{3} ms  \d{1,12}+/\d{1,12}+ \(\d{1,3}+(?:\.\d{1,3}+)?+%\)  ", _with_losses),
)

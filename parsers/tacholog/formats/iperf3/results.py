"""The results of iperf3, from text and from JSON: their numbers, the checks of these numbers, and the known facts about the test.

The text of a test with one stream can have hundreds of thousands of interval rows. Figures of JSON have the same names as figures of text, but
their number of decimals is not stored. Figures of JSON are printed with all digits or with six digits. If they have six digits, ``rate_step`` and
similar names contain the unit of the last digit. ``Sat, 21 Nov 2026 01:53:10 GMT`` in JSON and after ``Time:`` is in UTC. With ``--timestamps``, each
line begins with a time: see `Line.time`.
Source: the reports of iperf3 3.12, and logs of 3.0 to 3.12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

import msgspec

from tacholog.formats.kit import (
    DERIVED,
    Broken,
    Cells,
    Check,
    Conditions,
    Field,
    LineRule,
    LoadMode,
    Number,
    Order,
    Record,
    Scope,
    Side,
    at_least,
    counted,
    every,
    of_seconds,
    rounded,
)

Expression = Callable[[Cells], Any]

NOT_FOLLOWING = "the rate is not the bytes divided by the time"
_LETTERS = {"": "0", "K": "1", "M": "2", "G": "3", "T": "4"}
_IMPOSSIBLE_JITTER_MS = 1e9  # Eleven days. If old versions receive a damaged time stamp, they print a jitter of years.
_SHORTEST_S = 0.02  # Start and end are rounded. The rate of an interval that is not longer than this rounding error is not checked.


def _without_float_errors(value: Any, decimals: int = 3) -> Any:  # noqa: ANN401
    return round(value, decimals) if isinstance(value, int | float) else rounded(value, decimals)


def _step(cells: Cells, name: str) -> Any:  # noqa: ANN401
    """Return the unit of the last printed digit; ``None`` if the figure was not rounded."""
    if name not in cells.decimals:
        return cells.get(f"{name}_step")
    value = cells[name]
    if name == "jitter" or isinstance(value, int | float):
        return 10.0 ** -cells.decimals[name]
    # ``value`` has the figures of many rows. Bytes and rates have three digits, so each figure determines how many of its digits are decimals.
    return 0.01 + 0.09 * (value >= 10) + 0.9 * (value >= 100)  # noqa: PLR2004


def _rounded_to(name: str, unit: Expression) -> Expression:
    def resolution(cells: Cells) -> Any:  # noqa: ANN401
        step = _step(cells, name)
        return None if step is None else _without_float_errors(step * unit(cells))

    return resolution


def _byte_unit(cells: Cells) -> Any:  # noqa: ANN401
    return 1024.0 ** cells.get("transfer_unit", 0)


def _bit_unit(cells: Cells) -> Any:  # noqa: ANN401
    exponent = cells.get("rate_unit", 0)
    # An option of the tool prints rates in bytes. The units are then powers of 1024.
    return 8 * 1024.0**exponent if cells.get("is_rate_of_bytes") else 1000.0**exponent


def _lasted(cells: Cells) -> Any:  # noqa: ANN401
    return _without_float_errors(cells["end"] - cells["start"], 2)


def _is_rate_consistent(cells: Cells) -> Any:  # noqa: ANN401
    if "seconds" in cells:  # Figures of JSON were checked before.
        return True
    bits, bits_step = (8 * value * _byte_unit(cells) for value in (cells["transfer"], _step(cells, "transfer")))
    rate, rate_step = (value * _bit_unit(cells) for value in (cells["rate"], _step(cells, "rate")))
    shortest, longest = _lasted(cells) - _SHORTEST_S, _lasted(cells) + _SHORTEST_S
    agree = ((rate - rate_step) * shortest <= bits + bits_step) & ((rate + rate_step) * longest >= bits - bits_step)
    # A row with a very short time is not checked.
    return (shortest <= 0) | agree


def _loss(cells: Cells) -> Any:  # noqa: ANN401
    return cells["lost"] / at_least(cells["datagrams"], 1)


def _datagrams_received(cells: Cells) -> Any:  # noqa: ANN401
    if "lost" not in cells:
        return None
    count = cells["datagrams"] - cells["lost"]
    return count if not isinstance(count, int | float) or (cells["datagrams"] and 0 <= cells["lost"] <= cells["datagrams"]) else None


_DIGITS = r"(?:[0-9]\.[0-9][0-9]|[1-9][0-9]\.[0-9]|[1-9][0-9]{2,6}+)"
_ROW = (
    r"\[ *+(?P<stream>[0-9]{1,5}+)\] {1,4}+(?P<start>[0-9]{1,6}+\.[0-9][0-9])-(?P<end>[0-9]{1,6}+\.[0-9][0-9]) {1,5}+sec"
    rf" {{1,4}}+(?P<transfer>{_DIGITS}) (?P<transfer_unit>[KMG])Bytes {{1,4}}+(?P<rate>{_DIGITS}) (?P<rate_unit>[KMG])bits/sec"
)


def _rule(definition: str, rate: str, amount: str, *fields: Field, side: Side | None, behind: tuple[str, ...] = (), samples: Any = None) -> LineRule:  # noqa: ANN401
    return LineRule(
        *(_ROW + end for end in behind),
        fields=(
            Field(rate, "mean", "rate", unit=_bit_unit, resolution=_rounded_to("rate", _bit_unit)),
            Field(amount, "total", "transfer", unit=_byte_unit, resolution=_rounded_to("transfer", _byte_unit)),
            Field("duration", "total", "seconds", unit=1e9, resolution=_rounded_to("seconds", lambda _: 1e9)),
            Field("duration", "total", _lasted, unit=1e9, resolution=1e7, where=lambda cells: "seconds" not in cells),
            *fields,
        ),
        record=Record(test="throughput", payload_bytes=None, numbers=(), scope="interval", side=side, conditions=Conditions(definition=definition)),
        checks=(Check(NOT_FOLLOWING, _is_rate_consistent),),
        order=(
            Order(
                "another stream, or a row that is out of place",
                lambda now, before: every(
                    [now["stream"] == before["stream"], now["start"] >= before["end"], now["start"] > before["start"]],
                ),
            ),
        ),
        size="block_bytes",
        samples=samples,
        letters=_LETTERS,
    )


_DATAGRAM_FIELDS = (
    Field(
        "jitter",
        "mean",
        "jitter",
        unit=1e6,
        resolution=_rounded_to("jitter", lambda _: 1e6),
        unknown=lambda cells: cells["jitter"] >= _IMPOSSIBLE_JITTER_MS,
    ),
    # The tool counts a late datagram as lost before it arrives. So the count of lost datagrams can become negative.
    Field("messages_lost", "total", "lost", is_exact=True, unknown=lambda cells: cells["lost"] > cells["datagrams"]),
    # JSON has the share on a line of its own. Text has it rounded, beside the counts.
    Field("loss", "total", "share", resolution=lambda _: None, unknown=lambda cells: not 0 <= cells["share"] <= 1),
    Field(
        "loss",
        "total",
        _loss,
        where=lambda cells: "share" not in cells and "lost" in cells and cells["datagrams"] > 0,
        unknown=lambda cells: (_loss(cells) < 0) | (_loss(cells) > 1),
    ),
)
SENT = _rule(
    "iperf3-sent",
    "offered_goodput",
    "bytes_sent",
    Field.counted("retransmissions", "retransmissions"),
    Field.counted("messages_sent", "datagrams"),
    side="publisher",
    behind=(
        rf" {{2,5}}+(?P<retransmissions>[0-9]{{1,12}}+) {{1,4}}+{_DIGITS} [KMG]Bytes {{7}}",
        r" {2,5}+(?P<retransmissions>[0-9]{1,12}+) {13}",
        r"  (?P<datagrams>[0-9]{1,12}+)  ",
    ),
    samples="datagrams",
)
RECEIVED = _rule(
    "iperf3-received",
    "goodput",
    "bytes_received",
    *_DATAGRAM_FIELDS,
    side="subscriber",
    behind=(r"  (?P<jitter>[0-9]{1,9}+\.[0-9]{3}) ms  (?P<lost>[0-9]{1,12}+)/(?P<datagrams>[0-9]{1,12}+) \([0-9]{1,3}+(?:\.[0-9]{1,3}+)?+%\)  ",),
    samples=_datagrams_received,
)
EITHER = _rule("iperf3-either-side", "transfer_rate", "bytes_transferred", side=None, behind=(r" {18}",))
# The sender counted the bytes; the receiver counted the losses and measured the jitter.
BOTH = _rule("iperf3-udp", "offered_goodput", "bytes_sent", *_DATAGRAM_FIELDS, side="both")
# A row with datagrams differs from a row with retransmissions only by the blanks after the count. So the order matters.
BULK = (*SENT.bulk[:2], *EITHER.bulk, *SENT.bulk[2:], *RECEIVED.bulk)


SERVER_TO_CLIENT = "server to client"  # The name of the participant if the server sends. If the client sends, no name is used.


class IperfTest(msgspec.Struct, frozen=True):
    """The conditions that the log states about the test before its results; ``None`` means not stated."""

    transport: str | None = None
    block_bytes: int | None = None
    streams: int | None = None
    duration_s: float | None = None
    load_mode: LoadMode | None = None
    target_bit_per_s: float | None = None  # the requested rate of each stream

    def record(self, record: Record, scope: Scope, participant: str | None, numbers: Iterable[Number], samples: int | None = None) -> Record:
        """Return a record of this test with these numbers."""
        all_numbers = tuple(numbers)
        return msgspec.structs.replace(
            record,
            payload_bytes=self.block_bytes,
            numbers=all_numbers,
            samples=samples,
            scope=scope,
            participant=participant,
            conditions=msgspec.structs.replace(
                record.conditions,
                transport=self.transport,
                load_mode=self.load_mode,
                offered_rate_per_s=self.target_bit_per_s / 8 / self.block_bytes if self.target_bit_per_s and self.block_bytes else None,
                publishers=self.streams,
                # Jitter (RFC 1889) is computed from differences of one-way transit times, so the two clocks need not agree.
                basis="one-way" if any(number.metric == "jitter" for number in all_numbers) else None,
                planned_duration_s=self.duration_s,
            ),
        )


def record_of(rule: LineRule, cells: Cells, test: IperfTest, scope: Scope, participant: str | None) -> Record | Broken:
    """Return the record of one side, or of both sides if UDP has one row for sender and receiver.

    If the summary of a side states 0 bytes, the figures of this side never arrived. The row then contains counts that do not belong to this side. The
    only exception is a test whose datagrams were all lost; see `all_lost`.

    Up to version 3.6, a row for both sides has a count of sent datagrams. In fact, the tool counts only the datagrams up to the last received one. So
    this count is used only if it matches the number of bytes. A server of these versions prints 0 bytes, because the server does not know how much
    was sent.
    """
    record = rule.record(cells)
    if isinstance(record, Broken):
        return record
    numbers, samples, datagrams = list(record.numbers), record.samples, cells.get("datagrams")
    if scope == "summary" and cells["transfer"] == 0 and (rule is not RECEIVED or not datagrams):
        numbers[:2] = (msgspec.structs.replace(n, value=None, resolution=None, bound="=", marks=("impossible",)) for n in numbers[:2])
        if rule is not BOTH:
            numbers, samples = numbers[:2], None
    if rule is BOTH and datagrams and "transfer" not in cells.decimals and datagrams * (test.block_bytes or 0) == cells["transfer"]:
        numbers.append(counted("messages_sent", datagrams, cell=cells.printed.get("datagrams")))
    return test.record(record, scope, participant, numbers, samples)


def all_lost(cells: Cells, test: IperfTest, participant: str | None, sent_datagrams: int | None) -> Record | Broken:
    """Return the record of a UDP test that ended without an error, but whose datagrams were all lost. The tool prints a loss of 0 of 0 datagrams.

    The row of a receiver has 0 bytes. A row for both sides has the bytes of the sender, but not its number of datagrams.
    """
    rates = Cells({name: value for name, value in cells.items() if name not in _OF_DATAGRAMS}, cells.decimals, cells.printed)
    record = (BOTH if cells["transfer"] else RECEIVED).record(rates)
    if isinstance(record, Broken):
        return record
    numbers = list(record.numbers)
    if not cells["transfer"]:
        numbers[:2] = (
            msgspec.structs.replace(number, value=0.0, resolution=None, bound="=") for number in numbers[:2]
        )  # No datagram arrived, so 0 is the true value.
    if sent_datagrams:
        numbers.append(msgspec.structs.replace(counted("messages_lost", sent_datagrams), marks=(DERIVED,)))
    numbers.append(Number(metric="loss", statistic="total", value=1.0, marks=(DERIVED,)))
    return test.record(record, "summary", participant, numbers)


_OF_DATAGRAMS = ("jitter", "lost", "datagrams", "share")
_PROCESSORS = Record(test="throughput", payload_bytes=None, numbers=(), side="both", conditions=Conditions(definition="iperf3-cpu"))


def processors(test: IperfTest, shares: Iterable[Number], participant: str | None) -> Record:
    """Return the record of the processor times of both sides."""
    return test.record(_PROCESSORS, "summary", participant, shares)


def of_date(text: str) -> str | None:
    """Return a date in the form of RFC 1123 as ISO 8601; ``None`` if the text is no such date, or its day of the week is wrong."""
    try:
        moment = parsedate_to_datetime(text)
        is_whole = moment.tzinfo is not None and format_datetime(moment.astimezone(UTC), usegmt=True) == text.replace("UTC", "GMT")
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    return of_seconds(int(moment.timestamp())) if is_whole else None

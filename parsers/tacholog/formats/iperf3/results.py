"""Records of iperf3: what was sent and what was received are different records, from text and from JSON alike.

Source: the reports of iperf3 3.12, and logs of 3.0 to 3.12.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tacholog.formats.kit import DERIVED, Broken, Conditions, LoadMode, Number, Record, Scope, Side, counted, impossible

SERVER_TO_CLIENT = "server to client"  # The participant of what the server sends, in reverse or both ways at once. The other direction has no word.


class IperfTest(msgspec.Struct, frozen=True):
    """What the log states about the test before its results; ``None`` means not stated."""

    transport: str | None = None
    block_bytes: int | None = None
    streams: int | None = None
    duration_s: float | None = None
    load_mode: LoadMode | None = None


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one result; a resolution of ``None`` says that they were not rounded."""

    bytes: float
    bit_per_s: float
    seconds: float
    bytes_resolution: float | None = None
    rate_resolution: float | None = None
    time_resolution_s: float | None = None
    retransmissions: int | None = None
    jitter_ms: float | None = None
    jitter_resolution_ms: float | None = None
    lost: int | None = None
    datagrams: int | None = None
    loss: float | None = None


def sent(test: IperfTest, traffic: Traffic, scope: Scope, participant: str | None) -> Record:
    """What the sender handed over. Jitter and loss that stand beside it are no measurement of the sender's.

    In a summary no byte at all means that its side's figures never arrived: datagrams beside it are another count, or fewer than none.
    """
    numbers = _rates(traffic, "offered_goodput", "bytes_sent")
    if traffic.bytes == 0 and scope == "summary":
        return _record(test, _impossible(numbers[:2]), scope, participant, "iperf3-sent", None)
    if traffic.retransmissions is not None:
        numbers.append(counted("retransmissions", traffic.retransmissions))
    if traffic.datagrams is not None:
        numbers.append(counted("messages_sent", traffic.datagrams))
    return _record(test, numbers, scope, participant, "iperf3-sent", traffic.datagrams)


def received(test: IperfTest, traffic: Traffic, scope: Scope, participant: str | None) -> Record:
    """What the receiver took. In a summary nothing at all means that its side's figures never arrived, if `all_lost` does not know better."""
    numbers = _rates(traffic, "goodput", "bytes_received")
    nothing = traffic.bytes == 0 and not traffic.datagrams and scope == "summary"
    if nothing:
        numbers = _impossible(numbers[:2])
    elif traffic.datagrams is not None:
        numbers += _datagrams(traffic)
    samples = traffic.datagrams - traffic.lost if traffic.datagrams and traffic.lost is not None and traffic.lost >= 0 else None
    return _record(test, numbers, scope, participant, "iperf3-received", samples)


def all_lost(test: IperfTest, traffic: Traffic, participant: str | None, sent_datagrams: int | None) -> Record:
    """A UDP test that ended well, of which nothing arrived: the receiver counts no datagrams, so that the tool prints a loss of 0 in 0.

    Bytes beside it are the receiver's 0, or in `combined` results the sender's, of which it is not known how many datagrams they were.
    """
    is_both = traffic.bytes > 0
    numbers = _rates(traffic, "offered_goodput", "bytes_sent") if is_both else _rates(traffic, "goodput", "bytes_received")
    if not is_both:
        numbers[:2] = [msgspec.structs.replace(number, value=0.0, resolution=None, bound="=") for number in numbers[:2]]  # No datagram, no byte.
    if sent_datagrams:
        numbers.append(msgspec.structs.replace(counted("messages_lost", sent_datagrams), marks=(DERIVED,)))
    numbers.append(Number(metric="loss", statistic="total", value=1.0, marks=(DERIVED,)))
    return _record(test, numbers, "summary", participant, "iperf3-udp" if is_both else "iperf3-received", None)


def of_either_side(test: IperfTest, traffic: Traffic, scope: Scope, participant: str | None) -> Record:
    """A result that does not say whether it was sent or received."""
    return _record(test, _rates(traffic, "transfer_rate", "bytes_transferred"), scope, participant, "iperf3-either-side", None)


def of_interval(test: IperfTest | None, record: Record | Broken, participant: str | None) -> Record | Broken:
    """An interval as its rule reads it, with what is known of its test."""
    if isinstance(record, Broken) or test is None:
        return record
    return _record(test, list(record.numbers), "interval", participant, record.conditions.definition or "", record.samples)


def combined(test: IperfTest, traffic: Traffic, scope: Scope, participant: str | None) -> Record:
    """A UDP result whose bytes were counted by the sender, and whose losses and jitter by the receiver.

    Up to 3.6 its datagrams are those up to the last one that arrived, though the tool calls them sent: they are what was sent only where they are
    the bytes'. A server of those versions does not know what was sent, and prints 0 bytes of it.
    """
    numbers = _rates(traffic, "offered_goodput", "bytes_sent")
    if traffic.bytes == 0:
        numbers[:2] = _impossible(numbers[:2])
    numbers += _datagrams(traffic)
    is_of_the_bytes = traffic.bytes_resolution is None and bool(traffic.bytes) and (traffic.datagrams or 0) * (test.block_bytes or 0) == traffic.bytes
    if traffic.datagrams is not None and is_of_the_bytes:
        numbers.append(counted("messages_sent", traffic.datagrams))
    return _record(test, numbers, scope, participant, "iperf3-udp", None)


def processors(test: IperfTest, percent: dict[str, float], resolution: float | None, participant: str | None) -> Record:
    """Processor time of both sides, by its name in the record."""
    numbers = [Number(metric="cpu", statistic=name, value=value, resolution=resolution) for name, value in percent.items()]
    return _record(test, numbers, "summary", participant, "iperf3-cpu", None)


_IMPOSSIBLE_JITTER_MS = 1e9  # Eleven days. Old versions that met a damaged time stamp print years.
_SIDES: Mapping[str, Side | None] = {"iperf3-sent": "publisher", "iperf3-received": "subscriber", "iperf3-either-side": None}


def _record(test: IperfTest, numbers: list[Number], scope: Scope, participant: str | None, definition: str, samples: int | None) -> Record:
    return Record(
        test="throughput",
        payload_bytes=test.block_bytes,
        numbers=tuple(numbers),
        samples=samples if samples is not None and samples >= 0 else None,
        scope=scope,
        side=_SIDES.get(definition, "both"),
        participant=participant,
        conditions=Conditions(
            transport=test.transport,
            load_mode=test.load_mode,
            publishers=test.streams,
            # RFC 1889 smooths the differences of one-way transit times, so the two clocks need not agree.
            basis="one-way" if any(number.metric == "jitter" for number in numbers) else None,
            definition=definition,
            planned_duration_s=test.duration_s,
        ),
    )


def _rates(traffic: Traffic, rate: str, count: str) -> list[Number]:
    return [
        _rounded(rate, "mean", traffic.bit_per_s, traffic.rate_resolution),
        _rounded(count, "total", traffic.bytes, traffic.bytes_resolution),
        _rounded("duration", "total", traffic.seconds * 1e9, traffic.time_resolution_s and traffic.time_resolution_s * 1e9),
    ]


def _impossible(numbers: list[Number]) -> list[Number]:
    return [msgspec.structs.replace(number, value=None, resolution=None, bound="=", marks=("impossible",)) for number in numbers]


def _datagrams(traffic: Traffic) -> list[Number]:
    """Jitter and losses. A datagram that came late was counted as lost first, which can leave fewer than none."""
    numbers = []
    if traffic.jitter_ms is not None and traffic.jitter_ms >= _IMPOSSIBLE_JITTER_MS:
        numbers.append(impossible("jitter", "mean"))
    elif traffic.jitter_ms is not None:
        numbers.append(_rounded("jitter", "mean", traffic.jitter_ms * 1e6, traffic.jitter_resolution_ms and traffic.jitter_resolution_ms * 1e6))
    if traffic.lost is not None:
        more_than_all = traffic.datagrams is not None and traffic.lost > traffic.datagrams
        numbers.append(impossible("messages_lost") if more_than_all else counted("messages_lost", traffic.lost))
    if traffic.loss is not None:
        possible = 0 <= traffic.loss <= 1
        numbers.append(Number(metric="loss", statistic="total", value=traffic.loss if possible else None, marks=() if possible else ("impossible",)))
    return numbers


def _rounded(metric: str, statistic: str, value: float, resolution: float | None) -> Number:
    """A figure, clean of what floats add to it; a printed 0 is less than one unit of what it was rounded to."""
    if resolution is None:
        return Number(metric=metric, statistic=statistic, value=value)
    if value == 0:
        return Number(metric=metric, statistic=statistic, value=resolution, resolution=resolution, bound="<")
    return Number(metric=metric, statistic=statistic, value=float(round(value, 3)), resolution=float(round(resolution, 3)))

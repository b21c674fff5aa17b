"""The objects in the JSON of iperf3, whichever way it is printed: which are results, and what they and the others say.

Source: the JSON reports of iperf3 3.12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tacholog.formats._iperf3_results import Test, Traffic, combined, processors, received, sent
from tacholog.formats.lines import Broken
from tacholog.records import Facts, Record, Scope

Scalar = str | int | float | bool | None

_STREAM = re.compile(r"intervals/\[\]/streams/\[\]|end/streams/\[\]/(?:sender|receiver|udp)")
_SUM = re.compile(r"intervals/\[\]/sum(?:_bidir_reverse)?|end/sum(?:_sent|_received)?(?:_bidir_reverse)?")
_IS_SENT = {"end/sum_sent": True, "end/sum_received": False}
_PROCESSORS = "end/cpu_utilization_percent"


def is_result(place: str) -> bool:
    """Whether the object at a place of the document, such as ``end/sum_sent``, is a result."""
    return bool(_STREAM.fullmatch(place) or _SUM.fullmatch(place) or place == _PROCESSORS)


def ending(error: str) -> Facts:
    """What an error says of how the run ended."""
    stopped = error.startswith("interrupt") or "has terminated" in error
    return Facts(status="truncated" if stopped else "failed", reason=error)


class Results:
    """The results of one test, in their order: what stood before them says what they are of."""

    def __init__(self) -> None:
        """Wait for the object that describes the test."""
        self.test = Test()
        self._seen: set[str] = set()
        self._senders: dict[int, bool] = {}  # By socket: whether this host sends on it, which no result may contradict.

    def describe(self, members: Mapping[str, Scalar]) -> None:
        """Take ``start/test_start``."""
        self.test = _test(members)

    def record(self, place: str, members: Mapping[str, Scalar]) -> Record | Broken | None:
        """The record of a result; ``None`` if it is of the warm-up, or of the one stream whose sum says the same."""
        if place == _PROCESSORS:
            return self._processors(members)
        is_interval = place.startswith("intervals/")
        self._seen |= {"retransmits"} & members.keys()
        if members.get("omitted") is True or (_STREAM.fullmatch(place) and (self.test.streams or 1) == 1):
            return None
        make = _maker(place, members, is_interval=is_interval)
        traffic = _traffic(members, of_one_side=make is not combined)
        lacks = traffic is None or self._lacks(traffic, is_sent=make is sent, is_interval=is_interval)
        if traffic is None or make is None or lacks or not self._in_place(place, members):
            return Broken("members of this result are missing, out of place, or contradict each other")
        self._seen.add(place)
        scope: Scope = "interval" if is_interval else "summary"
        return make(self.test, traffic, scope, _participant(place, members))

    def _in_place(self, place: str, members: Mapping[str, Scalar]) -> bool:
        """Whether what was sent stands before what was received, neither under the other's name, where UDP says whose it is."""
        in_order = "received" not in place or place.replace("received", "sent") in self._seen
        of_the_other = self.test.transport == "UDP" and place in _IS_SENT and members.get("sender") is not _IS_SENT[place]
        return in_order and not of_the_other and not self._turned(members)

    def _turned(self, members: Mapping[str, Scalar]) -> bool:
        """Whether a stream that was one of sending is now one of receiving: its object is of pieces."""
        socket, is_sender = _whole(members.get("socket")), members.get("sender")
        if socket is None or not isinstance(is_sender, bool) or (socket not in self._senders and len(self._senders) >= _STREAMS):
            return False
        return self._senders.setdefault(socket, is_sender) != is_sender

    def _lacks(self, traffic: Traffic, *, is_sent: bool, is_interval: bool) -> bool:
        """Whether there is no count of datagrams in UDP, or another interval's, or none of retransmissions where there was one before."""
        if self.test.transport == "UDP":
            return traffic.datagrams is None or (is_interval and not _whole_datagrams(traffic, self.test.block_bytes))
        return is_sent and traffic.retransmissions is None and "retransmits" in self._seen

    def _processors(self, members: Mapping[str, Scalar]) -> Record | Broken:
        names = {f"{host}_{what}": f"{words}{which}" for host, words in _HOSTS.items() for what, which in _WHICH.items()}
        percent = {words: value for name, words in names.items() if isinstance(value := members.get(name), int | float)}
        return processors(self.test, percent, None) if len(percent) == len(names) else Broken("members of the processor times are missing")


def _maker(place: str, members: Mapping[str, Scalar], *, is_interval: bool) -> Callable[[Test, Traffic, Scope, str | None], Record] | None:
    """Which kind of record the result is; ``None`` if it lacks what says so."""
    kind = place.rpartition("/")[2].removesuffix("_bidir_reverse")
    is_sender, omitted = members.get("sender"), members.get("omitted")
    if not isinstance(is_sender, bool) or (is_interval and not isinstance(omitted, bool)):
        return None
    if _STREAM.fullmatch(place) and _whole(members.get("socket")) is None:
        return None
    if is_interval:
        return sent if is_sender else received
    return {"sum_sent": sent, "sender": sent, "sum_received": received, "receiver": received}.get(kind, combined)


_HOSTS = {"host": "local", "remote": "remote"}
_WHICH = {"total": "", "user": "-user", "system": "-system"}


def _whole(value: Scalar) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _real(value: Scalar) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float(2**63) else None


def _test(members: Mapping[str, Scalar]) -> Test:
    protocol, target = members.get("protocol"), _real(members.get("target_bitrate"))
    return Test(
        transport=protocol if isinstance(protocol, str) else None,
        block_bytes=_whole(members.get("blksize")) or None,
        streams=_whole(members.get("num_streams")) or None,
        duration_s=_real(members.get("duration")) or None,
        load_mode=None if target is None else "paced" if target else "max-rate",
    )


def _participant(place: str, members: Mapping[str, Scalar]) -> str | None:
    socket = _whole(members.get("socket"))
    words = ["server to client"] if place.endswith("_bidir_reverse") else []
    words += [f"stream {socket}"] if _STREAM.fullmatch(place) else []
    return ", ".join(words) or None


_STREAMS = 4096  # So many sockets are remembered: a hostile log may name more.
_DATAGRAMS = {"packets", "lost_packets", "lost_percent", "jitter_ms"}


def _whole_datagrams(traffic: Traffic, block_bytes: int | None) -> bool:
    """Whether the bytes are those of the datagrams: of all, or of all but the lost; some may have come out of their interval."""
    if traffic.datagrams is None or not block_bytes:
        return True
    found = traffic.bytes / block_bytes
    return any(abs(found - count) <= 2 + 0.05 * count for count in (traffic.datagrams, traffic.datagrams - (traffic.lost or 0)))


def _traffic(members: Mapping[str, Scalar], *, of_one_side: bool) -> Traffic | None:
    """The figures, if all that every result has are there, and the rate is bytes over time."""
    size, rate = _whole(members.get("bytes")), _real(members.get("bits_per_second"))
    start, end, seconds = (_real(members.get(name)) for name in ("start", "end", "seconds"))
    if size is None or rate is None or start is None or end is None or seconds is None or min(size, rate, seconds) < 0:
        return None
    if abs(end - start - seconds) > 0.05 * seconds + 0.01:
        return None
    allowed = 8 * size * (1e-6 if of_one_side else 0.05) + rate * 2e-6  # The rate of a row for both sides is over the other side's time.
    if not any(abs(rate * time - 8 * size) <= allowed for time in (seconds, end - start)):
        return None
    if members.keys() & _DATAGRAMS not in (set(), {"packets"}, _DATAGRAMS):
        return None
    percent = _real(members.get("lost_percent"))
    return Traffic(
        bytes=float(size),
        bit_per_s=rate,
        seconds=seconds,
        retransmissions=_whole(members.get("retransmits")),
        jitter_ms=_real(members.get("jitter_ms")),
        lost=_whole(members.get("lost_packets")),
        datagrams=_whole(members.get("packets")),
        loss=percent / 100 if percent is not None else None,
    )

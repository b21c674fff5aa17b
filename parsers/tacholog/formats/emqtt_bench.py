"""emqtt-bench: each second, it prints a line for each counter that changed, as a publisher (``pub``) or a subscriber (``sub``).

    1s pub total=8 rate=2.84/sec                   sent(4003): total=234403, rate=98373(msg/sec)
    6s publish_latency avg=1ms
    6s recv total=52 rate=50.00/sec                recv(4003): total=234403, rate=98373(msg/sec)

Old versions print the lines on the right. Each line is about all clients of the process. A line of an old version is about one second; any other
line is about the time since the previous line of the same counter. ``recv`` counts received messages, ``pub`` (old: ``sent``) counts sent messages,
and ``pub_succ`` counts messages that the broker acknowledged (QoS 1 and 2). In version 0.6, ``pub`` counts a message of QoS 0 twice, and the log
states neither version nor QoS.

A summary is computed from all lines except the first, which includes the time of connecting. ``publish_latency`` (with ``--payload-hdrs=ts``) is the
sum of all latencies above zero, divided by the number of all messages of its second, and cut off to milliseconds. It is measured with the clocks of
two processes. Its mean over the test is weighted by messages. Failures and overruns are facts. If a client ended, the run has failed.

Conditions are not printed: the manifest or ``--set`` must state the size, the QoS, the rate and the number of clients.
Source: src/emqtt_bench.erl of emqx/emqtt-bench, 0.4 to 0.4.32, and notes on 0.6.3; samples in tests/formats/emqtt_bench/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from tacholog.formats.kit import (
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LineStart,
    Record,
    Side,
    States,
    Tally,
    printed,
    unit_of_last_decimal,
)

SYSTEM = "MQTT broker"
TOOL = "emqtt-bench"
DIALECTS = (
    Dialect("0.4", "0.4.4 and later", "published logs"),
    Dialect("old", "before 0.4.4: 'sent(4003): total=...'", "published lines"),
)
DEFINITIONS = {
    "emqtt-published": "Messages that all publishers of the process sent since the previous line. Version 0.6 counts messages of QoS 0 twice.",
    "emqtt-acknowledged": "Messages of QoS 1 or 2 that the broker acknowledged since the previous line.",
    "emqtt-received": "Messages that all subscribers of the process received since the previous line.",
    "emqtt-latency": "From the time that the publisher wrote into the message until the subscriber handled the message, on the system clocks of "
    "both. The mean is the sum of the latencies above zero, divided by the number of all messages, cut off to milliseconds.",
}
STATES = {"throughput": States(always="definition"), "latency": States(always="basis definition")}
_MS = 1e6


class _Counter(NamedTuple):
    metric: str
    side: Side
    definition: str


_COUNTERS = {
    "pub": _Counter("offered_rate", "publisher", "emqtt-published"),
    "sent": _Counter("offered_rate", "publisher", "emqtt-published"),
    "pub_succ": _Counter("acknowledged_rate", "publisher", "emqtt-acknowledged"),
    "recv": _Counter("message_rate", "subscriber", "emqtt-received"),
}
_FACTS = ("pub_fail", "pub_overrun", "sub_fail", "connect_fail", "connect_retried", "reconnect_succ", "unreachable", "connection_refused")
_TIME = r"(?P<time>(?:[0-9]{1,8}d)?(?:[0-9]{1,2}h)?(?:[0-9]{1,2}m)?[0-9]{1,2}s)"
_NEW = re.compile(rf"{_TIME} (?P<name>[a-z_]{{2,24}}) total=(?P<total>[0-9]{{1,15}}) rate=(?P<rate>[0-9]{{1,12}}\.[0-9]{{2}})/sec")
_OLD = re.compile(r"(?P<name>[a-z_]{2,12})\((?P<time>[0-9]{1,12})\): total=(?P<total>[0-9]{1,15}), rate=(?P<rate>[0-9]{1,12})\(msg/sec\)")
_LATENCY = re.compile(rf"{_TIME} publish_latency avg=(?P<mean>[0-9]{{1,9}})ms")
_IS_RESULT = re.compile(rf"{_TIME} [a-z_]{{2,24}} (?:total|avg)=|[a-z_]{{2,12}}\([0-9]{{1,12}}\): total=")
_ENDED = re.compile(r"client\([0-9]{1,9}\): (?P<why>(?:EXIT for|disconnected with reason|connect error|publish error|subscribe error) .{1,300})")
_CHATTER = re.compile(
    r"Start with [0-9]{1,4} workers, addrs pool size: [0-9]{1,6} and req interval: [0-9]{1,9} ms|conne(?:ct|t)ed: [0-9]{1,9}|"
    r"publish complete|Starting distribution with name .{1,80}|enable session_tickets|\s*"
)
_HEAD = LineStart(
    r"\r?(?:(?:[0-9]{1,8}[dhm]){0,3}[0-9]{1,2}s (?:pub|recv|sub|connect_succ|pub_succ|publish_latency) "
    r"(?:total=[0-9]{1,15} rate=[0-9.]{1,16}/sec|avg=)"
    r"|(?:sent|recv|sub|pub)\([0-9]{1,12}\): total=[0-9]{1,15}, rate=[0-9]{1,12}\(msg/sec\))"
)


def detect(head: str) -> Detected:
    """Return whether the log has a counter of emqtt-bench."""
    return Detected(_HEAD.is_in(head), wants="'1s pub total=8 rate=2.84/sec', '1s recv total=', or 'sent(4003): total=8, rate=8(msg/sec)'")


def system_of(_head: str) -> None:
    """Return ``None``: the tool does not name the broker."""


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield an interval record for each line, and a summary for each counter."""
    counters = _Counters()
    for line in lines:
        text = line.text.rpartition("\r")[2].rstrip()
        shift = len(line.text) - len(line.text.rpartition("\r")[2])
        if _IS_RESULT.match(text):
            yield counters.take(line, text, shift)
        elif ended := _ENDED.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason=ended["why"]))
        elif _CHATTER.fullmatch(text):
            if text.startswith("Start with"):  # another run in the same log
                yield from counters.close()
                counters = _Counters()
            yield Finding(line, None)
    yield from counters.close()


class _Counters:
    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._tallies: dict[str, Tally] = {}
        self._latency: tuple[Line, str, Record] | None = None  # the latency of the current second; it waits for the number of messages of this second
        self._lines = 0
        self._is_partial = False

    def take(self, line: Line, text: str, shift: int) -> Finding:
        counter, latency = _NEW.fullmatch(text) or _OLD.fullmatch(text), _LATENCY.fullmatch(text)
        if line.whole and latency:
            cell = Cell.named(latency, shift)["mean"]
            numbers = (printed("latency", "mean", int(cell) * _MS, _MS, cell=cell),)
            conditions = Conditions(basis="one-way", definition="emqtt-latency")
            record = Record(test="latency", payload_bytes=None, numbers=numbers, scope="interval", side="subscriber", conditions=conditions)
            self._latency = (line, latency["time"], record)
            return Finding(line, record)
        if line.whole and counter:
            return Finding(line, self._count(line, Cell.named(counter, shift)))
        self._is_partial = True
        return Finding(line, Broken("the line is cut short or garbled"))

    def close(self) -> Iterator[Finding]:
        for tally in self._tallies.values():
            if (summary := tally.found(partial=self._is_partial)) and tally.numbers():
                yield summary

    def _count(self, line: Line, cells: dict[str, Cell]) -> Record | Facts | Broken | None:
        name, total, rate = str(cells["name"]), int(cells["total"]), float(cells["rate"])
        before = self._totals.get(name, 0)
        self._totals[name] = total
        if name in _FACTS:
            return Facts(environment={f"emqtt_{name}": str(cells["total"])})
        if name not in _COUNTERS or (name == "pub" and "sent" in self._totals):  # Old versions count each message twice: as sent and as pub.
            return None
        if total <= before or rate == 0:
            self._is_partial = True
            return Broken("a counter that does not grow")
        counter = _COUNTERS[name]
        record = Record(
            test="throughput",
            payload_bytes=None,
            numbers=(printed(counter.metric, "mean", rate, unit_of_last_decimal(cells["rate"]), cell=cells["rate"]),),
            scope="interval",
            side=counter.side,
            conditions=Conditions(definition=counter.definition),
        )
        self._add(name, line, record, lasted=(total - before) / rate, is_first=before == 0)
        if name == "recv" and self._latency and self._latency[1] == cells["time"]:
            of_latency, _, latency = self._latency
            self._add("publish_latency", of_latency, replace(latency, samples=total - before))
            self._latency = None
        return record

    def _add(self, name: str, line: Line, record: Record, *, lasted: float = 1.0, is_first: bool = False) -> None:
        self._lines += 1
        self._tallies.setdefault(name, Tally(line, record)).add(line, record, stamp=float(self._lines), whole=not is_first, lasted=lasted)

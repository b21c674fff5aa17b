"""zenoh's examples ``z_ping`` and ``z_sub_thr``: ``z_ping`` prints round trips, and ``z_sub_thr`` prints rates.

Their lines are::

    64 bytes: seq=0 rtt=42\u00b5s lat=21\u00b5s                123456.789 msg/s
    64 bytes: seq=1 rtt=39\u00b5s lat=19\u00b5s                Received 1000000 messages over 8.10s: 123456.789msg/s

``z_ping`` prints whole microseconds, which are cut off and not rounded. ``lat`` is half of ``rtt``, cut off again, so it is not read. Examples in
other languages differ a little (``rtt=42\u00b5s, lat=21\u00b5s``, ``lat=21.0\u00b5s``, ``Received 9 messages in 1.5: averaged 6.0 msgs/sec``), and
zenoh-python rounds. Each round trip is an interval of one message. A summary is computed from all round trips of a size. ``z_sub_thr`` prints a rate
for each round, which has a fixed number of messages. It does not print the message size: the manifest must state it. If the program ends early, the
last line, with the rate of all rounds, is missing. Then this rate is computed as the harmonic mean of the rounds, because each round has the same
number of messages. The first round begins with its first message.
Conditions are the message size of a ping, and the load.
Source: examples/examples/z_ping.rs and z_sub_thr.rs of eclipse-zenoh/zenoh; samples in tests/formats/zenoh/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tacholog.formats.kit import (
    DERIVED,
    MICROSECOND,
    PARTIAL,
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Distribution,
    Finding,
    Line,
    LineStart,
    Number,
    Record,
    States,
    Tally,
    counted,
    printed,
    unit_of_last_decimal,
)

SYSTEM = "zenoh"
TOOL = "zenoh examples"
DIALECTS = (
    Dialect("rust", "z_ping and z_sub_thr since 0.5", "logs recorded with 1.10.2"),
    Dialect("python", "those of zenoh-python", "logs recorded with 1.10.2"),
    Dialect("others", "those of zenoh-c, zenoh-pico and zenoh-cpp", "from source only"),
)
DEFINITIONS = {
    "zenoh-ping": "Round trip with one message outstanding, from the call of put until the answer was received, cut off to whole microseconds.",
    "zenoh-throughput": "Messages that a subscriber received, divided by the time since the first of them.",
}
STATES = {
    "latency": States(always="basis load_mode definition payload_bytes"),
    "throughput": States(always="load_mode definition"),
}
_PING = re.compile(
    r"(?P<size>[1-9][0-9]{0,11}) bytes: seq=(?P<seq>[0-9]{1,12}) rtt=(?P<rtt>[0-9]{1,12})[\u00b5\u03bcu]s,? "
    r"lat=[0-9]{1,12}(?:\.[05])?[\u00b5\u03bcu]s"
)
_ROUND = re.compile(r"(?P<rate>[0-9]{1,12}(?:\.[0-9]{1,20})?) msgs?/s(?:ec)?")
_TOTAL = re.compile(
    r"(?:Stats (?:being dropped )?after unsubscribing: )?(?:[Rr]eceived|sent) (?P<count>[1-9][0-9]{0,14}) messages (?:over|in) "
    r"[0-9]{1,15}(?:\.[0-9]{1,20})?(?:s: ?| seconds \(| mill?iseconds \(|: averaged )(?P<rate>[0-9]{1,12}(?:\.[0-9]{1,20})?) ?msgs?/s(?:ec)?\)?"
)
_LOOKS_LIKE = re.compile(r"[0-9]{1,12} bytes: seq=|(?:Stats .{1,40}: )?(?:[Rr]eceived|sent) [0-9]{1,15} messages (?:over|in) ")
_TIMEOUT = re.compile(r"TIMEOUT seq=[0-9]{1,12}")
_CHATTER = re.compile(
    r"(?:Warming up for [0-9.]{1,9}(?:ns|[\u00b5\u03bcu]s|ms|s)?|Press CTRL-C to quit|Opening session|Declaring Subscriber on .{1,80})\.\.\."
)
_HEAD = LineStart(
    r"(?:[0-9]{1,12} bytes: seq=[0-9]{1,12} rtt=|[0-9]{1,12}(?:\.[0-9]{1,20})? msgs?/s(?:ec)?\r?$|Received [0-9]{1,15} messages over [0-9.]{1,20}s: )"
)


def detect(head: str) -> Detected:
    """Return whether the log has round trips or rates of zenoh's examples."""
    return Detected(_HEAD.is_in(head), wants="'64 bytes: seq=0 rtt=42us lat=21us', or a line '123456.7 msg/s'")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each round trip and each round of a throughput test, and their summaries."""
    pings, rounds = _PingSeries(), _Rounds()
    for line in lines:
        if match := _PING.fullmatch(line.text):
            yield from pings.take(line, match)
        elif match := _TOTAL.fullmatch(line.text):
            yield Finding(line, rounds.total(match))
        elif (match := _ROUND.fullmatch(line.text)) and float(match["rate"]):
            yield Finding(line, rounds.take(line, match))
        elif _TIMEOUT.fullmatch(line.text):
            pings.is_partial = True
            yield Finding(line, None)
        elif match or _LOOKS_LIKE.match(line.text):
            pings.is_partial = True
            yield Finding(line, Broken("the line is cut short, garbled or impossible"))
        elif _CHATTER.fullmatch(line.text):
            yield Finding(line, None)
    yield from pings.close()
    yield from rounds.close()


class _PingSeries:
    def __init__(self) -> None:
        self.is_partial = False
        self._size = self._next = 0
        self._ends: tuple[Line, Line] | None = None
        self._samples = Distribution()

    def take(self, line: Line, match: re.Match[str]) -> Iterator[Finding]:
        """Add a round trip. If it has another size, or its number is 0, the previous series ends."""
        size, number = int(match["size"]), int(match["seq"])
        if self._ends and (size != self._size or number == 0):
            yield from self.close()
        self.is_partial = self.is_partial or number != self._next
        self._size, self._next, self._ends = size, number + 1, (self._ends[0] if self._ends else line, line)
        self._samples.add(int(match["rtt"]))
        cell = Cell(match["rtt"], match.start("rtt"))
        numbers = (printed("latency", name, int(cell) * MICROSECOND, MICROSECOND, cell=cell) for name in ("mean", "min", "max"))
        yield Finding(line, self._record(tuple(numbers), 1, scope_is_interval=True))

    def close(self) -> Iterator[Finding]:
        if not self._ends:
            return
        marks = tuple(sorted((DERIVED, PARTIAL) if self.is_partial else (DERIVED,)))
        statistics = self._samples.statistics().items()
        numbers = (
            Number(metric="latency", statistic=name, value=value * MICROSECOND, resolution=max(width, 1.0) * MICROSECOND, marks=marks)
            for name, (value, width) in statistics
        )
        first, last = self._ends
        yield Finding(first, self._record(tuple(numbers), self._samples.count), (last,) if last is not first else ())
        self.is_partial, self._next, self._ends, self._samples = False, 0, None, Distribution()

    def _record(self, numbers: tuple[Number, ...], samples: int, *, scope_is_interval: bool = False) -> Record:
        return Record(
            test="latency",
            payload_bytes=self._size,
            numbers=numbers,
            samples=samples,
            scope="interval" if scope_is_interval else "summary",
            side="publisher",
            conditions=Conditions(basis="rtt", load_mode="closed", definition="zenoh-ping"),
        )


class _Rounds:
    def __init__(self) -> None:
        self._tally: Tally | None = None

    def take(self, line: Line, match: re.Match[str]) -> Record:
        rate = Cell(match["rate"], match.start("rate"))
        record = _rate_record(rate, scope_is_interval=True)
        self._tally = self._tally or Tally(line, record)
        self._tally.add(line, record, stamp=float(line.number), whole=True, lasted=1 / float(rate))
        return record

    def total(self, match: re.Match[str]) -> Record:
        """Return the record of the whole test, which replaces the summary of the rounds."""
        self._tally = None
        count = Cell(match["count"], match.start("count"))
        return _rate_record(Cell(match["rate"], match.start("rate")), counted("messages_received", int(count), cell=count))

    def close(self) -> Iterator[Finding]:
        if self._tally and (summary := self._tally.found()):
            yield summary


def _rate_record(rate: Cell, *more: Number, scope_is_interval: bool = False) -> Record:
    return Record(
        test="throughput",
        payload_bytes=None,
        numbers=(printed("message_rate", "mean", float(rate), unit_of_last_decimal(rate), cell=rate), *more),
        scope="interval" if scope_is_interval else "summary",
        side="subscriber",
        conditions=Conditions(load_mode="max-rate", definition="zenoh-throughput"),
    )

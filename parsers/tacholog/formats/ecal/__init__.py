"""eCAL: the output of its sample programs for measurements, their files of single latencies, and the tables of its documentation.

The receiver of the latency sample prints a block for each run, and the sender a block with its options::

    --------------------------------------------
    Messages received             : 300
    Message size received         : 64 kB
    Message average latency       : 8 us
    Message min latency           : 7 us @ 1
    Message max latency           : 76 us @ 286
    Throughput                    : 7738 MB/s
                                  : 7 GB/s
                                  : 123 kMsg/s
    --------------------------------------------

A kB is 1024 bytes. The receiver cuts sizes and times to whole units: "1 kB" means 1024 to 2047 bytes, and "0 kB" is an unknown size. The sender's log
states the size in bytes. "Throughput" is the size divided by the latency, not a measured rate; the "Latency" of the performance samples is time
divided by messages, not a latency. No log states the loss: it is the count in the sender's log minus the count in the receiver's log.

Conditions are the size, the layer, zero copy, the frequency, and as settings the pause between messages and the memory buffers, as stated by the
sender's log or a table. The requested number of messages is environment, because the log states the actual number.
Source: the samples of eCAL 5.3.4 to 6.2 (latency, performance, pubsub_throughput, multiple, perftool) and its documentation; samples in
tests/formats/ecal/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from tacholog.formats.ecal.blocks import BLOCKS, PING_PONG, RECEIVER, REFLECTOR, Senders, one_liner
from tacholog.formats.ecal.rows import BlockReader
from tacholog.formats.ecal.tables import DocumentedTables
from tacholog.formats.kit import (
    MICROSECOND,
    Broken,
    Bulk,
    BulkFinding,
    BulkStep,
    Conditions,
    Detected,
    Dialect,
    Distribution,
    Facts,
    Finding,
    Line,
    Lines,
    LineStart,
    Record,
    States,
    lines_in,
    printed,
    read_in_bulk,
)

SYSTEM = "eCAL"
TOOL = "eCAL samples"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("latency-5.3", "5.3.4 to 5.9", "from source only"),
    Dialect("latency-5.10", "5.10 and 5.11", "from source only"),
    Dialect("latency-5.12", "5.12 to 6.2", "real logs of the build below; the sender of 5.12 from source only"),
    Dialect("latency-6.2", "builds from July 2026 on", "real logs"),
    Dialect("latency-python", "all", "from source only"),
    Dialect("latency-samples", "5.10 and later, latency_rec -l", "a real file"),
    Dialect("tables", "documentation of 5.3.5 to 6.2", "the published documents"),
    Dialect("performance", "5 and 6", "from source only"),
    Dialect("pubsub-throughput", "6", "from source only"),
    Dialect("perftool", "5.13 and later, and its first form of 2023", "its README; the first form from source only"),
    Dialect("latency-client, multiple", "5 and 6", "from source only"),
)
_RECEIVED = "On one machine, from the publisher's wall clock before sending to the subscriber's wall clock on receipt, in whole microseconds"
DEFINITIONS = {
    "ecal-5.3-one-way": f"{_RECEIVED}. The mean is cut off, and no warm-up is left out. The subscriber sent each message back.",
    "ecal-5.3-rtt": "Round trip through eCAL, one message at a time. The mean is in whole microseconds, cut off.",
    "ecal-5.3-rtt-cut-short": "As ecal-5.3-rtt, but a message was lost, and the run ended there. The lost message counts as 0 us, so the mean is "
    "too low.",
    "ecal-5.10-one-way": f"{_RECEIVED}. The mean is cut off, and the first 10 messages are left out. The publisher pauses after each message (by "
    "default 50 ms).",
    "ecal-5.12-one-way": f"{_RECEIVED}. The mean is cut off, and the first 100 messages are left out. The publisher waits at most 100 ms for each "
    "acknowledgement. With zero copy, the publisher changes one byte of a message, and the subscriber does not read the message.",
    "ecal-python-one-way": f"{_RECEIVED}. The mean is cut off, and no warm-up is left out. Sizes are rounded to whole kB. Each message was sent "
    "back.",
    "ecal-few-received": "Number of messages without the warm-up (10 messages up to 5.11, 100 from 5.12 on). If there are so few, eCAL prints no "
    "latency.",
    "ecal-sent": "Messages that the publisher sent after its warm-up.",
    "ecal-samples": f"{_RECEIVED}, without the warm-up, one latency on each line. Tacholog computed the statistics. Only the name of the file states "
    "the message size.",
    "ecal-published": "One-way latency as eCAL's documentation prints it: the mean, in whole microseconds. 1 kB is 1024 bytes.",
    "ecal-performance": "Time divided by the number of messages, in about one second. eCAL prints it as 'Latency'. Rates are cut to whole kB of "
    "1024 bytes. The subscriber's first block counts from the start of the machine.",
    "ecal-pubsub-throughput": "Publisher and subscriber in one process: sent bytes, received or not, divided by wall time, in whole MB of 2^20 "
    "bytes.",
    "ecal-perftool": "Messages of one second at a given rate: the times between them, and the time of the publisher's send call.",
    "ecal-service-rtt": "Service calls, one after another. eCAL prints the mean of each 100 calls in whole microseconds. Mean, minimum and maximum "
    "are computed from these means.",
    "ecal-multiple": "Messages of many topics in about one second, counted for each topic.",
}
STATES = {
    "latency": States(always="definition", sometimes="transport data_path offered_rate_per_s load_mode settings basis payload_bytes"),
    "throughput": States(always="transport data_path definition"),
}

_SAMPLE = re.compile(r"-?[0-9]{1,15}")
_ONLY_SAMPLES = re.compile(r"-?[0-9]{1,15}(?:\r?\n-?[0-9]{1,15})+(?:\r?\n-?)?\s*")
_SIGNS = LineStart(  # The last pattern must not match a table with one column of latencies, which is a table of iceperf.
    r"Message (?:average latency|average receive time|size received) +: |Messages received {13}: [0-9]|Messages sent {11}: [0-9]"
    r"|Message average roundtrip time [0-9]|Message size \(kByte\): |LAYER: (?:SHM|UDP|TCP)|Service call average latency : "
    r"|\[ *[0-9]+\.[0-9]{3}\] \| cnt: |(?:pub|sub) +[0-9]+: +[0-9]+ Msg/s|\|\| Payload Size(?: \(kB\))? \|\|"
    r"|\| *Payload Size(?: \(kB\))? *\|(?! *\w+ Latency \[)"
)
_RULER = re.compile(r"-{27}|-{31}|-{44}")
_CHATTER = re.compile(
    r"\[eCAL\]|Sent (?:buffer size|messages) +: [0-9]|Press Enter to |Please start |Waiting for the service \.\.|"
    r"Start measurement$| {2}(?:loop|snd|msg)_dt\(ms\) ?: |Number of write buffers: [0-9]|Acknowledge timeout: [0-9]"
)
_TITLE = re.compile(r" LATENCY / THROUGHPUT TEST\s*")
_ZERO_COPY = re.compile(r"Zero copy mode: ([01])")
_PYTHON_LOST = re.compile(r"Package lost after message [0-9]{1,18} -> stop\.")

# Negative latencies, which two clocks can produce, are read one by one.
BULK = (Bulk(rb"\d{1,15}+"),)


def detect(head: str) -> Detected:
    """Return whether a log has this format.

    This is the case if at least one of three conditions is met:

    - The log has rows that the sample programs of eCAL print.
    - The log has a table in the form of the tables of eCAL.
    - The log has only whole numbers.
    """
    fits = _SIGNS.is_in(head) or _ONLY_SAMPLES.fullmatch(head) is not None
    wants = "'Message average latency : N us' or another row of its samples, a table of 'Payload Size', or only integers, one on each line"
    return Detected(fits, wants)


def parse(lines: Iterable[Line | Lines]) -> Iterator[Finding | BulkFinding]:
    """Yield the findings of a log. If the first line is a plain integer, the log is read as a file of single latencies."""
    waiting = iter(lines)
    first = next(waiting, None)
    if first is None:
        return
    every = chain([first], waiting)
    if isinstance(first, Lines) or _SAMPLE.fullmatch(first.text):
        samples = _Samples()
        yield from read_in_bulk(every, samples.take, samples.take_many)
        yield from samples.close()
    else:
        yield from _EcalOutput().read(line for piece in every for line in lines_in(piece))


class _EcalOutput:
    def __init__(self) -> None:
        self._senders = Senders()
        self._sent = BlockReader(self._senders.block)
        self._others = BlockReader(RECEIVER, REFLECTOR, PING_PONG, *BLOCKS)
        self._tables = DocumentedTables()
        # Two rulers in a row end the sender's block. A single ruler may end a receiver's block that is inside the sender's block.
        self._is_after_ruler = False

    def read(self, lines: Iterable[Line]) -> Iterator[Finding]:
        for line in lines:
            is_ruler = _RULER.fullmatch(line.text) is not None
            if is_ruler and self._is_after_ruler:
                yield from self._sent.close("another block starts within this one")
            yield from self._line(line)
            self._is_after_ruler = is_ruler
        for blocks in (self._sent, self._others):
            yield from blocks.close("the log ends within this block")
        for facts in self._senders.common():
            yield Finding(None, facts)

    def _line(self, line: Line) -> Iterator[Finding]:
        text = line.text
        if not text.strip():
            self._tables.end()
        if self._sent.knows(text):
            yield from self._sent.take(line)
        elif self._others.knows(text):
            yield from self._others.take(line)
        elif finding := one_liner(line):
            yield finding
        elif _RULER.fullmatch(text):
            yield from self._others.ruler()
            yield Finding(line, None)
        elif _TITLE.fullmatch(text) or not text.strip():
            yield from self._others.close("another block starts within this one") if text.strip() else self._others.space()
            yield Finding(line, None)
        elif facts := _facts(line):
            yield Finding(line, facts)
        elif _CHATTER.match(text):
            yield Finding(line, None)
        else:
            yield from self._tables.take(line)


def _facts(line: Line) -> Facts | None:
    if zero_copy := _ZERO_COPY.fullmatch(line.text):
        return Facts(conditions=Conditions(data_path="zero-copy" if zero_copy[1] == "1" else "copy"))
    if _PYTHON_LOST.fullmatch(line.text):
        return Facts(status="failed", reason=line.text)
    return None


class _Samples:
    """Makes one record from all latencies of a file. The record belongs to the last line."""

    def __init__(self) -> None:
        self._distribution = Distribution()
        self._damaged = False
        self._last: Line | None = None

    def take(self, line: Line) -> Iterator[Finding]:
        if line.whole and _SAMPLE.fullmatch(line.text):
            if self._last:
                yield Finding(self._last, None)
            self._distribution.add(int(line.text))
            self._last = line
        elif line.text.strip():
            self._damaged = True
            yield Finding(line, Broken("not a whole number of microseconds: without it, the statistics of this file would be wrong"))

    def take_many(self, lines: Lines) -> BulkStep:
        before: list[Finding | BulkFinding] = [Finding(self._last, None)] if self._last else []
        self._distribution.add_many(lines.cells[:, 0].astype("int64"))
        self._last = lines.line(-1)
        return BulkStep(lines.count, [*before, BulkFinding(lines.part(0, -1), None)])

    def close(self) -> Iterator[Finding]:
        if self._last:
            yield Finding(self._last, None if self._damaged else _record(self._distribution))


def _record(samples: Distribution) -> Record:
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=tuple(
            printed("latency", name, round(value * MICROSECOND, 3), max(width * MICROSECOND, MICROSECOND))
            for name, (value, width) in samples.statistics().items()
        ),
        samples=samples.count,
        side="subscriber",
        conditions=Conditions(basis="one-way", definition="ecal-samples"),
    )

"""The performance tests of ZeroMQ: ``remote_lat``, ``local_thr``, ``inproc_lat`` and ``inproc_thr``. Many other programs print the same text.

Their lines are::

    message size: 64 [B]                        message size: 64 [B]
    roundtrip count: 10000                      message count: 1000000
    average latency: 26.123 [us]                mean throughput: 2871352 [msg/s]
                                                mean throughput: 1470.132 [Mb/s]

nanomsg, nng, Crossroads and bindings in other languages also print these lines. Some of them print a line with the time of the test. The text names
neither the library nor the transport, so the manifest must state both (``system``, ``transport``). The latency is half of a round trip: the time of
all round trips, divided by twice their number. The throughput is measured by the receiver, from its first message on. An Mb is 10^6 bits. nng prints
``throughput`` without ``mean``; its Mb is 2^20 bits (in some of its ports 10^6 bits, as the two rates show), and its clock counts milliseconds. Some
ports compute with integers of 32 bits: if the two rates contradict each other, both are broken. Losses are not counted; ``local_lat`` and
``remote_thr`` print nothing.
Conditions are the message size and the load.
Source: the programs in perf/ of zeromq/libzmq, of nanomsg and of nng; samples in tests/formats/zeromq/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tacholog.formats.kit import (
    MICROSECOND,
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Finding,
    Line,
    LineStart,
    Record,
    States,
    counted,
    finding_on,
    printed,
    unit_of_last_decimal,
)

SYSTEM = "ZeroMQ, nanomsg, nng and others"
TOOL = "the performance tests of ZeroMQ"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("zeromq", "all", "logs recorded with 4.3.4"),
    Dialect("nng", "nng and ports, with a line 'total time' or 'elapsed time'", "logs of nng recorded with 2.0"),
)
DEFINITIONS = {
    "zeromq-latency": "Time of all round trips, divided by twice their number: the mean of half a round trip.",
    "zeromq-throughput": "Messages divided by the time from the first to the last message that arrived.",
}
STATES = {
    "latency": States(always="basis load_mode definition payload_bytes"),
    "throughput": States(always="load_mode definition payload_bytes"),
}
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,6})?"
_SIZE = re.compile(r"message size: (?P<size>[1-9][0-9]{0,11}) \[B\]")
_COUNT = re.compile(r"(?P<kind>round ?trip|message) count: (?P<count>[1-9][0-9]{0,14})")
_TIME = re.compile(rf"(?:total|elapsed) time: {_NUMBER} \[s\]")
_LATENCY = re.compile(rf"average latency: (?P<latency>{_NUMBER}) \[[u\u00b5\u03bc]s\]")
_RATE = re.compile(r"(?:mean )?throughput: (?P<rate>[0-9]{1,15}(?:\.[0-9]{1,6})?) \[msg/s\]")
_BITS = re.compile(rf"(?P<mean>mean )?throughput: (?P<bits>{_NUMBER}) \[Mb/s\]")
_OF_BLOCK = re.compile(r"(?:message size|(?:round ?trip|message) count|average latency|(?:mean )?throughput): ")
_SIGN = re.compile(r"\[|size|count|latenc|throughp|time:")  # A line with one of these words may be a garbled line of a block.
#: How the lines of a block begin. A cut line may be the first part of such a text.
_BEGINNINGS = (
    *("message size: ", "message count: ", "roundtrip count: ", "round trip count: "),
    *("average latency: ", "mean throughput: ", "throughput: ", "total time: ", "elapsed time: "),
)
_HEAD = LineStart(r"message size: [0-9]{1,12} \[B\]\r?\n(?:round ?trip|message) count: [0-9]")


def detect(head: str) -> Detected:
    """Return whether the log has a line with a size, followed by a line with a count."""
    return Detected(_HEAD.is_in(head), wants="'message size: 64 [B]' and 'roundtrip count: 10000' or 'message count: 10000' below it")


def system_of(_head: str) -> None:
    """Return ``None``: the text does not name the library."""


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each block."""
    block: list[Line] = []
    cells: dict[str, Cell] = {}
    for line in lines:
        wanted = _possible_next_lines(cells)
        match = next((match for pattern in wanted if (match := pattern.fullmatch(line.text))), None)
        if match is None and block and (_SIGN.search(line.text) or any(word.startswith(line.text) for word in _BEGINNINGS)):
            yield finding_on(block, Broken("the next line of the result is missing or garbled"))
            block, cells = [], {}
            match = _SIZE.fullmatch(line.text)
        if match is None:
            if _TIME.fullmatch(line.text) or not line.text.strip():
                yield Finding(line, None)
            elif _OF_BLOCK.match(line.text):
                yield Finding(line, Broken("a line of a result whose other lines are missing"))
            continue
        block.append(line)
        cells |= Cell.named(match, line=line.number)
        if "latency" in cells or "bits" in cells:
            yield finding_on(block, _latency(cells) if "latency" in cells else _throughput(cells))
            block, cells = [], {}
    if block:
        yield finding_on(block, Broken("the log ends within this result"))


def _possible_next_lines(cells: dict[str, Cell]) -> tuple[re.Pattern[str], ...]:
    if "size" not in cells:
        return (_SIZE,)
    if "count" not in cells:
        return (_COUNT,)
    if "rate" in cells:
        return (_BITS,)
    return (_TIME, _RATE if cells["kind"] == "message" else _LATENCY)


def _latency(cells: dict[str, Cell]) -> Record:
    cell = cells["latency"]
    unit = unit_of_last_decimal(cell) * MICROSECOND
    if cells["kind"] == "round trip":  # Only nng prints this word, and its clock counts milliseconds.
        unit = max(unit, 1e6 / (2 * int(cells["count"])))
    return Record(
        test="latency",
        payload_bytes=int(cells["size"]),
        numbers=(printed("latency", "mean", round(float(cell) * MICROSECOND, 3), unit, line=cell.line, cell=cell),),
        samples=int(cells["count"]),
        side="publisher",
        conditions=Conditions(basis="rtt/2", load_mode="closed", definition="zeromq-latency"),
    )


def _throughput(cells: dict[str, Cell]) -> Record | Broken:
    size, rate, bits, count = int(cells["size"]), cells["rate"], cells["bits"], cells["count"]
    # nng and some of its ports do not print "mean". nng's Mb is 2^20 bits, the Mb of these ports is 10^6 bits.
    mega = next((mega for mega in ((1e6,) if "mean" in cells else (2.0**20, 1e6)) if _do_rates_agree(rate, bits, size, mega)), None)
    if mega is None:
        return Broken("the rates in msg/s and in Mb/s contradict each other")
    return Record(
        test="throughput",
        payload_bytes=size,
        numbers=(
            printed("message_rate", "mean", float(rate), unit_of_last_decimal(rate), line=rate.line, cell=rate),
            printed("goodput", "mean", round(float(bits) * mega, 3), unit_of_last_decimal(bits) * mega, line=bits.line, cell=bits),
            counted("messages_received", int(count), line=count.line, cell=count),
        ),
        side="subscriber",
        conditions=Conditions(load_mode="max-rate", definition="zeromq-throughput"),
    )


def _do_rates_agree(rate: Cell, bits: Cell, size: int, mega: float) -> bool:
    """Return whether both rates match. ``mega`` is the number of bits in an Mb.

    The tool may have cut off decimals of the message rate, before or after it computed the rate in Mb.
    """
    bit_per_s = float(bits) * mega
    most = unit_of_last_decimal(rate) * size * 8 + unit_of_last_decimal(bits) * mega + 1e-6 * bit_per_s
    return abs(bit_per_s - float(rate) * size * 8) <= most

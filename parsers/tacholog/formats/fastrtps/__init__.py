"""Fast RTPS and Fast DDS: the tables of ThroughputTest, LatencyTest and VideoTest, what their subscribers print, and their CSV files.

ThroughputTest writes bursts ("demand") of a payload and waits ("recovery time") after each burst; the publisher prints a row for each run::

    [            TEST           ][                    PUBLISHER                      ][                            SUBSCRIBER                        ]
    [ Bytes,Demand,Recovery Time][Sent Samples,Send Time(us),   Packs/sec,  MBits/sec][Rec Samples,Lost Samples,Rec Time(us),   Packs/sec,  MBits/sec]
       1024,   100,            5,        17200,      1005207,   17110.906,    140.173,       16996,         201,     1009645,   16833.643,    137.901

A table is recognised by its header, ignoring blanks and tabs, so that text copied from a PDF is read too. The samples, bytes, time and rate of a side
must be consistent; otherwise the row is broken. LatencyTest prints ``Bytes, Samples, stdev, mean, min, 50%, ...`` in microseconds.

Conditions are the size, the demand, the recovery time, the reliability where a CSV file states it, the number of subscribers, and whether publisher
and subscribers are in one process (``Performing intraprocess test``). The tools print no other options: the manifest must state the transport, data
sharing, loans and security. The duration of one reading of the clock is environment, because it is a property of the machine.
Source: test/performance of Fast RTPS 0.4 to Fast DDS 3, and github.com/eProsima/benchmarking; samples in tests/formats/fastrtps/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from tacholog.formats.fastrtps import latency, throughput
from tacholog.formats.fastrtps.latency import RAW_HEADER, SAMPLES, RawFile
from tacholog.formats.fastrtps.tables import LogTable
from tacholog.formats.kit import (
    Broken,
    BulkFinding,
    BulkStep,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    Lines,
    LineStart,
    Reach,
    Record,
    States,
    counted,
    finding_on,
    impossible,
    is_size,
    printed,
    read_in_bulk,
    unit_of_last_place,
)

SYSTEM = "Fast DDS"
TOOL = "ThroughputTest, LatencyTest and VideoTest"
DIALECTS = (
    Dialect("throughput-0.4", "0.4 and 0.5", "from source only"),
    Dialect("throughput-0.5.1", "0.5.1 to 1.6", "a published manual"),
    Dialect("throughput-1.7", "1.7 to 1.9.3", "a published log"),
    Dialect("throughput-1.9.4", "1.9.4 and later, CSV files too", "real logs of 2.9.1"),
    Dialect("latency-0.5.1", "0.5.1 to 1.0", "from source only"),
    Dialect("latency-1.1", "1.1 to 1.9.3", "from source only"),
    Dialect("latency-1.9.4", "1.9.4 and later, single samples too", "real logs of 2.9.1, a published log of a 1.9.2 with three decimals"),
    Dialect("csv-1.4", "1.4 to 1.9.3 (throughput), 1.1 and later (latency)", "from source only"),
    Dialect("video", "VideoTest of 2.x and 3.x, CSV files too", "from source only"),
    Dialect("eprosima-csv", "eProsima's summaries", "a published file"),
)
_RATES = (
    "Bytes include a 4-byte number. MBits are 10^6 bit. The number of received samples is the last sequence number minus the lost samples, so losses "
    "at the end are not seen."
)
_SORTED = "A percentile is a sample in the sorted list. Its index is cut off, so it may be one place too low."
DEFINITIONS = {
    "fastrtps-demand-0.4": "Samples and rate of the publisher of 0.4 and 0.5; MBits are 10^6 bit.",
    "fastrtps-demand-0.5.1": f"Rates of both sides over the time of the whole test, including the waits between bursts. {_RATES}",
    "fastrtps-demand-1.7": "As printed by 1.7 to 1.9.3. Up to 1.9.0, the publisher's time includes the waits between bursts; from 1.9.1 on, it does "
    f"not. The log does not state the version, so the publisher's rates cannot be compared with other rates. {_RATES}",
    "fastrtps-demand-1.9.1": f"The publisher's time excludes the waits between bursts, so its rates are far above the subscriber's rates. {_RATES}",
    "fastrtps-demand-1.9.4": "Rates of both sides over the time of the whole test. After a burst, the publisher sleeps for the rest of the recovery "
    "time. Before 2.10, the number of received samples is the last sequence number minus the lost samples; from 2.10 on, it is counted. MBits "
    "are 10^6 bit.",
    "fastrtps-demand-csv": "Goodput of the subscriber in 10^6 bit per second, as exported by 1.4 to 1.9.3.",
    "fastrtps-subscriber": "The lines that the subscriber prints. Its rate is over a longer time than the test, so it differs from the publisher's "
    "rate. Before 2.10, the number of received samples is not printed. It is computed as the last sequence number minus the lost samples.",
    "fastrtps-latency-0.5.1": f"Round trip with one message outstanding. The deviation is rounded to whole microseconds. {_SORTED}",
    "fastrtps-latency-1.1": "A round trip up to 1.9.0, half of a round trip in 1.9.1 to 1.9.3: the log does not state the version. The deviation is "
    f"rounded to whole microseconds. {_SORTED}",
    "fastrtps-latency-1.9.4": f"Half of a round trip minus the cost of reading the clock, although the title says round-trip. {_SORTED}",
    "fastrtps-latency-summary": "eProsima's summary of single samples, each half of a round trip. Jitter is the difference between a sample and the "
    "next sample.",
    "fastrtps-latency-csv": "Minimum and average as exported: round trips up to 1.9.0, half round trips from 1.9.1 on. The file does not state the "
    "version.",
    "fastrtps-video": "Frames per second that VideoTest's subscriber showed: averages since the start of the test, read from time to time. Also, by "
    "how many frames (of a thirtieth of a second) the received video was late.",
    "fastrtps-samples": "Single samples, each half of a round trip minus the cost of reading the clock. Tacholog computed the statistics.",
}
STATES = {
    "demand": States(always="demand definition payload_bytes", sometimes="reliability recovery_time_ns"),
    "latency": States(always="load_mode definition", sometimes="reliability reach subscribers basis payload_bytes"),
    "throughput": States(always="definition"),
}

_HEADER_OF_BOTH = re.compile(r"\[[ \t]*Bytes,[ \t]*Demand[],]")
_SIGNS = LineStart(
    r"size, nsamples, Mbit/s, |[ \t]*Bytes,(?:[ \t]*Samples,)?[ \t]*stdev,[ \t]*mean,"
    r"|Sample,Payload \[Bytes\],Latency \[us\]|[ \t]*Payload \[Bytes\],Demand \[|\"Minimum of [0-9]+ samples \("
    r"|\"[0-9]+ samples of [0-9]+ bytes \(us\)\""
    r"|\"[0-9]+ bytes; demand [0-9]+ \(|Test of size [0-9]+ and demand [0-9]+ ends\.|FAST-RTPS THROUGHPUT TEST"
    r"|Starting throughput test (?:publisher|subscriber) agent\s*$|Performing test with this payloads/demands:"
    r"|Statistics for video test|[ \t]*Samples,[ \t]*(?:Avg|FameDrop) stdev,"
    r"|Printing round-trip times in us, statistics for "
)
_SUMMARY = LineStart("Bytes,Samples,Max,Min,Mean,")
_BANNER = re.compile(r"FAST-RTPS THROUGHPUT TEST - RECOVERY TIME = ([0-9]{1,9})\s*")
_ROW = re.compile(r"[0-9]{1,20},(?:[^,]*+,){3}")
_ORPHAN = re.compile(r"[0-9]{1,20}(?:,[0-9.]{1,40}){7,19}")
_RULE = re.compile(r"[\[\]\-,]{9,}")
_TITLE = re.compile(r"\[{1,2}TEST\]\[[A-Z]{5,12}\]\[[A-Z]{5,12}\]")
_ASKED = re.compile(r"Performing (?P<reach>intraprocess |interprocess )?test with (?P<subscribers>[0-9]{1,9}) subscribers and [0-9]{1,12} samples")
_SAMPLES = re.compile(r"Printing round-trip times in us, statistics for ([0-9]{1,12}) samples")
_OVERHEAD = re.compile(r"(?:Overhead|(?:Publisher|Subscriber)'s clock access overhead:) ([0-9]{1,9}(?:\.[0-9]{1,12})?) [nu]s")
_STOPPED = "EVERYTHING STOPPED FINE"
_FAILED = re.compile(r"The test expected results, stopping|PROBLEM READING RESULTS;|Error in test")
_STARTS = re.compile(r"Starting [Tt]hroughput [Tt]est|Reading (?:[Ff]ile|demands file): |Performing test with this payloads/demands:")
_CHATTER = re.compile(
    r"\s*$|\*{20,}$|-{71}$|Payload: +[0-9]|Recovery times: |ALL_STOPS Not acked! in |"
    r"DISCOVERY COMPLETE|REMOVING (?:PUBLISHER|SUBSCRIBER)|Command: [A-Z_]+$|R?COMMAND: [0-9]+$|Publisher has new test ready\.\.\.|Sending results|"
    r"(?:PUBLISHER|SUBSCRIBER)!$|(?:Preparing test|Testing) with data size: [0-9]+$|Publisher has stopped the test$|TEST OF SIZE: [0-9]+ ENDS|"
    r"TEST (?:STARTED|FINISHED)$|Statistics for video test|# GST INTERNAL # |"
    r"(?:Pub: |Sub:? )?(?:Waiting for (?:command|data) discovery|Discovery (?:command|data) complete)|Waiting clean state|"
    r"(?:Pub: |Sub: )?(?:Publisher |Subscriber )?(?:COMMAND|DATA|Command|Data) (?:Pub|Sub) Matched|"
    r"(?:COMMAND|DATA) (?:PUBLISHER|SUBSCRIBER) MATCHING REMOVAL"
)

BULK = (*throughput.BULK, *latency.LATENCIES.bulk, SAMPLES)


def detect(head: str) -> Detected:
    """Return whether the log has the header of one of the tables or files, or lines that only Fast DDS's tools print."""
    wants = (
        "a header '[ Bytes,Demand' or 'Bytes, Samples, stdev', 'Test of size N and demand M ends.', or a CSV header of ThroughputTest or LatencyTest"
    )
    return Detected(_is_of_fast_dds(head) or _SUMMARY.is_in(head), wants)


def system_of(head: str) -> str | None:
    """Return the measured system; ``None`` for summaries by eProsima's scripts, which do not name the DDS."""
    return SYSTEM if _is_of_fast_dds(head) else None


def _is_of_fast_dds(head: str) -> bool:
    return _SIGNS.is_in(head) or _HEADER_OF_BOTH.search(head) is not None


def parse(lines: Iterable[Line | Lines]) -> Iterator[Finding | BulkFinding]:
    """Yield the findings."""
    output = _FastRtpsOutput()
    yield from read_in_bulk(lines, output.line, output.lines)
    yield from output.end()


class _FastRtpsOutput:
    def __init__(self) -> None:
        self._table: LogTable | None = None
        self._recovery_ms: int | None = None
        self._samples: int | None = None
        self._stopped_fine = False  # Whether the latest run in the log ended without an error.
        self._subscriber = _Subscriber()

    def line(self, line: Line) -> Iterator[Finding]:
        squeezed = "".join(line.text.split())
        if opened := self._table_of_header(line.text, squeezed):
            yield from self._leave()
            self._table = opened
            yield Finding(line, None)
        elif self._table and self._table.knows(squeezed):
            yield from self._table.take(line)
        elif _SUBSCRIBERS_WORDS.match(line.text):
            yield from self._subscriber.take(line)
        elif _ORPHAN.fullmatch(squeezed):
            yield Finding(line, Broken("a row without the header of its table"))
        else:
            yield from self._fact_or_chatter(line, squeezed)

    def lines(self, lines: Lines) -> BulkStep:
        return self._table.take_many(lines) if self._table else BulkStep()

    def end(self) -> Iterator[Finding]:
        yield from self._leave()
        yield from self._subscriber.close("the log ends within these lines")
        if self._stopped_fine:
            yield Finding(None, Facts(status="ok"))

    def _table_of_header(self, text: str, squeezed: str) -> LogTable | None:
        if demands := throughput.form_of(squeezed):
            recovery_ms, self._recovery_ms = self._recovery_ms, None
            return throughput.DemandTable(demands, recovery_ms)
        if squeezed in latency.FORMS:
            samples, self._samples = self._samples, None
            return latency.LatencyTable(latency.FORMS[squeezed], samples)
        if squeezed in throughput.VIDEO_FORMS:
            return throughput.VideoTable(*throughput.VIDEO_FORMS[squeezed])
        if squeezed in latency.DECIMAL_COMMAS:
            return latency.DecimalCommas()
        if squeezed == RAW_HEADER:
            return RawFile()
        return latency.QuotedFile(text) if latency.QuotedFile.is_heading(text) else None

    def _leave(self) -> Iterator[Finding]:
        if self._table:
            yield from self._table.close()
        self._table = None

    def _fact_or_chatter(self, line: Line, squeezed: str) -> Iterator[Finding]:
        if banner := _BANNER.fullmatch(line.text):
            yield from self._leave()
            self._recovery_ms, self._stopped_fine = int(banner[1]), False
            yield Finding(line, None)
        elif _STARTS.match(line.text):
            yield from self._leave()
            self._stopped_fine = False
            yield Finding(line, None)
        elif samples := _SAMPLES.fullmatch(line.text.strip()):
            self._samples = int(samples[1])
            yield Finding(line, None)
        elif asked := _ASKED.fullmatch(line.text.strip()):
            yield from self._leave()
            self._stopped_fine = False
            reach: Reach | None = "process" if asked["reach"] == "intraprocess " else None  # Processes may be on several machines.
            yield Finding(line, Facts(conditions=Conditions(subscribers=int(asked["subscribers"]), reach=reach)))
        elif overhead := _OVERHEAD.fullmatch(line.text.strip()):  # In microseconds, although versions 1.1 to 2.10 print "ns" after the number.
            yield Finding(line, Facts(environment={"clock_overhead_ns": f"{float(overhead[1]) * 1000:.6g}"}))
        elif _FAILED.match(line.text):
            yield Finding(line, Facts(status="failed", reason=line.text.strip()))
        elif line.text.startswith(_STOPPED):
            self._stopped_fine = True
            yield Finding(line, None)
        elif _CHATTER.match(line.text) or _RULE.fullmatch(squeezed) or _TITLE.fullmatch(squeezed):
            yield Finding(line, None)


_LINES = (
    ("last", re.compile(r"Last Received Sample: ([0-9]{1,20})")),
    ("lost", re.compile(r"Lost Samples: ([0-9]{1,20})")),
    ("received", re.compile(r"Received Samples: ([0-9]{1,20})")),
    ("rate", re.compile(r"Samples per second: ([0-9]{1,20}(?:\.[0-9]{1,9})?(?:e[+-][0-9][0-9])?|-?nan|-?inf)")),
    ("test", re.compile(r"Test of size ([0-9]{1,18} and demand [0-9]{1,18}) ends\.")),
)
_NEXT = {"": ("last",), "last": ("lost",), "lost": ("received", "rate"), "received": ("rate",), "rate": ("test",)}
_SUBSCRIBERS_WORDS = re.compile(r"(Last Received Sample|Lost Samples|Received Samples|Samples per second): |(Test of size) [0-9]")


class _Subscriber:
    """The lines that a subscriber prints for each test, in the order of `_LINES`. Only 2.10 and later print the number of received samples."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._cells: dict[str, Cell] = {}

    def take(self, line: Line) -> Iterator[Finding]:
        key, match = next(((key, match) for key, pattern in _LINES if (match := pattern.fullmatch(line.text.rstrip()))), ("", None))
        if key == "last":
            yield from self.close("the last of these lines is missing")
        expected = key in _NEXT[next(reversed(self._cells), "")]
        self._lines.append(line)
        if match is None or not line.whole or not expected:
            yield from self.close("these lines are cut short, garbled or out of order")
            return
        self._cells[key] = Cell(match[1], match.start(1), line.number)
        if key == "test":
            yield finding_on(self._lines, self._record())
            self._lines, self._cells = [], {}

    def close(self, reason: str) -> Iterator[Finding]:
        if self._lines:
            yield finding_on(self._lines, Broken(reason))
        self._lines, self._cells = [], {}

    def _record(self) -> Record | Broken:
        cells = self._cells
        size, demand = cells["test"].split(" and demand ")
        if not is_size(int(size)):
            return Broken("an impossible message size")
        count = int(cells["received"]) if "received" in cells else int(cells["last"]) - int(cells["lost"])
        lost = counted("messages_lost", int(cells["lost"]), cell=cells["lost"])
        if "received" in cells:
            received = counted("messages_received", count, cell=cells["received"])
        else:
            received = counted("messages_received", count)
            received = msgspec.structs.replace(received, marks=("derived", *received.marks))
        rate = impossible("message_rate", "mean", cell=cells["rate"])
        if not cells["rate"].endswith(("nan", "inf")):
            value = float(cells["rate"])
            rate = printed("message_rate", "mean", value, unit_of_last_place(value), cell=cells["rate"])
        return Record(
            test="demand",
            payload_bytes=int(size),
            numbers=(received, lost, rate),
            samples=None if received.value is None else count,
            side="subscriber",
            conditions=Conditions(demand=int(demand), definition="fastrtps-subscriber"),
        )

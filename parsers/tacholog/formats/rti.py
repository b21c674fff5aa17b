"""RTI Perftest: the summaries of its legacy text output, and the percentile tables of its published pages.

A summary is one line a message size, throughput by the subscriber and latency by the publisher::

    Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)
    Length:    32  Latency: Ave     20 us  Std    1.5 us  Min     18 us  Max    130 us  50%     20 us  90%     21 us ... 99.9999%    130 us

A page, saved as text, has one table cell a paragraph, with scripts and prose between its tables; ten header cells, then ten cells a row.

``Length`` is the sample as asked for by -dataLen (28 bytes of it are RTI's own header), "Mbps" is 10**6 bit/s of it, "Lost" counts gaps in
the sequence numbers at this subscriber. Latencies are half of a round trip in whole microseconds, halved by integer division.
Source: the RTI Perftest manual, "Test Results", and the printers of its releases 2.4 to 3.0.1; samples in tests/formats/rti/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tacholog.formats.lines import Broken, Detected, Dialect, Found, Line
from tacholog.records import Bound, Conditions, Facts, Number, Record

SYSTEM = "RTI Connext DDS"
TOOL = "RTI Perftest"
DIALECTS = (
    Dialect("legacy-2.4", "2.4 to 3.0.1 (and 5.2.0 to 2.3.2, without the loss in percent)", "published results, logs in the manual"),
    Dialect("page", "published benchmark pages, saved as text", "a published page"),
)
DEFINITIONS = {
    "rti-one-way": "Half of a round trip, in whole microseconds, halved by integer division: RTI Perftest calls it one-way latency. "
    "The percentiles are fixed by the tool; how many samples are behind them is not printed.",
    "rti-throughput": "Samples taken by the subscriber in the time of the test, 'Mbps' being 10^6 bit/s of the length asked for, in which "
    "28 bytes of the tool's own header are contained. Rates of zero-copy runs are logical: the bytes are not moved.",
}

_THROUGHPUT = re.compile(
    r"\s*Length:\s*(?P<size>\d+)"
    r"\s+Packets:\s*(?P<received>\d+)"
    r"\s+Packets/s\(ave\):\s*(?P<rate>\d+)"
    r"\s+Mbps\(ave\):\s*(?P<mbit>\d+\.\d)"
    r"\s+Lost:\s*(?P<lost>\d+)(?:\s+\((?P<percent>\d+\.\d\d)%\))?\s*"
)
_STATISTICS = ("mean", "std", "min", "max", "p50", "p90", "p99", "p99.99", "p99.9999")
_LATENCY = re.compile(
    r"\s*Length:\s*(?P<size>\d+)\s+Latency:"
    r"\s+Ave\s+(\d+) us\s+Std\s+(\d+\.\d) us\s+Min\s+(\d+) us\s+Max\s+(\d+) us"
    r"\s+50%\s+(\d+) us\s+90%\s+(\d+) us\s+99%\s+(\d+) us\s+99\.99%\s+(\d+) us\s+99\.9999%\s+(\d+) us\s*"
)
_CHATTER = re.compile(
    r"\s*$|RTI Perftest |Mode: |\s+\(Use \"-latencyTest\"|Perftest Configuration:|Transport Configuration:|Waiting |Sending |Publishing data|"
    r"Finishing test|Test ended\.|\t|\s{4}(?:Reliability|Keyed|Publisher ID|Subscriber ID|Latency count|Data Size|Batching|Publication Rate|"
    r"Execution time|Number of samples|Receive using|Domain|Dynamic Data|FlatData|Zero Copy|Asynchronous Publishing|XML File|Kind|Nic|"
    r"Use Multicast): "
)
_VERSION = re.compile(r"RTI Perftest (\d+(?:\.\d+)+)\S*(?: \(RTI Connext DDS (\d[\w.]*)\))?")
_PAGE_COLUMNS = ("A(?:vg|ve)", "Std", "Min", "Max", "50%", "90%", "99%", r"99\.99%", r"99\.9999%")
_PAGE_HEADER = tuple(re.compile(rf"{name} \([\u03bc\u00b5]s\)") for name in _PAGE_COLUMNS)
_PAGE_SIZE = "Sample Size (Bytes)"
_PAGE_RELIABILITY = {"Best Effort": Conditions(reliability="best-effort"), "Reliable": Conditions(reliability="reliable")}
_PAGE_TITLE = re.compile(r"(?P<keyed>Unkeyed|Keyed), (?P<transport>UDPv4_WAN|UDPv4|UDPv6|SHMEM|TCP)\b[^\n]* C\+\+\S*")
_CELL = re.compile(r"\d{1,18}(?:\.\d)?")
_MICROSECOND = 1000.0
_LARGEST_COUNT = 2**63 - 1


def detect(head: str) -> Detected:
    """Say whether the log has RTI's summary columns, its banner, or the header of a published table."""
    summary = re.search(r"Length: +\d+ +Latency: +Ave", head) is not None
    fits = summary or any(mark in head for mark in ("Packets/s(ave):", "99.9999% (", "RTI Perftest "))
    return Detected(fits, wants="'Packets/s(ave):', 'Length: N Latency: Ave', a 'RTI Perftest' banner, or a page's '99.9999%' column")


def parse(lines: Iterable[Line]) -> Iterator[Found]:
    """Yield what is found: a record, a broken result line, or chatter that the tool is known to print."""
    page = _Page()
    for line in lines:
        text = line.text
        if text.lstrip().startswith("Length:"):
            yield Found(line, _summary(line))
        elif page.wants(text):
            yield from page.take(line)
        elif version := _VERSION.match(text):
            yield Found(line, Facts(tool_version=version[1], system_version=version[2]))
        elif _CHATTER.match(text):
            yield Found(line, None)
    yield from page.close("the page ends within this row")


def _summary(line: Line) -> Record | Broken:
    if throughput := _THROUGHPUT.fullmatch(line.text):
        if throughput["percent"] is None and not line.whole:
            return Broken("the log ends within this line")
        return _throughput(throughput)
    if latency := _LATENCY.fullmatch(line.text):
        return _latency(latency["size"], latency.groups()[1:])
    return Broken("summary line is cut short or garbled")


def _throughput(found: re.Match[str]) -> Record | Broken:
    if trouble := _impossible(found["size"], found["received"], found["lost"], found["rate"], found["mbit"]):
        return trouble
    received, lost = int(found["received"]), int(found["lost"])
    numbers = [
        Number(metric="messages_received", statistic="total", value=float(received)),
        Number(metric="messages_lost", statistic="total", value=float(lost)),
        _printed("message_rate", "mean", float(found["rate"]), resolution=1.0),
        _printed("goodput", "mean", round(float(found["mbit"]) * 1e6), resolution=1e5),
    ]
    if found["percent"] is not None:
        share = round(float(found["percent"]) / 100, 6)
        exact_zero = lost == 0 and share == 0
        none_lost = Number(metric="loss", statistic="total", value=0.0)
        numbers.append(none_lost if exact_zero else _printed("loss", "total", share, resolution=1e-4))
    return Record(
        test="throughput",
        payload_bytes=int(found["size"]),
        numbers=tuple(numbers),
        samples=received,
        side="subscriber",
        conditions=Conditions(definition="rti-throughput"),
    )


def _latency(size: str, cells: Sequence[str], reliability: Conditions | None = None) -> Record | Broken:
    """A latency record from the nine statistics in the tool's order, in microseconds."""
    if trouble := _impossible(size, *cells):
        return trouble
    stated = Conditions(basis="rtt/2", definition="rti-one-way")
    return Record(
        test="latency",
        payload_bytes=int(size),
        numbers=tuple(
            _printed("latency", name, round(float(cell) * _MICROSECOND), _MICROSECOND / 10 if "." in cell else _MICROSECOND)
            for name, cell in zip(_STATISTICS, cells, strict=True)
        ),
        side="publisher",
        conditions=stated.over(reliability) if reliability else stated,
    )


def _impossible(size: str, *numbers: str) -> Broken | None:
    if len(size) > len(str(_LARGEST_COUNT)) or not 0 < int(size) <= _LARGEST_COUNT:
        return Broken("a message size that cannot be")
    if any(len(number.partition(".")[0]) > 18 for number in numbers):  # noqa: PLR2004
        return Broken("a number that no counter of the tool can hold")
    return None


def _printed(metric: str, statistic: str, value: float, resolution: float) -> Number:
    """A number printed to ``resolution``: a printed 0 only says that it is less than one unit."""
    bound: Bound = "<" if value == 0 else "="
    return Number(metric=metric, statistic=statistic, value=value or resolution, resolution=resolution, bound=bound)


class _Page:
    """The tables of a published page: where in a table the text is, and the cells of the row so far."""

    def __init__(self) -> None:
        self._header = -1  # Cells of the header seen: -1 outside of a table, 10 in its rows.
        self._row: list[Line] = []
        self._title = Conditions()
        self._reliability = Conditions()

    def wants(self, text: str) -> bool:
        """Whether the text means something to a page here; blank paragraphs between cells do not."""
        if text == _PAGE_SIZE or _PAGE_TITLE.fullmatch(text) or text.strip(" \u2022") in _PAGE_RELIABILITY:
            return True
        return self._header >= 0 and bool(text.strip())

    def take(self, line: Line) -> Iterator[Found]:
        """Use one paragraph: a title, a cell, or the text behind a table."""
        text = line.text
        if text == _PAGE_SIZE:
            yield from self.close("the table ends within this row")
            self._header = 0
            yield Found(line, None)
        elif self._header >= 0 and _CELL.fullmatch(text):
            yield from self._cell(line)
        elif 0 <= self._header < len(_PAGE_HEADER) and _PAGE_HEADER[self._header].fullmatch(text):
            self._header += 1
            yield Found(line, None)
        else:
            yield from self.close("the table ends within this row")
            yield from self._stated(line)

    def close(self, reason: str) -> Iterator[Found]:
        """Leave the table; a row that is not complete is broken."""
        if self._row:
            yield Found(self._row[0], Broken(reason), tuple(self._row[1:]))
        self._row, self._header = [], -1

    def _stated(self, line: Line) -> Iterator[Found]:
        if title := _PAGE_TITLE.fullmatch(line.text):
            self._title = Conditions(keyed=title["keyed"] == "Keyed", transport=title["transport"])
            yield Found(line, None)
        elif (words := line.text.strip(" \u2022")) in _PAGE_RELIABILITY:
            self._reliability = _PAGE_RELIABILITY[words]
            yield Found(line, None)

    def _cell(self, line: Line) -> Iterator[Found]:
        self._row.append(line)
        if self._header < len(_PAGE_HEADER):
            yield from self.close("a row under a header that is not the latency table's")
        elif len(self._row) == 1 + len(_STATISTICS):
            what = self._complete_row()
            first, *others = self._row
            self._row = []
            yield Found(first, what, tuple(others))
            if isinstance(what, Broken):
                self._header = -1

    def _complete_row(self) -> Record | Broken:
        """The record of ten cells. Only the deviation has a decimal: where it stands elsewhere, a cell is missing and the row has slipped."""
        size, *cells = [cell.text for cell in self._row]
        if not all(cell.whole for cell in self._row) or "." not in cells[1] or "." in size:
            return Broken("cells of this row are missing or out of place")
        return _latency(size, cells, self._reliability.over(self._title))

"""sockperf: the statistics that a client prints at the end of a latency test, its rates in a throughput test, and its full log.

Nearly every line has the prefix ``sockperf: ``, and some are coloured even in files. A latency test ends with::

    sockperf: [Valid Duration] RunTime=2.545 sec; SentMessages=337358; ReceivedMessages=337358
    sockperf: ====> avg-latency=3.761 (std-dev=57.581)
    sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
    sockperf: Summary: Latency is 3.761 usec
    sockperf: Total 337358 observations; each percentile contains 3373.58 observations
    sockperf: ---> <MAX> observation = 4504.972
    sockperf: ---> percentile 99.999 = 2799.699
    ...
    sockperf: ---> <MIN> observation =    1.571

Times are microseconds. This output states neither the message size nor whether the test was a ping-pong. A full log begins with the parameters of the
test. A throughput test states how many messages were sent. Its unit "MBps" is 2^20 bytes per second, and its unit "Mbps" is 2^20 bits per second,
both without headers. Up to 3.5, the mean is called ``avg-lat``.

Conditions are the transport on the socket line, and from the parameters of a full log the size, the time, the rate (under load), and, as settings,
all other parameters (burst, replies and so on). All modes print the same words about how a side waits for its socket (``using recvfrom() to block on
socket(s)``), so these words are ignored.
Source: the printing functions of sockperf 2.5 to 3.10, logs recorded with 3.7, and a published log from before 3.6; samples in
tests/formats/sockperf/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from tacholog.formats.kit import (
    MICROSECOND,
    Basis,
    Broken,
    Bulk,
    BulkFinding,
    BulkStep,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Distribution,
    Facts,
    Finding,
    Histogram,
    Line,
    Lines,
    LineStart,
    LoadMode,
    Number,
    Record,
    States,
    counted,
    finding_on,
    first_false,
    printed,
    read_in_bulk,
    settings_text,
)

SYSTEM = "Sockets"
TOOL = "sockperf"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("2.5", "before 2.8: percentiles of two decimals", "from source only"),
    Dialect("3.0", "2.8 to 3.5: 'avg-lat='", "a published log"),
    Dialect("3.7", "3.6 and 3.7", "real logs of 3.7"),
    Dialect("3.8", "3.8 and later: more statistics behind the mean, histograms", "from source only"),
)
_SAMPLE = "A percentile is the sample at a rounded rank, which may be one below the nearest rank."
_TIMED = "on the client's clock, without the test's start and end."
DEFINITIONS = {
    "sockperf-latency": f"Half of the time from a message's send to the receipt of its reply, {_TIMED} {_SAMPLE}",
    "sockperf-rtt": f"Time from a message's send to the receipt of its reply, {_TIMED} {_SAMPLE}",
    "sockperf-burst-latency": f"Half of the time from a message's send to the receipt of its reply, in bursts of messages, {_TIMED} {_SAMPLE}",
    "sockperf-burst-rtt": f"Time from a message's send to the receipt of its reply, in bursts of messages, {_TIMED} {_SAMPLE}",
    "sockperf-throughput": "Messages that the client handed to its socket, and their bytes without headers, divided by the time of sending. The "
    "tool does not measure how many arrived.",
}
STATES = {
    "latency": States(
        always="basis definition", sometimes="transport offered_rate_per_s load_mode settings planned_duration_s payload_bytes tool_version"
    ),
    "throughput": States(always="transport load_mode definition payload_bytes tool_version"),
}

_VERSION = re.compile(r"== version #(?P<version>\S{0,64}) == ?")
_SOCKET = re.compile(r"\[ ?[0-9]{1,4}\] IP = \S{1,64} +PORT = +[0-9]{1,5} # (?P<transport>UDP|TCP)")
_PARAMETERS = re.compile(r"test was performed using the following parameters: (?P<all>--.{1,2000})")
_PARAMETER = re.compile(r"--(msg-size|time|mps|reply-every)=([0-9]{1,9})(?= |$)")
_OTHER_PARAMETER = re.compile(r"--(?P<name>[a-z][a-z-]{0,40}+)(?:=(?P<value>\S{1,100}+))?")
_RULER = "-" * 30
_FAILED = re.compile(
    r"ERROR: .{1,500}|No messages were received from the server\. Is the server down\?|No valid observations found\. .{1,200}|"
    r"Test end before test start\. Ending statistics early|Test ends uncompleted, .{1,200}"
)
# A signal can end a test at any time, so this line can be between any two lines, even within a result.
_INTERRUPTED = re.compile(r"Test end \(interrupted by (?:timer|user|signal [0-9]{1,3})\)")
_CHATTER = re.compile(
    r"|sockperf\[CLIENT\] send on:(?:sockperf: using \w{1,20}\(\) to block on socket\(s\))?|\[SERVER\] (?:listen|send) on:|"
    r"(?:\[tid [0-9]{1,10}\] )?using \w{1,20}\(\) to block on socket\(s\)|"
    r"Warmup stage \(sending a few dummy messages\)\.\.\.|Starting test\.\.\.|Test ended|"
    r"\[Total Run\] RunTime=[0-9]{1,9}\.[0-9]{3} sec; (?:Warm up (?:time=[0-9]{1,9} msec|packets=[0-9]{1,18}); )?"
    r"SentMessages=[0-9]{1,18}; ReceivedMessages=[0-9]{1,18}"
    r"(?:; SkippedMessages=[0-9]{1,18})?|Total [0-9]{1,18} messages received and handled|cleanupAfterLoop\(\) exit|"
    r"RunTime Estimate=.{1,100}|\[Histogram\] Display .{1,100}| *bins +frequency| *-?[0-9]{1,9}-[0-9]{1,9} *#*(?: \(outliers\))?|"
    r"histogram was built using the following parameters: .{1,200}|bin \(usec\) +frequency"
)
_HEAD = LineStart(r"(?:sockperf: (?:==|\[|Summary: |Total |ERROR)|sockperf\[CLIENT\] |test was performed using the)")


def detect(head: str) -> Detected:
    """Return whether the log has a known line of sockperf with its prefix, or the line with the parameters of a full log."""
    return Detected(_HEAD.is_in(head), wants="lines that begin with 'sockperf: ', or 'test was performed using the following parameters'")


def parse(lines: Iterable[Line | Lines]) -> Iterator[Finding | BulkFinding]:
    """Yield a record for each server or throughput test, and the distribution of a full log."""
    client = _Client()
    yield from read_in_bulk(lines, client.take, client.packets.take_many)
    yield from client.close()


def _context_of(parameters: str) -> TestParameters:
    """Return the facts that the parameters of a full log state.

    The mode is under-load if the server answers only some messages; otherwise it is unknown. A parameter for which no condition exists is a setting.
    A parameter without a value is a switch that is on.
    """
    values = {name: int(value) for name, value in _PARAMETER.findall(parameters)}
    under_load = values.get("reply-every", 1) > 1
    named = {"msg-size", "time", "full-rtt", *(("mps",) if under_load else ())}
    others = {other["name"]: other["value"] or "on" for other in _OTHER_PARAMETER.finditer(parameters) if other["name"] not in named}
    conditions = Conditions(planned_duration_s=float(values.get("time", 0)) or None, settings=settings_text(others))
    if under_load:
        conditions = msgspec.structs.replace(conditions, load_mode="open", offered_rate_per_s=float(values.get("mps", 0)) or None)
    return TestParameters(values.get("msg-size") or None, conditions)


class _Client:
    """Reads the output of clients, one after another. The stated socket and parameters apply until the next line with a version."""

    def __init__(self) -> None:
        self._context = TestParameters()
        self._block = ResultReader()
        self.packets = Packets()

    def take(self, line: Line) -> Iterator[Finding]:
        text = line.text.removeprefix("sockperf: ")
        if (row := self.packets.take(line, text)) is not None:
            yield from (*self._block.close(), row)
        elif _INTERRUPTED.fullmatch(text):
            yield Finding(line, None)
        elif (findings := self._block.take(line, text, self._context)) is not None:
            yield from self.packets.close()
            self.packets.behind(findings)
            yield from findings
        elif not text and self._block.is_open:
            yield Finding(line, None)  # The tool prints a blank line after the total, and a log may have a blank line after each line.
        else:
            about = list(self._other(line, text))
            if about or line.text.startswith("sockperf"):  # If an unknown line has no prefix, another program printed it, so it does not end a block.
                yield from self._block.close()
            yield from about

    def close(self) -> Iterator[Finding]:
        yield from (*self._block.close(), *self.packets.close())

    def _other(self, line: Line, text: str) -> Iterator[Finding]:
        if text == _RULER:
            yield from self.packets.close(line) or [Finding(line, None)]
        elif text or not self.packets.is_open:
            findings = list(self._about_the_run(line, text))
            if findings:
                yield from self.packets.close()
            yield from findings

    def _about_the_run(self, line: Line, text: str) -> Iterator[Finding]:
        if version := _VERSION.fullmatch(text):
            self._context = TestParameters()
            yield Finding(line, Facts(tool_version=version["version"] or None))
        elif socket := _SOCKET.fullmatch(text):
            transport = self._context.conditions.transport
            self._context = TestParameters(conditions=Conditions(transport=socket["transport"] if transport in {None, socket["transport"]} else None))
            yield Finding(line, None)
        elif parameters := _PARAMETERS.fullmatch(text):
            self._context = _context_of(parameters["all"])
            yield Finding(line, Facts(environment={"sockperf_parameters": parameters["all"]}))
        elif _FAILED.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason=text))
        elif _CHATTER.fullmatch(text):
            yield Finding(line, None)


_MIB = 1 << 20
_SECOND, _MILLISECOND = 1e9, 1e6
_US = r"[0-9]{1,12}\.[0-9]{3}"
_COUNT = r"[0-9]{1,18}"


class TestParameters(NamedTuple):
    """The parameters that a log states before the results: on the line of the socket, or in the head of a full log."""

    payload_bytes: int | None = None
    conditions: Conditions = Conditions()


class Step(NamedTuple):
    """A line of a block: the pattern of its beginning, its complete pattern, and the steps that may be next."""

    starts: re.Pattern[str]
    pattern: re.Pattern[str]
    then: frozenset[str]


Row = Mapping[str, Cell]  # the named groups of a line
BlockRows = dict[str, list[Row]]


class ResultBlock(NamedTuple):
    """The kinds of lines of one result, in the order of the log, and the function that makes a record from these lines."""

    steps: Mapping[str, Step]
    read: Callable[[BlockRows, TestParameters], Record | Broken]


class ResultReader:
    """Reads blocks. If a line is not the next line of the open block, the block ends, and its lines so far are broken."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._block: ResultBlock | None = None
        self._lines: list[Line] = []
        self._rows: BlockRows = {}
        self._last_step = ""

    @property
    def is_open(self) -> bool:
        """Whether a block has begun."""
        return self._block is not None

    def take(self, line: Line, text: str, context: TestParameters) -> list[Finding] | None:
        """Read a line without its prefix; ``None`` if it belongs to no block."""
        steps = [(block, name) for block in _BLOCKS for name, step in block.steps.items() if step.starts.match(text)]
        if not steps:
            return None
        block, name = steps[0]
        first, *_, last = block.steps
        findings = [] if block is self._block and name != first else self.close()
        expected = name in block.steps[self._last_step].then if self._block else name == first
        match = block.steps[name].pattern.fullmatch(text)
        if not expected or match is None or not line.whole:
            is_alone = match is not None and line.whole and not self._block
            why = "whose first lines are missing" if is_alone else "that is cut, garbled or out of its place"
            return [*findings, *self.close(), Finding(line, Broken(f"a line of a result {why}"))]
        self._block, self._last_step = block, name
        self._lines.append(line)
        self._rows.setdefault(name, []).append(Cell.named(match, len(line.text) - len(text), line.number))
        if name == last:
            findings.append(finding_on(self._lines, block.read(self._rows, context)))
            self._reset()
        return findings

    def close(self) -> list[Finding]:
        """End the open block, and return its lines as broken. Nothing is returned if no block is open."""
        findings = [finding_on(self._lines, Broken("the rest of this result is missing"))] if self._lines else []
        self._reset()
        return findings


def _step(starts: str, ending: str, *then: str) -> Step:
    return Step(re.compile(starts), re.compile(starts + ending), frozenset(then))


_EXTRA = rf"(?:, mean-ad=(?P<mean_ad>{_US}), median-ad=(?P<median_ad>{_US}), siqr=(?P<siqr>{_US}), cv={_US}, std-error=(?P<std_error>{_US})"
_EXTRA += rf", [0-9]{{1,3}}\.[0-9]% ci=\[-?{_US}, {_US}\])?"
_ERRORS = rf" = (?P<lost>{_COUNT}); # duplicated messages = (?P<duplicated>{_COUNT}); # out-of-order messages = (?P<reordered>{_COUNT})"
_STATISTICS: Mapping[str, Step] = {
    "server": _step("========= Printing statistics for Server No: ", r"(?P<server>[0-9]{1,4})", "valid"),
    "valid": _step(
        r"\[Valid Duration\] ", rf"RunTime=(?P<s>{_US}) sec; SentMessages=(?P<sent>{_COUNT}); ReceivedMessages=(?P<received>{_COUNT})", "average"
    ),
    "average": _step("====> avg-", rf"(?P<of>latency|lat|rtt)= *(?P<mean>{_US}) \(std-dev=(?P<std>{_US}){_EXTRA}\)", "errors"),
    "errors": _step("# dropped messages", _ERRORS, "summary", "total"),
    "summary": _step("Summary: (?P<of>Latency|Round trip) ", rf"(?:of burst of (?P<burst>[0-9]{{1,9}}) messages )?is (?P<mean>{_US}) usec", "total"),
    "total": _step(
        rf"Total (?P<samples>{_COUNT}) observations", r"; each percentile contains (?P<hundredth>[0-9]{1,18}\.[0-9][0-9]) observations", "max"
    ),
    "max": _step("---> (?:<MAX>|MAX) observation", rf" = +(?P<us>{_US})", "percentile", "min"),
    "percentile": _step("---> percentile", rf" {{1,2}}(?P<percent>[0-9][0-9]\.[0-9]{{2,3}}) = +(?P<us>{_US})", "percentile", "min"),
    "min": _step("---> (?:<MIN>|MIN) observation", rf" = +(?P<us>{_US})"),
}
# The percentiles that the tool prints. Versions before 2.8 print different percentiles, and with two decimals.
_PERCENTILES = ("99.999", "99.990", "99.900", "99.000", "90.000", "75.000", "50.000", "25.000")
_PERCENTILES_BEFORE_2_8 = ("99.99", "99.90", "99.50", "99.00", "95.00", "90.00", "75.00", "50.00", "25.00")
_DEVIATIONS = {"std": "std", "mean_ad": "mean-ad", "median_ad": "median-ad", "siqr": "siqr", "std_error": "std-error"}


def _counted(metric: str, cell: Cell) -> Number:
    return counted(metric, int(cell), cell=cell)


def _printed(metric: str, statistic: str, cell: Cell, unit: float, resolution: float) -> Number:
    return printed(metric, statistic, float(round(float(cell) * unit)), resolution, zero_is_exact=statistic in _DEVIATIONS.values(), cell=cell)


def _read_statistics(rows: BlockRows, context: TestParameters) -> Record | Broken:
    valid, average, errors = rows["valid"][0], rows["average"][0], rows["errors"][0]
    if trouble := _contradiction(rows):
        return Broken(trouble)
    percentiles = [(f"p{float(row['percent']):g}", row, "us") for row in reversed(rows.get("percentile", []))]
    latencies = [("mean", average, "mean"), ("std", average, "std"), ("min", rows["min"][0], "us"), *percentiles, ("max", rows["max"][0], "us")]
    latencies += [(statistic, average, name) for name, statistic in _DEVIATIONS.items() if name != "std" and name in average]
    basis: Basis = "rtt" if average["of"] == "rtt" else "rtt/2"
    burst = any("burst" in row for row in rows.get("summary", []))
    server = int(rows["server"][0]["server"])
    return Record(
        test="latency",
        payload_bytes=context.payload_bytes,
        numbers=(
            *(_printed("latency", statistic, row[name], MICROSECOND, 1.0) for statistic, row, name in latencies),
            *(_counted(f"messages_{name}", valid[name]) for name in ("sent", "received")),
            *(_counted(f"messages_{name}", errors[name]) for name in ("lost", "duplicated", "reordered")),
            _printed("duration", "total", valid["s"], _SECOND, _MILLISECOND),
        ),
        samples=int(valid["received"]),
        side="publisher",
        participant=f"server {server}" if server else None,
        conditions=Conditions(basis=basis, definition=("sockperf-burst-" if burst else "sockperf-") + ("rtt" if basis == "rtt" else "latency")).over(
            context.conditions
        ),
    )


def _contradiction(rows: BlockRows) -> str | None:
    """Return the reason why these lines cannot belong to one result. The tool computes a result from one sorted list of samples."""
    average, total = rows["average"][0], rows["total"][0]
    samples = int(rows["valid"][0]["received"])
    if int(total["samples"]) != samples or total["hundredth"] != f"{samples / 100:.2f}" or samples == 0:
        return "the counts of samples differ"
    percents = [str(row["percent"]) for row in rows.get("percentile", [])]
    expected = _PERCENTILES_BEFORE_2_8 if percents[:1] and percents[0] in _PERCENTILES_BEFORE_2_8 else _PERCENTILES
    if percents != [name for name in expected if int(0.5 + float(f"0.{name.replace('.', '')}") * samples) >= 1]:
        return "percentiles are missing, or not those of the tool"
    ordered = [float(row["us"]) for name in ("max", "percentile", "min") for row in rows.get(name, [])]
    if ordered != sorted(ordered, reverse=True) or not ordered[-1] - 2e-3 <= float(average["mean"]) <= ordered[0] + 2e-3:
        return "minimum, percentiles, mean and maximum are out of order"
    for row in rows.get("summary", []):
        if row["mean"] != average["mean"] or (row["of"] == "Round trip") != (average["of"] == "rtt"):
            return "the summary is another's"
    return None


_SIZE = r"(?:msg-size=(?P<size>[0-9]{1,9})|average msg-size=(?P<middle>[0-9]{1,9}) \(\+/-(?P<range>[0-9]{1,9})\))"
_PACKETS = r"(?:, Packet Rate is about -?[0-9]{1,10} \[pkt/sec\] \([0-9]{1,9} ip frags / msg\))?"
_BANDWIDTH = r"(?P<bytes>[0-9]{1,12}\.(?:[0-9]{3}|[0-9]{9})) (?P<unit>[MG])Bps \((?P<bits>[0-9]{1,12}\.(?:[0-9]{3}|[0-9]{9})) (?P=unit)bps\)"
_THROUGHPUT: Mapping[str, Step] = {
    "total": _step(rf"Total of (?P<sent>{_COUNT}) messages sent", rf" in (?P<s>{_US}) sec(?: \({_COUNT} messages skipped\))?", "note", "rate"),
    "note": _step("NOTE: test was performed, using ", rf"{_SIZE}(?:, mps=(?P<mps>[0-9]{{1,9}}))?\. .{{0,150}}", "rate"),
    "rate": _step("Summary: Message Rate ", rf"is (?P<rate>[0-9]{{1,10}}) \[msg/sec\]{_PACKETS}", "bandwidth"),
    "bandwidth": _step("Summary: BandWidth ", rf"is {_BANDWIDTH}"),
}
_SIZE_WITHOUT_NOTE = "1472"  # With the recommended size, the tool does not print the note on how to send faster.


def _read_throughput(rows: BlockRows, context: TestParameters) -> Record | Broken:
    """Return the record of a throughput test. It counts the messages that the client sent, even if they were not received."""
    total, rate, band = rows["total"][0], rows["rate"][0], rows["bandwidth"][0]
    note = rows["note"][0] if "note" in rows else {"size": _SIZE_WITHOUT_NOTE}
    middle, spread = int(note.get("size") or note["middle"]), int(note.get("range", "0"))
    sent, per_second = int(total["sent"]), int(rate["rate"])
    decimals = len(band["bytes"].partition(".")[2])
    # The unit is MiB, or a thousand MiB with --giga-size. Version 3.7 also prints "GBps" for values in MiB, but with nine decimals.
    unit = 1000 * _MIB if band["unit"] == "G" and decimals == len("000") else _MIB
    bits, resolution = float(band["bits"]) * unit, float(unit * 10**-decimals)
    if trouble := _contradictory_rates(float(band["bytes"]) * unit, bits, resolution, per_second * middle):
        return Broken(trouble)
    if not _is_rate_over_time(sent, float(total["s"]), per_second):
        return Broken("the rate is not the messages divided by the time")
    load_mode: LoadMode = "paced" if "mps" in note else "max-rate"
    return Record(
        test="throughput",
        payload_bytes=middle - spread,
        payload_bytes_high=middle + spread if spread else None,
        numbers=(
            printed("offered_goodput", "mean", bits, resolution, cell=band["bits"]),
            _printed("offered_rate", "mean", rate["rate"], 1.0, 1.0),
            _counted("messages_sent", total["sent"]),
            _printed("duration", "total", total["s"], _SECOND, _MILLISECOND),
        ),
        samples=sent,
        side="publisher",
        conditions=Conditions(
            transport=context.conditions.transport,
            load_mode=load_mode,
            offered_rate_per_s=float(note["mps"]) if "mps" in note else None,
            definition="sockperf-throughput",
            planned_duration_s=context.conditions.planned_duration_s,
        ),
    )


def _contradictory_rates(bytes_per_s: float, bits_per_s: float, resolution: float, expected_bytes_per_s: int) -> str | None:
    if abs(bytes_per_s - expected_bytes_per_s) > resolution + 1e-9 * expected_bytes_per_s:
        return "the bandwidth is not the rate times the size"
    if abs(bits_per_s - 8 * bytes_per_s) > 10 * resolution + 8e-9 * bytes_per_s:
        return "bits are not eight times the bytes"
    return None


def _is_rate_over_time(sent: int, seconds: float, per_second: int) -> bool:
    # The time is rounded to milliseconds, so the rate may differ slightly.
    return sent / (seconds + 1e-3) - 1 <= per_second and per_second * (seconds - 1e-3) <= sent + 1


_BLOCKS = (ResultBlock(_STATISTICS, _read_statistics), ResultBlock(_THROUGHPUT, _read_throughput))


_HEADER = re.compile(r"packet, txTime\(sec\), rxTime\(sec\), (?P<latency>latency|rtt)\(usec\)")
_ROW_MARK = re.compile(r"[0-9]{1,18}, ")
_ROW = re.compile(r"([0-9]{1,12}), ([0-9]{1,9}\.[0-9]{9}), ([0-9]{1,9}\.[0-9]{9}), ([0-9]{1,9}\.[0-9]{3})")
# The time in a log starts at zero, so times have few digits before the point, and floating point is exact enough.
PACKETS = Bulk(rb"\d{1,12}+, \d{1,6}+\.\d{9}, \d{1,6}+\.\d{9}, \d{1,9}+\.\d{3}")
BULK = (PACKETS,)
_GARBLED = Broken("a packet's row that is cut, garbled or out of its place")


class Packets:
    """Reads the table of packets in a full log.

    The table is after the last record, which the tool computed from the latencies in this table. The last cell of a row is the latency, which always
    has three decimals. A row with these decimals is complete, even if the log ends after it. A cut row is refused, because the latency cannot be
    computed exactly from the two times.
    """

    def __init__(self) -> None:
        self._record: Record | None = None
        self.is_open = False  #: whether the current line is within the table
        self._latencies_ns = Distribution(is_exact=False)

    def behind(self, findings: Iterable[Finding]) -> None:
        """Remember the record that is among these findings, because the table of packets may follow the record."""
        self._record = next((finding.what for finding in findings if isinstance(finding.what, Record)), self._record)

    def take(self, line: Line, text: str) -> Finding | None:
        """Return the finding on the header or a row of the table; ``None`` for any other line. ``text`` is the line without its prefix."""
        if header := _HEADER.fullmatch(text):
            self.is_open = self._record is not None and (self._record.conditions.basis == "rtt") == (header["latency"] == "rtt")
            self._latencies_ns = Distribution(is_exact=False)
            return Finding(line, None)
        if not _ROW_MARK.match(text):
            return None
        row = _ROW.fullmatch(text)
        packet, sent_ns, received_ns, latency_ns = (int(cell.replace(".", "")) for cell in row.groups()) if row else (0, 0, 0, 0)
        rows = self._latencies_ns.count
        if row is None or not self._record or not self.is_open or not self._is_next_and_consistent(packet, sent_ns, received_ns, latency_ns, rows):
            return Finding(line, _GARBLED)
        self._latencies_ns.add(latency_ns)
        return Finding(line, None)

    def take_many(self, lines: Lines) -> BulkStep:
        """Read rows, and stop before the first row that does not continue the table."""
        import numpy as np

        if not self.is_open:
            return BulkStep()
        packet, sent, received, latency = lines.cells.T
        latency_ns = np.rint(latency * 1e3)
        numbers = np.arange(self._latencies_ns.count, self._latencies_ns.count + lines.count)
        count = first_false(self._is_next_and_consistent(packet, np.rint(sent * 1e9), np.rint(received * 1e9), latency_ns, numbers))
        if count == 0:
            return BulkStep()
        self._latencies_ns.add_many(latency_ns[:count].astype("int64"))
        return BulkStep(count, [BulkFinding(lines.part(0, count), None)])

    def _is_next_and_consistent(self, packet: Any, sent_ns: Any, received_ns: Any, latency_ns: Any, number: Any) -> Any:  # noqa: ANN401 - numbers, or arrays of them
        trip_ns = received_ns - sent_ns
        expected_ns = trip_ns if self._record and self._record.conditions.basis == "rtt" else trip_ns / 2
        return (packet == number) & (abs(latency_ns - expected_ns) <= 1)

    def close(self, line: Line | None = None) -> list[Finding]:
        """End the open table, and return its distribution.

        If the table lacks packets that the record counts, the fact that the log is truncated is returned instead.
        """
        record, is_open = self._record, self.is_open
        self._record, self.is_open = None if is_open else record, False
        if not is_open or record is None:
            return []
        rows = self._latencies_ns.count
        if rows != record.samples or not self._is_of(record):
            return [Finding(line, Facts(status="truncated", reason=f"the full log has {rows} of {record.samples} packets"))]
        if record.conditions.basis is None or line is None:
            return [Finding(line, None)] if line else []
        bins = tuple(self._latencies_ns.bins())
        return [Finding(line, Histogram(payload_bytes=record.payload_bytes, basis=record.conditions.basis, bins=bins))]

    def _is_of(self, record: Record) -> bool:
        largest, _ = self._latencies_ns.statistics()["max"]
        largest_stated = record.number("latency", "max")
        return largest_stated is not None and largest_stated.value is not None and abs(largest_stated.value - largest) <= 2  # noqa: PLR2004

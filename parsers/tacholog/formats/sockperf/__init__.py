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

Times are microseconds. Neither the message size nor whether it was a ping-pong is printed there; a full log has its parameters on top.
A throughput test says what was sent. Its "MBps" are 2^20 bytes a second and its "Mbps" 2^20 bits, of the message without headers.
Up to 3.5 the mean is called ``avg-lat``.

Conditions are the transport of the socket line, and of a full log's parameters the size, the time, under load the rate, and as settings all others
(burst, replies and so on). How a side waits for its socket (``using recvfrom() to block on socket(s)``) is said before a summary in the same words
by all modes, and is not kept.
Source: the printing functions of sockperf 2.5 to 3.10, logs recorded with 3.7, and a published log from before 3.6; samples in
tests/formats/sockperf/.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from tacholog.formats.kit import (
    Detected,
    Dialect,
    Facts,
    Found,
    FoundMany,
    Line,
    Lines,
    LineStart,
    Record,
    States,
    Taken,
    read_in_bulk,
    settings_text,
)
from tacholog.formats.sockperf.blocks import STATISTICS, THROUGHPUT, StepReader, TestParameters, read_statistics, read_throughput
from tacholog.formats.sockperf.full import PACKETS, Packets

SYSTEM = "Sockets"
TOOL = "sockperf"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("2.5", "before 2.8: percentiles of two decimals", "from source only"),
    Dialect("3.0", "2.8 to 3.5: 'avg-lat='", "a published log"),
    Dialect("3.7", "3.6 and 3.7", "real logs of 3.7"),
    Dialect("3.8", "3.8 and later: more statistics behind the mean, histograms", "from source only"),
)
_SAMPLE = "A percentile is the sample at the rank nearest to that share of all, which may be one below the nearest rank."
_TIMED = "on the client's clock, without the test's start and end."
DEFINITIONS = {
    "sockperf-latency": f"Half of the time from a message's send to the receipt of its reply, {_TIMED} {_SAMPLE}",
    "sockperf-rtt": f"Time from a message's send to the receipt of its reply, {_TIMED} {_SAMPLE}",
    "sockperf-burst-latency": f"Half of the time from a message's send to its reply's receipt, in bursts of messages, {_TIMED} {_SAMPLE}",
    "sockperf-burst-rtt": f"Time from a message's send to its reply's receipt, in bursts of messages, {_TIMED} {_SAMPLE}",
    "sockperf-throughput": "Messages that the client handed to its socket over the time it took, and the bytes in them without headers. "
    "How many arrived is not measured.",
}
STATES = {
    "latency": States(
        always="basis definition", sometimes="transport offered_rate_per_s load_mode settings planned_duration_s payload_bytes tool_version"
    ),
    "throughput": States(always="transport load_mode definition payload_bytes tool_version"),
}

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,12}m")
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
# The signals that end a test are handled beside the printing, so this line can stand anywhere, also among those of a result.
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
_HEAD = LineStart(r"(?:sockperf: (?:\x1b\[[0-9;]{0,12}m)?(?:==|\[|Summary: |Total |ERROR)|sockperf\[CLIENT\] |test was performed using the)")

BULK = (PACKETS,)


def detect(head: str) -> Detected:
    """Say whether the log has the tool's prefix with one of its lines, or the parameters of a full log."""
    return Detected(_HEAD.is_in(head), wants="lines that begin with 'sockperf: ', or 'test was performed using the following parameters'")


def parse(lines: Iterable[Line | Lines]) -> Iterator[Found | FoundMany]:
    """Yield a record a server or throughput test, and the distribution of a full log."""
    client = _Client()
    yield from read_in_bulk(lines, client.take, client.take_many)
    yield from client.close()


def _context_of(parameters: str) -> TestParameters:
    """What a full log's parameters say. Only under load do replies come to some messages and not to others; else the mode is not told."""
    said = {name: int(value) for name, value in _PARAMETER.findall(parameters)}
    under_load = said.get("reply-every", 1) > 1
    return TestParameters(
        payload_bytes=said.get("msg-size") or None,
        planned_duration_s=float(said.get("time", 0)) or None,
        load_mode="open" if under_load else None,
        offered_rate_per_s=float(said.get("mps", 0)) or None if under_load else None,
        settings=_settings(parameters, {"msg-size", "time", "full-rtt", *(("mps",) if under_load else ())}),
    )


def _settings(parameters: str, conditions: Collection[str]) -> str | None:
    """The parameters that are no condition with a name of its own. Without its value, one is a switch."""
    found = {other["name"]: other["value"] or "on" for other in _OTHER_PARAMETER.finditer(parameters) if other["name"] not in conditions}
    return settings_text(found)


class _Client:
    """One client's output after another: what was said of the socket and the parameters holds until the next version line."""

    def __init__(self) -> None:
        self._context = TestParameters()
        self._statistics = StepReader(STATISTICS, read_statistics)
        self._throughput = StepReader(THROUGHPUT, read_throughput)
        self._packets = Packets()

    def take(self, line: Line) -> Iterator[Found]:
        """Use one line."""
        if self._packets.is_open and line.text[:1].isdigit() and (rows := self._packets.take(line, line.text)) is not None:
            yield from rows  # Most lines of a full log are rows, by far.
            return
        plain = _COLOUR.sub("", line.text)
        text = plain.removeprefix("sockperf: ")
        if _INTERRUPTED.fullmatch(text):
            yield Found(line, None)
            return
        for block, other in ((self._statistics, self._throughput), (self._throughput, self._statistics)):
            found = block.take(line, text, self._context)
            if found is not None:
                yield from (*other.close(), *self._end_packets())
                yield from self._recorded(found)
                return
        if not text and (self._throughput.is_open or self._statistics.is_open):
            yield Found(line, None)  # The line of the total ends with a line break of its own, and a log may have a blank line after each.
            return
        about = list(self._other(line, text))
        if about or plain.startswith("sockperf"):  # A line without the prefix that nobody knows is of others, and parts no block.
            yield from (*self._statistics.close(), *self._throughput.close())
        yield from about

    def take_many(self, lines: Lines) -> Taken:
        """Use rows of a full log."""
        return self._packets.take_many(lines)

    def close(self) -> Iterator[Found]:
        """The log has ended."""
        yield from (*self._statistics.close(), *self._throughput.close(), *self._end_packets())

    def _recorded(self, found: list[Found]) -> Iterator[Found]:
        for one in found:
            if isinstance(one.what, Record):
                self._packets.behind(one.what)
            yield one

    def _end_packets(self) -> list[Found]:
        return self._packets.close(None) if self._packets.is_open else []

    def _other(self, line: Line, text: str) -> Iterator[Found]:
        rows = self._packets.take(line, text)
        if rows is not None:
            yield from rows
        elif text == _RULER:
            yield from self._packets.close(line) if self._packets.is_open else [Found(line, None)]
        elif text or not self._packets.is_open:
            known = list(self._about_the_run(line, text))
            if known:
                yield from self._end_packets()
            yield from known

    def _about_the_run(self, line: Line, text: str) -> Iterator[Found]:
        if version := _VERSION.fullmatch(text):
            self._context = TestParameters()
            yield Found(line, Facts(tool_version=version["version"] or None))
        elif socket := _SOCKET.fullmatch(text):
            same = self._context.transport in {None, socket["transport"]}
            self._context = TestParameters(transport=socket["transport"] if same else None)
            yield Found(line, None)
        elif parameters := _PARAMETERS.fullmatch(text):
            self._context = _context_of(parameters["all"])
            yield Found(line, Facts(environment={"sockperf_parameters": parameters["all"]}))
        elif _FAILED.fullmatch(text):
            yield Found(line, Facts(status="failed", reason=text))
        elif _CHATTER.fullmatch(text):
            yield Found(line, None)

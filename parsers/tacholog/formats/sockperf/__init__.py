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
from collections.abc import Iterable, Iterator

import msgspec

from tacholog.formats.kit import (
    BulkFinding,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    Lines,
    LineStart,
    States,
    read_in_bulk,
    settings_text,
)
from tacholog.formats.sockperf.blocks import BlockReader, TestParameters
from tacholog.formats.sockperf.packets import PACKETS, Packets

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
_HEAD = LineStart(r"(?:sockperf: (?:==|\[|Summary: |Total |ERROR)|sockperf\[CLIENT\] |test was performed using the)")

BULK = (PACKETS,)


def detect(head: str) -> Detected:
    """Say whether the log has the tool's prefix with one of its lines, or the parameters of a full log."""
    return Detected(_HEAD.is_in(head), wants="lines that begin with 'sockperf: ', or 'test was performed using the following parameters'")


def parse(lines: Iterable[Line | Lines]) -> Iterator[Finding | BulkFinding]:
    """Yield a record a server or throughput test, and the distribution of a full log."""
    client = _Client()
    yield from read_in_bulk(lines, client.take, client.packets.take_many)
    yield from client.close()


def _context_of(parameters: str) -> TestParameters:
    """What a full log's parameters say. Only under load do replies come to some messages and not to others; else the mode is not told.

    Those that are no condition with a name of their own are settings. Without its value, one is a switch.
    """
    said = {name: int(value) for name, value in _PARAMETER.findall(parameters)}
    under_load = said.get("reply-every", 1) > 1
    conditions = {"msg-size", "time", "full-rtt", *(("mps",) if under_load else ())}
    others = {other["name"]: other["value"] or "on" for other in _OTHER_PARAMETER.finditer(parameters) if other["name"] not in conditions}
    stated = Conditions(planned_duration_s=float(said.get("time", 0)) or None, settings=settings_text(others))
    if under_load:
        stated = msgspec.structs.replace(stated, load_mode="open", offered_rate_per_s=float(said.get("mps", 0)) or None)
    return TestParameters(said.get("msg-size") or None, stated)


class _Client:
    """One client's output after another: what was said of the socket and the parameters holds until the next version line."""

    def __init__(self) -> None:
        self._context = TestParameters()
        self._block = BlockReader()
        self.packets = Packets()

    def take(self, line: Line) -> Iterator[Finding]:
        """Use one line."""
        text = line.text.removeprefix("sockperf: ")
        if (row := self.packets.take(line, text)) is not None:
            yield from (*self._block.close(), row)
        elif _INTERRUPTED.fullmatch(text):
            yield Finding(line, None)
        elif (found := self._block.take(line, text, self._context)) is not None:
            yield from self.packets.close()
            self.packets.behind(found)
            yield from found
        elif not text and self._block.is_open:
            yield Finding(line, None)  # The line of the total ends with a line break of its own, and a log may have a blank line after each.
        else:
            about = list(self._other(line, text))
            if about or line.text.startswith("sockperf"):  # A line without the prefix that nobody knows is of others, and parts no block.
                yield from self._block.close()
            yield from about

    def close(self) -> Iterator[Finding]:
        """The log has ended."""
        yield from (*self._block.close(), *self.packets.close())

    def _other(self, line: Line, text: str) -> Iterator[Finding]:
        if text == _RULER:
            yield from self.packets.close(line) or [Finding(line, None)]
        elif text or not self.packets.is_open:
            known = list(self._about_the_run(line, text))
            if known:
                yield from self.packets.close()
            yield from known

    def _about_the_run(self, line: Line, text: str) -> Iterator[Finding]:
        if version := _VERSION.fullmatch(text):
            self._context = TestParameters()
            yield Finding(line, Facts(tool_version=version["version"] or None))
        elif socket := _SOCKET.fullmatch(text):
            known = self._context.conditions.transport
            self._context = TestParameters(conditions=Conditions(transport=socket["transport"] if known in {None, socket["transport"]} else None))
            yield Finding(line, None)
        elif parameters := _PARAMETERS.fullmatch(text):
            self._context = _context_of(parameters["all"])
            yield Finding(line, Facts(environment={"sockperf_parameters": parameters["all"]}))
        elif _FAILED.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason=text))
        elif _CHATTER.fullmatch(text):
            yield Finding(line, None)

"""iperf3: its text and its JSON. Sent and received data are kept apart.

Text has interval rows, and after a second header a row for each side; with several streams, also a row of their sum::

    [ ID] Interval           Transfer     Bitrate         Retr
    [  5]   0.00-3.00   sec  5.84 GBytes  16.7 Gbits/sec   58             sender
    [  5]   0.00-3.00   sec  5.84 GBytes  16.7 Gbits/sec                  receiver

Text has transfers in units of 1024 and bitrates in units of 1000, both with three digits. JSON has all digits. Intervals of the warm-up, which are
marked as omitted, are no results. If an interval row of TCP has neither a role nor retransmissions, it is unknown whether it belongs to the sender or
the receiver. In old UDP rows and in the ``sum`` of JSON, the bytes are those of the sender, while losses and jitter are those of the receiver. Newer
JSON also has a result for each side; ``sum`` is then left out. Before 3.7, JSON does not state the side of an interval: it follows from the direction
of the test. 0 bytes in a summary mean that the other side never reported its bytes. The number of streams in a direction (``publishers``) is the
number that the log states. Text that is not verbose does not state it, but announces each stream (``[ 5] local 127.0.0.1 port 45262 connected to
...``). The announcements are counted if no announcement can be missing. If the log begins after the announcements, or a row belongs to a stream
without an announcement, the number is unknown. Data from the server (``--reverse``, ``--bidir``) has the participant ``server to client``.

Conditions are the protocol, the size of a block, the number of streams, the planned time, and whether a rate was requested (JSON). The name of the
system and the time are environment. The manifest must state the options that the tool prints only in JSON's ``test_start`` (omit, tos) or never
(window, congestion control, NUMA). If a UDP test ends without an error and its receiver counts no datagram, all datagrams were lost.
Source: the reports of iperf3 3.12 and 3.17, logs recorded with 3.12, and published logs of 3.0 to 3.6; samples in tests/formats/iperf3/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tacholog.formats.iperf3 import results
from tacholog.formats.iperf3.json import SIGN, EventStream, IperfDocument
from tacholog.formats.iperf3.text import TextReport
from tacholog.formats.kit import Detected, Dialect, Facts, Finding, Line, LineStart, States

SYSTEM = "Sockets"
TOOL = "iperf3"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("text", "3.2 to 3.16", "real logs of 3.12"),
    Dialect("text-3.0", "3.0 and 3.1: 'Bandwidth' for 'Bitrate', one UDP row for both sides", "published logs of 3.0, 3.1.3 and 3.1.4"),
    Dialect("json-3.0", "3.0 to 3.6 with -J: no member 'sender'", "published logs of 3.0.11, 3.1.3 and 3.6"),
    Dialect("json", "3.7 and later with -J", "real logs of 3.12"),
    Dialect("json-stream", "3.17 and later with --json-stream", "from source only"),
)
DEFINITIONS = {
    "iperf3-sent": "Bytes that the sender handed to its socket, divided by the time of the test. For UDP, this does not show how much arrived.",
    "iperf3-received": "Bytes that the receiver took from its socket, divided by the time of the test. Jitter is smoothed as in RFC 1889. Losses "
    "are gaps in the numbers of the datagrams. Their share is relative to all datagrams that were sent.",
    "iperf3-either-side": "Bytes that one side counted in an interval of the test. The row does not state whether they were sent or received.",
    "iperf3-udp": "One row for both sides: bytes and rate of the sender, losses and jitter of the receiver. The share of losses is relative to all "
    "datagrams up to the last that arrived; in newer versions, to all datagrams that were sent.",
    "iperf3-cpu": "Processor time of the iperf3 process, divided by the time of the test; 100 % is one core.",
}
STATES = {
    "throughput": States(
        always="definition",
        sometimes="transport publishers load_mode offered_rate_per_s basis planned_duration_s payload_bytes tool_version",
    ),
}
BULK = results.BULK
LINE_BYTES = 1 << 22  # The tool may print its JSON on one line.
_HEAD = LineStart(
    r"(?:\[ ID\](?:\[Role\])? Interval {11}Transfer {5}Bi?[at]|Connecting to host \S+, port [0-9]+\r?$|"
    r"iperf3: (?:(?:error|interrupt) - |the (?:client|server) has )|"
    r"Server listening on [0-9]+(?: \(test #[0-9]+\))?\s{1,3}-{20})|"
    rf"\s*\"(?:version\":\s*\"iperf 3\.|sum_(?:sent|received)\":\s*\{{)|{SIGN.pattern}"
)
_ON_ONE_LINE = re.compile(r"\"version\": ?\"iperf 3\.")
_OPENING = re.compile(r"\s*+(?:\{|\[\s*+\{?)\s*+")


def detect(head: str) -> Detected:
    """Return whether the start of a log shows that iperf3 printed it.

    One of these is enough:

    - the header of the rows
    - one of the first lines that the tool prints
    - the version of the tool in JSON
    """
    wants = (
        '\'[ ID] Interval           Transfer     Bitrate\', \'iperf3: error - \', \'"version": "iperf 3.\' in JSON, or \'{"event":"start","data":\''
    )
    return Detected(_HEAD.is_in(head) or (head[:1] in ("{", "[") and _ON_ONE_LINE.search(head) is not None), wants)


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each row of a text, and for each result in JSON. If a client did not print its last line, the run is truncated."""
    document, events, text = IperfDocument(), EventStream(), TextReport()
    for line in lines:
        if document.is_open or _OPENING.fullmatch(line.text):
            yield from document.take(line)
        elif (findings := events.take(line)) is not None or (findings := events.document(line)) is not None:
            yield from findings
        else:
            yield from text.take(line)
    yield from document.close()
    yield from events.close()
    yield from text.close()
    if text.client_is_running:
        yield Finding(None, Facts(status="truncated", reason="the log ends before 'iperf Done.'"))

"""pingbench: round trips of a TCP ping-pong, one line for each size.

Source: made up; say here which documents, sources and logs the format was learnt from.
"""

import re
from collections.abc import Iterable, Iterator

from tacholog.formats.kit import (
    MICROSECOND,
    Broken,
    Check,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Field,
    Finding,
    Line,
    LineRule,
    Record,
    States,
)

SYSTEM = "TCP sockets"
TOOL = "pingbench"
DIALECTS = (Dialect("2", "2.0 and later", "from source only"),)
DEFINITIONS = {"pingbench-rtt": "Round trip of a ping-pong with one message outstanding, printed to 0.01 us."}
STATES = {"latency": States(always="tool_version transport load_mode payload_bytes basis definition")}

_BANNER = re.compile(r"pingbench (?P<version>[0-9]{1,4}\.[0-9]{1,4}) over (?P<transport>tcp|udp)")
_RESULT = LineRule(
    r"(?P<size>[1-9][0-9]{0,11}+) B: rtt p50 (?P<p50>[0-9]{1,9}+\.[0-9][0-9]) us, p99 (?P<p99>[0-9]{1,9}+\.[0-9][0-9]) us "
    r"\((?P<samples>[0-9]{1,15}+) samples\)",
    fields=(Field("latency", "p50", "p50", unit=MICROSECOND), Field("latency", "p99", "p99", unit=MICROSECOND)),
    checks=(Check("p50 is above p99", lambda numbers: numbers["p50"] <= numbers["p99"]),),
    record=Record(
        test="latency",
        payload_bytes=None,
        numbers=(),
        conditions=Conditions(basis="rtt", definition="pingbench-rtt"),
    ),
    samples="samples",
)
BULK = _RESULT.bulk  # Thousands of such lines in a row are read at once.


def detect(head: str) -> Detected:
    """Say whether this is a log of pingbench, and if not, what is missing."""
    return Detected(_BANNER.match(head) is not None, wants="a first line 'pingbench VERSION over TRANSPORT'")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each result line; the banner is a fact about the run."""
    for line in lines:
        if banner := _BANNER.fullmatch(line.text):
            conditions = Conditions(transport=banner["transport"], load_mode="closed")
            yield Finding(line, Facts(tool_version=banner["version"], conditions=conditions))
        elif " B: rtt " in line.text:
            yield Finding(line, _RESULT.read(line.text) or Broken("result line is cut short or garbled"))

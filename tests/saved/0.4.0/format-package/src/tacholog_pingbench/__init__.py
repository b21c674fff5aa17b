"""pingbench: round trips of a TCP ping-pong, one line a size.

Source: made up; say here which documents, sources and logs the format was learnt from.
"""

import re
from collections.abc import Iterable, Iterator

from tacholog.formats.kit import Broken, Conditions, Detected, Dialect, Facts, Found, Line, Number, Record, States

SYSTEM = "TCP sockets"
TOOL = "pingbench"
DIALECTS = (Dialect("2", "2.0 and later", "from source only"),)
DEFINITIONS = {"pingbench-rtt": "Round trip of a ping-pong with one message outstanding, printed to 0.01 us."}
STATES = {"latency": States(always="tool_version transport load_mode payload_bytes basis definition")}

_BANNER = re.compile(r"pingbench (?P<version>[0-9]{1,4}\.[0-9]{1,4}) over (?P<transport>tcp|udp)")
_RESULT = re.compile(
    r"(?P<size>[1-9][0-9]{0,11}) B: rtt p50 (?P<p50>[0-9]{1,9}\.[0-9][0-9]) us, p99 (?P<p99>[0-9]{1,9}\.[0-9][0-9]) us "
    r"\((?P<samples>[0-9]{1,15}) samples\)"
)
_NS_PER_US = 1000


def detect(head: str) -> Detected:
    """Say whether this is a log of pingbench, and if not, what is missing."""
    return Detected(_BANNER.match(head) is not None, wants="a first line 'pingbench VERSION over TRANSPORT'")


def parse(lines: Iterable[Line]) -> Iterator[Found]:
    """Yield a record a result line; the banner is a fact about the run."""
    for line in lines:
        if banner := _BANNER.fullmatch(line.text):
            conditions = Conditions(transport=banner["transport"], load_mode="closed")
            yield Found(line, Facts(tool_version=banner["version"], conditions=conditions))
        elif " B: rtt " in line.text:
            yield Found(line, _result(line.text))


def _result(text: str) -> Record | Broken:
    found = _RESULT.fullmatch(text)
    if found is None:
        return Broken("result line is cut short or garbled")
    return Record(
        test="latency",
        payload_bytes=int(found["size"]),
        samples=int(found["samples"]),
        numbers=tuple(_microseconds(statistic, found[statistic]) for statistic in ("p50", "p99")),
        conditions=Conditions(basis="rtt", definition="pingbench-rtt"),
    )


def _microseconds(statistic: str, cell: str) -> Number:
    """A latency in nanoseconds, known to the last place that pingbench prints."""
    value_ns = float(round(float(cell) * _NS_PER_US))
    return Number(metric="latency", statistic=statistic, value=value_ns, resolution=0.01 * _NS_PER_US)

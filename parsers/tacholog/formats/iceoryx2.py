"""The benchmarks of Eclipse iceoryx2: one line for each kind of service, with a mean latency.

The benchmarks of publish-subscribe, events, requests and queues print similar lines::

    iceoryx2::service::ipc::Service ::: Iterations: 20000, Time: 0.935897869 s, Latency: 23397 ns, Sample Size: 8192
    iceoryx2::service::ipc::Service ::: MaxEventId: 128, Iterations: 1000000, Time: 3.1 s, Latency: 1550 ns
    [REQUESTS] iceoryx2::service::local::Service ::: Iterations: 10000000, Time: 6.5 s, Latency: 325 ns

Conditions are the kind of service (the transport), the benchmark (the definition), and the size, if it is printed. No other options are printed.

The latency is the time divided by twice the iterations, cut to whole nanoseconds; a line with another latency is broken.
Source: benchmarks/ of iceoryx2, releases 0.3 to 0.9; samples in tests/formats/iceoryx2/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from tacholog.formats.kit import Broken, Cell, Conditions, Detected, Dialect, Finding, Line, LineStart, Number, Record, States, printed

SYSTEM = "iceoryx2"
TOOL = "iceoryx2 benchmarks"
EXPANDS_TABS = True
DIALECTS = (
    Dialect("0.5", "0.5 and later", "a log recorded with 0.9.3, a posted log of 0.9.0"),
    Dialect("0.3", "0.3 and 0.4: no unit behind the time, in 0.3 no sample size", "from source only"),
    Dialect("0.1", "0.1 and 0.2: no iterations either", "from source only"),
)
_CUT = "the mean of half a round trip, cut to whole nanoseconds"
DEFINITIONS = {
    "iceoryx2-publish-subscribe": f"Time of all iterations, divided by twice their number: {_CUT}. Both sides poll, in two threads of one process. "
    "The payload is neither written nor read, unless an option of the benchmark requests it.",
    "iceoryx2-event": f"Time of all notifications there and back, divided by twice their number: {_CUT}. Both sides block while they wait.",
    "iceoryx2-request": f"Time of all requests there and back (two services), divided by twice their number: {_CUT}.",
    "iceoryx2-response-stream": f"Time of all responses there and back (two open requests), divided by twice their number: {_CUT}.",
    "iceoryx2-queue": f"Time of all pushes into a queue between two threads and back, divided by twice the iterations: {_CUT}. The queue holds "
    "indices, no payload.",
}
STATES = {
    "latency": States(always="transport load_mode basis definition", sometimes="payload_bytes"),
}

_RESULT = re.compile(
    r"(?:\[(?P<pattern>REQUESTS|RESPONSE_STREAM)\] )?(?P<type>iceoryx2[\w:]{1,200}(?:<[\w, ]{1,40}>)?) ::: "
    r"(?:MaxEventId: (?P<event>[0-9]{1,18}), )?(?:Iterations: (?P<iterations>[0-9]{1,18}), )?"
    r"Time: (?P<time>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit> s)?, "
    r"Latency: (?P<latency>[0-9]{1,15}) ns(?:, Sample Size: (?P<size>[0-9]{1,15}))?"
)
_SERVICE = re.compile(r"iceoryx2::service::(?P<kind>\w{1,60})::Service")
_QUEUE = re.compile(r"iceoryx2_bb_[\w:]{1,150}::(?P<kind>\w{0,40}Queue(?:<[\w, ]{1,40}>)?)")
# The logger of iceoryx2 (with -d, or for warnings) prints a counter and a level, and the subject on the next line.
_CHATTER = re.compile(
    r"\s*"
    r"|[0-9]{1,12}(?:\.[0-9]{9})? \[[TDIWEF]\] .{0,4000}"
    r"|\s{0,12}\| .{0,4000}"
    r"|Please use either '--bench-all' or select a specific benchmark\. See `--help` for details\."
    r"|\s{0,8}(?:Finished|Compiling|Running|Updating|Downloading|Downloaded|Locking|Blocking) .{0,400}"
)
_HEAD = LineStart(r"(?:\[(?:REQUESTS|RESPONSE_STREAM)\] )?iceoryx2[\w:<>, ]{1,240} ::: ")


def detect(head: str) -> Detected:
    """Return whether a line starts with the type of a service and three colons."""
    return Detected(_HEAD.is_in(head), wants="a line 'iceoryx2::service::... ::: ... Latency: N ns'")


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each result line. Lines of iceoryx2's logger and of cargo are chatter."""
    for line in lines:
        if " ::: " in line.text:
            yield Finding(line, _result(line))
        elif _CHATTER.fullmatch(line.text):
            yield Finding(line, None)


def _result(line: Line) -> Record | Broken:
    match = _RESULT.fullmatch(line.text)
    conditions = _conditions(match) if match else None
    if match is None or conditions is None:
        return Broken("result line is cut short or garbled")
    if not line.whole:
        return Broken("the log ends within this line")
    duration_ns, latency_ns = round(Decimal(match["time"]) * 1_000_000_000), int(match["latency"])
    iterations = int(match["iterations"]) if match["iterations"] else None
    # The tool converts the time to a floating-point number before it prints it, so it may be wrong by a nanosecond.
    means = {(duration_ns + slip) // (2 * iterations) for slip in (-1, 0, 1)} if iterations else set()
    if iterations is not None and latency_ns not in means:
        return Broken("the latency is not the time divided by twice the iterations")
    if match["size"] == "0":
        return Broken("a sample of 0 bytes")
    if match["unit"] and not match["size"] and conditions.definition == "iceoryx2-publish-subscribe":
        return Broken("a line without its sample size: it is cut short")
    cells = Cell.named(match)
    duration = Number(metric="duration", statistic="total", value=float(duration_ns), value_start=cells["time"].start, value_end=cells["time"].end)
    return Record(
        test="latency",
        payload_bytes=int(match["size"]) if match["size"] else None,
        numbers=(printed("latency", "mean", float(latency_ns), 1.0, cell=cells["latency"]), duration),
        samples=iterations,
        side="both",
        conditions=conditions,
    )


def _conditions(match: re.Match[str]) -> Conditions | None:
    service, queue = _SERVICE.fullmatch(match["type"]), _QUEUE.fullmatch(match["type"])
    definition = "iceoryx2-queue" if queue else "iceoryx2-publish-subscribe"
    if match["event"]:
        definition = "iceoryx2-event"
    elif match["pattern"]:
        definition = "iceoryx2-request" if match["pattern"] == "REQUESTS" else "iceoryx2-response-stream"
    named = service or queue
    return Conditions(transport=named["kind"], basis="rtt/2", load_mode="closed", definition=definition) if named else None

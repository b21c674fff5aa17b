"""redis-benchmark and valkey-benchmark with ``--csv``: one row for each command, with its rate and its round trips.

The head names the columns::

    "test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
    "SET","27173.91","0.233","0.024","0.111","0.287","3.735","8.135"

Before 6.2, there is no head, and rates only: such rows are not read. A latency lasts from the write of a request until its reply was read; with
pipelining (``-P``), requests wait for each other. ``PUBLISH`` is a request like others: the reply of the server is no delivery.

Conditions are the command, as a setting; of a command of the user's own, only its first word. The size, the number of clients, pipelining and
persistence are not printed: the manifest, or ``--set``, must state them.
Source: redis-benchmark.c of Redis 7; samples in tests/formats/redis_benchmark/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tacholog.formats.kit import Broken, Cell, Conditions, Detected, Dialect, Facts, Finding, Line, LineStart, Record, States, printed, settings_text

SYSTEM = "Redis"
TOOL = "redis-benchmark"
DIALECTS = (Dialect("csv", "6.2 and later, with --csv", "files recorded with 7.0.15"),)
DEFINITIONS = {
    "redis-benchmark": "From the write of a request until its reply was read, on the clock of the client. With pipelining, requests wait for each "
    "other. Percentiles come from a histogram.",
}
STATES = {"latency": States(always="basis definition settings")}

_HEADER = '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"'
_MS = r"[0-9]{1,9}\.[0-9]{3}"
_ROW = re.compile(
    rf'"(?P<test>[^"]{{1,400}})","(?P<rate>[0-9]{{1,12}}\.[0-9]{{2}})","(?P<mean>{_MS})","(?P<min>{_MS})","(?P<p50>{_MS})","(?P<p95>{_MS})"'
    rf',"(?P<p99>{_MS})","(?P<max>{_MS})"'
)
_IS_ROW = re.compile(r'"[^"]{1,400}","')
_OWN_NAME = re.compile(r"[A-Z][A-Z0-9_]{1,30}(?: \([a-z0-9 ]{1,60}\))?")
_FAILED = re.compile(r"Could not connect to (?:Redis|server|Valkey) at .{1,200}|Error from server: .{1,300}|Error: .{1,300}")
_CHATTER = re.compile(r"WARNING: .{1,300}|\s*")
_HEAD = LineStart(re.escape(_HEADER))
_LATENCIES = ("mean", "min", "p50", "p95", "p99", "max")


def detect(head: str) -> Detected:
    """Return whether the log has the head of the columns."""
    return Detected(_HEAD.is_in(head), wants='a head \'"test","rps","avg_latency_ms",\'')


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each row."""
    has_head = False
    for line in lines:
        text = line.text.rstrip()
        if text == _HEADER:
            has_head = True
            yield Finding(line, None)
        elif _IS_ROW.match(text):
            yield Finding(line, _row(text) if has_head else Broken("the head of the columns is missing"))
        elif _FAILED.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason=text.partition(" at ")[0]))
        elif _CHATTER.fullmatch(text):
            yield Finding(line, None)


def _row(text: str) -> Record | Broken:
    match = _ROW.fullmatch(text)
    if match is None:
        return Broken("the row is cut short or garbled")
    cells = Cell.named(match)
    ordered = [float(cells[name]) for name in ("min", "p50", "p95", "p99", "max")]
    if any(low > high for low, high in pairwise(ordered)) or not ordered[0] <= float(cells["mean"]) + 1e-3 <= ordered[-1] + 2e-3:
        return Broken("latencies that do not ascend")
    command = cells["test"] if _OWN_NAME.fullmatch(cells["test"]) else cells["test"].split(maxsplit=1)[0] if cells["test"].strip() else "?"
    return Record(
        test="latency",
        payload_bytes=None,
        numbers=(
            printed("call_rate", "mean", float(cells["rate"]), 0.01, cell=cells["rate"]),
            *(printed("latency", name, float(round(float(cells[name]) * 1e6)), 1000.0, cell=cells[name]) for name in _LATENCIES),
        ),
        side="publisher",
        conditions=Conditions(basis="rtt", definition="redis-benchmark", settings=settings_text({"command": str(command)})),
    )

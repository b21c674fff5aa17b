"""redis-benchmark and valkey-benchmark: for each command, a report as text, a line (``-q``), or a row of CSV (``--csv``).

The text of 6.2 and later ends with a summary; older text ends with the rate. The rows of two distributions are between the head and the summary::

    ====== SET ======
      5000 requests completed in 0.13 seconds
      10 parallel clients
      64 bytes payload
      keep alive: 1
    [...]
    Summary:
      throughput summary: 38461.54 requests per second
      latency summary (msec):
              avg       min       p50       p95       p99       max
            0.168     0.040     0.159     0.263     0.367     1.367

    SET: 38461.54 requests per second, p50=0.159 msec
    "SET","27173.91","0.233","0.024","0.111","0.287","3.735","8.135"

A latency is the time from the write of a request until its reply was read. With pipelining (``-P``), requests wait for each other. ``PUBLISH`` is a
request like the others: the reply of the server is no delivery. Before 6.2, the rows of the distribution do not count all requests, so only the last
row is read: it is the maximum, cut off to its last digit.

Conditions are the command, as a setting (only the first word, if the user wrote the command). Text also states the number of clients, and how the
server stores data. The size is the size of the value that the command sends. The tool also prints a size for commands that send no value, and for
commands that the user wrote, where it is the length of the whole request. These sizes are not read. The tool never prints the pipelining: the
manifest or ``--set`` must state it.
Source: redis-benchmark.c of Redis 2.4 to 7 and of Valkey 8; samples in tests/formats/redis_benchmark/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from tacholog.formats.kit import (
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    Line,
    LineStart,
    Record,
    States,
    finding_on,
    printed,
    settings_text,
    unit_of_last_decimal,
)

SYSTEM = "Redis"
TOOL = "redis-benchmark"
DIALECTS = (
    Dialect("csv", "6.2 and later, with --csv", "files recorded with 7.0.15"),
    Dialect("text", "6.2 and later", "logs recorded with 7.0.15"),
    Dialect("quiet", "all, with -q", "logs recorded with 7.0.15, published lines"),
    Dialect("old-text", "before 6.2: no percentiles", "published logs"),
)
DEFINITIONS = {
    "redis-benchmark": "From the write of a request until its reply was read, on the clock of the client. With pipelining, requests wait for each "
    "other. Percentiles come from a histogram.",
}
STATES = {"latency": States(always="basis definition settings", sometimes="payload_bytes publishers")}

_HEADER = '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"'
_MS = r"[0-9]{1,9}\.[0-9]{3}"
_RATE = r"(?P<rate>[0-9]{1,12}\.[0-9]{2})"
_LATENCIES = ("mean", "min", "p50", "p95", "p99", "max")
_ROW = re.compile(rf'"(?P<test>[^"]{{1,400}})","{_RATE}",' + ",".join(rf'"(?P<{name}>{_MS})"' for name in _LATENCIES))
_IS_ROW = re.compile(r'"[^"]{1,400}","')
_QUIET = re.compile(rf"(?P<test>\S[^\r]{{0,400}}?): {_RATE} requests per second(?:, p50=(?P<p50>{_MS}) msec)?")
_OWN_NAME = re.compile(r"[A-Z][A-Z0-9_]{1,30}(?: \([A-Za-z0-9 ]{1,60}\))?")
# Each of these commands sends one value of the printed size. Other commands send no value or several values.
_WITH_VALUE = ("SET", "LPUSH", "RPUSH", "HSET", "XADD")
_FAILED = re.compile(r"Could not connect to (?:Redis|server|Valkey) at .{1,200}|Error from server: .{1,300}|Error: .{1,300}")
_CHATTER = re.compile(r"WARNING: .{1,300}|\s*|[^\r]{1,400}: rps=.{1,100}")
_COUNT = "[1-9][0-9]{0,14}"
#: The patterns of the lines of a report. `_FOLLOWS` states which lines may follow each line.
_LINES = {
    "title": re.compile(r"={5,6} (?P<test>\S.{0,400}) ={6}"),
    "completed": re.compile(rf"  (?P<requests>{_COUNT}) requests completed in (?P<seconds>[0-9]{{1,9}}\.[0-9]{{2}}) seconds"),
    "clients": re.compile(rf"  (?P<clients>{_COUNT}) parallel clients"),
    "payload": re.compile(r"  (?P<size>[0-9]{1,12}) bytes payload"),
    "keep": re.compile(r"  keep alive: (?P<keep_alive>[0-9])"),
    "save": re.compile(r'  host configuration "save":(?: (?P<save>[0-9 ]{0,200}))?'),
    "appendonly": re.compile(r'  host configuration "appendonly": (?P<appendonly>yes|no)'),
    "threads": re.compile(r"  threads: (?P<threads>[1-9][0-9]{0,3})"),
    "config": re.compile(
        r"  (?:multi-thread: (?:yes|no)|cluster mode: yes \(.{1,60}\)|node \[[0-9]{1,4}\] configuration:|  (?:save|appendonly): .{1,200})"
    ),
    "blank": re.compile(r"\s*"),
    "heading": re.compile(r"Latency by percentile distribution:|Cumulative distribution of latencies:"),
    "row": re.compile(rf"(?P<percent>[0-9]{{1,3}}\.[0-9]{{3}})% <= (?P<value>{_MS}) milliseconds \(cumulative count (?P<count>[0-9]{{1,15}})\)"),
    "old row": re.compile(r"(?P<percent>[0-9]{1,3}\.[0-9]{2})% <= (?P<slowest>[0-9]{1,9}(?:\.[0-9]{1,3})?) milliseconds"),
    "summary": re.compile("Summary:"),
    "throughput": re.compile(rf"  throughput summary: {_RATE} requests per second"),
    "latency": re.compile(r"  latency summary \(msec\):"),
    "names": re.compile(r" {4,12}avg +min +p50 +p95 +p99 +max"),
    "values": re.compile(r" {4,12}" + " +".join(rf"(?P<{name}>{_MS})" for name in _LATENCIES)),
    "rate": re.compile(rf"{_RATE} requests per second"),
}
_CONFIGURATION = ("save", "appendonly", "threads", "config", "blank")
_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "title": ("completed",),
    "completed": ("clients",),
    "clients": ("payload",),
    "payload": ("keep",),
    "keep": _CONFIGURATION,
    **dict.fromkeys(_CONFIGURATION[:-1], _CONFIGURATION),
    "blank": ("blank", "heading", "summary", "old row", "rate"),
    "heading": ("row",),
    "row": ("row", "blank"),
    "old row": ("old row", "rate"),
    "summary": ("throughput",),
    "throughput": ("latency",),
    "latency": ("names",),
    "names": ("values",),
}
_LONGEST = 4000  # lines of a report
_PROGRESS = re.compile(r"^[^\n]*\r(?!\n)", re.MULTILINE)  # text that the tool prints and then overwrites
_HEAD = LineStart(
    rf"{re.escape(_HEADER)}|={{5,6}} [^\n=]{{1,400}}={{6}}\n  {_COUNT} requests completed in |"
    r"[A-Za-z][^\r\n:]{0,400}: [0-9]{1,12}\.[0-9]{2} requests per second(?:, p50=[0-9.]{1,12} msec)?\r?$"
)


def detect(head: str) -> Detected:
    """Return whether the log has the head of the columns, the head of a report, or a line of ``-q``."""
    return Detected(
        _HEAD.is_in(_PROGRESS.sub("", head)),
        wants="a head '\"test\",\"rps\",\"avg_latency_ms\",', '====== SET ======', or 'SET: 1.00 requests per second'",
    )


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each command."""
    has_head, report = False, _CommandReport()
    for line in lines:
        text = line.text.rpartition("\r")[2].rstrip()  # The tool overwrites its progress. Only the last text counts.
        if report.is_open or _LINES["title"].fullmatch(text):
            yield from report.take(line, text)
            if report.has_taken:
                continue
        if text == _HEADER:
            has_head = True
            yield Finding(line, None)
        elif _IS_ROW.match(text):
            yield Finding(line, _row(text) if has_head else Broken("the head of the columns is missing"))
        elif (quiet := _QUIET.fullmatch(text)) and line.whole:
            yield Finding(line, _record(Cell.named(quiet, len(line.text) - len(line.text.rpartition("\r")[2]))))
        elif quiet or any(_LINES[name].fullmatch(text) for name in ("values", "rate", "throughput")):
            yield Finding(line, Broken("the result is cut short, or its head is missing"))
        elif _FAILED.fullmatch(text):
            yield Finding(line, Facts(status="failed", reason=text.partition(" at ")[0]))
        elif _CHATTER.fullmatch(text) or any(_LINES[name].fullmatch(text) for name in ("row", "old row", "heading", "summary", "latency", "names")):
            yield Finding(line, None)
    yield from report.close()


class _CommandReport:
    """The report of a command. Its distributions are not stored."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._kind = ""
        self._cells: dict[str, Cell] = {}
        self.has_taken = False  #: whether the latest line belongs to the report

    @property
    def is_open(self) -> bool:
        return bool(self._lines)

    def take(self, line: Line, text: str) -> Iterator[Finding]:
        """Add a line of the report, or end the report if another line follows."""
        kind, match = next(((name, match) for name in self._wanted() if (match := _LINES[name].fullmatch(text))), ("", None))
        if match is None and self.is_open and any(pattern.fullmatch(text) for pattern in _LINES.values()):
            yield from self.close()
            kind, match = "title", _LINES["title"].fullmatch(text)
        self.has_taken = match is not None
        if match is None:
            return
        cells = Cell.named(match, len(line.text) - len(line.text.rpartition("\r")[2]), line.number)
        if line.number - (self._lines or [line])[0].number > _LONGEST or not self._ascends(kind, cells):
            yield from self.close()
            yield Finding(line, Broken("the rows of a distribution contradict each other"))
            return
        self._kind, self._cells = kind, self._cells | cells
        if cells.get("percent") == "50.000" and "median" not in self._cells:
            self._cells["median"] = cells["value"]
        if kind in ("row", "old row", "blank", "heading"):
            yield Finding(line, None)
        else:
            self._lines.append(line)
        if kind in ("values", "rate"):
            yield finding_on(self._lines, self._result() if line.whole else Broken("the last line of the report is cut short"))
            self._lines, self._cells, self._kind = [], {}, ""

    def close(self) -> Iterator[Finding]:
        if self._lines:
            yield finding_on(self._lines, Broken("the next line of the report is missing or garbled"))
        self._lines, self._cells, self._kind = [], {}, ""

    def _wanted(self) -> tuple[str, ...]:
        return _FOLLOWS.get(self._kind, ("title",))

    def _ascends(self, kind: str, cells: Mapping[str, Cell]) -> bool:
        if kind not in ("row", "old row") or self._kind != kind:
            return True
        return all(float(cells[name]) >= float(self._cells[name]) for name in ("percent", "value", "count", "slowest") if name in cells)

    def _result(self) -> Record | Broken:
        cells = self._cells
        requests, seconds, rate = int(cells["requests"]), float(cells["seconds"]), float(cells["rate"])
        if abs(seconds * rate - requests) > 0.0051 * rate + 0.0051 * seconds + 1e-5 * requests:
            return Broken("the rate does not match the requests and the time")
        # With pipelining, more requests are completed than were requested. The distribution does not count the additional requests.
        count = int(cells.get("count", cells["requests"]))
        if not count <= requests <= 1.1 * count + 1000 or ("median" in cells and cells["median"] != cells["p50"]):
            return Broken("the distribution does not match the summary")
        return _record(cells)


def _row(text: str) -> Record | Broken:
    match = _ROW.fullmatch(text)
    return _record(Cell.named(match)) if match else Broken("the row is cut short or garbled")


def _record(cells: Mapping[str, Cell]) -> Record | Broken:
    ordered = [float(cells[name]) for name in ("min", "p50", "p95", "p99", "max") if name in cells]
    if any(low > high for low, high in pairwise(ordered)) or (
        "mean" in cells and not ordered[0] <= float(cells["mean"]) + 1e-3 <= ordered[-1] + 2e-3
    ):
        return Broken("latencies that do not ascend")
    title = cells["test"]
    command = str(title) if _OWN_NAME.fullmatch(title) else title.split(maxsplit=1)[0] if title.strip() else "?"
    settings = {name: str(cells[name]) for name in ("keep_alive", "save", "appendonly", "threads") if name in cells}
    latencies = [(name, cells[name]) for name in _LATENCIES if name in cells]
    latencies += [("max", cells["slowest"])] if "slowest" in cells and cells.get("percent") == "100.00" else []
    return Record(
        test="latency",
        payload_bytes=int(cells["size"]) or None if "size" in cells and title.partition(" (")[0] in _WITH_VALUE else None,
        numbers=(
            printed("call_rate", "mean", float(cells["rate"]), 0.01, cell=cells["rate"]),
            *(printed("latency", name, float(round(float(cell) * 1e6)), unit_of_last_decimal(cell) * 1e6, cell=cell) for name, cell in latencies),
        ),
        samples=int(cells.get("count", cells["requests"])) if "requests" in cells else None,
        side="publisher",
        conditions=Conditions(
            basis="rtt",
            definition="redis-benchmark",
            publishers=int(cells["clients"]) if "clients" in cells else None,
            settings=settings_text({"command": command, **settings}),
        ),
    )

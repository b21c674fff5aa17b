"""perftest of linux-rdma: ``ib_send_lat``, ``ib_write_bw`` and so on, as tables and as JSON (``--out_json``).

It prints a banner with the options, then a row for each message size::

                        RDMA_Write Latency Test
     Connection type : RC           Using SRQ      : OFF
     #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
     2       1000          1.42           1.93         1.47                1.47             0.00            1.57                    1.93
     #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
     65536      5000             10402.09            10401.68                  0.166427

The latency of a send or a write is half of a round trip. The latency of a read or an atomic operation is a whole round trip. Only the banner states
the operation. ``t_typical`` is the median. In tables with percentiles, the tool leaves out the largest sample, so ``t_max`` is the second largest;
the mean leaves out two samples. ``t_stdev`` is not read, because the tool cuts each deviation to whole microseconds before it squares it. With
``-C``, the same columns have cycles: rows with only whole or half numbers are not read. MB are 2^20 bytes, Gb are 10^9 bits. JSON states no unit: the
size and the message rate show the unit. A peak of 0 was not measured. Not read are the lists of all samples (``-U``, ``-H``), and the transactions
per second of ``-D``, which are the reciprocal of the mean.

With a reliable connection, an operation is complete when the other side has the data. With other connections, the client counts what it sent.
Conditions are the operation and the connection (as ``RDMA RC write``), and the size. The other lines of the banner are settings.
Source: src/perftest_parameters.c and .h of linux-rdma/perftest, the texts in 4.5 of Debian; samples in tests/formats/rdma_perftest/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from tacholog.formats.kit import (
    MICROSECOND,
    Basis,
    Broken,
    Cell,
    Conditions,
    Detected,
    Dialect,
    Facts,
    Finding,
    JsonObject,
    JsonResult,
    JsonScalar,
    Line,
    LineStart,
    Number,
    Record,
    Side,
    States,
    is_size,
    json_findings,
    printed,
    settings_text,
    unit_of_last_decimal,
)

SYSTEM = "RDMA verbs"
TOOL = "perftest of linux-rdma"
DIALECTS = (
    Dialect("table", "those with t_typical, some with percentiles", "published logs"),
    Dialect("duration", "all, with -D: means only", "published logs"),
    Dialect("json", "4.5 and later, with --out_json", "a published file; latency from source only"),
)
DEFINITIONS = {
    "rdma-half-round-trip": "Half of the time between two posts of a ping-pong with one message outstanding, on the cycle counter of one side.",
    "rdma-one-sided": "Time from the post of an operation to the post of the next operation, with one outstanding. The remote processor takes no "
    "part in it.",
    "rdma-any-latency": "Time between two posts. Without the banner, it is unknown whether the tool halved it.",
    "rdma-bandwidth": "Bytes of the operations, divided by the time from the first post to the last completion. The peak is the fastest part of "
    "this time.",
    "rdma-any-bandwidth": "Bytes divided by the time from the first post to the last completion. Without the banner, it is unknown whether they are "
    "the bytes of one or of both directions.",
    "rdma-both-ways": "Bytes of both directions together, divided by the time from the first post to the last completion.",
}
STATES = {
    "latency": States(always="load_mode definition payload_bytes", sometimes="basis transport settings"),
    "throughput": States(always="load_mode definition payload_bytes", sometimes="transport settings"),
}
_TITLE = re.compile(
    r"\s{0,30}(?P<verb>Send|RDMA_Write\w{0,20}?|RDMA_Read|Atomic[ _](?:CMP_AND_SWAP|FETCH_AND_ADD))"
    r"(?P<both>[ _]Bidirectional)?(?:[ _]Post[ _]List)?[ _](?P<test>BW|Latency)[ _](?:(?:Multicast|forwarding)[ _])?Test"
)
_VERBS = {
    "Send": "",
    "RDMA_Write": " write",
    "RDMA_Read": " read",
    "Atomic CMP_AND_SWAP": " compare and swap",
    "Atomic FETCH_AND_ADD": " fetch and add",
}
_OPTION = re.compile(r"(?P<name>[A-Za-z][^\s:]{1,20}(?: [^\s:]{1,20}){0,3})\s{0,20}: (?P<value>[^\s:]{1,60})(?=\s|$)")
_OPTIONS = re.compile(rf"\s{{1,8}}(?:{_OPTION.pattern.replace('?P<name>', '?:').replace('?P<value>', '?:')}\s{{0,40}}){{1,3}}")
_SETTINGS = frozenset(
    {
        *(
            "Dual-port",
            "Number of qps",
            "Using SRQ",
            "PCIe relax order",
            "Lock-free",
            "ibv_wr* API",
            "Using DDP",
            "Using Enhanced Reorder",
            "TX depth",
        ),
        *("RX depth", "Post List", "Recv Post List", "CQ Moderation", "CQE Poll Batch", "Mtu", "Link type", "Max inline data", "Outstand reads"),
    }
)
_HEADER = re.compile(r"\s{0,8}#bytes\s+#iterations\s+(?:t_min\[|t_avg\[|BW peak\[).{0,300}")
_COLUMN = re.compile(
    r"#\w+|t_\w+\[usec\]|[0-9.]+% percentile\[usec\]|BW (?:peak|average)\[(?:MB|Gb)/sec\]|MsgRate\[Mpps\]|tps average|CPU_Util\[%{1,2}\]"
)
_NUMBERS = {"t_min": "min", "t_max": "max", "t_typical": "p50", "t_avg": "mean", "99%": "p99", "99.9%": "p99.9"}
_JSON_NUMBERS = {"t_min": "min", "t_max": "max", "t_typical": "p50", "t_avg": "mean", "percentile_99": "p99", "percentile_99.9": "p99.9"}
_JSON_NAMES = {"Dual_port": "Dual-port", "ibv_wr_API": "ibv_wr* API"}
_IS_ROW = re.compile(r"\s{0,8}[0-9]{1,12}\s{1,20}[0-9]{1,15}\s+[-0-9.]")
_RAW = re.compile(r"[0-9]{1,12}, [0-9.e+-]{1,20}|#, usec")
_FAILED = re.compile(r"\s?(?:Failed status [0-9].{0,200}|Couldn't .{1,200}|Unable to .{1,200}|Failed to .{1,200}| ?Completion with error at .{1,60})")
_BETWEEN = re.compile(r"\s{0,4}(?:-{20,}|(?:local|remote) address: .{1,200}|(?:GID|MGID): .{1,200})")
_CHATTER = re.compile(
    r"\s{0,4}(?:\*{10,60}|\* Waiting for client to connect\.\.\. \*|Conflicting CPU frequency values detected: .{1,100}|WARNING: .{1,200}|"
    r"Waiting for client rdma_cm QP to connect|Please run the same command with .{1,80}|Max msg size in \w+ is MTU [0-9]+|Changing to this MTU|"
    r"Using sampled CPU speed .{1,80}|Connected: .{1,60}|Test with events\. .{1,60}|Device not recognized .{1,60})?\s{0,40}"
)
_MEBI, _GBIT = 2.0**20, 1.25e8  # the printed units in bytes
_HEAD = LineStart(
    r"[ \t]{0,8}#bytes[ \t]{1,12}#iterations[ \t]{1,12}(?:t_min\[|t_avg\[|BW peak\[)"
    r"|[ \t]{4,30}(?:Send|RDMA_Write|RDMA_Read|Atomic [A-Z_]{4,20}) (?:Bidirectional )?(?:Post List )?(?:BW|Latency) Test[ \t]*\r?$"
    r'|[ \t]{0,8}(?:\{[ \t]{0,8})?"test_info": ?\{\r?\n[ \t]{0,8}"test": "(?:Send|RDMA|Atomic|WRITE)_'
)


class _Banner(NamedTuple):
    verb: str | None = None
    is_both_ways: bool = False
    options: Mapping[str, str] = {}

    @property
    def side(self) -> Side | None:
        """The side that prints the log: the client prints the depth of its send queue, the server prints the depth of its receive queue."""
        if self.verb is None or self.is_both_ways:
            return "both" if self.is_both_ways else None
        return "publisher" if "TX depth" in self.options else "subscriber" if "RX depth" in self.options else None

    @property
    def basis(self) -> Basis | None:
        return None if self.verb is None else "rtt" if self.verb == "RDMA_Read" or self.verb.startswith("Atomic") else "rtt/2"

    def conditions(self, *, is_latency: bool) -> Conditions:
        connection = self.options.get("Connection type")
        is_stated = connection is not None and self.verb is not None
        settings = {name: value for name, value in self.options.items() if name in _SETTINGS}
        bandwidth = "rdma-any-bandwidth" if self.verb is None else "rdma-both-ways" if self.is_both_ways else "rdma-bandwidth"
        latency = {"rtt": "rdma-one-sided", "rtt/2": "rdma-half-round-trip", None: "rdma-any-latency"}[self.basis]
        return Conditions(
            transport=f"RDMA {connection}{_VERBS.get(self.verb or '', f' {self.verb}')}" if is_stated else None,
            basis=self.basis if is_latency else None,
            load_mode="closed" if is_latency else "max-rate",
            definition=latency if is_latency else bandwidth,
            settings=settings_text(settings),
        )

    @property
    def metrics(self) -> tuple[str, str | None]:
        """The metrics of the rate of bytes and of the rate of messages; the second is ``None`` if it is unknown whether messages arrived."""
        connection = self.options.get("Connection type")
        if connection is None or self.verb is None:
            return "transfer_rate", None
        arrived = connection in ("RC", "XRC", "DC") or self.side == "subscriber" or self.verb == "RDMA_Read"
        return ("goodput", "message_rate") if arrived else ("offered_goodput", "offered_rate")


def detect(head: str) -> Detected:
    """Return whether a log is from this tool. Such a log has the title of a table, the head of a table, or the JSON of the tool."""
    return Detected(
        _HEAD.is_in(head), wants="'#bytes #iterations t_min[usec]', '#bytes #iterations BW peak[MB/sec]', or JSON with '\"test_info\": {'"
    )


def parse(lines: Iterable[Line]) -> Iterator[Finding]:
    """Yield a record for each row."""
    stream, table, document = iter(lines), _Table(), _Document()
    for line in stream:
        if line.text.lstrip().startswith("{"):
            yield from json_findings(chain([line], stream), results={"results": document.result}, facts=document.fact)
        else:
            yield from table.take(line)


class _Table:
    def __init__(self) -> None:
        self._banner = _Banner()
        self._columns: list[str] = []
        self._has_rows = self._is_in_cycles = self._is_mixed = False

    def take(self, line: Line) -> Iterator[Finding]:
        text = line.text.rstrip()
        if title := _TITLE.fullmatch(text):
            self._begin(_Banner(title["verb"], title["both"] is not None))
            yield Finding(line, None)
        elif _HEADER.fullmatch(text):
            self._banner = _Banner() if self._has_rows else self._banner
            self._columns, self._has_rows = _COLUMN.findall(text), False
            yield Finding(line, None)
        elif _IS_ROW.match(text):
            self._has_rows = True
            yield Finding(line, self._row(text) if line.whole else Broken("the row is cut short"))
        elif _BETWEEN.fullmatch(text) or _OPTIONS.fullmatch(text):
            if self._columns and (self._has_rows or not text.lstrip().startswith("-")):
                self._end()  # A line after the table ends the table.
            self._option(text)
            yield Finding(line, None)
        elif _FAILED.fullmatch(text):
            self._end()
            yield Finding(line, Facts(status="failed", reason=text.strip()))
        elif text.strip() == "#, cycles":
            self._is_in_cycles = True
            yield Finding(line, None)
        elif _RAW.fullmatch(text) or _CHATTER.fullmatch(text):
            yield Finding(line, None)

    def _begin(self, banner: _Banner) -> None:
        # If there was no table since an earlier title, the lines of two tests are mixed.
        is_mixed = self._is_mixed or (self._banner.verb is not None and not self._columns and self._banner[:2] != banner[:2])
        self._end()
        self._banner, self._is_mixed = _Banner() if is_mixed else banner, is_mixed

    def _end(self) -> None:
        self._banner, self._columns = _Banner(), []
        self._has_rows = self._is_in_cycles = self._is_mixed = False

    def _option(self, text: str) -> None:
        options = {match["name"].strip(): match["value"] for match in _OPTION.finditer(text)} if _OPTIONS.fullmatch(text) else {}
        if any(self._banner.options.get(name, value) != value for name, value in options.items()):
            self._banner, self._is_mixed = _Banner(), True  # The banner of another test, whose title is missing.
        if not self._is_mixed:
            self._banner = self._banner._replace(options={**self._banner.options, **options})

    def _row(self, text: str) -> Record | Broken:
        if not self._columns:
            return Broken("a row without the head of its columns")
        # Columns may touch each other, so the number of decimals separates them.
        pattern = r"\s*".join(r"([0-9]{1,15})(?=\s)" if name[0] == "#" else rf"(-?[0-9]{{1,15}}\.{_decimals(name)})" for name in self._columns)
        match = re.fullmatch(rf"\s*{pattern}", text)
        if match is None:
            return Broken("the row is garbled, or of another table")
        cells = {name.partition("[")[0].removesuffix(" percentile"): Cell(match[i], match.start(i)) for i, name in enumerate(self._columns, 1)}
        size, iterations = int(cells["#bytes"]), int(cells["#iterations"])
        if "BW average" in cells:
            unit = _GBIT if "Gb/" in str(self._columns) else _MEBI
            return _bandwidth(self._banner, size, iterations, cells["BW peak"], cells["BW average"], cells["MsgRate"], unit)
        if self._is_in_cycles:
            return Broken("the latencies are in cycles (-C), and the length of a cycle is not printed")
        return _latency(self._banner, size, iterations, {_NUMBERS[name]: cell for name, cell in cells.items() if name in _NUMBERS})


def _decimals(column: str) -> str:
    return "[0-9]{6}" if column.startswith("MsgRate") else "(?:[0-9]{6}|[0-9]{2})" if column.startswith("BW") else "[0-9]{2}"


class _Document:
    """The JSON of a test. The information about the test is before the results."""

    def __init__(self) -> None:
        self._banner = _Banner()

    def fact(self, path: str, value: JsonScalar) -> None:
        name = path.removeprefix("test_info/")
        if path == "test_info/test" and isinstance(value, str):
            title = _TITLE.fullmatch(value)
            self._banner = _Banner(title["verb"].replace("c_", "c "), title["both"] is not None) if title else _Banner()
        elif path.startswith("test_info/") and isinstance(value, str | int):
            plain = {"Mtu": f"{value}[B]", "Max_inline_data": f"{value}[B]"}.get(name, str(value))
            self._banner = self._banner._replace(options={**self._banner.options, _JSON_NAMES.get(name, name.replace("_", " ")): plain})

    def result(self, item: JsonObject) -> Iterator[JsonResult]:
        size, iterations = item.whole("MsgSize"), item.whole("n_iterations")
        cells = {name: member.text for name, member in item.members.items() if re.fullmatch(r"-?[0-9]{1,15}\.[0-9]{1,6}", member.text)}
        if size is None or iterations is None:
            yield Broken("the size or the number of iterations is missing")
        elif {"BW_peak", "BW_average", "MsgRate"} <= cells.keys():
            average, rate = float(cells["BW_average"]), float(cells["MsgRate"])
            unit = _MEBI if average and abs(size * rate * 1e6 / average / _MEBI - 1) < abs(size * rate * 1e6 / average / _GBIT - 1) else _GBIT
            yield _bandwidth(self._banner, size, iterations, cells["BW_peak"], cells["BW_average"], cells["MsgRate"], unit)
        else:
            numbers = {statistic: cells[name] for name, statistic in _JSON_NUMBERS.items() if name in cells}
            yield _latency(self._banner, size, iterations, numbers) if "mean" in numbers else Broken("the results are missing")


def _latency(banner: _Banner, size: int, iterations: int, cells: Mapping[str, str]) -> Record | Broken:
    values = {statistic: float(cell) for statistic, cell in cells.items()}
    ordered = [values[name] for name in ("min", "p50", "p99", "p99.9", "max") if name in values]
    if not is_size(size) or any(0 <= low > high >= 0 for low, high in pairwise(ordered)):
        return Broken("latencies that do not ascend, or a size of 0")
    if ordered and "p99.9" in values and all((2 * value).is_integer() for value in ordered):
        return Broken("only whole or half numbers: they may be cycles (-C), and the length of a cycle is not printed")
    lacks = ("drops_samples",) if "p99.9" in values else ()
    return Record(
        test="latency",
        payload_bytes=size,
        numbers=tuple(
            printed(
                "latency",
                statistic,
                round(float(cell) * MICROSECOND, 3),
                unit_of_last_decimal(cell) * MICROSECOND,
                lacks if statistic in ("mean", "max") else (),
                cell=cell,
            )
            for statistic, cell in cells.items()
        ),
        samples=iterations,
        side=banner.side,
        conditions=banner.conditions(is_latency=True),
    )


def _bandwidth(banner: _Banner, size: int, iterations: int, peak: str, average: str, rate: str, unit: float) -> Record | Broken:
    step, per_second = unit_of_last_decimal(average), float(rate) * 1e6
    if not is_size(size) or abs(float(average) * unit - size * per_second) > 0.6 * step * unit + 0.6 * size + 1e-5 * size * per_second:
        return Broken("the bandwidth is not the message rate times the size")
    of_bytes, of_messages = banner.metrics
    return Record(
        test="throughput",
        payload_bytes=size,
        numbers=tuple(_rates(of_bytes, of_messages, peak, average, rate, unit * 8)),
        samples=iterations,
        side=banner.side,
        conditions=banner.conditions(is_latency=False),
    )


def _rates(of_bytes: str, of_messages: str | None, peak: str, average: str, rate: str, bits: float) -> Sequence[Number]:
    # A peak of 0 was not measured.
    bandwidths = [("mean", average)] + ([("max", peak)] if float(peak) else [])
    numbers = [printed(of_bytes, name, round(float(cell) * bits, 3), unit_of_last_decimal(cell) * bits, cell=cell) for name, cell in bandwidths]
    return [*numbers, *([printed(of_messages, "mean", round(float(rate) * 1e6, 3), 1.0, cell=rate)] if of_messages else [])]
